"""Outlines, textures and the thing in the middle."""

import numpy as np
import PIL.Image
import pytest

from lookalike.errors import LookalikeError
from lookalike.features import (
    ColorHistogram,
    Hog,
    JoinedFeature,
    LocalBinaryPatterns,
    foreground,
    get_feature,
)
from lookalike.features._pixels import resize


def noise(height=96, width=96, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_hog_agrees_with_scikit_images_on_directions():
    skimage = pytest.importorskip("skimage.feature")
    ramp = np.tile(np.arange(128, dtype=np.uint8)[:, None] * 2, (1, 128))
    image = np.repeat(ramp[:, :, None], 3, axis=2)
    ours = Hog(cells=8, orientations=8).extract([image])[0].reshape(-1, 8).sum(0)
    theirs = skimage.hog(ramp, orientations=8, pixels_per_cell=(16, 16), cells_per_block=(2, 2))
    theirs = theirs.reshape(-1, 8).sum(0)
    # A level edge: both vote where 90 degrees lies, ours shared between the two middles beside it.
    assert set(np.argsort(ours)[-2:]) == {3, 4} and theirs.argmax() in (3, 4)
    assert ours[[0, 1, 2, 5, 6, 7]].sum() < 1e-5 * ours.sum()


def test_hog_by_its_definition():
    image = noise(64, 64)
    feature = Hog(size=32, cells=4, orientations=6)
    grey = np.asarray(PIL.Image.fromarray(resize(image, 32, 32)).convert("L"), float)
    sums = np.zeros((4, 4, 6))
    for y in range(32):
        for x in range(32):
            gy = grey[min(y + 1, 31), x] - grey[max(y - 1, 0), x]
            gx = grey[y, min(x + 1, 31)] - grey[y, max(x - 1, 0)]
            place = (np.arctan2(gy, gx) % np.pi) * 6 / np.pi - 0.5
            low = int(np.floor(place))
            for k, share in ((low, 1 - (place - low)), (low + 1, place - low)):
                sums[y // 8, x // 8, k % 6] += np.hypot(gx, gy) * share
    blocks = []
    for a in range(3):
        for b in range(3):
            v = sums[a : a + 2, b : b + 2].ravel()
            v = np.minimum(v / np.sqrt((v**2).sum() + 1e-3), 0.2)
            blocks.append(v / np.sqrt((v**2).sum() + 1e-3))
    want = np.concatenate(blocks)
    np.testing.assert_allclose(feature.extract([image])[0], want / np.linalg.norm(want), atol=1e-5)


def test_hog_does_not_see_brightness():
    image = noise() // 2
    np.testing.assert_allclose(*Hog().extract([image, image + 100]), atol=1e-5)
    assert not Hog().extract([np.full((40, 40, 3), 7, np.uint8)]).any()
    with pytest.raises(ValueError, match="multiple"):
        Hog(size=100, cells=8)


def test_patterns_by_their_definition():
    image = noise(20, 30)
    grey = np.asarray(PIL.Image.fromarray(image).convert("L"), int)
    around = [(-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1)]
    seen, counts = {}, {}
    for code in range(256):
        bits = [code >> k & 1 for k in range(8)]
        changes = sum(bits[k] != bits[k - 1] for k in range(8))
        seen[code] = seen.get("next", 0) if changes <= 2 else "other"
        if changes <= 2:
            seen["next"] = seen.get("next", 0) + 1
    for y in range(20):
        for x in range(30):
            code = sum(
                (grey[min(max(y + dy, 0), 19), min(max(x + dx, 0), 29)] >= grey[y, x]) << k
                for k, (dy, dx) in enumerate(around)
            )
            counts[seen[code]] = counts.get(seen[code], 0) + 1
    want = np.sqrt([counts.get(k, 0) / 600 for k in [*range(58), "other"]])
    np.testing.assert_allclose(LocalBinaryPatterns(scales=1).extract([image])[0], want, atol=1e-6)


def test_patterns_do_not_see_brightness_and_have_length_one():
    image = noise() // 2
    vectors = LocalBinaryPatterns(grid=2).extract([image, image + 100])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(LocalBinaryPatterns().extract([image])), 1, atol=1e-5)
    with pytest.raises(ValueError, match="scales"):
        LocalBinaryPatterns(scales=0)


def test_the_thing_in_the_middle_is_found_by_its_colour():
    image = np.full((120, 160, 3), (40, 110, 50), np.uint8) + noise(120, 160) // 16
    y, x = np.mgrid[:120, :160]
    thing = ((y - 50) / 30) ** 2 + ((x - 90) / 40) ** 2 < 1
    image[thing] = (200, 60, 120)
    mask = foreground(image)
    assert mask.shape == (120, 160) and mask.min() >= 0 and mask.max() <= 1
    overlap = (mask > 0.5) & thing
    assert overlap.sum() / ((mask > 0.5) | thing).sum() > 0.85
    for odd in (np.zeros((1, 1, 3), np.uint8), noise(3, 400), np.full((50, 50, 3), 9, np.uint8)):
        assert np.isfinite(foreground(odd)).all()
    with pytest.raises(ValueError, match="rounds"):
        foreground(image, rounds=0)


def test_joined_features_are_their_parts():
    images = [noise(70, 90, s) for s in range(3)]
    parts = ["color-histogram", {"name": "hog", "settings": {"cells": 4}}]
    joined = JoinedFeature(features=parts)
    want = np.hstack([ColorHistogram().extract(images), Hog(cells=4).extract(images)])
    np.testing.assert_array_equal(joined.extract(images), want)
    assert joined.spans == [("color-histogram", "0:256"), ("hog", "256:580")]
    assert get_feature("joined", **joined.settings) == joined
    assert joined.fingerprint != JoinedFeature(features=["color-histogram", "hog"]).fingerprint
    with pytest.raises(ValueError, match="dense-sift"):
        JoinedFeature(features=["dense-sift"])
    with pytest.raises(ValueError, match="once"):
        JoinedFeature(features=["hog", "hog"])
    with pytest.raises(ValueError, match="names of features"):
        JoinedFeature(features=[])
    with pytest.raises(LookalikeError, match="no feature called"):
        JoinedFeature(features=["hgo"])
