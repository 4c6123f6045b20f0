"""Dense SIFT and colour statistics against literal transcriptions of their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lookalike.features import ColorGrid, DenseSift
from lookalike.features._grid import axis, checked_grid


def photo(height, width, seed=0):
    """Noise with structure at all sizes, away from the ends of the grey range."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width, 3))
    for size in (3, 7, 16):
        small = Image.fromarray(rng.integers(0, 256, (size, size, 3)).astype(np.uint8))
        total += np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
    return (30 + total / 3 * 0.7 + rng.integers(0, 9, (height, width, 1))).astype(np.uint8)


def sift_of_patch(grey, top, left, cell):
    """The definition, pixel by pixel: trilinear votes, weights for the cells, length 1, cut, length 1."""
    gy, gx = np.gradient(grey.astype(np.float64))
    length = np.hypot(gx, gy)
    angle = np.mod(np.arctan2(gy, gx), 2 * np.pi) * 8 / (2 * np.pi)
    cells = np.zeros((4, 4, 8))
    for a in range(4):
        for b in range(4):
            middle_y, middle_x = top + (a + 0.5) * cell, left + (b + 0.5) * cell
            for y in range(grey.shape[0]):
                for x in range(grey.shape[1]):
                    w = max(0, 1 - abs(y + 0.5 - middle_y) / cell) * max(
                        0, 1 - abs(x + 0.5 - middle_x) / cell
                    )
                    if w > 0:
                        low = int(angle[y, x])
                        share = angle[y, x] - low
                        cells[a, b, low % 8] += w * length[y, x] * (1 - share)
                        cells[a, b, (low + 1) % 8] += w * length[y, x] * share
            cells[a, b] *= np.exp(-((a - 1.5) ** 2 + (b - 1.5) ** 2) / (2 * 2.0**2))
    v = cells.ravel()
    v = np.minimum(v / np.linalg.norm(v), 0.2)
    return v / np.linalg.norm(v)


def color_of_patch(image, top, left, cell):
    numbers = []
    for a in range(4):
        for b in range(4):
            y, x = top + a * cell, left + b * cell
            part = image[y : y + cell, x : x + cell].reshape(-1, 3) / 255
            numbers += [*part.mean(0), *part.std(0)]
    return np.array(numbers)


def corners(length, cell, step):
    width = 4 * cell
    first = (length - width) % step // 2
    return range(first, length - width + 1, step)


