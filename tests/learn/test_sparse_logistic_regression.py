import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from lookalike.learn import SparseLogisticRegression
from lookalike.learn._sparse_logistic_regression import (
    Design,
    indicators,
    largest_lambda,
    objective,
    sparse_logistic,
)


def problem(seed=0, n=80, d=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 5, d) + rng.normal(0, 3, d)
    y = (X[:, 0] - X[:, 0].mean() + rng.normal(0, 1, n) > 0).astype(int)
    return X, y


@given(st.integers(0, 1000), st.floats(0.01, 0.9))
def test_the_optimality_conditions_hold(seed, share):
    X, y = problem(seed % 20)
    model = SparseLogisticRegression(penalty=share, tol=1e-6).fit(X, y)
    gradient = X.T @ (expit(X @ model.coef_[0] + model.intercept_) - y) / len(y)
    kept = model.coef_[0] != 0
    lam = model.lambda_
    assert np.abs(gradient).max() <= lam * (1 + 1e-4)
    assert np.allclose(gradient[kept], -lam * np.sign(model.coef_[0][kept]), atol=1e-4 * lam)
    assert (expit(X @ model.coef_[0] + model.intercept_) - y).sum() == pytest.approx(0, abs=1e-3)


def test_all_coefficients_vanish_from_the_largest_penalty_on():
    X, y = problem()
    literal = np.abs(((y - y.mean()) @ X) / len(y)).max()
    assert largest_lambda(Design(X, np.ones(len(y))), indicators(y, 2)) == pytest.approx(literal)
    model = SparseLogisticRegression(penalty=1.0).fit(X, y)
    assert not model.coef_.any()
    assert model.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())))
    assert SparseLogisticRegression(penalty=0.98).fit(X, y).coef_.any()


@pytest.mark.parametrize("share", [0.3, 0.05, 0.01])
def test_agrees_with_scikit_learn(share):
    X, y = problem(3, n=120, d=40)
    ours = SparseLogisticRegression(penalty=share, tol=1e-7).fit(X, y)
    C = 1 / (ours.lambda_ * len(y))
    peer = LogisticRegression(l1_ratio=1, C=C, solver="saga", tol=1e-8, max_iter=100_000)
    peer.fit((X - X.mean(0)), y)  # centred, where its steps converge; the bias is free in both
    assert np.allclose(ours.coef_, peer.coef_, atol=2e-3 * np.abs(peer.coef_).max())


def test_several_classes_are_several_problems():
    X, y = load_iris(return_X_y=True)
    model = SparseLogisticRegression(penalty=0.01, tol=1e-6).fit(X, y)
    design, targets = Design(X, np.ones(len(y))), indicators(y, 3)
    for k in range(3):
        alone = sparse_logistic(design, targets[:, [k]], model.lambda_, tol=1e-6)
        assert np.allclose(alone.coef[0], model.coef_[k], atol=1e-3)
    assert model.score(X, y) > 0.9
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(1), 1)
    assert np.array_equal(proba.argmax(1), model.predict(X))


def test_a_warm_start_changes_nothing():
    X, y = problem(5)
    design, targets = Design(X, np.ones(len(y))), indicators(y, 2)
    top = largest_lambda(design, targets)
    first = sparse_logistic(design, targets, 0.3 * top)
    warm = sparse_logistic(design, targets, 0.1 * top, start=first, tol=1e-7)
    cold = sparse_logistic(design, targets, 0.1 * top, tol=1e-7)
    assert objective(X, targets, warm, 0.1 * top) == pytest.approx(
        objective(X, targets, cold, 0.1 * top), rel=1e-6
    )


def test_a_weight_of_two_is_the_row_twice():
    X, y = problem(6)
    twice = np.concatenate([X, X[:10]]), np.concatenate([y, y[:10]])
    weight = np.ones(len(y))
    weight[:10] = 2
    a = SparseLogisticRegression(tol=1e-7).fit(*twice)
    b = SparseLogisticRegression(tol=1e-7).fit(X, y, sample_weight=weight)
    assert np.allclose(a.coef_, b.coef_, atol=1e-4)


