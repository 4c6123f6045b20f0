"""The rivals are what their documents define."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

from lookalike.learn import BlockConcatenation, BoostedKernel, MultipleKernelClassifier, OneShotKernel
from lookalike.learn._fusion import _mkl

spec = importlib.util.spec_from_file_location("fusion_oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

GOLDEN = [oracle.X1, oracle.X2]
ALL = ["average", "product", "align", "alignf", "easymkl", "simplemkl", "lpmkl", "lpbeta"]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    order = np.random.default_rng(0).permutation(len(y))
    return [X[order, :4], X[order, 4:9], X[order, 9:]], y[order]


def binary(seed, n=40, noise=3):
    """Kernels of which the first helps most, and the last not at all."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    blocks = [rng.normal(size=(n, 3)) + s * y[:, None] for s in (0.8, 0.4, 0.0)[:noise]]
    return [np.exp(-(pairwise_distances(b) ** 2) / 6) for b in blocks], y


def test_alignf_on_the_golden_data():
    kernels = [x @ x.T for x in (X - X.mean(0) for X in GOLDEN)]
    L = oracle.indicators(oracle.Y)
    weights = _mkl.alignf_weights(kernels, L)
    np.testing.assert_allclose(weights, [0.6304028217, 0.7762681769], atol=1e-9)
    Q = oracle.basis(L)
    total = _mkl.combined(kernels, weights)
    assert oracle.alignment(total, Q @ Q.T) == pytest.approx(0.8278602412, abs=1e-9)
    singles = [oracle.alignment(k, Q @ Q.T) for k in kernels]
    np.testing.assert_allclose(singles, [0.7074096537, 0.7359649640], atol=1e-9)
    np.testing.assert_allclose(_mkl.align_weights(kernels, L), np.array(singles) / sum(singles), atol=1e-12)
    assert oracle.alignment(kernels[0], L @ L.T) > 0


def test_no_weights_align_better_than_alignf():
    kernels, y = binary(0)
    L = np.stack([y < 0, y > 0], axis=1).astype(float)
    Q = oracle.basis(L)
    best = oracle.alignment(_mkl.combined(kernels, _mkl.alignf_weights(kernels, L)), Q @ Q.T)
    for weights in np.random.default_rng(0).dirichlet(np.ones(3), 300):
        assert oracle.alignment(_mkl.combined(kernels, weights), Q @ Q.T) <= best + 1e-12


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0])
def test_easymkl_solves_its_quadratic_problem(spread):
    kernels, y = binary(1, n=24)

    def solve(kernel):
        size = np.mean(kernel.diagonal())
        M = (1 - spread) * kernel * y * y[:, None] + spread * np.eye(len(y))
        constraints = [
            {"type": "eq", "fun": lambda g, s=s: g[y == s].sum() - 1, "jac": lambda g, s=s: (y == s) * 1.0}
            for s in (-1.0, 1.0)
        ]
        start = np.full(len(y), 2 / len(y))
        options = {"maxiter": 1000, "ftol": 1e-15}
        found = minimize(
            lambda g: g @ M @ g / size,
            start,
            jac=lambda g: 2 * M @ g / size,
            bounds=[(0, None)] * len(y),
            constraints=constraints,
            options=options,
            method="SLSQP",
        )
        return found.x

    gamma = solve(sum(kernels))
    want = np.array([(gamma * y) @ k @ (gamma * y) for k in kernels])
    want /= want.sum()
    weights, signed, bias = _mkl.easy_mkl(kernels, y, spread=spread)
    np.testing.assert_allclose(weights, want, atol=2e-4)
    best = _mkl.combined(kernels, weights)
    again = solve(best)
    np.testing.assert_allclose(signed, again * y, atol=2e-3)
    assert bias == pytest.approx(-0.5 * again @ best @ (again * y), abs=2e-3)
    assert abs(signed[y > 0].sum() - 1) < 1e-6 and abs(signed[y < 0].sum() + 1) < 1e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_simplemkl_finds_the_lowest_dual(seed, C):
    kernels, y = binary(seed)
    weights, signed, bias = _mkl.simple_mkl(kernels, y, C, gap=1e-4)
    assert weights.sum() == pytest.approx(1) and weights.min() >= 0
    value = _mkl._dual(_mkl.combined(kernels, weights), y, C)[2]
    pulls = np.array([signed @ k @ signed for k in kernels])
    assert pulls.max() - weights @ pulls <= 5e-3 * value  # the duality gap
    for other in np.random.default_rng(seed).dirichlet(np.ones(3) * 0.5, 100):
        assert _mkl._dual(_mkl.combined(kernels, other), y, C)[2] >= value * (1 - 1e-3)
    assert np.isfinite(bias)


