import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lookalike.errors import LookalikeError
from lookalike.neighbors import (
    BregmanBallTree,
    BregmanBruteForce,
    BregmanNeighbors,
    BregmanVPTree,
    RandomSampleSearch,
)
from lookalike.neighbors import _bregman_kernels as kernels
from lookalike.neighbors import _bregman_neighbors as bregman_neighbors
from lookalike.neighbors import _bregman_own as own
from lookalike.neighbors._bregman_build import is_gaussian, two_seeds
from lookalike.neighbors._bregman_space import BregmanSpace
from lookalike.similarity import BregmanDivergence, bregman_pairwise, mahalanobis, natural_parameters
from lookalike.similarity._bregman import ITAKURA_SAITO, KL, SQUARED_EUCLID

COSH = BregmanDivergence("cosh", lambda x: np.cosh(x).sum(-1), np.sinh, np.arcsinh)
# The same functions under another name: the searches in Python, which the compiled ones must match.
TWINS = {
    d.name: BregmanDivergence(f"my {d.name}", d.generator, d.gradient, d.inverse_gradient, d.direct)
    for d in (SQUARED_EUCLID, KL, ITAKURA_SAITO)
}


def histograms(n, d, seed=0, clusters=12):
    """Clustered histograms, some of them twice."""
    rng = np.random.default_rng(seed)
    centres = rng.dirichlet(np.full(d, 0.7), clusters)
    X = np.stack([rng.dirichlet(40 * centres[c] + 0.05) for c in rng.integers(clusters, size=n)]) + 1e-6
    X /= X.sum(axis=1, keepdims=True)
    X[n // 2 : n // 2 + n // 10] = X[: n // 10]
    return X


def by_hand(X, Q, k, divergence, side):
    """Every divergence by its formula, sorted, equal ones by position."""
    d = bregman_pairwise(X, Q, divergence=divergence, side=side).T
    order = np.stack([np.lexsort((np.arange(len(X)), row)) for row in d])[:, :k]
    return np.take_along_axis(d, order, axis=1), d


def assert_exact(answer, X, Q, k, divergence, side):
    values, ids = answer
    want, every = by_hand(X, Q, k, divergence, side)
    assert values == pytest.approx(want, rel=1e-9, abs=1e-12)
    for i, row in enumerate(ids):
        assert len(set(row)) == k
        assert every[i, row] == pytest.approx(values[i], rel=1e-9, abs=1e-12)
    return ids


CASES = [
    ("kl", "right"),
    ("kl", "left"),
    ("kl", "jeffreys"),
    ("kl", "jensen"),
    ("sqeuclidean", "right"),
    ("sqeuclidean", "jensen"),
    ("itakura_saito", "right"),
    ("itakura_saito", "left"),
    ("itakura_saito", "jeffreys"),
    ("itakura_saito", "jensen"),
    ("exponential", "right"),
    ("exponential", "left"),
    ("exponential", "jeffreys"),
    ("exponential", "jensen"),
    ("multinomial", "right"),
    ("multinomial", "left"),
    ("multinomial", "jeffreys"),
]
SEARCHES = {
    "brute": BregmanBruteForce,
    "ball 2": lambda *a: BregmanBallTree(*a, leaf_size=10, branching=2, random_state=0),
    "ball 10": lambda *a: BregmanBallTree(*a, leaf_size=10, branching=10, random_state=1, held_out=20),
    "ball lloyd": lambda *a: BregmanBallTree(*a, leaf_size=10, branching=2, n_lloyd=10, random_state=2),
    "ball mixed": lambda *a: BregmanBallTree(*a, leaf_size=10, centre="mixed", random_state=3),
    "vantage": lambda *a: BregmanVPTree(*a, leaf_size=10, random_state=4),
    "vantage held": lambda *a: BregmanVPTree(*a, leaf_size=10, random_state=5, held_out=20),
}


@pytest.mark.parametrize("d", [4, 16])
@pytest.mark.parametrize("name, side", CASES)
def test_every_search_is_exact_with_ties_and_duplicates(name, side, d):
    X = histograms(400, d)
    Q = np.concatenate([histograms(25, d, seed=9), X[:5]])  # queries that are points, and duplicated ones
    if name in ("multinomial", "exponential"):
        X, Q = natural_parameters(X), natural_parameters(Q)
    first = None
    for search in SEARCHES.values():
        ids = assert_exact(search(X, name, side).query(Q, 4), X, Q, 4, name, side)
        first = ids if first is None else first
        # The same points in the same order, down to equal divergences.
        np.testing.assert_array_equal(ids, first)


@pytest.mark.parametrize("search", ["brute", "ball 2", "ball 10", "vantage", "vantage held"])
@pytest.mark.parametrize("divergence", [COSH, mahalanobis(np.diag([1.0, 2, 3, 4])), *TWINS.values()])
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_divergence_of_ones_own_is_exact_too(search, divergence, side):
    X = histograms(150, 4)
    Q = histograms(8, 4, seed=3)
    assert_exact(SEARCHES[search](X, divergence, side).query(Q, 3), X, Q, 3, divergence, side)


@pytest.mark.parametrize("search", ["ball 2", "vantage"])
@pytest.mark.parametrize("name", sorted(TWINS))
def test_compiled_searches_do_what_the_python_ones_do(search, name):
    X = np.random.default_rng(0).gamma(2.0, size=(200, 3)) + 0.1  # off the simplex
    Q = np.random.default_rng(1).gamma(2.0, size=(10, 3)) + 0.1
    fast, slow = SEARCHES[search](X, name), SEARCHES[search](X, TWINS[name])
    for budget in (1, 3, None):
        a, b = fast._search(Q, 2, budget, None), slow._search(Q, 2, budget, None)
        np.testing.assert_array_equal(a[1], b[1])
        assert a[0] == pytest.approx(b[0], rel=1e-9, abs=1e-12)
        if (name, search) != ("itakura_saito", "vantage"):  # Python visits where the domain ends
            np.testing.assert_array_equal(a[2], b[2])  # the same leaves, and the same work


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from(["kl", "sqeuclidean", "itakura_saito"]),
    st.sampled_from(["right", "left", "jeffreys", "jensen"]),
)
def test_small_lattices_full_of_ties(seed, n, d, name, side):
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(1, 4, (n, d)).astype(float), rng.integers(1, 4, (5, d)).astype(float)
    k = min(3, n)
    for tree in (BregmanBallTree, BregmanVPTree):
        got = tree(X, name, side, leaf_size=1, random_state=0).query(Q, k)
        ids = assert_exact(got, X, Q, k, name, side)
        np.testing.assert_array_equal(ids, BregmanBruteForce(X, name, side).query(Q, k)[1])


