import io
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lookalike.images import Unreadable, content_hash, open_image, thumbnail
from lookalike.images import _decode as decoding
from lookalike.images import _guard as guard
from lookalike.images._extras import _as_picture
from lookalike.images._pixels import to_uint8

from .pictures import bad_files, encoded, good_files, gradient, limit, many_scans, noise, tiff, with_exif

GOOD = dict(good_files())
BAD = dict(bad_files())


@pytest.mark.parametrize("name", GOOD)
def test_reads_every_good_picture(name):
    picture = open_image(GOOD[name])
    height, width, channels = picture.pixels.shape
    assert (picture.width, picture.height, channels) == (width, height, 3)
    assert picture.pixels.dtype == np.uint8
    assert picture.pixels.flags.c_contiguous
    assert len(picture.sha256) == 64


@pytest.mark.parametrize("name", BAD)
def test_refuses_every_bad_file_with_a_reason(name):
    with pytest.raises(Unreadable) as error:
        open_image(BAD[name], time_limit=limit(name))
    reason = error.value.reason
    assert reason.startswith(("is ", "has ", "holds ", "took "))
    assert "\n" not in reason
    assert not reason.endswith(".")
    assert " at 0x" not in reason


def test_there_are_fifty_kinds_of_bad_files():
    assert len(BAD) >= 50


SMOOTH = ["plain.jpg", "progressive.jpg", "cmyk.jpg", "plain.png", "animated.png", "plain.webp"]
SMOOTH += ["animated.webp", "plain.gif", "animated.gif", "plain.bmp", "plain.ppm", "plain.tif", "lzw.tiff"]
SMOOTH += ["jpeg inside.tiff", "cmyk.tif", "lab.tif", "pages.tif", "plain.jp2"]


@pytest.mark.parametrize("name", SMOOTH)
def test_colours_are_right(name):
    pixels = open_image(GOOD[name]).pixels.astype(int)
    assert np.abs(pixels - gradient()).mean() < 6
    assert np.abs(pixels - gradient()).max() < 64


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG", "WEBP"])
def test_pictures_are_turned_upright(kind, turn):
    # What a viewer must do for each value, written out with numpy.
    undo = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, -1),
        7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90,
    }
    picture = open_image(with_exif(Image.fromarray(gradient()), turn, kind))
    upright = undo[turn](gradient().astype(int))
    assert (picture.height, picture.width) == upright.shape[:2]
    assert np.abs(picture.pixels - upright).mean() < 6


def test_alpha_lies_over_white():
    square = np.zeros((8, 8, 4), np.uint8)
    square[:, 4:] = (200, 0, 0, 255)
    square[:, :2, 3] = 128
    pixels = open_image(encoded(square, "PNG")).pixels
    assert pixels[0, 3].tolist() == [255, 255, 255]
    assert pixels[0, 6].tolist() == [200, 0, 0]
    assert abs(int(pixels[0, 0, 0]) - 127) <= 1


def test_a_colour_that_stands_for_nothing_is_white():
    grey = Image.fromarray(np.array([[0, 100], [200, 100]], np.uint8))
    pixels = open_image(encoded(grey, "PNG", transparency=100)).pixels[..., 0]
    assert pixels.tolist() == [[0, 255], [200, 255]]


def test_deep_greys_keep_their_order_and_one_scale():
    ramp = np.linspace(0, 4095, 64).astype(np.uint16).reshape(8, 8)
    for kind in ("PNG", "TIFF"):
        grey = open_image(encoded(Image.fromarray(ramp), kind)).pixels[..., 0]
        assert np.all(np.diff(grey.ravel().astype(int)) >= 0)
        assert (grey[0, 0], grey[-1, -1]) == (0, 255)


@given(
    st.sampled_from([np.uint8, np.uint16, np.int16, np.int32, np.uint32, np.float32, np.float64, bool]),
    st.lists(st.integers(-(2**31), 2**31), min_size=0, max_size=6),
)
def test_any_number_becomes_eight_bits_in_the_same_order(kind, values):
    values = np.array(values).astype(kind)
    grey = to_uint8(values)
    assert grey.dtype == np.uint8
    assert grey.shape == values.shape
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(grey[order].astype(int)) >= 0)


