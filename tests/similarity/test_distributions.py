"""Kernels of Gaussians, mixtures, histograms, bags and contexts: golden values, bounds and oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel, rbf_kernel

from lookalike.bags import AdaptedGMM, Bags, Mixture, MixtureOfReferences, Mixtures, UniversalGMM
from lookalike.similarity import (
    additive_kernel,
    contextual_histograms,
    contextual_similarity,
    exponential_kernel,
    gaussian_cross_entropy,
    gaussian_kl,
    gaussian_probability_product,
    kl_kernel,
    mean_bandwidth,
    mixture_kl,
    probability_product,
    set_kernel,
    smoothed_kl,
    symmetric_kl,
    transport_distance,
)


def mixture(w, m, v):
    return Mixture(np.array(w), np.array(m, float)[:, None], np.array(v, float)[:, None])


U = mixture([0.5, 0.5], [0, 4], [1, 1])
Q = mixture([0.6, 0.4], [0.5, 4.2], [0.8, 1.1])
P = mixture([0.4, 0.6], [0.7, 3.5], [0.9, 1.2])
MU, MQ, MP = (Mixtures.from_list([m]) for m in (U, Q, P))


def random_mixtures(rng, n, n_components=3, d=2, spread=1.0):
    return Mixtures(
        rng.dirichlet(np.full(n_components, 2.0), n),
        rng.normal(0, spread, (n, n_components, d)),
        rng.uniform(0.3, 2, (n, n_components, d)),
    )


def narrow(m):
    return Mixtures(*(a.astype(np.float32) for a in (m.weights, m.means, m.variances)))


GRID = np.linspace(-30, 30, 12_001)  # the trapezoid rule is exact to rounding for such smooth functions


def log_density(m, x=GRID):
    gauss = norm.logpdf(np.asarray(x)[:, None], m.means[:, 0], np.sqrt(m.variances[:, 0]))
    return logsumexp(gauss, b=m.weights, axis=1)


def integral(values):
    return float(np.trapezoid(values, GRID))


def true_kl(p, q):
    return integral(np.exp(log_density(p)) * (log_density(p) - log_density(q)))


def true_overlap(p, q, rho=0.5):
    return integral(np.exp(rho * (log_density(p) + log_density(q))))


# --- single Gaussians -------------------------------------------------------------------------------

PAIRS = [
    (([0.0], [1.0]), ([1.0], [4.0]), 0.4431471806, 1.3068528194, 1.8620857138, 0.8508054622, 0.1614342259),
    (([-1.0], [0.5]), ([2.0], [3.0]), 1.9792130679, 10.6041202654, 3.0515780109, 0.4398600109, 0.0589518478),
    (
        ([0.0, 1], [1.0, 2]),
        ([1.0, -1], [2, 0.5]),
        5.1534264097,
        1.9715735903,
        8.3378770664,
        0.5356089967,
        0.0221040320,
    ),
]


@pytest.mark.parametrize(("p", "q", "pq", "qp", "cross", "overlap", "likelihood"), PAIRS)
def test_golden_values_of_gaussians(p, q, pq, qp, cross, overlap, likelihood):
    assert gaussian_kl(p, q) == pytest.approx(pq, abs=1e-9)
    assert gaussian_kl(q, p) == pytest.approx(qp, abs=1e-9)
    assert gaussian_cross_entropy(p, q) == pytest.approx(cross, abs=1e-9)
    assert gaussian_probability_product(p, q) == pytest.approx(overlap, abs=1e-9)
    assert gaussian_probability_product(p, q, rho=1) == pytest.approx(likelihood, abs=1e-9)


@pytest.mark.parametrize(("rho", "value"), [(0.25, 2.3227640476), (2, 0.0082194225)])
def test_golden_values_of_other_exponents(rho, value):
    p, q = PAIRS[0][:2]
    assert gaussian_probability_product(p, q, rho=rho) == pytest.approx(value, abs=1e-9)
    as_mixtures = [Mixtures([[1.0]], [[m]], [[v]]) for m, v in (p, q)]
    for method in ("one-to-one", "one-to-many"):
        assert probability_product(*as_mixtures, rho=rho, method=method)[0, 0] == pytest.approx(
            value, abs=1e-9
        )


@given(st.integers(0, 10_000))
def test_full_covariances_agree_with_diagonal_ones_and_turn_with_the_axes(seed):
    rng = np.random.default_rng(seed)
    m, v = rng.normal(size=(2, 3)), rng.uniform(0.2, 3, (2, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    full = [(turn @ m[k], turn @ np.diag(v[k]) @ turn.T) for k in range(2)]
    plain = [(m[k], v[k]) for k in range(2)]
    assert gaussian_kl(*full) == pytest.approx(gaussian_kl(*plain))
    assert gaussian_kl(plain[0], (m[1], np.diag(v[1]))) == pytest.approx(gaussian_kl(*plain))
    for rho in (0.5, 1.3):
        a, b = (gaussian_probability_product(*pair, rho=rho) for pair in (full, plain))
        assert a == pytest.approx(b)
    assert gaussian_kl(*plain) >= 0
    assert gaussian_kl(plain[0], plain[0]) == pytest.approx(0, abs=1e-12)


def test_gaussians_that_are_none_are_refused():
    with pytest.raises(ValueError, match="positive, finite"):
        gaussian_kl(([0.0], [0.0]), ([0.0], [1.0]))
    with pytest.raises(ValueError, match="does not fit"):
        gaussian_kl(([0.0], [1.0, 2.0]), ([0.0], [1.0]))
    with pytest.raises(ValueError, match="rho"):
        gaussian_probability_product(([0.0], [1.0]), ([0.0], [1.0]), rho=0)


# --- mixtures ---------------------------------------------------------------------------------------


def test_golden_values_of_matched_mixtures():
    q, p, u = ((m.means, m.variances) for m in (Q, P, U))
    assert np.allclose(gaussian_probability_product(q, p), [0.9932738178, 0.9476842455], atol=1e-9)
    assert np.allclose(gaussian_cross_entropy(q, p), [1.332924942, 1.672599312], atol=1e-9)
    assert np.allclose(gaussian_cross_entropy(q, u), [1.443938533, 1.488938533], atol=1e-9)
    assert probability_product(MP, MQ, weight_exponent=1)[0, 0] == pytest.approx(0.4658299352, abs=1e-9)
    assert probability_product(MP, MQ)[0, 0] == pytest.approx(0.9508713734, abs=1e-9)
    many = probability_product(MP, MQ, method="one-to-many", weight_exponent=1)[0, 0]
    assert many == pytest.approx(0.6160337170, abs=1e-9)
    bound = probability_product(MP, MQ, method="variational")[0, 0]
    assert bound == pytest.approx(0.7049471502, abs=1e-9)
    truth = true_overlap(P, Q)
    assert truth == pytest.approx(0.9647167282, abs=1e-8)

    assert mixture_kl(MP, MQ)[0, 0] == pytest.approx(0.2273420923, abs=1e-9)
    assert mixture_kl(MQ, MP)[0, 0] == pytest.approx(0.1788302077, abs=1e-9)
    assert symmetric_kl(MP, MQ)[0, 0] == pytest.approx(0.4061723000, abs=1e-9)
    assert mixture_kl(MP, MQ, method="matching")[0, 0] == pytest.approx(0.2273420923, abs=1e-9)
    truth = true_kl(P, Q)
    assert truth == pytest.approx(0.1480742178, abs=1e-8)
    drawn = mixture_kl(MP, MQ, method="monte-carlo", n_samples=100_000, random_state=0)[0, 0]
    assert drawn == pytest.approx(truth, abs=5e-3)


def test_golden_values_of_the_toy_example():
    q = mixture([0.5, 0.5], [2, -2], [1, 1])
    p1 = mixture([0.5, 0.5], [-2, -2], [1, 1])
    assert true_kl(q, p1) == pytest.approx(3.3672798064, abs=1e-7)
    assert true_kl(p1, q) == pytest.approx(0.6327201938, abs=1e-7)
    assert true_overlap(q, p1) == pytest.approx(0.7503701693, abs=1e-8)
    # Displacements at which a third image, with both of its parts beside those of q, is as far as p1.
    by_kl = mixture([0.5, 0.5], [2 + 2.0048320, -2 - 2.0048320], [1, 1])
    assert true_kl(q, by_kl) + true_kl(by_kl, q) == pytest.approx(4, abs=1e-6)
    by_overlap = mixture([0.5, 0.5], [2 + 1.5174261, -2 - 1.5174261], [1, 1])
    assert true_overlap(q, by_overlap) == pytest.approx(0.7503701693, abs=1e-7)


@given(st.integers(0, 10_000))
def test_bounds_of_mixture_similarities(seed):
    rng = np.random.default_rng(seed)
    a, b = random_mixtures(rng, 1, 3, 1), random_mixtures(rng, 1, 3, 1)
    p, q = a[0], b[0]
    overlap = true_overlap(p, q)

    def product(**settings):
        return probability_product(a, b, **settings)[0, 0]

    slack = 1e-7
    printed_one, printed_many = product(weight_exponent=1), product(method="one-to-many", weight_exponent=1)
    variational = product(method="variational")
    assert printed_one <= printed_many + slack <= variational + 2 * slack <= overlap + 3 * slack
    assert printed_one - slack <= product() <= overlap + slack
    assert product(method="one-to-many") >= overlap - slack
    assert product(method="one-to-many", rho=1) == pytest.approx(true_overlap(p, q, 1))

    kl = true_kl(p, q)
    assert mixture_kl(a, b)[0, 0] >= kl - slack
    assert mixture_kl(a, b, method="matching")[0, 0] <= mixture_kl(a, b)[0, 0] + slack


def literal_kls(p, q):
    """Equations 4.20 to 4.24 for one pair, component by component."""
    n = len(p.weights)
    pair = lambda i, j, a, b: float(gaussian_kl((a.means[i], a.variances[i]), (b.means[j], b.variances[j])))  # noqa: E731
    matched = sum(p.weights[i] * (pair(i, i, p, q) + np.log(p.weights[i] / q.weights[i])) for i in range(n))
    matching = sum(
        p.weights[i] * (min(pair(i, j, p, q) - np.log(q.weights[j]) for j in range(n)) + np.log(p.weights[i]))
        for i in range(n)
    )
    variational = sum(
        p.weights[i]
        * np.log(
            sum(p.weights[j] * np.exp(-pair(i, j, p, p)) for j in range(n))
            / sum(q.weights[j] * np.exp(-pair(i, j, p, q)) for j in range(n))
        )
        for i in range(n)
    )
    return {"one-to-one": matched, "matching": matching, "variational": variational}


@given(st.integers(0, 10_000), st.sampled_from([0.0, 100.0]))
def test_gram_matrices_are_the_literal_sums(seed, offset):
    rng = np.random.default_rng(seed)
    a, b = random_mixtures(rng, 2), random_mixtures(rng, 3)
    for m in (a, b):
        m.means[:] += offset
    for method in ("one-to-one", "matching", "variational"):
        wide = mixture_kl(a, b, method=method)
        literal = [[literal_kls(p, q)[method] for q in b] for p in a]
        assert np.allclose(wide, literal, atol=1e-8)
        assert np.allclose(mixture_kl(narrow(a), narrow(b), method=method), wide, rtol=1e-3, atol=2e-3)
        if method != "matching":  # which may fall below 0 even for equal mixtures
            assert np.allclose(np.diag(mixture_kl(a, method=method)), 0, atol=1e-8)


def test_float32_keeps_the_digits_at_full_size():
    rng = np.random.default_rng(0)
    base = rng.normal(3, 1, (1, 64, 50))
    wide = Mixtures(
        rng.dirichlet(np.full(64, 5.0), 6),
        base + rng.normal(0, 0.2, (6, 64, 50)),
        rng.uniform(0.5, 1.5, (6, 64, 50)),
    )
    assert np.allclose(mixture_kl(narrow(wide)), mixture_kl(wide), rtol=1e-4, atol=1e-4)
    assert np.allclose(probability_product(narrow(wide)), probability_product(wide), rtol=1e-4)


def test_the_unscented_transform_is_exact_for_single_gaussians():
    rng = np.random.default_rng(1)
    a, b = random_mixtures(rng, 3, 1, 4), random_mixtures(rng, 2, 1, 4)
    assert np.allclose(mixture_kl(a, b, method="unscented"), mixture_kl(a, b), atol=1e-10)


@given(st.integers(0, 10_000))
def test_kernels_are_symmetric_definite_and_one_at_home(seed):
    rng = np.random.default_rng(seed)
    m = random_mixtures(rng, 7)
    K = probability_product(m)
    assert np.allclose(K, K.T)
    assert np.allclose(np.diag(K), 1)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert np.linalg.eigvalsh(probability_product(m, weight_exponent=1)).min() > -1e-9
    cosine = probability_product(m, weight_exponent=1, normalise=True)
    assert np.allclose(np.diag(cosine), 1)
    L = kl_kernel(m)
    assert np.allclose(L, L.T)
    assert np.allclose(np.diag(L), 1, atol=1e-6)
    off = ~np.eye(7, dtype=bool)
    assert -np.log(L[off]).mean() == pytest.approx(1)


def test_the_bandwidth_needs_different_images():
    assert mean_bandwidth([[1.0, 3.0]]) == 0.5
    with pytest.raises(ValueError, match="different images"):
        mean_bandwidth(np.zeros((3, 3)))
    same = Mixtures.from_list([U, U])
    with pytest.raises(ValueError, match="different images"):
        kl_kernel(same)


def test_blocks_of_memory_do_not_show(monkeypatch):
    import lookalike.similarity._mixture_kernels as module

    rng = np.random.default_rng(2)
    a, b = random_mixtures(rng, 9), random_mixtures(rng, 5)
    methods = [
        lambda: probability_product(a, b),
        lambda: probability_product(a, b, method="one-to-many"),
        lambda: mixture_kl(a, b, method="variational"),
    ]
    whole = [f() for f in methods]
    cut = lambda n, size, budget=0: (slice(k, min(k + 2, n)) for k in range(0, n, 2))  # noqa: E731
    monkeypatch.setattr(module, "row_blocks", cut)
    for before, f in zip(whole, methods, strict=True):
        assert np.allclose(before, f())


def test_empty_collections_have_empty_matrices():
    rng = np.random.default_rng(3)
    m = random_mixtures(rng, 3)
    for f in (mixture_kl, probability_product):
        assert f(m, m[:0]).shape == (3, 0)
        assert f(m[:0], m).shape == (0, 3)


# --- contexts ---------------------------------------------------------------------------------------


def test_golden_values_of_contextual_similarity():
    one_way = [0.4830641845, 0.4661795791, 0.4493843763, 0.4327158761, 0.4162101638]
    both = [0.4879796034, 0.4761591928, 0.4645485680, 0.4531560754, 0.4419886712]
    for n_iter in range(1, 6):
        ours = contextual_similarity(MQ, MP, U, n_iter=n_iter, symmetric=False)[0, 0]
        assert ours == pytest.approx(one_way[n_iter - 1], abs=2e-10)
        ours = contextual_similarity(MQ, MP, U, n_iter=n_iter)[0, 0]
        assert ours == pytest.approx(both[n_iter - 1], abs=2e-10)
    mixed = lambda w: np.logaddexp(np.log(w) + log_density(P), np.log1p(-w) + log_density(U))  # noqa: E731
    truth = minimize_scalar(
        lambda w: -integral(np.exp(log_density(Q)) * mixed(w)),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-6},
    )
    assert truth.x == pytest.approx(0.3653545, abs=1e-4)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["kl", "bhattacharyya"]),
    st.sampled_from(["one-to-one", "one-to-many"]),
)
def test_the_one_way_context_is_a_mixture_of_two_references(seed, kind, match):
    rng = np.random.default_rng(seed)
    m = random_mixtures(rng, 3)
    ours = contextual_similarity(m[:1], m[1:2], m[2], kind=kind, match=match, symmetric=False, n_iter=3)
    mom = MixtureOfReferences(objective=kind, match=match, n_iter=3).fit(m[1:])
    assert ours[0, 0] == pytest.approx(mom.transform(m[:1])[0, 0], abs=1e-9)


@given(st.integers(0, 10_000), st.sampled_from(["kl", "bhattacharyya"]))
def test_contextual_similarity_is_symmetric_and_bounded(seed, kind):
    rng = np.random.default_rng(seed)
    m, u = random_mixtures(rng, 5), random_mixtures(rng, 1)
    C = contextual_similarity(m, None, u[0], kind=kind)
    assert np.allclose(C, C.T)
    assert 0 <= C.min() <= C.max() <= 1
    C32 = contextual_similarity(narrow(m), None, u[0], kind=kind)
    assert np.allclose(C, C32, atol=1e-3)
    for sharpness in (1.0, 0.3):
        to_itself = contextual_similarity(m, u, u[0], kind=kind, symmetric=False, sharpness=sharpness)
        assert np.allclose(to_itself, 0.5)
    if kind == "kl":
        converged = contextual_similarity(m, None, u[0], symmetric=False, n_iter=2000)
        assert np.diag(converged).min() > 0.9


def test_adapted_mixtures_bring_their_context():
    bags = Bags.from_list([np.random.default_rng(k).normal(size=(30, 2)) for k in range(3)])
    universal = UniversalGMM(n_components=2).fit(bags)
    m = AdaptedGMM(universal).transform(bags)
    assert np.array_equal(contextual_similarity(m[:2]), contextual_similarity(m[:2], None, universal))
    with pytest.raises(ValueError, match="give it as context"):
        contextual_similarity(MQ)


def test_smoothing_splits_into_the_ratio_and_a_constant():
    rng = np.random.default_rng(4)
    q, p, u = rng.dirichlet(np.ones(6), 2), rng.dirichlet(np.ones(6), 3), rng.dirichlet(np.ones(6))
    w = 0.3
    direct = smoothed_kl(q, p, u, weight=w)
    constant = (q * np.log(q / ((1 - w) * u))).sum(1)
    other = -(q[:, None] * np.log1p(w / (1 - w) * p / u)).sum(2) + constant[:, None]
    assert np.allclose(direct, other)
    with pytest.raises(ValueError, match="background must be positive"):
        smoothed_kl([[0.5, 0.5]], [[1.0, 0.0]], [1.0, 0.0])
    with pytest.raises(ValueError, match="below 1"):
        smoothed_kl([[0.5, 0.5]], [[1.0, 0.0]], [1.0, 0.0], weight=1)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["kl", "euclidean", "chi2", "bhattacharyya"]),
    st.booleans(),
)
def test_the_general_family_finds_the_best_weight(seed, divergence, symmetric):
    rng = np.random.default_rng(seed)
    q, p, u = rng.dirichlet(np.ones(5), 3)
    measure = {
        "kl": lambda a, x: (a * np.log(a / x)).sum(),
        "euclidean": lambda a, x: ((a - x) ** 2).sum(),
        "chi2": lambda a, x: ((a - x) ** 2 / x).sum(),
        "bhattacharyya": lambda a, x: -np.sqrt(a * x).sum(),
    }[divergence]

    def objective(w):
        value = measure(q, w * p + (1 - w) * u)
        return value + symmetric * measure(p, w * q + (1 - w) * u)

    ours = contextual_histograms([q], [p], u, divergence=divergence, symmetric=symmetric)[0, 0]
    grid = np.linspace(0, 1, 400)
    assert objective(ours) <= min(objective(w) for w in grid) + 1e-9
    assert contextual_histograms([p], [p], u, divergence=divergence)[0, 0] == pytest.approx(1, abs=1e-6)
    assert contextual_histograms([u], [p], u, divergence=divergence)[0, 0] == pytest.approx(0, abs=1e-6)
    assert contextual_histograms([q], [u], u, divergence=divergence)[0, 0] == pytest.approx(0.5)


def test_the_general_family_allows_words_that_never_occur():
    u = [0.5, 0.5, 0.0]
    ours = contextual_histograms([[0.4, 0.3, 0.3]], [[0.2, 0.2, 0.6]], u)
    assert 0 < ours[0, 0] <= 1


# --- histograms -------------------------------------------------------------------------------------

A, B = np.array([[0.5, 0.3, 0.2, 0]]), np.array([[0.1, 0.4, 0.4, 0.1]])
HISTOGRAM_VALUES = {
    "bhattacharyya": (0.8528596717, 0.7450673541),
    "chi2": (0.7761904762, 0.6391481227),
    "intersection": (0.6, 0.4493289641),
}


@pytest.mark.parametrize("kind", HISTOGRAM_VALUES)
def test_golden_values_of_histograms(kind):
    value, exponential = HISTOGRAM_VALUES[kind]
    assert additive_kernel(A, B, kind=kind)[0, 0] == pytest.approx(value, abs=1e-9)
    assert exponential_kernel(A, B, kind=kind, gamma=2)[0, 0] == pytest.approx(exponential, abs=1e-9)
    assert additive_kernel(A.astype(np.float32), B, kind=kind)[0, 0] == pytest.approx(value, abs=1e-6)


@given(st.integers(0, 10_000), st.floats(0.05, 3))
def test_identities_and_order_of_histogram_kernels(seed, concentration):
    rng = np.random.default_rng(seed)
    X, Y = rng.dirichlet(np.full(12, concentration), 4), rng.dirichlet(np.full(12, concentration), 3)
    K = {kind: additive_kernel(X, Y, kind=kind) for kind in HISTOGRAM_VALUES}
    roots = ((np.sqrt(X)[:, None] - np.sqrt(Y)) ** 2).sum(2)
    total = X[:, None] + Y
    chi2 = np.divide((X[:, None] - Y) ** 2, total, out=np.zeros_like(total), where=total > 0).sum(2)
    assert np.allclose(1 - K["bhattacharyya"], 0.5 * roots)
    assert np.allclose(1 - K["chi2"], 0.5 * chi2)
    assert np.allclose(1 - K["intersection"], 0.5 * np.abs(X[:, None] - Y).sum(2))
    assert np.allclose(K["chi2"], 1 + additive_chi2_kernel(X, Y) / 2)
    assert np.all(K["intersection"] <= K["chi2"] + 1e-12)
    assert np.all(K["chi2"] <= K["bhattacharyya"] + 1e-12)
    assert np.all(K["bhattacharyya"] <= 0.5 * (1 + K["chi2"]) + 1e-12)
    assert np.allclose(exponential_kernel(X, Y, gamma=3.0), chi2_kernel(X, Y, gamma=1.5))
    for kind in HISTOGRAM_VALUES:
        assert np.allclose(np.diag(additive_kernel(X, kind=kind)), 1)
        assert np.linalg.eigvalsh(additive_kernel(X, kind=kind)).min() > -1e-10


def test_histograms_of_nothing_are_like_nothing():
    zero = np.zeros((1, 4))
    for kind in HISTOGRAM_VALUES:
        assert additive_kernel(zero, A, kind=kind)[0, 0] == 0
        assert additive_kernel(zero, kind=kind)[0, 0] == 0
    with pytest.raises(ValueError, match="non-negative"):
        additive_kernel(-A)
    with pytest.raises(ValueError, match="kind must be"):
        additive_kernel(A, kind="other")


# --- bags -------------------------------------------------------------------------------------------


def some_bags(rng, sizes=(3, 5, 4)):
    return Bags.from_list([rng.normal(size=(n, 2)) for n in sizes])


def test_set_kernels_are_their_equations():
    rng = np.random.default_rng(5)
    bags = some_bags(rng)
    k = rbf_kernel(bags[0], bags[1], gamma=0.7)
    assert set_kernel(bags, kind="sum", gamma=0.7)[0, 1] == pytest.approx(k.mean(), rel=1e-5)
    assert set_kernel(bags, kind="power", power=3, gamma=0.7)[0, 1] == pytest.approx((k**3).mean(), rel=1e-5)
    best = 0.5 * (k.max(1).mean() + k.max(0).mean())
    assert set_kernel(bags, kind="best-match", gamma=0.7)[0, 1] == pytest.approx(best, rel=1e-5)
    assert np.allclose(np.diag(set_kernel(bags, kind="best-match")), 1)
    assert np.allclose(np.diag(set_kernel(bags, kind="transport")), 1)
    for kind in ("sum", "power"):
        assert np.linalg.eigvalsh(set_kernel(bags, kind=kind)).min() > -1e-9


def test_transport_is_the_linear_programme():
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(6)
    bags = some_bags(rng, (4, 6, 4))
    ours = transport_distance(bags)
    for a in range(3):
        for b in range(3):
            cost = np.sqrt(((bags[a][:, None].astype(float) - bags[b]) ** 2).sum(2))
            assert ours[a, b] == pytest.approx(ot.emd2([], [], cost), abs=1e-9)
    # The similarity: no mass is forced, and the smaller bag is matched as well as it can be.
    k = rbf_kernel(bags[0], bags[1], gamma=0.5).astype(float)
    plan = ot.partial.partial_wasserstein(np.ones(4), np.ones(6), 1 - k, m=4)
    assert set_kernel(bags, kind="transport")[0, 1] == pytest.approx((plan * k).sum() / 4, abs=1e-6)


def test_empty_bags_are_like_nothing():
    bags = Bags.from_list([np.zeros((0, 2)), np.ones((2, 2))])
    assert set_kernel(bags).tolist() == [[0, 0], [0, 1]]
    assert transport_distance(bags)[0, 1] == 0