def test_query_on_the_boundary_of_a_ball():
    # All points on one sphere around the centre: every query point lies on the border of some ball.
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for tree in (BregmanBallTree, BregmanVPTree):
        got = tree(X, "sqeuclidean", leaf_size=4, random_state=0).query(X, 3)
        assert_exact(got, X, X, 3, "sqeuclidean", "right")


@pytest.mark.parametrize("side", ["right", "jeffreys", "jensen"])
def test_radius_queries_find_everything_within(side):
    X, Q = histograms(300, 4), histograms(10, 4, seed=5)
    every = bregman_pairwise(X, Q, side=side).T
    radii = np.quantile(every, 0.03, axis=1)
    for tree in (BregmanBallTree, BregmanVPTree):
        values, ids = tree(X, side=side, leaf_size=8, random_state=0).query_radius(
            Q, radii, return_divergence=True
        )
        for i in range(len(Q)):
            assert set(ids[i]) == set(np.flatnonzero(every[i] <= radii[i]))
            assert np.all(np.diff(values[i]) >= 0)
    tree = BregmanVPTree(X, TWINS["kl"], leaf_size=8, random_state=0)
    within = np.flatnonzero(bregman_pairwise(X, Q[:1])[:, 0] <= 0.1)
    assert set(tree.query_radius(Q[:1], 0.1)[0]) == set(within)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the optimiser tries points outside the domain
