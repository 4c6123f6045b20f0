import numpy as np
import pytest
from scipy.ndimage import convolve1d

from lookalike.features import SparseMultiscalePatches, get_feature, patch_bands
from lookalike.features._sparse_multiscale_patches import expand, largest, pyramid, reduce, to_yuv

W = np.array([1, 4, 6, 4, 1]) / 16


def picture(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def smooth(plane, mode):
    return convolve1d(convolve1d(plane, W, axis=0, mode=mode), W, axis=1, mode=mode)


def reduce_by_hand(plane, mode):
    return smooth(plane, mode)[::2, ::2]


def expand_by_hand(plane, shape, mode):
    wide = np.zeros(shape)
    wide[::2, ::2] = plane
    return 4 * smooth(wide, mode)


@pytest.mark.parametrize("shape", [(32, 48), (33, 48), (17, 19), (6, 5)])
@pytest.mark.parametrize("wrap, mode", [(False, "mirror"), (True, "wrap")])
def test_the_pyramid_is_that_of_the_convolutions(shape, wrap, mode):
    if wrap and (shape[0] % 2 or shape[1] % 2):
        pytest.skip("a circle of odd length has no coarser one")
    plane = np.random.default_rng(0).normal(size=shape)
    small = reduce(plane[None], wrap=wrap)[0]
    assert small == pytest.approx(reduce_by_hand(plane, mode), abs=1e-12)
    assert expand(small[None], shape, wrap=wrap)[0] == pytest.approx(
        expand_by_hand(small, shape, mode), abs=1e-12
    )


@pytest.mark.parametrize("shape", [(64, 96), (50, 37), (9, 9), (2, 3), (1, 1)])
def test_the_pyramid_is_rebuilt_exactly(shape):
    planes = np.random.default_rng(0).normal(size=(3, *shape))
    bands, low, _ = pyramid(planes)
    for band in bands[::-1]:
        low = band + expand(low, band.shape[1:])
    assert low == pytest.approx(planes, abs=1e-10)


def test_a_constant_image_has_empty_bands():
    bands, low, above = pyramid(to_yuv(np.full((40, 56, 3), 77, np.uint8)).astype(float))
    assert max(np.abs(band).max() for band in [*bands, above]) < 1e-10
    assert low[0] == pytest.approx(77, abs=1e-4) and low[1:] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("shape", "counts"),
    [((256, 384), [1536, 768, 384, 1536]), ((480, 640), [4800, 2400, 1200, 4800])],
)
def test_shapes_and_counts_of_the_thesis(shape, counts):
    bands = patch_bands(SparseMultiscalePatches().extract([picture(*shape)]))
    assert [int(band.sizes[0]) for band in bands] == counts
    assert [band.dim for band in bands] == [18, 18, 18, 27]


def by_hand(image, shares):
    """Every patch of every band, by loops."""
    yuv = to_yuv(image).astype(float)
    bands, low, above = pyramid(yuv)
    out = []
    for band, parent, share in zip(bands, [bands[1], bands[2], above], shares):
        _, h, w = band.shape
        at = lambda i, n: abs(i) if i < n else 2 * n - 2 - i  # noqa: E731
        patches = np.array(
            [
                [
                    v
                    for c in range(3)
                    for v in (
                        band[c, y, x],
                        band[c, y, at(x - 1, w)],
                        band[c, y, at(x + 1, w)],
                        band[c, at(y - 1, h), x],
                        band[c, at(y + 1, h), x],
                        parent[c, y // 2, x // 2],
                    )
                ]
                for y in range(h)
                for x in range(w)
            ]
        )
        out.append((patches, round(share * h * w)))
    return out, low


def test_patches_and_their_selection_are_those_of_loops():
    image = picture(24, 32)
    shares = (1 / 16, 1 / 8, 1 / 4)
    got = patch_bands(SparseMultiscalePatches(shares=shares).extract([image]))
    want, low = by_hand(image, shares)
    for band, (patches, n) in zip(got, want):
        energy = (patches**2).sum(axis=1)
        chosen = np.sort(np.argsort(-energy, kind="stable")[:n])
        assert band[0] == pytest.approx(patches[chosen], abs=0.009)
        assert energy[chosen].min() >= np.delete(energy, chosen).max()
    padded = np.pad(low, ((0, 0), (1, 1), (1, 1)), mode="reflect")
    windows = [padded[:, y : y + 3, x : x + 3].ravel() for y in range(3) for x in range(4)]
    assert got[3][0] == pytest.approx(np.array(windows), abs=0.009)


def test_a_circular_shift_permutes_the_patches():
    image = picture(64, 64)
    # Eight pixels are one of the low-pass image, but half of one in the level above: use the other parent.
    feature = SparseMultiscalePatches(border="circular", parent="lowpass")
    bands = [patch_bands(feature.extract([np.roll(image, s, (0, 1))])) for s in (0, 8)]
    for a, b in zip(*bands):
        order = [np.lexsort(x[0].T) for x in (a, b)]
        np.testing.assert_array_equal(a[0][order[0]], b[0][order[1]])


def test_borders_and_small_or_large_images():
    valid = patch_bands(SparseMultiscalePatches(border="valid").extract([picture(32, 32)]))
    assert valid[3].sizes[0] == 4  # the inside of a 4 x 4 low-pass image
    for shape in ((1, 1), (2, 7), (8, 8)):
        for border in ("mirror", "valid", "circular"):
            bag = SparseMultiscalePatches(border=border).extract([picture(*shape)])
            assert np.isfinite(bag.values).all()
    large = SparseMultiscalePatches(longest=64).extract([picture(128, 256)])
    assert patch_bands(large)[3].sizes[0] == 8 * 4
    grey = SparseMultiscalePatches().extract([np.repeat(picture(64, 64)[:, :, :1], 3, 2)])
    assert not patch_bands(grey)[3].values[:, 9:].any()  # no colour


def test_packing_loses_nothing():
    feature = get_feature("sparse-multiscale-patches")
    bag = feature.extract([picture(64, 64)])[0]
    stored = feature.pack(bag)
    assert stored.dtype == np.int16
    assert (feature.unpack(stored) == bag).all()
    assert feature.pack(np.array([-600.0, 600.0])).tolist() == [-32768, 32767]


def test_the_largest_are_chosen_stably():
    assert largest(np.array([1.0, 3, 2, 3, 3]), 2).tolist() == [1, 3]
    assert largest(np.array([5.0]), 0).tolist() == []


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"shares": (1, 1)}, "three numbers"),
        ({"border": "none"}, "border must"),
        ({"parent": "none"}, "parent must"),
        ({"longest": 4}, "at least 16"),
    ],
)
def test_refuses_settings_without_meaning(settings, says):
    with pytest.raises(ValueError, match=says):
        SparseMultiscalePatches(**settings)
