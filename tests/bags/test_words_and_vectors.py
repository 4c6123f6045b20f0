"""Histograms, Fisher vectors, VLAD and the projection of descriptors."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from lookalike.bags import VLAD, BagOfWords, Bags, DescriptorPCA, FisherVector, UniversalGMM
from lookalike.bags._bag_of_words import nearest_words


def some_bags(seed=0, n=6, d=4, low=5, high=30, dtype=np.float32):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(low, high, n)
    return Bags(rng.normal(size=(sizes.sum(), d)).astype(dtype), np.concatenate([[0], np.cumsum(sizes)]))


def test_pca_gives_uncorrelated_dimensions_in_order():
    rng = np.random.default_rng(0)
    mixed = Bags((rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6)) + 3).astype(np.float32), [0, 200, 500])
    pca = DescriptorPCA(n_components=4).fit(mixed)
    out = pca.transform(mixed)
    covariance = np.cov(out.values.T.astype(float), bias=True)
    assert np.abs(out.values.mean(0)).max() < 1e-5
    assert np.allclose(covariance, np.diag(pca.explained_variance_), atol=1e-4)
    assert np.all(np.diff(pca.explained_variance_) <= 0)
    assert np.allclose(pca.components_ @ pca.components_.T, np.eye(4))
    biggest = np.abs(pca.components_).argmax(1)
    assert np.all(pca.components_[np.arange(4), biggest] > 0)
    white = DescriptorPCA(n_components=4, whiten=True).fit_transform(mixed)
    assert np.allclose(white.values.var(0), 1, atol=1e-3)


def test_pca_of_roots_is_pca_of_normalised_roots():
    rng = np.random.default_rng(2)
    bags = Bags.from_list([rng.gamma(0.5, size=(40, 6)) for _ in range(5)])
    bags.values[3] = 0
    totals = np.maximum(bags.values.sum(1, keepdims=True), 1e-30)
    roots = Bags(np.sqrt(bags.values / totals), bags.offsets)
    ours = DescriptorPCA(n_components=3, root=True).fit_transform(bags)
    assert np.allclose(ours.values, DescriptorPCA(n_components=3).fit_transform(roots).values, atol=1e-5)
    with pytest.raises(ValueError, match="negative"):
        DescriptorPCA(root=True).fit(Bags(-bags.values, bags.offsets))


def test_pca_passes_positions_on():
    bags = some_bags(d=6)
    out = DescriptorPCA(n_components=2, n_positions=2).fit_transform(bags)
    assert np.array_equal(out.values[:, 2:], bags.values[:, 4:])
    assert np.array_equal(out.offsets, bags.offsets)


def test_nearest_words_are_nearest_even_far_from_zero():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5)).astype(np.float32) + 100
    words = rng.normal(size=(40, 5)) + 100
    literal = ((X[:, None].astype(float) - words) ** 2).sum(2).argmin(1)
    assert np.mean(nearest_words(X, words) == literal) > 0.999


def test_histograms_sum_to_one_and_empty_bags_to_zero():
    bags = Bags.from_list([*some_bags(), np.zeros((0, 4))])
    for model in (
        BagOfWords(n_words=5, random_state=0),
        BagOfWords(n_words=4, assignment="soft"),
        BagOfWords(n_words=4, assignment="soft", threshold=0.01),
    ):
        h = model.fit(bags).transform(bags)
        assert h.dtype == np.float32
        assert h.min() >= 0
        assert np.allclose(h[:-1].sum(1), 1, atol=1e-5)
        assert not h[-1].any()
        assert np.array_equal(h[[2]], model.transform(bags[2:3]))


def test_soft_words_are_the_mean_posterior_and_turn_hard_with_narrow_gaussians():
    bags = some_bags(2, dtype=np.float64)
    gmm = UniversalGMM(n_components=4).fit(bags)
    soft = BagOfWords(assignment="soft", universal=gmm).fit(bags)
    peer = GaussianMixture(4, covariance_type="diag")
    peer.weights_, peer.means_, peer.covariances_ = gmm.mixture_
    peer.precisions_cholesky_ = 1 / np.sqrt(gmm.variances_)
    assert np.allclose(soft.transform(bags)[0], peer.predict_proba(bags[0]).mean(0), atol=1e-6)
    assert np.allclose(gmm.transform(bags), soft.transform(bags), atol=1e-6)

    gmm.variances_ = np.full_like(gmm.variances_, 1e-4)
    gmm.weights_ = np.full(4, 0.25)
    hard = np.stack([np.bincount(nearest_words(b, gmm.means_), minlength=4) / len(b) for b in bags])
    assert np.allclose(soft.transform(bags), hard, atol=1e-6)


def test_threshold_makes_histograms_sparse():
    bags = some_bags(3, n=20)
    gmm = UniversalGMM(n_components=8).fit(bags)
    full = BagOfWords(assignment="soft", universal=gmm).fit(bags).transform(bags[:1])
    sparse = BagOfWords(assignment="soft", universal=gmm, threshold=0.9).fit(bags).transform(bags[:1])
    assert (sparse > 0).sum() <= (full > 0).sum()


def literal_fisher(X, gmm):
    """Equations 16 to 18 of Sánchez et al., one descriptor at a time."""
    w, mu, sigma = gmm.weights_, gmm.means_, np.sqrt(gmm.variances_)
    out = np.zeros((3, *mu.shape))
    for x in X:
        joint = np.log(w) - 0.5 * (((x - mu) / sigma) ** 2 + 2 * np.log(sigma)).sum(1)
        post = np.exp(joint - joint.max())
        post /= post.sum()
        out[0, :, 0] += (post - w) / np.sqrt(w)
        out[1] += post[:, None] * (x - mu) / sigma / np.sqrt(w)[:, None]
        out[2] += post[:, None] * (((x - mu) / sigma) ** 2 - 1) / np.sqrt(2 * w)[:, None]
    out /= len(X)
    return out[0, :, 0], out[1].ravel(), out[2].ravel()


def test_fisher_vectors_are_the_literal_gradient():
    bags = some_bags(4, dtype=np.float64)
    gmm = UniversalGMM(n_components=3).fit(bags)
    ours = FisherVector(gmm, weights=True).fit(bags).transform(bags)
    raw = np.concatenate(literal_fisher(bags[1], gmm))
    powered = np.sign(raw) * np.sqrt(np.abs(raw))
    assert np.allclose(ours[1], powered / np.linalg.norm(powered))
    plain = FisherVector(gmm, power=1).fit(bags).transform(bags)
    assert np.allclose(plain[1], raw[3:] / np.linalg.norm(raw[3:]))
    narrow = FisherVector(gmm).fit(bags).transform(Bags(bags.values.astype(np.float32), bags.offsets))
    assert np.allclose(narrow, FisherVector(gmm).fit(bags).transform(bags), atol=2e-3)


def test_pyramid_cells_are_fisher_vectors_of_their_descriptors():
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(60, 3)), rng.uniform(size=(60, 2))], axis=1)
    bags = Bags(X, [0, 40, 60])
    gmm = UniversalGMM(n_components=2).fit(Bags(X[:, :3], [0, 60]))
    pyramid = FisherVector(gmm, pyramid=[(1, 1), (2, 1)], n_positions=2).fit(bags).transform(bags)
    assert np.allclose(np.linalg.norm(pyramid, axis=1), 1)
    flat = FisherVector(gmm).fit(Bags(X[:, :3], [0, 60]))
    lower = bags[0][bags[0][:, 4] >= 0.5][:, :3]
    parts = pyramid[0].reshape(3, -1) * np.sqrt(3)
    assert np.allclose(parts[0], flat.transform([bags[0][:, :3]])[0], atol=1e-5)
    assert np.allclose(parts[2], flat.transform([lower])[0], atol=1e-5)


def test_vlad_is_the_literal_sum():
    bags = some_bags(6, dtype=np.float64)
    vlad = VLAD(n_words=3, power=1, intra=False, random_state=0).fit(bags)
    raw = np.zeros((3, 4))
    for x in bags[0]:
        k = ((x - vlad.words_) ** 2).sum(1).argmin()
        raw[k] += x - vlad.words_[k]
    assert np.allclose(vlad.transform(bags)[0], raw.ravel() / np.linalg.norm(raw), atol=1e-6)
    intra = VLAD(n_words=3, random_state=0).fit_transform(bags)[0].reshape(3, 4)
    lengths = np.linalg.norm(intra, axis=1)
    assert np.allclose(lengths[lengths > 0], 1 / np.sqrt((lengths > 0).sum()))


def test_empty_bags_give_zero_vectors():
    bags = Bags.from_list([*some_bags(7), np.zeros((0, 4))])
    for model in (VLAD(n_words=3, random_state=0), FisherVector(UniversalGMM(n_components=2))):
        out = model.fit(bags).transform(bags)
        assert np.isfinite(out).all()
        assert not out[-1].any()


def test_chains_of_bags_work_in_a_pipeline():
    bags = some_bags(8, n=10, low=20)
    chain = make_pipeline(DescriptorPCA(n_components=3), BagOfWords(n_words=6, random_state=0))
    assert chain.fit_transform(bags).shape == (10, 6)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (BagOfWords(n_words=1000), "cannot make 1000 words"),
        (VLAD(n_words=1000), "cannot make 1000 words"),
        (VLAD(n_words=2, pyramid=[(2, 2)]), "needs the positions"),
        (FisherVector(pyramid=[(0, 2)]), "at least 1"),
        (DescriptorPCA(n_components=0), "n_components"),
    ],
)
def test_what_cannot_be_done_says_why(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(some_bags())


def test_other_dimensions_are_refused():
    model = BagOfWords(n_words=2, random_state=0).fit(some_bags())
    with pytest.raises(ValueError, match="have 5 columns, but the estimator was fitted on 4"):
        model.transform(some_bags(d=5))