@pytest.mark.parametrize("name", ["kl", "itakura_saito", "exponential"])
def test_far_shells_and_balls_agree_with_a_numerical_projection(name):
    rng = np.random.default_rng(0)
    space = BregmanSpace(name, "right")
    d = space.divergence
    for _ in range(40):
        v, q = rng.gamma(2.0, size=(2, 3)) + 0.1
        radius, best = rng.uniform(0.05, 1.5, 2)
        args = (space.kernel(), v, space.aux(v), radius, q, space.aux(q), best)

        def extreme(sign, v=v, q=q, radius=radius):
            def where(z):
                return np.exp(z) if d.positive else z

            start = [np.log(v) if d.positive else v, np.log(q) if d.positive else q]
            limit = {"type": "ineq", "fun": lambda z: sign * (radius - d(where(z), v))}
            found = [minimize(lambda z: d(where(z), q), s, constraints=limit, method="SLSQP") for s in start]
            return min(f.fun for f in found if sign * (radius - d(where(f.x), v)) > -1e-6)

        if d(q, v) > radius:
            nearest = extreme(1)
            if abs(nearest - best) > 1e-3 * best:
                left = (args[0], v, space.aux(v), *args[1:])
                assert kernels.ball_misses(*left)[0] == (nearest > best)
        else:
            nearest = extreme(-1)
            if kernels.shell_misses(*args)[0]:
                assert nearest > best * (1 - 1e-3)


@pytest.mark.parametrize("name", ["kl", "itakura_saito"])
@pytest.mark.parametrize("mixed", [False, True])
def test_symmetrised_balls_agree_with_a_numerical_projection(name, mixed):
    rng = np.random.default_rng(1)
    space = BregmanSpace(name, "jeffreys", mixed=mixed)
    d, checked = space.divergence, 0
    for _ in range(25):
        points = rng.gamma(2.0, size=(6, 2)) + 0.1
        q = rng.gamma(2.0, size=2) + 0.1
        ball = space.ball(points, space.aux(points))

        def inside(z, ball=ball):
            return ball.radius - 0.5 * (d(ball.left, np.exp(z)) + d(np.exp(z), ball.right))

        if inside(np.log(q)) >= 0:
            continue
        objective = lambda z, q=q: 0.5 * (d(np.exp(z), q) + d(q, np.exp(z)))  # noqa: E731
        limit = {"type": "ineq", "fun": inside}
        nearest = minimize(
            objective, np.log(ball.right), constraints=limit, method="SLSQP", options={"ftol": 1e-14}
        ).fun
        for factor, miss in ((0.999, True), (1.001, False)):
            checked += 1
            got = kernels.ball_misses(space.kernel(), *ball, q, space.aux(q), nearest * factor)
            assert got[0] == miss
    assert checked > 10


def test_the_tree_keeps_its_invariants():
    X = histograms(900, 8)
    tree = BregmanBallTree(X, leaf_size=20, branching=10, random_state=0, held_out=40)
    nodes = tree.nodes
    assert sorted(tree.points.ids) == list(range(900))
    assert nodes.count.max() <= 10
    arity = nodes.count[nodes.count > 0].mean()
    assert arity == pytest.approx((tree.n_nodes_ - 1) / (tree.n_nodes_ - tree.n_leaves_))
    space = tree.space

    def rows(node):
        if nodes.count[node] == 0:
            return list(range(nodes.start[node], nodes.stop[node]))
        below = range(nodes.first[node], nodes.first[node] + nodes.count[node])
        return [r for child in below for r in rows(child)]

    seen = []
    for node in range(tree.n_nodes_):
        inside = rows(node)
        seen += inside if nodes.count[node] == 0 else []
        x, aux = tree.points.x[inside], tree.points.aux[inside]
        d = space.right(x, aux, nodes.right[node], nodes.right_aux[node])
        assert d.max() <= nodes.radius[node]
    assert sorted(seen) == list(range(900))


@pytest.mark.parametrize("leaf_size, depth, leaves", [(50, 11, 2048), (100, 10, 1024), (200, 9, 512)])
def test_vantage_trees_have_the_shapes_of_table_3_4(leaf_size, depth, leaves):
    X = np.random.default_rng(0).normal(size=(60_000, 2))
    tree = BregmanVPTree(X, "sqeuclidean", leaf_size=leaf_size, held_out=0, random_state=0)
    assert (tree.depth_, tree.n_leaves_, tree.build_cost_) == (depth, leaves, 60_000 * depth)


def test_lloyd_rounds_never_raise_the_potential():
    X = histograms(300, 6)
    space = BregmanSpace("kl", "right")
    x, aux = space.rows(X)
    space.fit(x, aux)
    costs = [two_seeds(space, x, aux, np.random.default_rng(7), n_lloyd=n)[1] for n in range(6)]
    assert np.all(np.diff(costs) <= 1e-9)


def test_the_test_of_normality():
    rng = np.random.default_rng(0)
    assert is_gaussian(rng.normal(size=400))
    assert not is_gaussian(np.concatenate([rng.normal(-4, 1, 200), rng.normal(4, 1, 200)]))
    assert is_gaussian(np.ones(50)) and is_gaussian(np.arange(5.0))


