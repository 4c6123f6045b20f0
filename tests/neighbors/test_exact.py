"""The exact search against a literal one in float64, on data that is made to trouble it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from lookalike.neighbors import ExactIndex, KNNGraph, exact_neighbors
from lookalike.neighbors import _exact_kernels as kernels


def literal(block, k, exclude_self=False):
    block = np.array(block, dtype=np.float64)
    if exclude_self:
        np.fill_diagonal(block, np.inf)
    order = np.argsort(block, axis=1, kind="stable")[:, : min(k, block.shape[1] - exclude_self)]
    return np.take_along_axis(block, order, axis=1), order


def literal_distances(X, Y, metric):
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    gap, mass = np.abs(X[:, None] - Y[None]), X[:, None] + Y[None]
    return {
        "euclidean": lambda: np.sqrt((gap**2).sum(-1)),
        "manhattan": lambda: gap.sum(-1),
        "intersection": lambda: gap.sum(-1) / 2,
        "chi2": lambda: np.divide(gap**2, mass, out=np.zeros_like(gap), where=mass > 0).sum(-1),
        "canberra": lambda: np.divide(gap, mass, out=np.zeros_like(gap), where=mass > 0).sum(-1),
        "lorentzian": lambda: np.log1p(gap).sum(-1),
        "cosine": lambda: cdist(X, Y, "cosine"),
    }[metric]()


METRICS = ["euclidean", "cosine", "manhattan", "intersection", "chi2", "canberra", "lorentzian"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_the_literal_search(metric, dtype):
    rng = np.random.default_rng(0)
    base = rng.random((300, 7)).astype(dtype)
    queries = rng.random((90, 7)).astype(dtype)
    distances, indices = exact_neighbors(queries, base, n_neighbors=9, metric=metric)
    expected, order = literal(literal_distances(queries, base, metric), 9)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-6 if dtype == np.float32 else 1e-10, atol=1e-12)
    assert distances.dtype == dtype


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_agrees_with_scikit_learn_over_several_blocks_and_threads(metric):
    X = np.random.default_rng(1).normal(size=(5000, 24)).astype(np.float32)
    _, indices = exact_neighbors(X[:700], X, n_neighbors=12, metric=metric, n_jobs=2)
    peer = NearestNeighbors(n_neighbors=12, metric=metric, algorithm="brute").fit(X.astype(float))
    np.testing.assert_array_equal(indices, peer.kneighbors(X[:700].astype(float), return_distance=False))


def test_far_from_the_origin_no_digits_cancel():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 5)) + 1e7
    distances, indices = exact_neighbors(X, n_neighbors=5)
    expected, order = literal(cdist(X, X), 5, exclude_self=True)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 70), st.integers(1, 3))
def test_ties_go_to_the_lower_index_and_nobody_is_its_own_neighbour(seed, n, k, levels):
    X = np.random.default_rng(seed).integers(0, levels, size=(n, 3)).astype(np.float32)
    for metric in ("euclidean", "manhattan"):
        distances, indices = exact_neighbors(X, n_neighbors=k, metric=metric)
        expected, order = literal(literal_distances(X, X, metric), k, exclude_self=True)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_allclose(distances, expected, rtol=1e-6)
        assert not (indices == np.arange(n)[:, None]).any()


def test_many_duplicates_beyond_the_spare_candidates():
    X = np.repeat(np.random.default_rng(3).normal(size=(4, 6)), 100, axis=0).astype(np.float32)
    _, indices = exact_neighbors(X, n_neighbors=7)
    np.testing.assert_array_equal(indices[0], [1, 2, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(indices[150], [100, 101, 102, 103, 104, 105, 106])
    _, indices = exact_neighbors(np.full((300, 4), 0.1, np.float32), n_neighbors=3)
    np.testing.assert_array_equal(indices[[0, 5]], [[1, 2, 3], [0, 1, 2]])


def test_one_far_outlier_hides_nobody():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 8)).astype(np.float32)
    X[77] = 1e6
    _, indices = exact_neighbors(X, n_neighbors=6)
    np.testing.assert_array_equal(indices, literal(cdist(X.astype(float), X.astype(float)), 6, True)[1])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_unit_does_not_matter(scale, metric):
    X = np.random.default_rng(5).normal(size=(100, 4))
    d1, i1 = exact_neighbors(X, n_neighbors=4, metric=metric)
    d2, i2 = exact_neighbors(X * scale, n_neighbors=4, metric=metric)
    np.testing.assert_array_equal(i1, i2)
    np.testing.assert_allclose(d2 / (scale if metric == "euclidean" else 1), d1, rtol=1e-9)


def test_a_zero_vector_is_at_cosine_distance_one_of_all():
    X = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [-1, -1.0]])
    distances, indices = exact_neighbors(X, n_neighbors=2, metric="cosine")
    assert indices[0].tolist() == [1, 2] and distances[0].tolist() == [1.0, 1.0]
    assert indices[1, 0] == 2 and 0 in indices[1]


def test_other_metrics_by_name_and_by_function():
    X = np.random.default_rng(6).normal(size=(50, 3))
    by_name = exact_neighbors(X, n_neighbors=4, metric="chebyshev")
    by_function = exact_neighbors(X, n_neighbors=4, metric=lambda a, b: np.abs(a - b).max())
    np.testing.assert_array_equal(by_name[1], by_function[1])
    np.testing.assert_array_equal(by_name[1], literal(cdist(X, X, "chebyshev"), 4, True)[1])
    with pytest.raises(ValueError, match="not defined"):
        exact_neighbors(np.zeros((3, 2)), n_neighbors=1, metric="correlation")


def test_shapes_where_there_are_few_points_and_words_where_arguments_are_wrong():
    d, i = exact_neighbors([[1.0, 2.0]], n_neighbors=3)
    assert d.shape == i.shape == (1, 0)
    assert exact_neighbors([[1.0]], [[1.0], [2.0]], n_neighbors=9)[1].tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="at least 1"):
        exact_neighbors([[1.0], [2.0]], n_neighbors=0)
    with pytest.raises(ValueError, match="3 columns"):
        ExactIndex([[1.0]]).query([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="negative"):
        ExactIndex([[-1.0]], metric="chi2")
    with pytest.raises(ValueError, match="negative"):
        ExactIndex([[1.0]], metric="chi2").query([[-1.0]])
    with pytest.raises(ValueError, match="NaN"):
        exact_neighbors([[np.nan], [1.0]])


def test_progress_counts_every_query():
    steps = []
    exact_neighbors(np.random.default_rng(0).random((600, 3)), n_neighbors=2, progress=steps.append)
    assert [s.done for s in steps] == [256, 512, 600] and steps[-1].fraction == 1.0


def test_the_compiled_loops_equal_their_numpy_twins():
    rng = np.random.default_rng(7)
    products, constants = rng.normal(size=(5, 150)).astype(np.float32), rng.random(150).astype(np.float32)
    skip = np.array([3, -1, 70, -1, 149])
    values, indices = np.full((5, 4), np.inf, np.float32), np.full((5, 4), 150)
    kernels.fold_products.py_func(products[:, :80], constants[:80], 0, skip, values, indices)
    kernels.fold_products(products[:, 80:].copy(), constants[80:], 80, skip, values, indices)
    twin = constants - products
    twin[skip >= 0, skip[skip >= 0]] = np.inf
    np.testing.assert_array_equal(indices, np.argsort(twin, axis=1, kind="stable")[:, :4])
    v2, i2 = np.full((5, 4), np.inf), np.full((5, 4), 150)
    kernels.fold_distances(twin.astype(float), 0, skip, v2, i2)
    np.testing.assert_array_equal(i2, indices)


def test_graph_shapes_sharing_and_sparse_form():
    X = np.random.default_rng(8).normal(size=(40, 3))
    graph = KNNGraph.build(X, n_neighbors=6)
    assert len(graph) == 40 and graph.n_neighbors == 6
    small = graph.truncate(2)
    np.testing.assert_array_equal(small.indices, KNNGraph.build(X, n_neighbors=2).indices)
    assert np.shares_memory(small.indices, graph.indices) and graph.truncate(9) is graph
    sparse = graph.to_sparse()
    assert sparse.shape == (40, 40) and sparse.nnz == 240
    np.testing.assert_allclose(sparse.toarray()[5, graph.indices[5]], graph.distances[5])
    assert graph.to_sparse(connectivity=True).sum() == 240
    pre = KNNGraph.build(cdist(X, X), n_neighbors=6, metric="precomputed")
    np.testing.assert_array_equal(pre.indices, graph.indices)
    assert KNNGraph.build([[1.0]], n_neighbors=3).to_sparse().nnz == 0


def test_a_subset_of_the_graph_keeps_whom_it_can():
    X = np.random.default_rng(9).normal(size=(30, 2))
    graph = KNNGraph.build(X, n_neighbors=29)
    points = np.array([3, 4, 8, 15, 16, 23])
    part = graph.subset(points)
    whole = KNNGraph.build(X[points], n_neighbors=5)
    np.testing.assert_array_equal(part.indices[:, :5], whole.indices)
    np.testing.assert_allclose(part.distances[:, :5], whole.distances)
    assert (part.indices[:, 5:] == -1).all() and np.isinf(part.distances[:, 5:]).all()
    assert part.to_sparse().nnz == 30
    assert (part.subset(np.array([0, 1])).indices[:, 1:] == -1).all()


def test_graph_refuses_what_is_not_one():
    with pytest.raises(ValueError, match="one shape"):
        KNNGraph(np.zeros((2, 1), np.int32), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="must lie"):
        KNNGraph(np.full((2, 1), 7, np.int32), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="square"):
        KNNGraph.build(np.zeros((2, 3)), metric="precomputed")