def test_the_penalty_can_be_chosen_on_held_out_images():
    X, y = problem(7, n=150)
    model = SparseLogisticRegression(penalty="cv").fit(X, y)
    assert 0.001 <= model.penalty_ <= 0.4
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="at least two images"):
        SparseLogisticRegression(penalty="cv").fit(X[:3], [0, 0, 1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_similarities_to_images_explain_themselves(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    K = np.exp(-((X[:, None] - X) ** 2).sum(2))
    model = SparseLogisticRegression(images=True, penalty=0.05).fit(K, y)
    scores = model.decision_function(K)
    for i, evidence in enumerate(model.explain(K)):
        k = int(model.predict(K[[i]])[0])
        whole = scores[i] * (2 * k - 1) if n_classes == 2 else scores[i, k]
        bias = model.intercept_[0] * (2 * k - 1) if n_classes == 2 else model.intercept_[k]
        assert evidence.label == k
        assert evidence.score == pytest.approx(evidence.shares.sum())
        assert evidence.score + bias == pytest.approx(whole)
    assert len(model.prototypes_) == len(model.alphas_) < len(X)
    plain = SparseLogisticRegression().fit(K, y)
    assert not hasattr(plain, "explain")
    assert not hasattr(plain, "prototypes_")
    with pytest.raises(ValueError, match="one feature for each training image"):
        SparseLogisticRegression(images=True).fit(X, y)


def test_features_that_never_vary_are_left_out():
    X, y = problem(8)
    X[:, 4] = 3.5
    model = SparseLogisticRegression(penalty=0.01).fit(X, y)
    assert model.coef_[0, 4] == 0
    flat = SparseLogisticRegression().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 0])
    assert np.allclose(flat.predict_proba(np.ones((1, 2)))[0, 1], 1 / 3)


def test_scikit_learns_gradient_descent_is_the_linear_machine_of_the_appendix():
    # Appendix A of the thesis: hinge loss and eta = 1 / (lambda (t + t0)). SGDClassifier with
    # learning_rate="optimal" is that algorithm; it comes near liblinear's optimum with C = 1 / (lambda N).
    X, y = problem(9, n=400, d=10)
    X = (X - X.mean(0)) / X.std(0) / np.sqrt(10)
    lam = 1e-3
    sgd = SGDClassifier(alpha=lam, learning_rate="optimal", max_iter=200, tol=None, random_state=0)
    exact = LinearSVC(loss="hinge", C=1 / (lam * len(y)), max_iter=200_000, random_state=0)

    def value(model):
        margin = model.decision_function(X) * (2 * y - 1)
        return lam / 2 * (model.coef_**2).sum() + np.maximum(0, 1 - margin).mean()

    assert value(sgd.fit(X, y)) < 1.1 * value(exact.fit(X, y))


def test_the_compiled_loop_minimises_its_quadratic_model():
    from lookalike.learn._coordinate_kernels import descend

    rng = np.random.default_rng(10)
    A, h = rng.normal(size=(5, 40)), rng.uniform(0.1, 1, 40)
    g, limits, start = rng.normal(size=5) * 10, np.full(5, 3.0), rng.normal(size=5)
    step, moved = descend(A, h, g, limits, start, 2.0, 1e-12, 10_000)
    assert np.allclose(moved, A.T @ step[:5] + step[5])

    # The same sweeps in plain numpy, on the full matrix of second derivatives.
    full = np.vstack([A, np.ones(40)])
    H, slope = full @ (h[:, None] * full.T), np.append(g, 2.0)
    d = np.zeros(6)
    for _ in range(2000):
        for j in range(6):
            rest = slope[j] + H[j] @ d - H[j, j] * d[j]
            if j == 5:
                d[j] = -rest / H[j, j]
                continue
            goal = start[j] - rest / H[j, j]
            d[j] = np.sign(goal) * max(abs(goal) - limits[j] / H[j, j], 0) - start[j]
    assert np.allclose(step, d, atol=1e-8)
