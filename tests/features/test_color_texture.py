"""The 286 numbers of colour and texture (T21)."""

import numpy as np
import pytest

from lookalike.features import ColorTexture, get_feature
from lookalike.features._color_texture import FREQUENCIES, energies, responses, width_of


def wave(frequency, degrees, size=256):
    y, x = np.mgrid[:size, :size]
    angle = np.deg2rad(degrees)
    return 127.5 + 127.5 * np.cos(2 * np.pi * frequency * (x * np.cos(angle) + y * np.sin(angle)))


def groups(vector):
    return vector[166:].reshape(12, 10)


def test_every_histogram_sums_to_one():
    image = np.random.default_rng(0).integers(0, 256, size=(70, 90, 3), dtype=np.uint8)
    vector = ColorTexture().extract([image])[0]
    assert vector.shape == (286,) == (ColorTexture().dim,)
    assert vector[:166].sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(groups(vector).sum(axis=1), 1, atol=1e-5)


def test_a_constant_picture_has_one_colour_and_no_texture_inside():
    vector = ColorTexture().extract([np.full((30, 30, 3), (255, 0, 0), np.uint8)])[0]
    assert (vector[:166] == 1).sum() == 1
    # The border against the zeros outside is the only texture there is.
    inside = energies(np.full((256, 256), 255.0)).reshape(12, 16, 16)[:, 3:-3, 3:-3]
    assert inside.max() < 2


def test_greys_have_bins_of_their_own():
    images = [np.full((8, 8, 3), v, np.uint8) for v in (0, 100, 180, 255)]
    assert ColorTexture().extract(images)[:, 162:166].argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("scale", range(3))
@pytest.mark.parametrize("turn", range(4))
def test_a_wave_answers_in_its_own_filter(scale, turn):
    mean = np.median(energies(wave(FREQUENCIES[scale], 45 * turn)), axis=1)
    assert mean.argmax() == 4 * scale + turn


def test_the_bandwidth_is_one_octave():
    for u in FREQUENCIES:
        x, y = 2 * np.pi * width_of(u) * u, np.sqrt(2 * np.log(2))
        assert np.log2((x + y) / (x - y)) == pytest.approx(1.0)
    assert [round(width_of(u), 3) for u in FREQUENCIES] == [1.499, 2.998, 5.997]


def test_filters_equal_their_formula():
    """(2.34), pixel by pixel, away from the border."""
    value = np.random.default_rng(1).integers(0, 256, size=(256, 256)).astype(float)
    found = responses(value)
    for m, taps in enumerate((9, 17, 35)):
        half, sigma, u = taps // 2, width_of(FREQUENCIES[m]), FREQUENCIES[m]
        y, x = np.mgrid[-half : half + 1, -half : half + 1]
        for n in range(4):
            angle = n * np.pi / 4
            kernel = np.exp(-(x**2 + y**2) / (2 * sigma**2)) / (2 * np.pi * sigma**2)
            kernel = kernel * np.cos(2 * np.pi * u * (x * np.cos(angle) + y * np.sin(angle)))
            patch = value[100 - half : 101 + half, 90 - half : 91 + half]
            assert found[m, n, 100, 90] == pytest.approx((kernel * patch).sum(), abs=1e-2)


def test_a_quarter_turn_swaps_the_orientations():
    image = np.random.default_rng(2).integers(0, 256, size=(32, 32), dtype=np.uint8)
    big = np.repeat(np.repeat(image, 8, 0), 8, 1).astype(float)
    plain = energies(big).reshape(3, 4, -1).mean(axis=2)
    turned = energies(np.rot90(big)).reshape(3, 4, -1).mean(axis=2)
    np.testing.assert_allclose(turned[:, [2, 3, 0, 1]], plain, rtol=1e-3)


def test_it_is_found_by_name_and_takes_any_size():
    feature = get_feature("color-texture")
    assert feature == ColorTexture()
    images = [np.zeros((1, 1, 3), np.uint8), np.zeros((3, 900, 3), np.uint8)]
    assert np.isfinite(feature.extract(images)).all()
    assert feature.extract([]).shape == (0, 286)
