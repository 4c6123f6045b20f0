"""Gist against a literal transcription of its definition."""

import numpy as np
import pytest
from PIL import Image

from lookalike.features import Gist


def literal_gist(grey):
    """Every step at full resolution and double precision, as the definition says it."""
    image = grey.astype(np.float64) - grey.min()
    image = np.pad(np.log1p(255 * image / image.max()), 5, mode="symmetric")
    f = np.arange(-len(image) // 2, len(image) // 2)
    fx, fy = np.meshgrid(f, f)
    low_pass = np.fft.fftshift(np.exp(-(fx**2 + fy**2) / (4 / np.sqrt(np.log(2))) ** 2))
    high = image - np.fft.ifft2(np.fft.fft2(image) * low_pass).real
    local = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(high**2) * low_pass)))
    even = np.pad((high / (0.2 + local))[5:-5, 5:-5], 32, mode="symmetric")
    n = len(even)
    fx, fy = np.meshgrid(np.arange(-n // 2, n // 2), np.arange(-n // 2, n // 2))
    radius = np.fft.fftshift(np.hypot(fx, fy))
    angle = np.fft.fftshift(np.arctan2(fy, fx))
    spectrum = np.fft.fft2(even)
    numbers = []
    for i in range(4):
        for j in range(8):
            t = angle + np.pi * j / 8
            t = t + 2 * np.pi * (t < -np.pi) - 2 * np.pi * (t > np.pi)
            gabor = np.exp(-10 * 0.35 * (radius / n / (0.3 / 1.85**i) - 1) ** 2 - 2 * np.pi * t**2)
            answer = np.abs(np.fft.ifft2(spectrum * gabor))[32:-32, 32:-32]
            numbers += [
                answer[64 * a : 64 * a + 64, 64 * b : 64 * b + 64].mean() for a in range(4) for b in range(4)
            ]
    return np.array(numbers)


def scene(seed, height=256, width=256):
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width))
    for size in (4, 12, 40, 120):
        noise = Image.fromarray(rng.integers(0, 256, (size, size)).astype(np.uint8))
        total += np.asarray(noise.resize((width, height), Image.Resampling.BICUBIC)) / size**0.3
    return np.repeat((total / total.max() * 255).astype(np.uint8)[:, :, None], 3, axis=2)


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_its_definition(seed):
    image = scene(seed)
    expected = literal_gist(image[:, :, 0])
    found = Gist().extract([image])[0]
    np.testing.assert_allclose(found[:256], expected[:256], atol=2e-6)  # the two fine sizes
    np.testing.assert_allclose(found, expected, atol=1e-3 * expected.max())  # sampled at every second pixel


def test_it_agrees_on_photographs(data):
    for file in sorted((data / "scene15" / "test").glob("*/*"))[::997]:
        image = np.asarray(Image.open(file).convert("L").resize((256, 256)))
        expected = literal_gist(image)
        found = Gist().extract([image])[0]
        np.testing.assert_allclose(found, expected, atol=1e-3 * expected.max())


def test_a_flat_image_has_no_layout():
    assert not Gist().extract([np.full((90, 30, 3), 77, np.uint8)]).any()


def test_contrast_is_stretched_away():
    image = scene(2) // 4
    np.testing.assert_allclose(Gist().extract([image * 3]), Gist().extract([image]), atol=1e-5)


def test_it_sees_directions_and_places():
    image = np.full((256, 256, 3), 128, np.uint8)
    image[:128, ::4] = 255  # upright stripes in the upper half
    energy = Gist().extract([image])[0].reshape(4, 8, 4, 4)
    upper, lower = energy[0, :, :2].mean((1, 2)), energy[0, :, 2:].mean((1, 2))
    assert upper[0] > 5 * lower[0]
    assert upper[0] > 5 * upper[4]


def test_mirroring_mirrors_the_blocks():
    image = scene(3)
    energy = Gist().extract([image])[0].reshape(4, 8, 4, 4)
    mirrored = Gist().extract([image[:, ::-1]])[0].reshape(4, 8, 4, 4)
    # direction θ becomes π − θ, which is −θ for lines
    expected = energy[:, [0, 7, 6, 5, 4, 3, 2, 1], :, ::-1]
    np.testing.assert_allclose(mirrored, expected, atol=2e-3 * energy.max())


def test_views_differ_for_wide_images_only():
    wide = scene(4, 100, 300)
    assert np.abs(Gist(view="centre").extract([wide]) - Gist().extract([wide])).max() > 1e-3
    square = scene(4)
    np.testing.assert_array_equal(Gist(view="centre").extract([square]), Gist().extract([square]))
    assert Gist(view="centre").fingerprint != Gist().fingerprint
