import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.special import digamma
from scipy.stats import ortho_group

from lookalike.errors import LookalikeWarning
from lookalike.similarity import knn_cross_entropy, knn_entropy, knn_jensen_shannon, knn_kl
from lookalike.similarity._knn_divergence import kth_distances


def by_tree(P, Q, k):
    return cKDTree(Q).query(P, [k])[0][:, 0]


def normals(n, d, seed, shift=0.0):
    P = np.random.default_rng(seed).normal(size=(n, d))
    P[:, 0] += shift
    return P


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize(
    "n, m, d, k", [(300, 1536, 18, 10), (50, 200, 27, 3), (5, 7, 1, 7), (9, 130, 40, 100)]
)
def test_distances_are_those_of_a_tree(n, m, d, k, dtype, tolerance):
    P, Q = normals(n, d, 0).astype(dtype), normals(m, d, 1).astype(dtype)
    assert kth_distances(P, Q, k) == pytest.approx(by_tree(P, Q, k), rel=tolerance)


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 40), st.integers(1, 6))
def test_distances_with_many_ties_are_those_of_a_sort(seed, m, k, levels):
    rng = np.random.default_rng(seed)
    P, Q = (rng.integers(levels, size=(n, 3)).astype(float) for n in (4, m))
    k = min(k, m)
    every = np.sort(np.linalg.norm(P[:, None] - Q[None], axis=2), axis=1)
    assert kth_distances(P, Q, k) == pytest.approx(every[:, k - 1])


def test_the_divergence_is_cross_entropy_less_entropy_and_that_of_the_thesis():
    P, Q, k = normals(500, 3, 0), normals(400, 3, 1, 0.5), 7
    own, other = by_tree(P, P, k + 1), by_tree(P, Q, k)
    want = np.log(400 / 499) + 3 * np.log(other).mean() - 3 * np.log(own).mean()
    assert knn_kl(P, Q, k) == pytest.approx(want, abs=1e-9)
    assert knn_cross_entropy(P, Q, k) - knn_entropy(P, k) == pytest.approx(want, abs=1e-12)
    # (2.9) and (2.10) differ from (2.11) and (2.12) by constants.
    bias = np.log(k) - digamma(k)
    assert knn_cross_entropy(P, Q, k) - knn_cross_entropy(P, Q, k, corrected=False) == pytest.approx(bias)
    gap = knn_entropy(P, k) - knn_entropy(P, k, corrected=False)
    assert gap == pytest.approx(bias + np.log(499 / 500))


def test_it_is_unchanged_by_a_common_isometry_and_scale():
    P, Q = normals(300, 5, 0), normals(200, 5, 1, 1.0)
    Q[:20] = Q[20:40]
    turn = ortho_group.rvs(5, random_state=0)
    for scale in (1e-3, 7.0):
        moved = knn_kl(P @ turn * scale + 3 * scale, Q @ turn * scale + 3 * scale)
        assert moved == pytest.approx(knn_kl(P, Q), abs=1e-9)


@pytest.mark.parametrize("d", [2, 6, 18])
def test_two_samples_of_one_density_are_near_zero(d):
    assert abs(knn_kl(normals(4000, d, 0), normals(4000, d, 1))) < 0.1


def test_closed_forms_of_normal_densities():
    P, Q = normals(4000, 2, 0), normals(4000, 2, 1, 1.0)
    assert knn_kl(P, Q) == pytest.approx(0.5, abs=0.06)
    assert knn_entropy(P) == pytest.approx(np.log(2 * np.pi * np.e), abs=0.05)
    assert 0 < knn_jensen_shannon(P, Q) < np.log(2)
    assert knn_jensen_shannon(P, Q) == pytest.approx(knn_jensen_shannon(Q, P), abs=1e-12)
    far = Q + 100
    assert knn_jensen_shannon(P, far) == pytest.approx(np.log(2), abs=0.01)


@pytest.mark.parametrize("d", [2, 6, 18])
def test_a_set_against_itself(d):
    P = normals(4000, d, 0)
    assert knn_kl(P, P, k=10) == pytest.approx(-1 / 9, abs=0.03)
    # With the point itself left out on both sides (11 neighbours, less itself) only the counts remain.
    far, near = kth_distances(P, P, 11), by_tree(P, P, 11)
    both = np.log(4000 / 3999) + d * np.mean(np.log(far / near))
    assert both == pytest.approx(np.log(4000 / 3999), abs=1e-12)


def test_copies_meet_the_floor():
    P, Q = normals(100, 3, 0), normals(100, 3, 1)
    copied = np.repeat(Q[:5], 20, axis=0)
    assert np.isfinite(knn_kl(P, copied)) and np.isfinite(knn_kl(copied, P))
    low, high = knn_kl(copied, P, floor=1e-3), knn_kl(copied, P, floor=1e-1)
    assert low - high == pytest.approx(3 * np.log(100))
    one = np.ones((50, 4))
    assert knn_kl(one, one) == pytest.approx(np.log(50 / 49))
    assert knn_kl(one, one, floor=0.5) == pytest.approx(np.log(50 / 49))


def test_constant_coordinates_do_not_count():
    P, Q = normals(200, 3, 0), normals(200, 3, 1)
    wide = [np.hstack([X, np.full((200, 2), 4.0)]) for X in (P, Q)]
    assert knn_kl(*wide) == pytest.approx(knn_kl(P, Q), abs=1e-9)


def test_small_sets_reduce_k_with_a_warning():
    P = normals(4, 2, 0)
    with pytest.warns(LookalikeWarning, match="reduced to 3"):
        assert knn_kl(P, normals(9, 2, 1), k=10) == pytest.approx(knn_kl(P, normals(9, 2, 1), k=3))


@pytest.mark.parametrize(
    ("P", "Q", "k", "says"),
    [
        (np.ones((1, 2)), np.ones((3, 2)), 1, "minimum of 2"),
        (np.ones((3, 2)), np.ones((3, 3)), 1, "2 coordinates"),
        (np.ones((3, 2)), np.full((3, 2), np.inf), 1, "infinity"),
        (np.ones((3, 2)), np.ones((3, 2)), 0, "at least 1"),
    ],
)
def test_refuses_what_has_no_meaning(P, Q, k, says):
    with pytest.raises(ValueError, match=says):
        knn_kl(P, Q, k)