def test_values_that_are_not_finite_count_as_the_smallest():
    assert to_uint8(np.array([np.nan, 2.0, -np.inf, 4.0, np.inf])).tolist() == [0, 0, 0, 255, 0]
    assert to_uint8(np.array([np.nan, np.nan])).tolist() == [0, 0]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("side", [1, 7, 63, 64, 65, 100, 399, 1000])
def test_a_hint_of_the_side_bounds_the_result(kind, side):
    data = encoded(gradient(600, 400), kind)
    picture = open_image(data, shorter_side=side)
    assert (picture.width, picture.height) == (600, 400)
    shorter = min(picture.pixels.shape[:2])
    assert min(side, 400) <= shorter <= 400
    assert shorter < 2 * side + 1
    size = picture.pixels.shape[1::-1]
    small = np.asarray(Image.fromarray(gradient(600, 400)).resize(size, Image.Resampling.BOX))
    assert side < 63 or np.abs(picture.pixels.astype(int) - small).mean() < 6


def test_a_hint_decodes_a_jpeg_at_a_fraction_of_its_size(monkeypatch):
    asked = []
    draft = decoding.JpegImagePlugin.JpegImageFile.draft
    monkeypatch.setattr(
        decoding.JpegImagePlugin.JpegImageFile, "draft", lambda self, *a: asked.append(a) or draft(self, *a)
    )
    open_image(encoded(gradient(800, 800), "JPEG"), shorter_side=100)
    assert asked == [(None, (100, 100))]


def test_a_hint_must_be_a_side():
    with pytest.raises(ValueError, match="at least 1"):
        open_image(GOOD["plain.png"], shorter_side=0)


def test_more_megapixels_are_refused_before_decoding(monkeypatch):
    data = encoded(gradient(1200, 1000), "PNG")
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(Unreadable, match="1200 × 1000 = 1 megapixels; the limit is 1"):
        open_image(data, max_megapixels=1)


def test_large_pictures_are_decoded_under_guard(monkeypatch, tmp_path):
    monkeypatch.setattr(decoding, "LARGE", 1000)
    monkeypatch.setattr("lookalike.images._open.IN_MEMORY", 10)
    path = tmp_path / "large.png"
    path.write_bytes(GOOD["plain.png"])
    calls = []
    guarded = guard.decode_guarded
    monkeypatch.setattr(
        "lookalike.images._open.decode_guarded", lambda *a, **k: calls.append(a) or guarded(*a, **k)
    )
    assert np.array_equal(open_image(path).pixels, gradient())
    assert calls == [(str(path),)]


def test_the_clock_stops_slow_reading():
    class Slow(io.BytesIO):
        def read(self, n=-1):
            time.sleep(0.02)
            return super().read(n)

    with pytest.raises(Unreadable, match=r"took longer than 0.05 s"):
        decoding.decode(
            Slow(encoded(noise(900, 900), "PNG")),
            shorter_side=None,
            max_megapixels=10,
            time_limit=0.05,
            guarded=False,
        )


def test_a_hanging_decoder_is_killed_and_the_next_file_is_read():
    endless = many_scans(encoded(gradient(1500, 1500), "JPEG", progressive=True), 1_000_000)
    with pytest.raises(Unreadable, match="took longer than 1 s"):
        open_image(endless, time_limit=1)
    assert np.array_equal(open_image(GOOD["plain.tif"]).pixels, gradient())


def test_a_crashing_decoder_is_survived(monkeypatch):
    real = guard._Child.ask

    def ask(self, job, data, limit):
        self.process.kill()
        return real(self, job, data, limit)

    monkeypatch.setattr(guard._Child, "ask", ask)
    with pytest.raises(Unreadable, match="makes its decoder crash"):
        open_image(GOOD["plain.tif"])
    monkeypatch.undo()
    assert np.array_equal(open_image(GOOD["plain.tif"]).pixels, gradient())