@pytest.mark.parametrize("p", [4 / 3, 2.0, 4.0])
def test_lpmkl_finds_the_lowest_dual_in_its_ball(p):
    kernels, y = binary(4)
    weights, _, _ = _mkl.lp_mkl(kernels, y, 1.0, p=p, tolerance=1e-6)
    assert np.sum(weights**p) == pytest.approx(1)
    value = _mkl._dual(_mkl.combined(kernels, weights), y, 1.0)[2]
    for other in np.random.default_rng(0).random((100, 3)):
        other /= np.sum(other**p) ** (1 / p)
        assert _mkl._dual(_mkl.combined(kernels, other), y, 1.0)[2] >= value * (1 - 1e-4)


def test_lpbeta_maximises_its_margin():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=30)
    scores = rng.normal(size=(2, 30, 3)) + np.array([1.0, 0.4])[:, None, None] * np.eye(3)[y]
    nu = 0.4

    def objective(first):
        total = first * scores[0] + (1 - first) * scores[1]
        rest = np.where(np.eye(3)[y] > 0, -np.inf, total).max(1)
        margin = total[np.arange(30), y] - rest
        rhos = np.sort(margin)
        return max(rho - np.maximum(rho - margin, 0).sum() / (nu * 30) for rho in rhos)

    weights, _ = _mkl.lp_beta(scores, y, nu=nu)
    assert weights.sum() == pytest.approx(1)
    assert objective(weights[0]) >= max(map(objective, np.linspace(0, 1, 401))) - 1e-9


def test_the_product_averages_distances(wine):
    blocks, y = wine
    D = [pairwise_distances(b) for b in blocks]
    means = [d.mean() for d in D]
    got = MultipleKernelClassifier(combine="product", kernel="distance").fit(D, y).decision_function(D)
    K = np.exp(-np.mean([d / m for d, m in zip(D, means)], axis=0))
    want = [SVC(C=10, kernel="precomputed", tol=1e-5).fit(K, y == c).decision_function(K) for c in range(3)]
    np.testing.assert_allclose(got, np.stack(want, axis=1), atol=1e-6)
    with pytest.raises(ValueError, match="negative"):
        MultipleKernelClassifier(combine="product", kernel="linear").fit(blocks, y)


def test_the_average_is_one_machine_on_the_mean_kernel(wine):
    blocks, y = wine
    K = np.mean([x @ x.T / np.mean((x**2).sum(1)) for x in (b - b.mean(0) for b in blocks)], axis=0)
    got = MultipleKernelClassifier(kernel="linear", C=2.0).fit(blocks, y).decision_function(blocks)
    want = [SVC(C=2, kernel="precomputed", tol=1e-5).fit(K, y == c).decision_function(K) for c in range(3)]
    np.testing.assert_allclose(got, np.stack(want, axis=1), atol=1e-6)
    given = MultipleKernelClassifier(kernel="precomputed", C=2.0).fit([K], y)
    np.testing.assert_allclose(given.decision_function([K]), got, atol=1e-6)


