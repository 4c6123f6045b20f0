"""Universal, adapted and per-image mixtures: golden values, invariants, and scikit-learn as an oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from lookalike.bags import AdaptedGMM, Bags, ImageGMM, Mixture, Mixtures, UniversalGMM, sample_mixture
from lookalike.bags._em import Encoder


def universal_from(weights, means, variances):
    gmm = UniversalGMM(n_components=len(weights))
    gmm.weights_, gmm.means_, gmm.variances_ = (np.asarray(a, float) for a in (weights, means, variances))
    gmm.n_features_in_ = gmm.means_.shape[1]
    return gmm


def random_mixture(rng, n=3, d=2):
    return Mixture(rng.dirichlet(np.full(n, 3.0)), rng.normal(0, 2, (n, d)), rng.uniform(0.3, 2, (n, d)))


def log_joint(X, m):
    """Equation 4.1, literally."""
    gauss = norm.logpdf(X[:, None], m.means[None], np.sqrt(m.variances)[None]).sum(2)
    return np.log(m.weights) + gauss


TOY = universal_from([0.5, 0.5], [[0.0], [4.0]], [[1.0], [1.0]])
TOY_BAG = Bags(np.array([[0.0], [1.0], [5.0]]), [0, 3])


def test_golden_value_of_adaptation():
    posterior, _ = Encoder(TOY.mixture_, np.float64).posteriors(TOY_BAG[0])
    expected = [[0.9996646499, 0.0003353501], [0.9820137900, 0.0179862100], [0.0000061442, 0.9999938558]]
    assert np.allclose(posterior, expected, atol=1e-10)
    adapted = AdaptedGMM(TOY, relevance=10).transform(TOY_BAG)[0]
    assert np.allclose(adapted.weights, [0.5209428080, 0.4790571920], atol=1e-9)
    assert np.allclose(adapted.means[:, 0], [0.0819621401, 4.0857384990], atol=1e-9)
    assert np.allclose(adapted.variances[:, 0], [0.9098617851, 1.0061645813], atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_the_encoder_is_the_density(dtype, offset):
    rng = np.random.default_rng(0)
    m = random_mixture(rng, 5, 7)
    m = m._replace(means=m.means + offset)
    X = (rng.normal(0, 3, (200, 7)) + offset).astype(dtype)
    literal = log_joint(X.astype(float), m)
    tolerance = 1e-9 if dtype == np.float64 else 2e-3 if offset else 1e-4
    assert np.allclose(
        Encoder(m, dtype).log_joint(X), literal, rtol=1e-4 if dtype == np.float32 else 1e-9, atol=tolerance
    )
    posterior, density = Encoder(m, np.float64).posteriors(X)
    assert np.allclose(posterior.sum(1), 1)
    assert np.allclose(density, logsumexp(literal, axis=1))
    assert np.allclose(Encoder(m, np.float64).log_density(X), density)


def test_a_descriptor_far_away_keeps_valid_posteriors():
    posterior, _ = Encoder(TOY.mixture_, np.float32).posteriors(np.array([[1e6], [-1e6]], np.float32))
    assert np.isfinite(posterior).all()
    assert np.allclose(posterior.sum(1), 1)


def test_one_level_never_loses_likelihood():
    rng = np.random.default_rng(1)
    truth = random_mixture(rng, 4, 3)
    X = sample_mixture(truth, 2000, 0)
    trace = []
    UniversalGMM(n_components=4, n_iter=15, tol=0, variance_floor=1e-9).fit_batches(
        [Bags(X, [0, len(X)])], on_iteration=lambda g: trace.append((len(g.weights_), g.log_likelihood_))
    )
    for level in (1, 2, 4):
        values = [value for n, value in trace if n == level]
        assert np.diff(values).min() >= -1e-10


def test_recovers_separated_gaussians_as_scikit_learn_does():
    rng = np.random.default_rng(2)
    truth = Mixture(
        np.array([0.2, 0.3, 0.5]), np.array([[-8.0, 0], [0, 8], [8, 0]]), rng.uniform(0.5, 2, (3, 2))
    )
    X = sample_mixture(truth, 6000, 1)
    ours = UniversalGMM(n_components=3, n_iter=100, tol=1e-9).fit(Bags(X, [0, 3000, 6000]))
    peer = GaussianMixture(3, covariance_type="diag", tol=1e-9, max_iter=500, random_state=0).fit(X)
    a, b = np.argsort(ours.means_[:, 0]), np.argsort(peer.means_[:, 0])
    assert np.allclose(ours.weights_[a], peer.weights_[b], atol=1e-4)
    assert np.allclose(ours.means_[a], peer.means_[b], atol=1e-3)
    assert np.allclose(ours.variances_[a], peer.covariances_[b], atol=1e-3)
    assert ours.score(Bags(X, [0, 6000])) == pytest.approx(peer.score(X), abs=1e-4)


def test_batches_and_memory_give_one_model():
    rng = np.random.default_rng(3)
    bags = Bags(rng.normal(size=(900, 4)), np.arange(0, 901, 100))
    whole = UniversalGMM(n_components=5).fit(bags)
    parts = UniversalGMM(n_components=5).fit_batches([bags[:3], bags[3:3], bags[3:]])
    assert np.allclose(whole.means_, parts.means_, atol=1e-8)
    assert len(whole.weights_) == 5  # not a power of two
    assert whole.weights_.sum() == pytest.approx(1)


def test_a_training_that_was_cut_goes_on_to_the_same_model():
    rng = np.random.default_rng(4)
    bags = Bags(rng.normal(size=(500, 3)), [0, 250, 500])

    class Cut(Exception):
        pass

    def cut(gmm):
        if (len(gmm.weights_), gmm.n_iter_) == (4, 2):
            raise Cut

    resumed = UniversalGMM(n_components=8, tol=0, warm_start=True)
    with pytest.raises(Cut):
        resumed.fit_batches([bags], on_iteration=cut)
    resumed.fit_batches([bags])
    assert np.allclose(resumed.means_, UniversalGMM(n_components=8, tol=0).fit(bags).means_, atol=1e-9)


def test_a_stream_seen_once_comes_near_the_batch_model():
    truth = Mixture(np.array([0.3, 0.7]), np.array([[-3.0], [3.0]]), np.ones((2, 1)))
    X = sample_mixture(truth, 8000, 5)
    gmm = UniversalGMM(n_components=2)
    for start in range(0, 8000, 400):
        gmm.partial_fit(Bags(X[start : start + 400], [0, 400]))
    assert gmm.n_seen_ == 20
    batch = UniversalGMM(n_components=2, n_iter=50).fit(Bags(X, [0, 8000]))
    assert gmm.score(Bags(X, [0, 8000])) == pytest.approx(batch.score(Bags(X, [0, 8000])), abs=5e-3)


def test_duplicates_and_constant_dimensions_do_not_collapse():
    X = np.concatenate([np.zeros((300, 3)), np.random.default_rng(0).normal(size=(100, 3))]).astype(
        np.float32
    )
    X[:, 2] = 7.0
    gmm = UniversalGMM(n_components=16).fit(Bags(X, [0, 400]))
    for array in gmm.mixture_:
        assert np.isfinite(array).all()
    assert gmm.variances_.min() > 0
    assert len(gmm.weights_) == 16


def test_an_empty_component_is_split_from_the_heaviest():
    from lookalike.bags._em import Statistics, maximise

    stats = Statistics(
        np.array([10.0, 0.0, 2.0]), np.array([[10.0], [0], [4]]), np.array([[20.0], [0], [10]])
    )
    weights, means, variances = maximise(stats, floor=np.array([1e-3]), split=0.2, min_count=0.01)
    assert weights.tolist() == pytest.approx([5 / 12, 2 / 12, 5 / 12])
    assert means[:, 0].tolist() == pytest.approx([1.2, 2, 0.8])
    assert variances[:, 0].tolist() == pytest.approx([1, 1, 1])


def objective(X, m, prior, tau):
    """What EM under the priors maximises: log-likelihood plus tau pseudo-observations of each Gaussian."""
    delta = prior.variances + (prior.means - m.means) ** 2
    cross = 0.5 * (np.log(2 * np.pi * m.variances) + delta / m.variances).sum(1)
    return logsumexp(log_joint(X, m), axis=1).sum() + tau * (np.log(m.weights) - cross).sum()


@given(st.integers(0, 10_000), st.sampled_from([0.5, 3.0, 30.0]))
def test_adaptation_never_loses_its_objective_and_keeps_its_bounds(seed, tau):
    rng = np.random.default_rng(seed)
    prior = universal_from(*random_mixture(rng, 3, 2))
    X = rng.normal(0, 3, (int(rng.integers(1, 40)), 2))
    bags = Bags(X, [0, len(X)])
    uniform = prior.mixture_._replace(weights=np.full(3, 1 / 3))
    values = [objective(X, prior.mixture_, uniform, tau)]
    for n_iter in (1, 2, 3, 6):
        adapted = AdaptedGMM(prior, relevance=tau, n_iter=n_iter).transform(bags)[0]
        assert adapted.weights.sum() == pytest.approx(1)
        values.append(objective(X, adapted, uniform, tau))
    assert np.diff(values).min() >= -1e-8 * abs(values[0])

    once = AdaptedGMM(prior, relevance=tau).transform(bags)[0]
    posterior, _ = Encoder(prior.mixture_, np.float64).posteriors(X)
    n = posterior.sum(0)
    assert np.all(once.variances >= (tau / (n + tau))[:, None] * prior.variances_ * (1 - 1e-9))
    data_mean = posterior.T @ X / n[:, None]
    step = (n / (n + tau))[:, None]
    assert np.allclose(once.means, step * data_mean + (1 - step) * prior.means_)


def test_adaptation_counts_descriptors_and_ignores_their_order():
    rng = np.random.default_rng(6)
    prior = universal_from(*random_mixture(rng, 4, 3))
    X = rng.normal(size=(30, 3))
    bags = Bags(np.concatenate([X, X[::-1], np.repeat(X, 3, 0)]), [0, 30, 60, 150])
    plain = AdaptedGMM(prior, relevance=2).transform(bags)
    tripled = AdaptedGMM(prior, relevance=6).transform(bags[2:])
    for k in ("weights", "means", "variances"):
        assert np.allclose(getattr(plain, k)[0], getattr(plain, k)[1])
        assert np.allclose(getattr(plain, k)[0], getattr(tripled, k)[0])


def test_limits_of_adaptation():
    rng = np.random.default_rng(7)
    prior = universal_from(*random_mixture(rng, 4, 3))
    bags = Bags(rng.normal(size=(50, 3)), [0, 50, 50])
    far = AdaptedGMM(prior, relevance=1e12).transform(bags)[0]
    assert np.allclose(far.weights, 1 / 4)
    assert np.allclose(far.means, prior.means_)
    assert np.allclose(far.variances, prior.variances_)
    to_universal = AdaptedGMM(prior, relevance=1e12, weight_prior="universal").transform(bags)[0]
    assert np.allclose(to_universal.weights, prior.weights_)
    free = AdaptedGMM(prior, relevance=0).transform(bags)[0]
    posterior, _ = Encoder(prior.mixture_, np.float64).posteriors(bags[0])
    assert np.allclose(free.weights, posterior.mean(0))
    assert np.allclose(free.means, posterior.T @ bags[0] / posterior.sum(0)[:, None])
    empty = AdaptedGMM(prior).transform(bags)[1]
    assert np.allclose(empty.weights, 1 / 4)
    assert np.allclose(empty.means, prior.means_)
    lost = universal_from([0.5, 0.5], [[0.0], [1e4]], [[1.0], [1.0]])
    kept = AdaptedGMM(lost, relevance=0).transform(TOY_BAG)[0]
    assert kept.means[1, 0] == 1e4
    assert 0 < kept.weights[1] < 1e-6


def test_float32_agrees_with_float64():
    rng = np.random.default_rng(8)
    X = rng.normal(5, 2, (300, 6))
    prior = UniversalGMM(n_components=8).fit(Bags(X, [0, 300]))
    wide = AdaptedGMM(prior).transform(Bags(X, [0, 300]))
    narrow = AdaptedGMM(prior).transform(Bags(X.astype(np.float32), [0, 300]))
    assert narrow.dtype == np.float32
    assert np.allclose(wide.weights, narrow.weights, rtol=1e-4)
    assert np.allclose(wide.means, narrow.means, rtol=1e-4, atol=1e-4)
    assert np.allclose(wide.variances, narrow.variances, rtol=1e-3)


def test_adaptation_fits_a_universal_mixture_where_it_has_none():
    rng = np.random.default_rng(9)
    bags = Bags(rng.normal(size=(200, 2)).astype(np.float32), [0, 100, 200])
    model = AdaptedGMM(UniversalGMM(n_components=2))
    with pytest.raises(ValueError, match="no universal mixture yet"):
        model.transform(bags)
    fitted = clone(model).fit(bags)
    assert fitted.universal_.n_components == 2
    assert not hasattr(fitted.universal, "weights_")
    assert fitted.transform(bags).shape == (2, 2)


def test_image_mixtures_are_universal_mixtures_of_one_bag():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(120, 2))
    bags = Bags(X, [0, 60, 120, 120])
    ours = ImageGMM(n_components=4).fit(bags).transform(bags)
    alone = UniversalGMM(n_components=4).fit(bags[:1])
    assert np.allclose(ours[0].means, alone.means_, atol=1e-6)
    assert np.allclose(ours[2].means, X.mean(0))
    one = ImageGMM(n_components=1).fit(bags).transform(bags)
    assert np.allclose(one.means[0, 0], X[:60].mean(0))
    assert np.allclose(one.variances[1, 0], X[60:].var(0))


def test_image_mixtures_of_tiny_and_constant_bags_are_valid():
    bags = Bags.from_list([np.ones((2, 3)), np.zeros((9, 3)), np.random.default_rng(0).normal(size=(50, 3))])
    for mixture in ImageGMM(n_components=4).fit_transform(bags):
        assert all(np.isfinite(a).all() for a in mixture)


def test_mixtures_index_like_a_list():
    rng = np.random.default_rng(11)
    items = [random_mixture(rng, 3, 2) for _ in range(5)]
    m = Mixtures.from_list(items)
    assert m[[3, 1]] == Mixtures.from_list([items[3], items[1]])
    assert m[np.array([True, False, False, False, True])] == Mixtures.from_list([items[0], items[4]])
    assert m[1:3] == Mixtures.from_list(items[1:3])
    assert np.array_equal(m[-1].means, items[-1].means)
    assert len(m[[]]) == 0
    assert sum(1 for _ in m) == 5


@pytest.mark.parametrize(
    ("weights", "means", "variances", "says"),
    [
        ([[1.0]], [[0.0]], [[1.0]], "shapes"),
        ([[0.5]], [[[0.0]]], [[[1.0]]], "sum to 1"),
        ([[1.0]], [[[np.nan]]], [[[1.0]]], "NaN"),
        ([[1.0]], [[[0.0]]], [[[0.0]]], "positive"),
    ],
)
def test_mixtures_refuse_what_is_none(weights, means, variances, says):
    with pytest.raises(ValueError, match=says):
        Mixtures(weights, means, variances)


@pytest.mark.parametrize(
    ("model", "bags", "says"),
    [
        (UniversalGMM(n_components=4), [np.zeros((3, 2))], "3 descriptors cannot train 4"),
        (UniversalGMM(n_components=4), [np.zeros((0, 2))], "every bag is empty"),
        (UniversalGMM(n_components=1), [[[np.nan]]], "bag 0 holds a descriptor with NaN"),
        (UniversalGMM(n_components=1), [[[0.0]], [[np.inf]]], "bag 1 holds"),
        (ImageGMM(), [np.zeros((0, 2))], "every bag is empty"),
    ],
)
def test_what_cannot_be_learned_says_why(model, bags, says):
    with pytest.raises(ValueError, match=says):
        model.fit(bags)


def test_a_generator_is_refused_because_it_is_read_several_times():
    with pytest.raises(ValueError, match="several times"):
        UniversalGMM(n_components=1).fit_batches(x for x in [TOY_BAG])


def test_progress_reaches_the_end():
    steps = []
    UniversalGMM(n_components=4, tol=0, n_iter=3).fit_batches(
        [Bags(np.eye(8), [0, 8])], progress=steps.append
    )
    assert steps[-1].fraction == 1
    assert [s.done for s in steps] == sorted(s.done for s in steps)


def test_adaptation_follows_a_universal_mixture_that_was_trained_on():
    rng = np.random.default_rng(21)
    bags = Bags.from_list([rng.normal(size=(40, 3)) for _ in range(4)])
    gmm = UniversalGMM(n_components=2).partial_fit(bags)
    model = AdaptedGMM(gmm)
    before = model.transform(bags).means
    gmm.partial_fit(Bags(bags.values + 3, bags.offsets))
    after = model.transform(bags).means
    assert not np.allclose(before, after)
    assert np.array_equal(after, AdaptedGMM(gmm).transform(bags).means)
    wide = Bags(bags.values.astype(np.float64), bags.offsets)
    assert model.transform(wide).dtype == np.float64