@pytest.mark.parametrize("tree", [BregmanBallTree, BregmanVPTree])
def test_a_budget_reports_its_recall_and_larger_ones_find_more(tree):
    X, Q = histograms(3000, 8, clusters=40), histograms(150, 8, seed=1, clusters=40)
    built = tree(X, leaf_size=30, random_state=0)
    true = built.query(Q, 5)[1]
    found = []
    for budget in (1, 4, 16, None):
        values, ids, expected = built.query(Q, 5, max_leaves=budget, return_recall=True)
        assert (values[:, :-1] <= values[:, 1:]).all()
        found.append(np.mean([len(set(a) & set(b)) / 5 for a, b in zip(ids, true)]))
        assert expected.n_queries == 150
    assert np.all(np.diff(found) > 0)
    assert found[-1] == 1.0 and expected.recall == 1.0
    cost = built.cost(Q, 5, max_leaves=1)
    assert cost.leaves == 1 and cost.leaf <= 31
    # Held-out points come from the same place as points of the tree.
    other = X[np.random.default_rng(3).choice(3000, 400, replace=False)] * 1.0
    rest = np.setdiff1d(np.arange(3000), np.flatnonzero((X[:, None] == other[None]).all(-1).any(1)))
    held = tree(X[rest], leaf_size=30, random_state=0)
    wanted, got = held.query(other, 5)[1], held.query(other, 5, max_leaves=4)[1]
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(got, wanted)])
    expected = held.expected_recall(5, 4)
    assert abs(recall - expected.recall) < 5 * expected.standard_error + 0.02


def test_random_samples_have_the_rank_they_promise():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    Q = np.random.default_rng(1).normal(size=(400, 3))
    every = bregman_pairwise(X, Q, divergence="sqeuclidean").T
    for rate in (0.05, 0.2):
        closer = []
        for seed in range(30):
            search = RandomSampleSearch(X, "sqeuclidean", rate=rate, random_state=seed)
            values, ids = search.query(Q)
            assert set(ids.ravel()) <= set(search.sample_)
            closer.append((every < values - 1e-12).sum(axis=1).mean())
        assert np.mean(closer) == pytest.approx(1 / rate - 1, rel=0.05)
        assert search.expected_rank() == pytest.approx(1 / rate, rel=1e-6)
    tiny = RandomSampleSearch(X[:10], "sqeuclidean", rate=1e-9, random_state=0)
    assert len(tiny) == 1
    # The corrected (3.5) against a simulation of ten points.
    ranks = np.random.default_rng(2).random((200_000, 10)) < 0.2
    first = ranks.argmax(axis=1)[ranks.any(axis=1)] + 1
    ten = RandomSampleSearch(X[:10], "sqeuclidean", rate=0.2, random_state=0)
    assert ten.expected_rank() == pytest.approx(first.mean(), rel=0.01)
    assert ten.expected_rank() == pytest.approx(3.795, abs=0.02)


@pytest.mark.parametrize("tree", [BregmanBallTree, BregmanVPTree])
@pytest.mark.parametrize("divergence", ["kl", mahalanobis(np.diag([1.0, 2, 3, 4]))])
def test_saved_trees_answer_the_same(tree, divergence, tmp_path):
    X, Q = histograms(300, 4), histograms(5, 4, seed=2)
    built = tree(X, divergence, "left", leaf_size=9, random_state=0)
    built.save(tmp_path / "tree")
    loaded = tree.load(tmp_path / "tree")
    for a, b in zip(built._search(Q, 3, 2, None), loaded._search(Q, 3, 2, None)):
        np.testing.assert_array_equal(a, b)
    assert loaded.depth_ == built.depth_
    other = BregmanVPTree if tree is BregmanBallTree else BregmanBallTree
    with pytest.raises(LookalikeError, match="kind"):
        other.load(tmp_path / "tree")


def test_files_that_are_no_trees_are_refused(tmp_path):
    with pytest.raises(LookalikeError, match="cannot be written"):
        BregmanBallTree(histograms(30, 3), COSH).save(tmp_path / "x")
    (tmp_path / "y").write_bytes(b"nothing")
    for name in ("y", "absent"):
        with pytest.raises(LookalikeError, match="not a Bregman tree"):
            BregmanVPTree.load(tmp_path / name)


