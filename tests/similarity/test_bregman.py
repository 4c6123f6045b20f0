import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, jensenshannon
from scipy.special import rel_entr

from lookalike.similarity import (
    BregmanDivergence,
    bregman_divergence,
    bregman_pairwise,
    mahalanobis,
    mixed_divergence,
    natural_parameters,
    smooth_histograms,
    symmetrised_centroid,
)
from lookalike.similarity._bregman import NAMED

positive = arrays(np.float64, 5, elements=st.floats(0.01, 3.0))
OWN = BregmanDivergence("cosh", lambda x: np.cosh(x).sum(-1), np.sinh, np.arcsinh)
COVARIANCE = np.diag([2.0, 1, 1, 3, 4]) + 0.5 * np.eye(5, k=1) + 0.5 * np.eye(5, k=-1)
EVERY = [*NAMED.values(), mahalanobis(COVARIANCE), OWN]


@pytest.mark.parametrize("d", EVERY, ids=lambda d: d.name)
@given(p=positive, q=positive, r=positive)
def test_identities_of_every_divergence(d, p, q, r):
    definition = d.generator(p) - d.generator(q) - np.dot(p - q, d.gradient(q))
    assert d(p, q) >= 0
    assert d(p, q) == pytest.approx(definition, abs=1e-9)
    assert d(p, p) == pytest.approx(0, abs=1e-12)
    if d.name == "multinomial":
        assert d.inverse_gradient(d.gradient(p)) == pytest.approx(p, abs=1e-9)
    else:
        assert d.inverse_gradient(d.gradient(p)) == pytest.approx(p, rel=1e-9)
    # Duality (3.6), and convexity in the first argument.
    assert d.conjugate()(d.gradient(q), d.gradient(p)) == pytest.approx(d(p, q), abs=1e-9)
    assert d(0.3 * p + 0.7 * r, q) <= 0.3 * d(p, q) + 0.7 * d(r, q) + 1e-9


@pytest.mark.parametrize("d", EVERY, ids=lambda d: d.name)
def test_the_gradient_is_that_of_the_generator(d):
    x, step = np.array([0.3, 0.5, 1.2, 0.7, 2.0]), 1e-6
    slope = [(d.generator(x + step * e) - d.generator(x - step * e)) / (2 * step) for e in np.eye(5)]
    assert d.gradient(x) == pytest.approx(np.array(slope), rel=1e-5)


@pytest.mark.parametrize("name", sorted(NAMED))
@given(p=positive, q=positive)
def test_the_sides_belong_together(name, p, q):
    def side(s, **more):
        return float(bregman_divergence(p, q, divergence=name, side=s, **more))

    assert side("jeffreys") == pytest.approx(0.5 * (side("right") + side("left")), abs=1e-9)
    assert side("mixed", alpha=0.25) == pytest.approx(0.75 * side("left") + 0.25 * side("right"))
    assert mixed_divergence(q, p, q, divergence=name) == pytest.approx(side("jeffreys"), abs=1e-9)
    d = NAMED[name]
    remainder = 0.5 * (d.generator(p) + d.generator(q)) - d.generator((p + q) / 2)
    assert side("jensen") == pytest.approx(remainder, abs=1e-9)


def test_agrees_with_scipy_on_histograms():
    p, q = np.random.default_rng(0).dirichlet(np.ones(6), 2)
    assert bregman_divergence(p, q) == pytest.approx(rel_entr(p, q).sum())
    assert bregman_divergence(p, q, side="jensen") == pytest.approx(jensenshannon(p, q) ** 2)
    assert bregman_divergence(p, q, side="jensen") <= np.log(2)
    a, b = natural_parameters(p), natural_parameters(q)
    # The arguments swap between natural parameters.
    assert bregman_divergence(a, b, divergence="multinomial") == pytest.approx(rel_entr(q, p).sum())


def test_pairwise_agrees_with_scipy():
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(7, 5)), rng.normal(size=(4, 5))
    got = bregman_pairwise(X, Q, divergence=mahalanobis(COVARIANCE))
    want = cdist(X, Q, "mahalanobis", VI=np.linalg.inv(COVARIANCE)) ** 2
    assert got == pytest.approx(want)
    assert bregman_pairwise(np.zeros((0, 5)), Q, divergence="sqeuclidean").shape == (0, 4)


@pytest.mark.parametrize("name", ["kl", "itakura_saito", "sqeuclidean"])
def test_the_symmetrised_centroid_is_the_minimiser(name):
    X = np.random.default_rng(2).gamma(0.7, size=(9, 3)) + 0.01

    def cost(log_c):
        return bregman_divergence(X, np.exp(log_c), divergence=name, side="jeffreys").mean()

    best = minimize(cost, np.log(X.mean(axis=0)), method="BFGS", options={"gtol": 1e-9})
    c = symmetrised_centroid(X, divergence=name)
    assert c == pytest.approx(np.exp(best.x), rel=1e-4)
    assert cost(np.log(c)) <= best.fun + 1e-12


def test_the_centroid_of_the_specification():
    # a = (1, 1), g = (.5, .9): the objective is lower than at the best point of the geodesic.
    from lookalike.similarity._bregman import lambert_centre

    a, g = np.ones(2), np.array([0.5, 0.9])
    c = lambert_centre(a, np.log(g))
    assert 1 - a / c + np.log(c / g) == pytest.approx(0, abs=1e-12)
    lam = np.log(c / a) / np.log(g / a)
    assert np.sort(lam) == pytest.approx([0.459, 0.493], abs=5e-4)


def test_smoothing_touches_only_rows_with_an_empty_bin():
    X = np.array([[0.5, 0.5], [2.0, 0.0], [0.0, 0.0]])
    S = smooth_histograms(X)
    assert (S[0] == X[0]).all()
    assert S[1].sum() == pytest.approx(2)
    assert (S > 0).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bregman_divergence([1.0], [0.0]), "above zero"),
        (lambda: bregman_divergence([1.0], [np.nan], divergence="sqeuclidean"), "finite"),
        (lambda: bregman_divergence([1.0], [1.0], side="middle"), "side must be"),
        (lambda: bregman_divergence([1.0], [1.0], divergence="hinge"), "divergence must be"),
        (lambda: mahalanobis([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: smooth_histograms([[-1.0, 2.0]]), "below zero"),
        (lambda: symmetrised_centroid(np.ones((2, 2)), divergence="exponential"), "no closed form"),
    ],
)
def test_refuses_what_has_no_meaning(call, says):
    with pytest.raises(ValueError, match=says):
        call()
