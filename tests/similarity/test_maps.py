"""Explicit maps of kernels: golden spectra, exactness where it is a theorem, and errors that fall."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from lookalike.bags import AdaptedGMM, Bags, Mixtures, UniversalGMM
from lookalike.similarity import (
    AdditiveKernelPCA,
    KernelPCAMap,
    MixtureSupervector,
    RandomFourierMap,
    SimilarityVectors,
    SquareRootMap,
    additive_kernel,
    exponential_kernel,
    kl_kernel,
    probability_product,
    symmetric_kl,
)


def histograms(rng, n, d=30, concentration=0.3):
    return rng.dirichlet(np.full(d, concentration), n)


def random_mixtures(rng, n, n_components=3, d=2):
    return Mixtures(
        rng.dirichlet(np.full(n_components, 2.0), n),
        rng.normal(0, 1, (n, n_components, d)),
        rng.uniform(0.3, 2, (n, n_components, d)),
    )


# --- additive kernels --------------------------------------------------------------------------------

SPECTRA = {
    "chi2": (0.952843, 0.041646, 0.004562, 0.000748),
    "intersection": (0.810592, 0.090075, 0.032434, 0.016553),
}
RANK_ONE_ERROR = {"chi2": 0.0439, "intersection": 0.1203, "bhattacharyya": 0.0}


@pytest.mark.parametrize("kernel", ["chi2", "intersection", "bhattacharyya"])
def test_golden_spectra_on_a_regular_grid(kernel):
    u = np.linspace(0, 1, 128)[:, None]
    K = additive_kernel(u, kind=kernel)
    model = AdditiveKernelPCA(kernel=kernel, n_components=4, n_bins=0).fit(u)
    shares = model.eigenvalues_ / np.trace(K)
    if kernel == "bhattacharyya":
        assert shares.tolist() == pytest.approx([1])
    else:
        assert np.allclose(shares, SPECTRA[kernel], atol=1e-6)
    first = model.transform(u)[:, 0]
    error = np.linalg.norm(K - np.outer(first, first)) / np.linalg.norm(K)
    assert error == pytest.approx(RANK_ONE_ERROR[kernel], abs=1e-4)
    if kernel == "chi2":
        assert np.corrcoef(first, np.sqrt(u[:, 0]))[0, 1] == pytest.approx(0.9976, abs=1e-4)
        assert np.abs(K - np.outer(first, first)).max() == pytest.approx(0.0543, abs=1e-4)
    if kernel == "bhattacharyya":
        assert np.allclose(first, np.sqrt(u[:, 0]))


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
def test_more_outputs_come_nearer_and_zeros_stay_zero(kernel):
    rng = np.random.default_rng(0)
    X, Z = histograms(rng, 200), histograms(rng, 40)
    Z[Z < 1e-3] = 0
    K = additive_kernel(Z, kind=kernel)
    errors = []
    for n_components in (30, 60, 120):
        out = AdditiveKernelPCA(kernel=kernel, n_components=n_components, random_state=0).fit(X)
        V = out.transform(Z)
        assert V.shape == (40, n_components)
        errors.append(np.abs(V @ V.T - K).mean())
        owner = np.repeat(np.arange(30), np.diff(out.starts_))
        assert not V[Z[:, owner] == 0].any()
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < (0.01 if kernel == "chi2" else 0.03)


def test_tables_agree_with_the_functions_they_hold():
    rng = np.random.default_rng(1)
    X = rng.gamma(0.5, 1, (300, 8))
    X /= X.sum(1, keepdims=True)
    settings = {"n_components": 24, "random_state": 0}
    exact = AdditiveKernelPCA(n_bins=0, **settings).fit(X)
    table = AdditiveKernelPCA(n_bins=100, **settings).fit(X)
    a, b = exact.transform(X), table.transform(X)
    assert np.sqrt(((a - b) ** 2).sum(0) / (a**2).sum(0)).max() < 3e-3
    assert np.allclose(b, table.transform(X.astype(np.float32)), atol=1e-3)
    beyond = np.full((1, 8), 9.0)
    assert np.allclose(table.transform(beyond), exact.transform(beyond), atol=1e-6)


def literal_look_up(X, model):
    """The compiled loop in plain numpy."""
    out = np.zeros((len(X), model.starts_[-1]))
    for d in range(X.shape[1]):
        lo, hi = model.starts_[d], model.starts_[d + 1]
        nodes = model.largest_[d] * (np.arange(model.n_bins + 1) / model.n_bins) ** 2
        table = model.tables_[lo * (model.n_bins + 1) : hi * (model.n_bins + 1)].reshape(-1, hi - lo)
        for e in range(hi - lo):
            out[:, lo + e] = np.interp(np.sqrt(X[:, d]), np.sqrt(nodes), table[:, e])
    return out


def test_the_compiled_loop_is_interpolation():
    rng = np.random.default_rng(2)
    X = histograms(rng, 60, 7)
    model = AdditiveKernelPCA(n_samples=20, random_state=0).fit(X)
    assert np.allclose(model.transform(X), literal_look_up(X, model))


def test_the_bhattacharyya_map_is_the_square_root():
    rng = np.random.default_rng(3)
    X = histograms(rng, 50)
    for n_bins in (0, 100):
        out = AdditiveKernelPCA(kernel="bhattacharyya", n_components=30, n_bins=n_bins).fit_transform(X)
        assert np.allclose(out, np.sqrt(X), atol=1e-7)
    assert np.array_equal(SquareRootMap().fit_transform(X), np.sqrt(X))


def test_a_word_the_sample_lacks_is_not_lost():
    X = np.full((400, 3), 0.5)
    X[:, 2] = 0
    X[7, 2] = 0.4
    out = AdditiveKernelPCA(n_samples=5, random_state=0).fit(X)
    assert out.starts_[3] > out.starts_[2]
    never = AdditiveKernelPCA().fit(np.array([[1.0, 0], [0.5, 0]]))
    assert never.starts_.tolist()[1:] == [never.starts_[-1]] * 2
    assert np.isfinite(never.transform([[1.0, 3.0]])).all()


# --- kernel PCA --------------------------------------------------------------------------------------


def test_kernel_pca_is_exact_on_its_sample_and_improves_with_its_outputs():
    X = load_iris().data[:80]
    K = rbf_kernel(X, gamma=0.4)
    Z = KernelPCAMap(gamma=0.4, n_samples=80).fit_transform(X)
    assert np.allclose(Z @ Z.T, K, atol=1e-7)
    errors = []
    for n_components in (2, 5, 10):
        V = KernelPCAMap(gamma=0.4, n_samples=80, n_components=n_components).fit_transform(X)
        errors.append(np.linalg.norm(V @ V.T - K))
        values = np.linalg.eigvalsh(K)[:-n_components]
        assert errors[-1] == pytest.approx(np.sqrt((values**2).sum()), abs=1e-6)  # Eckart and Young
    assert errors == sorted(errors, reverse=True)


def test_kernel_pca_is_nystroem_up_to_a_rotation():
    X = load_iris().data
    ours = KernelPCAMap(gamma=0.5, n_samples=20, random_state=0).fit(X)
    peer = Nystroem(kernel="rbf", gamma=0.5, n_components=20, random_state=0).fit(X)
    peer.components_ = ours.samples_
    peer.normalization_ = np.linalg.inv(np.linalg.cholesky(rbf_kernel(ours.samples_, gamma=0.5)))
    A, B = ours.transform(X), peer.transform(X)
    assert np.allclose(A @ A.T, B @ B.T, atol=1e-6)


@pytest.mark.parametrize("kernel", ["exp-chi2", "exp-bhattacharyya", "intersection"])
def test_kernel_pca_maps_histogram_kernels(kernel):
    X = histograms(np.random.default_rng(4), 40)
    model = KernelPCAMap(kernel=kernel).fit(X)
    Z = model.transform(X)
    if kernel.startswith("exp"):
        expected = exponential_kernel(X, kind=kernel[4:], gamma=model.gamma_)
        off = ~np.eye(40, dtype=bool)
        assert -np.log(expected[off]).mean() == pytest.approx(1)
    else:
        expected = additive_kernel(X, kind=kernel)
    assert np.allclose(Z @ Z.T, expected, atol=1e-6)


def test_kernel_pca_maps_mixtures():
    m = random_mixtures(np.random.default_rng(5), 12)
    Z = KernelPCAMap(kernel="probability-product").fit_transform(m)
    assert np.allclose(Z @ Z.T, probability_product(m), atol=1e-6)


def test_a_kernel_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing to map"):
        KernelPCAMap(kernel="chi2").fit(np.zeros((3, 2)))


# --- random waves ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "exp-bhattacharyya", "exp-intersection"])
def test_random_waves_have_length_one_and_their_error_falls(kernel):
    X = histograms(np.random.default_rng(6), 30, 6, 1.0)
    K = rbf_kernel(X, gamma=2.0) if kernel == "rbf" else exponential_kernel(X, kind=kernel[4:], gamma=2.0)
    errors = {}
    for n in (50, 5000):
        runs = [
            RandomFourierMap(kernel=kernel, gamma=2.0, n_frequencies=n, random_state=seed).fit_transform(X)
            for seed in range(10)
        ]
        for Z in runs:
            assert np.allclose(np.linalg.norm(Z, axis=1), 1)
        errors[n] = np.mean([np.abs(Z @ Z.T - K).mean() for Z in runs])
        mean = np.mean([Z @ Z.T for Z in runs], axis=0)
        assert np.abs(mean - K).mean() < errors[n]  # unbiased: averaging helps
    assert errors[50] / errors[5000] == pytest.approx(10, rel=0.3)


# --- mixtures ----------------------------------------------------------------------------------------


def test_supervectors_are_exact_where_weights_and_variances_are_shared():
    rng = np.random.default_rng(7)
    n, N, d = 6, 3, 4
    m = Mixtures(
        np.tile(rng.dirichlet(np.ones(N)), (n, 1)),
        rng.normal(size=(n, N, d)),
        np.tile(rng.uniform(0.5, 2, (N, d)), (n, 1, 1)),
    )
    V = MixtureSupervector().fit_transform(m)
    apart = ((V[:, None] - V) ** 2).sum(2)
    assert np.allclose(apart, symmetric_kl(m), atol=1e-8)
    assert np.allclose(np.exp(-0.3 * apart), kl_kernel(m, gamma=0.3), atol=1e-8)
    assert V.shape == (n, 2 * N * d + N)
    assert MixtureSupervector(variances=False, weights=False).fit_transform(m).shape == (n, N * d)


def test_supervectors_follow_the_divergence_of_adapted_mixtures():
    rng = np.random.default_rng(8)
    bags = Bags.from_list([rng.normal(rng.normal(0, 0.5, 4), 1, (80, 4)) for _ in range(25)])
    m = AdaptedGMM(UniversalGMM(n_components=8).fit(bags)).transform(bags)
    V = MixtureSupervector().fit_transform(m)
    off = ~np.eye(25, dtype=bool)
    a, b = ((V[:, None] - V) ** 2).sum(2)[off], symmetric_kl(m)[off]
    assert np.corrcoef(a, b)[0, 1] > 0.98
    assert np.median(a / b) == pytest.approx(1, abs=0.15)


def test_supervectors_need_the_shape_of_the_training():
    rng = np.random.default_rng(9)
    model = MixtureSupervector().fit(random_mixtures(rng, 3))
    with pytest.raises(ValueError, match="do not fit"):
        model.transform(random_mixtures(rng, 3, n_components=2))


def test_similarity_vectors_are_the_kernels():
    rng = np.random.default_rng(10)
    bags = Bags.from_list([rng.normal(size=(30, 3)) for _ in range(8)])
    m = AdaptedGMM(UniversalGMM(n_components=2).fit(bags)).transform(bags)
    kl = SimilarityVectors(kernel="kl").fit(m)
    assert np.allclose(kl.transform(m[:3]), kl_kernel(m[:3], m, gamma=kl.gamma_))
    assert kl.gamma_ == pytest.approx(1 / symmetric_kl(m)[~np.eye(8, dtype=bool)].mean())
    ppk = SimilarityVectors(kernel="probability-product", settings={"rho": 1, "method": "one-to-many"}).fit(m)
    assert np.allclose(ppk.transform(m), probability_product(m, rho=1, method="one-to-many"))
    assert SimilarityVectors(kernel="context", n_references=3, random_state=0).fit_transform(m).shape == (
        8,
        3,
    )
    X = histograms(rng, 10)
    assert np.allclose(SimilarityVectors(kernel="chi2").fit_transform(X), additive_kernel(X))
    assert np.allclose(SimilarityVectors(kernel="linear").fit_transform(X), X @ X.T)


def test_the_own_similarity_can_be_the_largest_of_the_others():
    X = np.random.default_rng(11).normal(size=(9, 3))
    model = SimilarityVectors(gamma=0.3, own="largest", n_references=4, random_state=0)
    ours = model.fit_transform(X)
    plain = model.transform(X)
    itself = np.zeros_like(plain, dtype=bool)
    itself[model.reference_indices_, np.arange(4)] = True
    assert np.allclose(plain[itself], 1)
    assert np.allclose(ours[~itself], plain[~itself])
    others = np.where(itself, -np.inf, plain)[model.reference_indices_].max(1)
    assert np.allclose(ours[model.reference_indices_, np.arange(4)], others)
