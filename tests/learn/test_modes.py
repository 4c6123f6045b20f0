"""Pictures and words in one space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.arrays import Bags
from lookalike.errors import LookalikeError
from lookalike.learn import (
    CooccurrenceModel,
    CrossMediaRelevanceModel,
    KernelCCA,
    LatentSemanticIndex,
    TranslationModel,
)
from lookalike.learn._modes._blobs import translation_step
from lookalike.learn._modes._kernel_cca import View, incomplete_cholesky

WORDS = ["sky", "sea", "sand", "tree"]


def scenes(n=80, seed=0):
    """Pictures that are sums of what their words look like."""
    rng = np.random.default_rng(seed)
    looks = np.random.default_rng(99).normal(size=(4, 12))
    chosen = [rng.choice(4, rng.integers(1, 3), replace=False) for _ in range(n)]
    X = np.array([looks[c].sum(axis=0) for c in chosen]) + 0.2 * rng.normal(size=(n, 12))
    return X, [[WORDS[j] for j in c] for c in chosen]


def regions(n=80, seed=0):
    rng = np.random.default_rng(seed)
    looks = 5 * np.random.default_rng(99).normal(size=(4, 3))
    chosen = [rng.choice(4, 2, replace=False) for _ in range(n)]
    bags = [np.repeat(looks[c], 3, axis=0) + 0.2 * rng.normal(size=(6, 3)) for c in chosen]
    return Bags.from_list(bags), [[WORDS[j] for j in c] for c in chosen]


MODELS = [
    LatentSemanticIndex(8),
    KernelCCA(),
    KernelCCA(kernel="linear", max_rank=6),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_words_for_pictures_and_pictures_for_words(model):
    X, y = scenes()
    Xt, yt = scenes(60, seed=1)
    model.fit(X, y)
    best = [row[0].name for row in model.annotate(Xt, top=1)]
    assert np.mean([b in words for b, words in zip(best, yt)]) > 0.9
    found = [i for i, _ in model.search(["sea"], Xt, top=8)]
    assert np.mean(["sea" in yt[i] for i in found]) > 0.8
    both = [i for i, _ in model.search(["sea", "sand"], Xt, top=6)]
    assert np.mean([len({"sea", "sand"} & set(yt[i])) for i in both]) >= 1
    p = model.word_probabilities(Xt)
    truth = np.array([[w in words for w in model.words_] for words in yt])
    assert p.mean() == pytest.approx(truth.mean(), abs=0.1)
    assert p[truth].mean() > p[~truth].mean() + 0.3


@pytest.mark.parametrize(
    "model", [TranslationModel(8), CooccurrenceModel(8), CrossMediaRelevanceModel(8)], ids=repr
)
def test_words_for_regions(model):
    X, y = regions()
    Xt, yt = regions(40, seed=1)
    model.fit(X, y)
    best = [row[0].name for row in model.annotate(Xt, top=1)]
    assert np.mean([b in words for b, words in zip(best, yt)]) > 0.95
    np.testing.assert_allclose(model.word_probabilities(Xt).sum(axis=1), 1, atol=1e-9)
    found = [i for i, _ in model.search(["sea"], Xt, top=5)]
    assert np.mean(["sea" in yt[i] for i in found]) > 0.9


def test_unknown_words_and_wrong_shapes_are_told():
    X, y = scenes(20)
    model = LatentSemanticIndex(4, folds=None).fit(X, y)
    with pytest.raises(LookalikeError, match="none of the words 'zork'"):
        model.search("zork", X)
    with pytest.raises(ValueError, match="number of folds"):
        model.word_probabilities(X)
    with pytest.raises(ValueError, match="precomputed"):
        KernelCCA(kernel="precomputed").fit(X, y)
    blobs = TranslationModel(4).fit(*regions(10))
    with pytest.raises(ValueError, match="columns"):
        blobs.annotate(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="no picture has a region"):
        TranslationModel().fit(Bags.from_list([np.zeros((0, 3))], dim=3), [["sky"]])


# --- latent semantic indexing ---


def test_at_full_rank_the_words_of_a_document_find_it():
    X, _ = scenes(10)
    y = [[f"w{i}", "common"] for i in range(10)]
    model = LatentSemanticIndex(100, folds=None).fit(X, y)
    documents = model.embed_pictures(X) + np.concatenate([model.embed_words(w) for w in y])
    for i in range(10):
        cosine = documents @ model.embed_words(y[i])[0] / np.linalg.norm(documents, axis=1)
        assert cosine.argmax() == i


def test_both_halves_add_up_to_the_documents_and_keep_their_products():
    X, y = scenes(15)
    model = LatentSemanticIndex(100, folds=None).fit(X, y)
    whole = model.embed_pictures(X) + np.concatenate([model.embed_words(w) for w in y])
    np.testing.assert_allclose(whole.T @ whole, np.diag(model.singular_values_**2), atol=1e-8)
    counts = np.array([[w in words for w in model.words_] for words in y], float)
    raw = np.concatenate([X * np.linalg.norm(counts) / np.linalg.norm(X), counts], axis=1)
    np.testing.assert_allclose(whole @ whole.T, raw @ raw.T, atol=1e-8)


# --- kernel CCA ---


def test_correlations_do_not_exceed_one_and_grow_with_less_regularisation():
    X, y = scenes(50)
    strong, weak = (KernelCCA(regularization=r, folds=None).fit(X, y) for r in (3.0, 1e-6))
    assert np.all(strong.correlations_ <= weak.correlations_[: len(strong.correlations_)] + 1e-9)
    assert weak.correlations_[0] == pytest.approx(1.0, abs=1e-3)
    assert np.all(weak.correlations_ <= 1 + 1e-9)


def test_the_factored_problem_is_the_regularised_kernel_problem():
    """The generalised eigenproblem of the specification, on whole kernels."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    va, vb = View(a, 0.7), View(b, 0.7)
    rho = np.linalg.svd(va.shrink[:, None] * (va.left.T @ vb.left) * vb.shrink, compute_uv=False)
    ca, cb = a - a.mean(0), b - b.mean(0)
    ka, kb = ca @ ca.T, cb @ cb.T
    left, right = ka + va.kappa * np.eye(12), kb + vb.kappa * np.eye(12)
    m = np.linalg.solve(left, ka) @ kb @ np.linalg.inv(right)
    np.testing.assert_allclose(np.linalg.svd(m, compute_uv=False)[:3], rho, atol=1e-10)
    alpha = np.linalg.solve(left, va.left @ np.eye(va.left.shape[1]))
    np.testing.assert_allclose(ka @ alpha, va.project(a, np.eye(va.left.shape[1])), atol=1e-10)