def test_pixels_from_the_guard_may_be_written_to_like_all_others():
    for name in ("plain.tif", "plain.png"):
        open_image(GOOD[name]).pixels[:] = 0


def test_many_threads_share_the_guards():
    names = ["plain.tif", "lzw.tiff", "plain.jp2", "cmyk.tif"] * 10
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: open_image(GOOD[name]).pixels, names))
    for name, pixels in zip(names, found, strict=True):
        assert np.array_equal(pixels, open_image(GOOD[name]).pixels)


def test_a_guard_that_cannot_start_costs_one_file(monkeypatch):
    monkeypatch.setattr(guard, "_idle", [])
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with pytest.raises(Unreadable, match="could not be started"):
        open_image(GOOD["plain.tif"])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_guards_end_with_their_parent(tmp_path):
    path = tmp_path / "a.tif"
    path.write_bytes(GOOD["plain.tif"])
    code = (
        "import sys, time\n"
        "from lookalike.images import _guard, open_image\n"
        "open_image(sys.argv[1])\n"
        "print(_guard._idle[0].process.pid, flush=True)\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = Path("/proc", parent.stdout.readline().strip(), "status")
        assert child.exists()
        parent.kill()
    for _ in range(100):
        if not child.exists() or "zombie" in child.read_text():
            break
        time.sleep(0.05)
    else:
        pytest.fail("the guard is still there")


def test_without_a_time_limit_everything_is_decoded_here(monkeypatch):
    monkeypatch.setattr(guard, "_Child", lambda: pytest.fail("a process was started"))
    assert np.array_equal(open_image(GOOD["plain.tif"], time_limit=None).pixels, gradient())


@given(
    st.sampled_from(["plain.jpg", "plain.png", "plain.webp", "plain.gif", "plain.bmp", "plain.tif"]),
    st.data(),
)
def test_no_damage_raises_anything_else(name, data):
    bytes_ = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 8))):
        bytes_[data.draw(st.integers(0, len(bytes_) - 1))] = data.draw(st.integers(0, 255))
    try:
        picture = open_image(bytes(bytes_[: data.draw(st.integers(0, len(bytes_)))]), max_megapixels=4)
    except Unreadable as error:
        assert error.reason
    else:
        assert picture.pixels.ndim == 3


