import numpy as np
import pytest
from PIL import Image, ImageFilter

from lookalike.bags import Bags
from lookalike.features import SparseMultiscalePatches, patch_bands
from lookalike.similarity import PatchDissimilarity, knn_jensen_shannon, knn_kl


def pictures(n, size=64, seed=0):
    """Smooth random pictures of different colours and grain."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        noise = rng.integers(0, 256, (size, size, 3)).astype(np.uint8)
        out.append(np.asarray(Image.fromarray(noise).filter(ImageFilter.GaussianBlur(0.5 + i % 5))))
    return out


@pytest.fixture(scope="module")
def patches():
    return SparseMultiscalePatches().extract(pictures(12))


def by_formula(a, b, k=5, weights=(1, 1, 1, 1)):
    bands = zip(weights, patch_bands(a), patch_bands(b))
    return sum(w * knn_kl(p[0].astype(float), q[0].astype(float), k, floor=0.5) for w, p, q in bands if w)


@pytest.mark.parametrize("direction", ["query_first", "collection_first"])
def test_it_is_the_weighted_sum_over_bands(patches, direction):
    for weights in (None, (1, 0, 2, 0.5)):
        S = PatchDissimilarity(n_neighbors=5, direction=direction, weights=weights).fit(patches)
        got = S.pairwise(patches[:3])
        for i in range(3):
            for j in range(12):
                a, b = patches[[i]], patches[[j]]
                a, b = (a, b) if direction == "query_first" else (b, a)
                want = by_formula(a, b, 5, (1, 1, 1, 1) if weights is None else weights)
                assert got[i, j] == pytest.approx(want, abs=2e-3)


def test_the_symmetric_form(patches):
    S = PatchDissimilarity(n_neighbors=5, divergence="jensen_shannon").fit(patches)
    got = S.pairwise(patches[:2])
    bands = [patch_bands(patches[[i]]) for i in range(3)]
    want = sum(knn_jensen_shannon(p[0], q[0], 5, floor=0.5) for p, q in zip(bands[1], bands[2]))
    assert got[1, 2] == pytest.approx(want, abs=1e-6)
    assert got[0, 1] == pytest.approx(got[1, 0], abs=1e-6)
    # A first look takes every eighth point of both.
    look = PatchDissimilarity(n_neighbors=5, divergence="jensen_shannon", preselect="sample").fit(patches)
    first = look.first_look(patches[:2])
    assert (first != got).any() and first.argmin(axis=1).tolist() == [0, 1]
    assert np.corrcoef(first.ravel(), got.ravel())[0, 1] > 0.9


@pytest.mark.parametrize("direction", ["query_first", "collection_first"])
def test_an_image_is_nearest_to_itself(direction):
    # A flat image, copies, and a blurred one that hugs its original.
    images = [*pictures(6), np.full((64, 64, 3), 9, np.uint8), *pictures(2)]
    bags = SparseMultiscalePatches().extract(images)
    S = PatchDissimilarity(direction=direction).fit(bags)
    order, values = S.rank(bags)
    assert (values[:, :-1] <= values[:, 1:]).all()
    assert order[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    assert order[7, 1] == 7 and order[0, 1] == 7


@pytest.mark.parametrize("preselect", ["lowpass", "sample"])
def test_preselection_reorders_only_its_candidates(patches, preselect):
    full = PatchDissimilarity(n_neighbors=5).fit(patches)
    whole = full.rank(patches)
    all_in = PatchDissimilarity(n_neighbors=5, preselect=preselect, n_candidates=12).fit(patches)
    np.testing.assert_array_equal(all_in.rank(patches)[0], whole[0])
    few = PatchDissimilarity(n_neighbors=5, preselect=preselect, n_candidates=4).fit(patches)
    order, values = few.rank(patches)
    assert np.isnan(values[:, 4:]).all() and np.isfinite(values[:, :4]).all()
    first = np.stack([few._first_look([b[i] for b in few._bands]) for i in range(12)])
    np.testing.assert_array_equal(np.sort(order[:, :4]), np.sort(first[:, :4]))
    np.testing.assert_array_equal(order[:, 4:], first[:, 4:])
    np.testing.assert_array_equal(first, np.argsort(few.first_look(patches), axis=1, kind="stable"))
    assert np.array_equal(full.first_look(patches[:2]), full.pairwise(patches[:2]))
    assert order.shape == (12, 12) and all(len(set(row)) == 12 for row in order)
    distances, ids = few.kneighbors(patches[:2], 3)
    assert distances.shape == ids.shape == (2, 3)


def test_threads_change_nothing(patches):
    one = PatchDissimilarity(n_neighbors=5).fit(patches).pairwise(patches)
    two = PatchDissimilarity(n_neighbors=5, n_jobs=2).fit(patches).pairwise(patches)
    np.testing.assert_array_equal(one, two)


def test_small_images_and_grey_ones():
    rng = np.random.default_rng(0)
    tiny = [rng.integers(0, 256, (n, n, 3)).astype(np.uint8) for n in (4, 8, 20, 40)]
    grey = [np.repeat(rng.integers(0, 256, (64, 64, 1)), 3, 2).astype(np.uint8) for _ in range(2)]
    bags = SparseMultiscalePatches().extract([*tiny, *grey])
    for direction in ("query_first", "collection_first"):
        S = PatchDissimilarity(direction=direction).fit(bags)
        order, values = S.rank(bags)
        assert not np.isnan(values).any()
        assert order[2:, 0].tolist() == [2, 3, 4, 5]
    # Two grey images are compared in a third of the coordinates.
    a, b = bags[[4]], bags[[5]]
    thirds = [Bags(x.values[:, : x.dim // 3], x.offsets) for x in (*patch_bands(a), *patch_bands(b))]
    want = sum(knn_kl(thirds[j][0], thirds[j + 4][0], floor=0.5) for j in range(4))
    assert PatchDissimilarity().fit(b).pairwise(a)[0, 0] == pytest.approx(want, abs=1e-3)


def test_refuses_what_has_no_meaning(patches):
    with pytest.raises(ValueError, match="four numbers"):
        PatchDissimilarity(weights=[1, 2]).fit(patches)
    with pytest.raises(ValueError, match="28"):
        PatchDissimilarity().fit(Bags.from_list([np.ones((3, 5))]))
    with pytest.raises(ValueError, match="direction"):
        PatchDissimilarity(direction="up").fit(patches)
    assert PatchDissimilarity().fit(patches).pairwise(patches[:0]).shape == (0, 12)