@given(st.integers(0, 10**6), st.integers(1, 15))
def test_incomplete_cholesky_ends_exact_and_falls_short_from_below(seed, rank):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(15, 5))
    K = np.exp(-((x[:, None] - x) ** 2).sum(-1) / 5)
    factor, pivots = incomplete_cholesky(lambda p: K[:, p], np.diag(K), max_rank=rank, tol=0)
    rest = K - factor @ factor.T
    assert np.linalg.eigvalsh(rest)[0] > -1e-8
    np.testing.assert_allclose(rest[pivots], 0, atol=1e-8)
    if rank == 15:
        np.testing.assert_allclose(rest, 0, atol=1e-7)


def test_a_constant_kernel_stops_at_one_pivot():
    _, pivots = incomplete_cholesky(lambda p: np.ones(6), np.ones(6), max_rank=6)
    assert len(pivots) == 1


# --- translation ---


def test_the_likelihood_never_falls_and_rows_sum_to_one():
    model = TranslationModel(8, n_iter=30).fit(*regions())
    assert np.all(np.diff(model.log_likelihoods_) >= -1e-9)
    np.testing.assert_allclose(model.table_.sum(axis=1), 1)


def test_a_step_is_the_sum_over_alignments():
    rng = np.random.default_rng(3)
    pictures = [([0, 1, 1], [0, 2]), ([2], [1]), ([0, 2], [0, 1])]
    table = rng.dirichlet(np.ones(3), size=3)
    blobs, words = np.zeros((3, 3)), np.zeros((3, 3))
    expected = np.zeros((3, 3))
    for n, (b, w) in enumerate(pictures):
        np.add.at(blobs[n], b, 1)
        words[n, w] = 1
        for j in w:
            total = sum(table[i, j] for i in b)
            for i in b:
                expected[i, j] += table[i, j] / total
    expected /= expected.sum(axis=1, keepdims=True)
    new, likelihood = translation_step(blobs, words, table)
    np.testing.assert_allclose(new, expected)
    by_hand = sum(np.log(np.mean([table[i, j] for i in b])) for b, w in pictures for j in w)
    assert likelihood == pytest.approx(by_hand)