def test_the_hash_is_of_the_content(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(GOOD["plain.png"])
    assert content_hash(path) == open_image(path).sha256 == open_image(GOOD["plain.png"]).sha256


def test_the_error_names_the_file(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.jpg")
    path.write_bytes(b"")
    with pytest.raises(Unreadable) as error:
        open_image(path)
    assert str(error.value) == f"{tmp_path}/caf\\xe9.jpg cannot be read: the picture is empty."
    assert error.value.path == str(path)


@pytest.mark.parametrize(("make", "says"), [
    (lambda p: None, "does not exist"),
    (lambda p: p.mkdir(), "is a folder"),
    (os.mkfifo, "is a named pipe"),
    (lambda p: p.symlink_to("/dev/zero"), "is a device"),
    (lambda p: p.symlink_to(p), "symbolic links"),
])  # fmt: skip
def test_nothing_but_files_is_opened(tmp_path, make, says):
    path = tmp_path / "picture.jpg"
    make(path)
    for function in (open_image, content_hash, thumbnail):
        with pytest.raises(Unreadable, match=says):
            function(path)


def test_a_socket_is_not_opened(tmp_path):
    path = tmp_path / "s.jpg"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(Unreadable):
            open_image(path)


def test_a_thumbnail_is_a_small_jpeg(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(GOOD["alpha.png"])
    image = Image.open(io.BytesIO(thumbnail(path, 48)))
    assert (image.format, image.size) == ("JPEG", (48, 32))


def test_sixteen_bit_channels_of_a_tiff_that_pillow_does_not_know():
    tifffile = pytest.importorskip("tifffile")
    stack = (np.arange(5 * 40 * 60, dtype=np.uint16) % 4096).reshape(5, 40, 60)
    for options in [{"photometric": "minisblack"}, {"planarconfig": "separate"}]:
        file = io.BytesIO()
        tifffile.imwrite(file, stack, **options)
        assert open_image(file.getvalue()).pixels.shape == (40, 60, 3)
    file = io.BytesIO()
    tifffile.imwrite(file, stack.astype(np.float64) / 4095)
    assert open_image(file.getvalue()).pixels.max() > 100


def test_axes_of_a_stack_come_down_to_one_plane():
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.uint8)
    assert np.array_equal(_as_picture(array, "TZYX", white_is_zero=False), array[0, 0])
    assert np.array_equal(_as_picture(array, "TSYX", white_is_zero=False), array[0].transpose(1, 2, 0))
    assert np.array_equal(_as_picture(array[..., :2], "TZYX", white_is_zero=True), 255 - array[0, 0, :, :2])


def dicom(array, **tags):
    pydicom = pytest.importorskip("pydicom")
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = Dataset()
    data.file_meta = meta
    data.SOPClassUID, data.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    data.Rows, data.Columns = array.shape[:2]
    data.SamplesPerPixel = 3 if array.ndim == 3 else 1
    data.BitsAllocated = data.BitsStored = array.dtype.itemsize * 8
    data.HighBit = data.BitsStored - 1
    data.PixelRepresentation = 0
    data.PhotometricInterpretation = "RGB" if array.ndim == 3 else "MONOCHROME2"
    if array.ndim == 3:
        data.PlanarConfiguration = 0
    for name, value in tags.items():
        setattr(data, name, value)
    data.PixelData = array.tobytes()
    file = io.BytesIO()
    pydicom.dcmwrite(file, data, enforce_file_format=True)
    return file.getvalue()


def test_dicom_greys_windows_and_colours():
    ramp = np.linspace(0, 4095, 64 * 64).astype(np.uint16).reshape(64, 64)
    plain = open_image(dicom(ramp))
    assert plain.format == "DICOM"
    assert (plain.pixels[0, 0, 0], plain.pixels[-1, -1, 0]) == (0, 255)
    negative = open_image(dicom(ramp, PhotometricInterpretation="MONOCHROME1"))
    assert np.array_equal(negative.pixels, 255 - plain.pixels)
    window = open_image(dicom(ramp, WindowCenter=1000, WindowWidth=200)).pixels[..., 0]
    assert np.all(window[ramp < 880] == 0)
    assert np.all(window[ramp > 1120] == 255)
    assert np.array_equal(open_image(dicom(gradient())).pixels, gradient())


def test_dicom_without_a_picture_and_too_large():
    with pytest.raises(Unreadable, match=r"limit is 0\.001"):
        open_image(dicom(np.zeros((64, 64), np.uint8)), max_megapixels=0.001)


def test_a_missing_extra_is_named(monkeypatch):
    files = {"DICOM": dicom(np.zeros((4, 4), np.uint8)), "HEIC": BAD["magic alone.heic"]}

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    for kind, data in files.items():
        says = rf"{kind}.* needs an extra package: run pip install 'lookalike\[images\]'"
        with pytest.raises(Unreadable, match=says):
            open_image(data, time_limit=None)


def test_a_tiff_whose_numbers_lie_is_refused():
    tags = [(256, 4, 1, 8000), (257, 4, 1, 8000), (258, 3, 1, 64), (259, 3, 1, 1), (262, 3, 1, 1)]
    with pytest.raises(Unreadable):
        open_image(tiff([*tags, (273, 4, 1, 8)]))


def test_heic():
    pytest.importorskip("pi_heif")
    path = Path(__file__).with_name("gradient.heic")
    picture = open_image(path)
    assert picture.format == "HEIC"
    assert np.abs(picture.pixels.astype(int) - gradient()).mean() < 6
    assert open_image(path, shorter_side=20).pixels.shape == (22, 32, 3)
    with pytest.raises(Unreadable, match=r"limit is 0\.001"):
        open_image(path, max_megapixels=0.001)