@pytest.mark.parametrize("tree", [BregmanBallTree, BregmanVPTree, BregmanBruteForce])
def test_degenerate_sets(tree):
    one = tree([[0.5, 0.5]])
    assert one.query([[0.2, 0.8]])[1].tolist() == [[0]]
    same = tree(np.tile([0.2, 0.3, 0.5], (200, 1)))
    values, ids = same.query([[0.2, 0.3, 0.5]], 5)
    assert ids.tolist() == [[0, 1, 2, 3, 4]] and (values == 0).all()
    assert same.query(np.zeros((0, 3)), 2)[0].shape == (0, 2)
    # Empty bins are smoothed, in points and in queries.
    X = np.eye(4)
    values, ids = tree(X).query(X)
    assert ids.ravel().tolist() == [0, 1, 2, 3] and values == pytest.approx(0, abs=1e-12)
    huge = tree(np.array([[1e150, 1.0], [1.0, 1e-150]]), "itakura_saito")
    assert huge.query([[1e150, 1.0], [1.0, 1e-150]])[1].ravel().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda X: BregmanBallTree(X).query(X, 31), "k must be between"),
        (lambda X: BregmanBallTree(X).query(X[:, :2]), "queries have 2"),
        (lambda X: BregmanBallTree(-X), "below zero"),
        (lambda X: BregmanBallTree(X * [0, 1, 1], smoothing=None), "smoothing=1e-6"),
        (lambda X: BregmanBallTree(X, side="up"), "side must be"),
        (lambda X: BregmanBallTree(X, COSH, "jeffreys"), "no safe bounds"),
        (lambda X: BregmanBallTree(X, centre="heavy"), "centre must be"),
        (lambda X: BregmanBallTree(X, branching=1), "branching must be"),
        (lambda X: BregmanVPTree(X, leaf_size=0), "leaf_size"),
        (lambda X: BregmanVPTree(X, held_out=30), "held_out"),
        (lambda X: BregmanVPTree(X).query(X, max_leaves=0), "max_leaves"),
        (lambda X: BregmanBruteForce(X * np.nan), "NaN"),
        (lambda X: RandomSampleSearch(X, rate=0.0), "rate must be"),
        (lambda X: BregmanNeighbors(n_neighbors=30).fit(X).kneighbors(), "29 others"),
    ],
)
def test_refuses_what_has_no_meaning(call, says):
    with pytest.raises(ValueError, match=says):
        call(histograms(30, 3))


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree", "vp_tree"])
def test_the_estimator_leaves_each_point_out_of_its_own_neighbours(algorithm):
    X = histograms(200, 4)
    near = BregmanNeighbors(n_neighbors=3, divergence="kl", algorithm=algorithm, random_state=0).fit(X)
    values, ids = near.kneighbors()
    every = bregman_pairwise(X, X).T
    np.fill_diagonal(every, np.inf)
    assert values == pytest.approx(np.sort(every, axis=1)[:, :3], abs=1e-12)
    assert not (ids == np.arange(200)[:, None]).any()
    constant = BregmanNeighbors(n_neighbors=2, algorithm=algorithm).fit(np.ones((9, 2)))
    assert constant.kneighbors(return_distance=False)[8].tolist() == [0, 1]


def test_own_bounds_visit_where_the_domain_ends():
    # Beyond s = 5 the geodesic from 1 through 1.2 leaves the positive numbers, before it reaches tau.
    space = BregmanSpace(TWINS["itakura_saito"], "right")
    assert own.shell_misses(space, np.array([1.0]), 1e9, np.array([1.2]), 1e8)[0] is False
    assert own.shell_misses(space, np.array([1.0]), 0.5, np.array([1.2]), 0.001)[0] is True


@pytest.mark.parametrize(
    ("side", "dimensions", "wanted"),
    [("right", 8, "vp_tree"), ("jeffreys", 8, "brute"), ("jeffreys", 4, "vp_tree"), ("right", 9, "brute")],
)
def test_trees_are_chosen_where_they_were_measured_to_be_faster(monkeypatch, side, dimensions, wanted):
    monkeypatch.setattr(bregman_neighbors, "TREE_POINTS", 30)
    X = np.random.default_rng(0).dirichlet(np.ones(dimensions), size=30)
    assert BregmanNeighbors(divergence="kl", side=side).fit(X).algorithm_ == wanted
    assert BregmanNeighbors(divergence="kl", side=side).fit(X[:29]).algorithm_ == "brute"
