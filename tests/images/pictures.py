"""Pictures for the tests: good ones of every kind, and files that are broken or hostile."""

import io
import struct
import zlib

import numpy as np
from PIL import Image


def gradient(width=96, height=64):
    """A smooth picture whose corners differ: red top left, green top right, blue bottom left."""
    y, x = np.mgrid[0:height, 0:width] / [[[height - 1]], [[width - 1]]]
    channels = [(1 - x) * (1 - y), x * (1 - y), (1 - x) * y]
    return (255 * np.stack(channels, -1)).astype(np.uint8)


def encoded(image, kind, **options):
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def noise(width=96, height=64, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, *, colour=2, depth=8, body=b"", before=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    magic = b"\x89PNG\r\n\x1a\n"
    return magic + chunk(b"IHDR", header) + before + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def tiff(tags, tail=b"", order="<"):
    """A classic TIFF of one directory: tags are (number, type, count, value or offset)."""
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    directory = struct.pack(order + "H", len(tags))
    for number, kind, count, value in tags:
        directory += struct.pack(order + "HHII", number, kind, count, value)
    return head + directory + struct.pack(order + "I", 0) + tail


def with_exif(image, orientation, kind="JPEG"):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(image, kind, exif=exif, quality=95)


def good_files():
    """Name and bytes of pictures that must be read."""
    rgb = Image.fromarray(gradient())
    alpha = rgb.convert("RGBA")
    alpha.putalpha(Image.fromarray(np.tile(np.linspace(0, 255, 96).astype(np.uint8), (64, 1))))
    frames = [rgb.rotate(90 * i) for i in range(3)]
    deep = (np.arange(96 * 64, dtype=np.uint16) * 10).reshape(64, 96)
    yield "plain.jpg", encoded(rgb, "JPEG")
    yield "progressive.jpg", encoded(rgb, "JPEG", progressive=True)
    yield "grey.jpg", encoded(rgb.convert("L"), "JPEG")
    yield "cmyk.jpg", encoded(rgb.convert("CMYK"), "JPEG")
    for turn in range(1, 9):
        yield f"turned {turn}.jpg", with_exif(rgb, turn)
    yield "plain.png", encoded(rgb, "PNG")
    yield "palette.png", encoded(rgb.convert("P"), "PNG")
    yield "palette with a hole.png", encoded(rgb.quantize(16), "PNG", transparency=3)
    yield "bits.png", encoded(rgb.convert("1"), "PNG")
    yield "alpha.png", encoded(alpha, "PNG")
    yield "grey alpha.png", encoded(alpha.convert("LA"), "PNG")
    yield "deep.png", encoded(Image.fromarray(deep), "PNG")
    yield "animated.png", encoded(rgb, "PNG", save_all=True, append_images=frames)
    yield "plain.webp", encoded(rgb, "WEBP")
    yield "lossless.webp", encoded(alpha, "WEBP", lossless=True)
    yield "animated.webp", encoded(rgb, "WEBP", save_all=True, append_images=frames)
    yield "plain.gif", encoded(rgb, "GIF")
    yield "animated.gif", encoded(rgb, "GIF", save_all=True, append_images=frames)
    yield "plain.bmp", encoded(rgb, "BMP")
    yield "palette.bmp", encoded(rgb.convert("P"), "BMP")
    yield "plain.ppm", encoded(rgb, "PPM")
    yield "plain.tif", encoded(rgb, "TIFF")
    yield "lzw.tiff", encoded(rgb, "TIFF", compression="tiff_lzw")
    yield "jpeg inside.tiff", encoded(rgb, "TIFF", compression="jpeg")
    yield "cmyk.tif", encoded(rgb.convert("CMYK"), "TIFF")
    yield "lab.tif", encoded(_lab(rgb), "TIFF")
    yield "deep.tif", encoded(Image.fromarray(deep), "TIFF")
    yield (
        "fractions.tif",
        encoded(Image.fromarray(np.linspace(0, 1, 96 * 64, dtype=np.float32).reshape(64, 96)), "TIFF"),
    )
    yield "pages.tif", encoded(rgb, "TIFF", save_all=True, append_images=frames)
    yield "plain.jp2", encoded(rgb, "JPEG2000")
    yield "a jpeg called.png", encoded(rgb, "JPEG")
    yield "no suffix at all", encoded(rgb, "PNG")
    yield "UPPER.JPG", encoded(rgb, "JPEG")
    yield "\U0001f98a fox\n.jpg", encoded(rgb, "JPEG")
    yield "broken exif.jpg", encoded(rgb, "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    yield "rubbish after the end.jpg", encoded(rgb, "JPEG") + bytes(1000)
    yield "one pixel.png", encoded(Image.new("RGB", (1, 1)), "PNG")


def _lab(rgb):
    from PIL import ImageCms

    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    return ImageCms.profileToProfile(rgb, srgb, lab, outputMode="LAB")


def cut(data, share):
    return data[: int(len(data) * share)]


def struck(data, start, stop, seed=0):
    """The bytes between two shares of the file replaced by noise."""
    start, stop = int(len(data) * start), int(len(data) * stop)
    return data[:start] + np.random.default_rng(seed).bytes(stop - start) + data[stop:]


def bad_files():
    """Name and bytes of files that must be set aside."""
    jpeg, plain_png = encoded(noise(), "JPEG", quality=95), encoded(noise(), "PNG")
    gif, webp = encoded(noise(), "GIF"), encoded(noise(), "WEBP", lossless=True)
    bmp, ppm = encoded(noise(), "BMP"), encoded(noise(), "PPM")
    tif, lzw = encoded(noise(), "TIFF"), encoded(noise(), "TIFF", compression="tiff_lzw")
    jp2 = encoded(noise(), "JPEG2000")
    # Files that are no pictures at all.
    yield "empty.jpg", b""
    yield "one byte.png", b"\xff"
    yield "zeros.jpg", bytes(4096)
    yield "noise.jpg", np.random.default_rng(1).bytes(4096)
    yield "text.jpg", b"these are not the pixels you are looking for\n"
    yield "page.jpg", b"<!DOCTYPE html><html><body>404</body></html>"
    yield "drawing.png", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'
    yield "document.jpg", b"%PDF-1.7\n..."
    yield "archive.png", b"PK\x03\x04" + bytes(100)
    yield "film.jpg", b"\0\0\0\x18ftypisom\0\0\0\0isommp42"
    yield "sound.gif", b"RIFF\x24\0\0\0WAVEfmt " + bytes(30)
    yield "photoshop.tif", b"8BPS\0\x01" + bytes(60)
    yield "pointer.jpg", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    yield "program.bmp", b"MZ" + bytes(200)
    # Cut short.
    yield "magic alone.jpg", b"\xff\xd8\xff"
    yield "magic alone.png", b"\x89PNG\r\n\x1a\n"
    yield "magic alone.gif", b"GIF89a"
    yield "magic alone.webp", b"RIFF\x10\0\0\0WEBP"
    yield "magic alone.tif", b"II*\0"
    yield "magic alone.dcm", bytes(128) + b"DICM"
    yield "magic alone.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"
    yield "magic alone.avif", b"\0\0\0\x18ftypavif\0\0\0\0mif1avif"
    yield "magic alone.jp2", b"\0\0\0\x0cjP  \r\n\x87\n"
    for name, data in [
        ("jpg", jpeg),
        ("png", plain_png),
        ("gif", gif),
        ("webp", webp),
        ("bmp", bmp),
        ("ppm", ppm),
        ("tif", tif),
        ("lzw.tif", lzw),
        ("jp2", jp2),
    ]:
        yield f"half.{name}", cut(data, 0.5)
    # Damaged inside.
    yield "struck.png", struck(plain_png, 0.4, 0.6)
    yield "struck head.jpg", struck(jpeg, 0.005, 0.2)
    yield "struck head.webp", struck(webp, 0.001, 0.05)
    yield "no end of header.jpg", jpeg[:2] + b"\xff\xe1\xff\xff" + jpeg[2:200]
    yield "no scan.jpg", jpeg[: jpeg.index(b"\xff\xda")] + b"\xff\xd9"
    yield "wrong checksum.png", plain_png[:29] + bytes(4) + plain_png[33:]
    yield "no data.png", png(8, 8)
    yield "less data than pixels.png", png(64, 64, body=zlib.compress(bytes(100)))
    yield "data that is no zip.png", png(64, 64, body=b"hello hello hello")
    # Sizes that lie.
    yield "no width.png", png(0, 8, body=zlib.compress(b""))
    yield "huge.png", png(60_000, 60_000, body=zlib.compress(bytes(1_000_000)))
    yield "most huge.png", png(2**31 - 1, 2**31 - 1, body=zlib.compress(bytes(100)))
    yield "huge.jpg", resized_jpeg(jpeg, 65_000, 65_000)
    yield "huge.gif", gif[:6] + struct.pack("<HH", 65_535, 65_535) + gif[10:]
    yield "huge.bmp", bmp[:18] + struct.pack("<ii", 100_000, 100_000) + bmp[26:]
    yield "huge.ppm", b"P6 99999 99999 255\n" + bytes(100)
    yield "huge.webp", b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\xff\xff\xff" * 2 + bytes(8)
    yield "line.png", encoded(Image.new("L", (60_000, 1)), "PNG")
    # Bombs.
    yield "text bomb.png", png(8, 8, before=chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(200_000_000))))
    yield (
        "scans without end.jpg",
        many_scans(encoded(gradient(2000, 2000), "JPEG", progressive=True)),
    )
    yield "directory in a circle.tif", b"II*\0" + struct.pack("<I", 8) + struct.pack("<HI", 0, 8)
    yield (
        "huge tile.tif",
        tiff(
            [
                (256, 4, 1, 64),
                (257, 4, 1, 64),
                (258, 3, 1, 8),
                (259, 3, 1, 5),
                (262, 3, 1, 1),
                (277, 3, 1, 1),
                (322, 4, 1, 2**30),
                (323, 4, 1, 2**30),
                (324, 4, 1, 200),
                (325, 4, 1, 10),
            ],
            tail=bytes(100),
        ),
    )
    yield (
        "huge.tif",
        tiff(
            [
                (256, 4, 1, 2**31),
                (257, 4, 1, 2**31),
                (258, 3, 1, 8),
                (259, 3, 1, 1),
                (262, 3, 1, 1),
                (273, 4, 1, 8),
                (277, 3, 1, 1),
                (278, 4, 1, 2**31),
                (279, 4, 1, 100),
            ]
        ),
    )
    yield (
        "strips elsewhere.tif",
        tiff(
            [
                (256, 4, 1, 64),
                (257, 4, 1, 64),
                (258, 3, 1, 8),
                (259, 3, 1, 1),
                (262, 3, 1, 1),
                (273, 4, 1, 10**9),
                (277, 3, 1, 1),
                (278, 4, 1, 64),
                (279, 4, 1, 4096),
            ]
        ),
    )


def limit(name):
    """Seconds for a file: little for the one that takes all it gets, plenty for the rest."""
    return 1 if name == "scans without end.jpg" else 60


def resized_jpeg(data, width, height):
    """A JPEG whose frame header tells another size."""
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def many_scans(data, count=100_000):
    """A progressive JPEG that repeats its last scan, each time a little text and a whole pass of work."""
    last = data.rindex(b"\xff\xda")
    length = struct.unpack(">H", data[last + 2 : last + 4])[0]
    header = data[last : last + 2 + length]
    return data[:last] + (header + b"\0" * 4) * count + b"\xff\xd9"
