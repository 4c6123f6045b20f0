"""The functional core: targets, the closed-form weight, and boosting against matrices written out."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.learn import BoostedKernel
from lookalike.learn._fusion._boost import beta_star
from lookalike.learn._fusion._targets import label_root

spec = importlib.util.spec_from_file_location("fusion_oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)


def target(L):
    HL = L - L.mean(0)
    return HL @ label_root(HL.T @ HL)


A, B = np.array([1.0, 1, 0, 0, 1, 0]), np.array([0.0, 1, 1, 0, 0, 1])


@pytest.mark.parametrize(
    "columns, rank",
    [([A, A, B], 2), ([np.ones(6), A, B], 2), ([A, 1 - A, B, A * B], 3), ([A, B, A, np.ones(6)], 2)],
)
def test_the_target_projects_on_the_centred_labels(columns, rank):
    L = np.stack(columns, axis=1)
    Q = target(L)
    HL = L - L.mean(0)
    assert Q.shape[1] == rank
    np.testing.assert_allclose(Q @ Q.T, HL @ np.linalg.pinv(HL), atol=1e-10)
    np.testing.assert_allclose(Q.sum(0), 0, atol=1e-12)
    assert abs(np.sum((Q @ Q.T) ** 2) - rank) < 1e-12


def test_the_target_of_single_labels_in_closed_form():
    Q = target(oracle.indicators(oracle.Y))
    counts = np.bincount(oracle.Y)[oracle.Y]
    same = oracle.Y[:, None] == oracle.Y
    np.testing.assert_allclose(Q @ Q.T, same / counts - 1 / 9, atol=1e-12)
    np.testing.assert_allclose((Q @ Q.T)[0, [0, 4, 7]], [5 / 36, -1 / 9, -1 / 9], atol=1e-12)
    L = np.stack([A, B, A, np.ones(6)], axis=1)
    np.testing.assert_allclose((target(L) @ target(L).T)[0], [0.25, 0, -0.25, 0, 0.25, -0.25], atol=1e-12)


def test_labels_that_do_not_differ_are_refused():
    with pytest.raises(ValueError, match="do not differ"):
        label_root(np.zeros((2, 2)))


def random_state(rng):
    """Scalars of a random kernel, target and function."""
    n, c = 12, rng.integers(1, 4)
    Q = np.linalg.qr(rng.normal(size=(n, c)) - rng.normal(size=(n, c)).mean(0))[0]
    F = rng.normal(size=(n, rng.integers(1, 4))) + rng.choice([0, 3]) * Q[:, :1]
    f = rng.normal(size=n) + rng.choice([0, 5]) * Q @ rng.normal(size=c)
    K = F @ F.T
    return np.sum(K * K), np.sum((Q.T @ F) ** 2), (f @ f) ** 2, np.sum((Q.T @ f) ** 2), f @ K @ f, c


def test_no_weight_is_better_than_the_closed_form():
    rng = np.random.default_rng(0)
    cases = set()
    for _ in range(1200):
        N2, S, q, b, p, _c = random_state(rng)
        beta = float(beta_star(N2, S, q, b, p, cap=np.inf if False else 1e6))
        value = lambda t: (S + t * b) / np.sqrt(N2 + 2 * t * p + t * t * q)  # noqa: B023, E731
        grid = np.geomspace(1e-6, 1e6, 400) * np.sqrt(N2 / q)
        assert value(grid).max() <= value(beta) * (1 + 1e-11)
        num, den = b * N2 - S * p, S * q - b * p
        cases.add((num > 0, den > 0))
        if num > 0 and den > 0:  # the value at the optimum, without the weight
            Ak, AK, rho = b / np.sqrt(q), S / np.sqrt(N2), p / np.sqrt(N2 * q)
            best = np.sqrt((AK**2 + Ak**2 - 2 * rho * AK * Ak) / (1 - rho**2))
            assert value(beta) == pytest.approx(best, rel=1e-9)
    assert cases == {(True, True), (True, False), (False, True)}


@pytest.mark.parametrize(
    "scalars, beta",
    [((4, 1.5, 2, 1.2, 0.5), 1.6875), ((1, 0.3, 1, 0.9, 0.5), 10.0), ((4, 2, 1, 0.3, 1), 0.0)],
)
def test_the_three_cases_of_the_weight(scalars, beta):
    assert float(beta_star(*scalars)) == pytest.approx(beta, rel=1e-12)


def problem(seed, n=40, dims=(3, 6, 4), c=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(c, size=n)
    y[:c] = np.arange(c)
    return [rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(c, d))[y] for d in dims], y


def levels_of(blocks, cuts):
    """Spaces as principal components of the data, by singular values."""
    spaces, levels = [], []
    for level, k in enumerate(cuts):
        for X in blocks:
            if k <= X.shape[1] or level == 0 or cuts[level - 1] < X.shape[1]:
                X = X - X.mean(0)
                V = np.linalg.svd(X, full_matrices=False)[2]
                spaces.append(X @ V[:k].T)
                levels.append(level)
    return spaces, levels


@pytest.mark.parametrize("order", ["eigen_first", "level_first", "space_first"])
@pytest.mark.parametrize("select", ["first", "best"])
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_moments_give_what_matrices_written_out_give(order, select, mu):
    for seed in range(3):
        blocks, y = problem(seed)
        spaces, levels = levels_of(blocks, [2, 4, 8])
        model = BoostedKernel(
            levels=[2, 4, 8], order=order, select=select, ridge=mu, min_gain=1e-3, n_rounds=40, rescale=False
        ).fit(blocks, y)
        Q = target(oracle.indicators(y))
        taken, betas, path, K = oracle.boost(
            spaces,
            levels,
            oracle.indicators(y),
            theta=1e-3,
            n_rounds=40,
            order=order,
            select=select,
            mu=mu,
            Q=Q,
        )
        assert model.selected_["eigenvector"].tolist() == [i for _, i in taken]
        assert model.selected_["dim"].tolist() == [spaces[s].shape[1] for s, _ in taken]
        np.testing.assert_allclose(model.alignments_, path, rtol=1e-8)
        np.testing.assert_allclose(model.selected_["weight"], betas, rtol=1e-6)
        np.testing.assert_allclose(model.kernel(blocks), K, atol=1e-8 * np.abs(K).max())


@given(st.integers(0, 10_000))
def test_alignment_rises_by_more_than_the_threshold(seed):
    blocks, y = problem(seed)
    model = BoostedKernel(min_gain=2e-3, levels=[2, 4, 8]).fit(blocks, y)
    assert np.all(model.selected_["gain"][3:] > 2e-3)
    K = model.kernel(blocks)
    Q = oracle.basis(oracle.indicators(y))
    assert model.alignments_[-1] == pytest.approx(oracle.alignment(K, Q @ Q.T), rel=1e-9)
    shifted = 3 * K + np.arange(40)[:, None] + np.arange(40)
    assert oracle.alignment(shifted, Q @ Q.T) == pytest.approx(model.alignments_[-1], rel=1e-9)
    phi = np.sqrt(3) * np.linalg.eigvalsh(Q.T @ K @ Q) / np.linalg.norm(oracle.centred(K))
    assert -1e-12 <= phi[0] <= model.alignments_[-1] <= 1 + 1e-12
    assert phi.mean() == pytest.approx(model.alignments_[-1], rel=1e-9)
    bound = BoostedKernel(solver="convex", levels=[8]).fit(blocks, y)
    assert model.alignments_[-1] <= bound.alignments_[-1] + 1e-9
    assert bound.certificate().max() < 1e-7


def test_plain_least_squares_and_not_unit_coefficients():
    """The document asks for coefficients of length 1; taken to the letter that favours small variances."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    f = np.array([0.5, -0.5, 0.5, -0.5])
    np.testing.assert_allclose(np.linalg.lstsq(X, f, rcond=None)[0], [0.5, 0.25], atol=1e-12)
    for scale, root, want in (
        (1.0, -0.957064886, [0.95883242, 0.28397252]),
        (0.2, -1.799582519, [0.997916945, 0.064511785]),
    ):
        nu, w = oracle.unit_regression(X, scale * f)
        assert nu == pytest.approx(root, abs=1e-8)
        np.testing.assert_allclose(w, want, atol=1e-8)
    blocks, y = problem(0)
    X, Q = blocks[1] - blocks[1].mean(0), oracle.basis(oracle.indicators(y))
    bound = np.stack([X @ oracle.unit_regression(X, q)[1] for q in Q.T], axis=1)
    ours = BoostedKernel(levels=None).fit([X], y).alignments_[-1]
    assert oracle.alignment(bound @ bound.T, Q @ Q.T) < 0.8 * ours