@pytest.mark.parametrize("cell, step", [(8, 16), (3, 7), (5, 5), (2, 10), (6, 4)])
def test_dense_sift_is_its_definition(cell, step):
    image = photo(41, 50)
    grey = np.asarray(Image.fromarray(image).convert("L"))
    bag = DenseSift(cells=cell, step=step, scales=1).extract([image])[0]
    places = [(y, x) for y in corners(41, cell, step) for x in corners(50, cell, step)]
    assert len(bag) == len(places)
    for k in {0, len(places) // 2, len(places) - 1}:
        np.testing.assert_allclose(bag[k], sift_of_patch(grey, *places[k], cell), atol=2e-5)


@pytest.mark.parametrize("cell, step", [(8, 16), (3, 7), (2, 10), (6, 4)])
def test_color_grid_is_its_definition(cell, step):
    image = photo(41, 50)
    bag = ColorGrid(cells=cell, step=step, scales=1).extract([image])[0]
    places = [(y, x) for y in corners(41, cell, step) for x in corners(50, cell, step)]
    expected = [color_of_patch(image, *place, cell) for place in places]
    np.testing.assert_allclose(bag, expected, atol=1e-6)


def test_the_default_grid_has_the_published_counts():
    # 500 × 375: 660 + 315 + 140 + 70 + 24, and about 430 patches for 300 × 250
    assert DenseSift().count(375, 500) == 1209
    assert len(DenseSift().extract([photo(375, 500)])[0]) == 1209
    assert len(ColorGrid().extract([photo(375, 500)])[0]) == 1209
    assert 400 <= DenseSift().count(250, 300) <= 460
    # four sizes of patch every 10 pixels of a 256 × 256 image
    assert DenseSift(cells=(2, 4, 6, 8), step=10, scales=1).count(256, 256) == 25**2 + 25**2 + 24**2 + 23**2


def test_levels_follow_the_ratio():
    assert checked_grid(8, 16, 5, 2**0.5, 512).sizes(375, 500) == [
        (375, 500),
        (265, 354),
        (187, 250),
        (133, 177),
        (94, 125),
    ]
    assert checked_grid(8, 16, 5, 2.0, 512).sizes(3000, 4000)[0] == (384, 512)
    assert checked_grid(8, 16, 5, 2.0, 512).sizes(1, 100000) == [(32, 512)]
    assert checked_grid(2, 16, 5, 2.0, 512).sizes(3, 9) == [(8, 9)]


@given(st.integers(1, 90), st.integers(1, 90), st.sampled_from([8, 3, (2, 5)]), st.integers(1, 20))
def test_counts_and_lengths(height, width, cells, step):
    image = photo(height, width)
    feature = DenseSift(cells=cells, step=step, scales=2)
    bag = feature.extract([image])[0]
    assert len(bag) == feature.count(height, width) >= 1
    lengths = np.linalg.norm(bag, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    assert (bag >= 0).all()


def test_flat_patches_stay_as_zeros():
    image = np.full((96, 96, 3), 130, np.uint8)
    assert not DenseSift().extract([image]).values.any()
    image[:48] = photo(48, 96)
    lengths = np.linalg.norm(DenseSift(scales=1).extract([image])[0], axis=1)
    assert (lengths == 0).any()
    assert (lengths > 0.9).any()


def test_brightness_and_contrast_do_not_matter():
    grey = photo(64, 64)[:, :, :1] // 2
    image, brighter = np.repeat(grey, 3, 2), np.repeat(grey + 40, 3, 2)
    stronger = np.repeat(2 * grey, 3, 2)
    base = DenseSift(scales=1).extract([image]).values
    np.testing.assert_allclose(DenseSift(scales=1).extract([brighter]).values, base, atol=1e-5)
    np.testing.assert_allclose(DenseSift(scales=1).extract([stronger]).values, base, atol=1e-5)


def test_a_quarter_turn_turns_the_directions():
    image = photo(32, 32)
    cells = DenseSift(scales=1).extract([image])[0].reshape(4, 4, 8)
    turned = DenseSift(scales=1).extract([np.rot90(image, -1)])[0].reshape(4, 4, 8)  # clockwise
    expected = np.roll(np.rot90(cells, -1), 2, axis=2)
    np.testing.assert_allclose(turned, expected, atol=1e-5)


def test_flat_colours_have_no_spread():
    image = np.zeros((40, 40, 3), np.uint8)
    image[:] = (255, 51, 0)
    cells = ColorGrid().extract([image]).values.reshape(-1, 6)
    np.testing.assert_allclose(cells, np.tile([1, 0.2, 0, 0, 0, 0], (len(cells), 1)), atol=1e-7)


@pytest.mark.parametrize("kind", [DenseSift, ColorGrid])
def test_positions_are_the_middles_of_the_patches(kind):
    image = photo(48, 80)
    plain, placed = kind(scales=2).extract([image])[0], kind(scales=2, positions=True).extract([image])[0]
    np.testing.assert_array_equal(placed[:, :-2], plain)
    x, y = placed[:8, -2], placed[:8, -1]
    np.testing.assert_allclose(x, [16 / 80, 32 / 80, 48 / 80, 64 / 80] * 2)
    np.testing.assert_allclose(y, [16 / 48] * 4 + [32 / 48] * 4)
    assert ((placed[:, -2:] > 0) & (placed[:, -2:] < 1)).all()


def test_axis_shares_cells():
    grid = axis(64, 8, 16)
    assert grid.starts.tolist() == [0, 8, 16, 24, 32, 40, 48, 56]
    assert grid.starts[grid.index].tolist() == [[0, 8, 16, 24], [16, 24, 32, 40], [32, 40, 48, 56]]


@pytest.mark.parametrize("kind", [DenseSift, ColorGrid])
def test_settings(kind):
    variants = [{}, {"cells": 4}, {"cells": (4, 8)}, {"step": 8}, {"scales": 3}, {"ratio": 2.0}]
    variants += [{"longest": 300}, {"positions": True}]
    assert len({kind(**v).fingerprint for v in variants}) == len(variants)
    for wrong, message in [
        ({"cells": 0}, "cells must be"),
        ({"cells": ()}, "cells must be"),
        ({"step": 0}, "step and scales"),
        ({"scales": 0}, "step and scales"),
        ({"ratio": 1.0}, "ratio above 1"),
        ({"longest": 20}, "longest must hold"),
    ]:
        with pytest.raises(ValueError, match=message):
            kind(**wrong)