@pytest.mark.parametrize("combine", ALL)
def test_every_combination_tells_wines_apart(wine, combine):
    blocks, y = wine
    train, test = slice(0, 100), slice(100, None)
    model = MultipleKernelClassifier(combine=combine, C=1.0, random_state=0)
    model.fit([b[train] for b in blocks], y[train])
    held = [b[test] for b in blocks]
    assert model.score(held, y[test]) > 0.9
    assert model.decision_function(held).shape == (78, 3)
    two = y < 2
    pair = MultipleKernelClassifier(combine=combine, C=1.0, random_state=0)
    pair.fit([b[two] for b in blocks], np.array(["a", "b"])[y[two]])
    assert pair.decision_function([b[two] for b in blocks]).shape == (two.sum(),)
    assert pair.score([b[two] for b in blocks], np.array(["a", "b"])[y[two]]) > 0.9


def test_learned_weights_leave_out_noise():
    kernels, y = binary(5, n=80)
    for combine in ("align", "alignf", "easymkl", "simplemkl", "lpbeta"):
        model = MultipleKernelClassifier(combine=combine, kernel="precomputed", random_state=0).fit(
            kernels, y
        )
        weights = np.ravel(model.kernel_weights_)
        assert weights[0] > weights[2], combine


def test_what_the_classifier_refuses(wine):
    blocks, y = wine
    with pytest.raises(ValueError, match="2 classes"):
        MultipleKernelClassifier().fit(blocks, np.zeros(len(y)))
    with pytest.raises(ValueError, match="square"):
        MultipleKernelClassifier(kernel="precomputed").fit(blocks, y)


def test_one_shot_reaches_the_highest_alignment_of_all_linear_maps(wine):
    model = OneShotKernel(ridge=0.0).fit(GOLDEN, oracle.Y)
    assert model.alignment_ == pytest.approx(0.9278424333, abs=1e-9)
    K, Q = model.transform(GOLDEN) @ model.transform(GOLDEN).T, oracle.basis(oracle.indicators(oracle.Y))
    assert oracle.alignment(K, Q @ Q.T) == pytest.approx(0.9278424333, abs=1e-9)
    blocks, y = wine
    best = OneShotKernel(ridge=0.0).fit(blocks, y).alignment_
    for solver in ("greedy", "corrective", "convex"):
        assert BoostedKernel(solver=solver).fit(blocks, y).alignments_[-1] <= best + 1e-12
    # The ridge by its definition, on joined columns whose blocks have unit mean square.
    joined = np.hstack([b - b.mean(0) for b in blocks]) / np.repeat(
        [np.sqrt(((b - b.mean(0)) ** 2).sum() / len(y)) for b in blocks],
        [b.shape[1] for b in blocks],
    )
    Q = oracle.basis(oracle.indicators(y))
    mu = 0.3 * np.trace(joined.T @ joined) / joined.shape[1]
    F = joined @ np.linalg.solve(joined.T @ joined + mu * np.eye(joined.shape[1]), joined.T @ Q)
    model = OneShotKernel(ridge=0.3, rescale=False).fit(blocks, y)
    got = model.transform(blocks)
    np.testing.assert_allclose(got @ got.T, F @ F.T, atol=1e-10)
    assert model.contributions_.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="nothing to learn"):
        OneShotKernel().fit([np.ones((9, 2))], oracle.Y)


def test_concatenation_gives_every_block_the_same_weight(wine):
    blocks, _ = wine
    scaled = [b * s for b, s in zip(blocks, (1.0, 50.0, 0.01))]
    for standardize in (True, False):
        joined = BlockConcatenation(standardize=standardize).fit_transform(scaled)
        sizes = [np.mean(np.sum(part**2, axis=1)) for part in np.split(joined, [4, 9], axis=1)]
        np.testing.assert_allclose(sizes, 1.0, rtol=1e-9)
    constant = BlockConcatenation().fit_transform([np.c_[blocks[0], np.ones(len(blocks[0]))]])
    assert np.all(constant[:, -1] == 0)
