"""Speed of images as distributions: ratios of median processor times, measured in one run, in turns.

    python benchmarks/distributions.py [row ...] [--rounds N] [--write]

Rows: dense, adaptation, fisher, divergences, matched, embedding (the last takes minutes and several GB). All
on one thread. --write puts what was measured into docs/benchmarks/distributions.md, beside the other rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from _markers import ROOT, rows_of, table, write
from lookalike.bags import AdaptedGMM, Bags, FisherVector, Mixtures, UniversalGMM
from lookalike.similarity import (
    AdditiveKernelPCA,
    KernelPCAMap,
    SimilarityVectors,
    mixture_kl,
    probability_product,
    symmetric_kl,
)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call: other work on the machine hardly counts."""
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median seconds of each, after one call that is not counted."""
    for work in works:
        work()
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken)]


DOCUMENT = "benchmarks/distributions.md"
HEAD = ["what", "wanted", "measured", "note"]
MEASURED: dict[str, list[str]] = {}


def row(name: str, value: float, limit: str, note: str) -> None:
    """One line of the table."""
    MEASURED[name] = [name, limit, f"{value:.1f}" if value < 20 else f"{value:.0f}", note]
    print(" | ".join(MEASURED[name]), flush=True)


def universal_of(n_components: int, dim: int) -> UniversalGMM:
    """A mixture as if it had been trained."""
    rng = np.random.default_rng(0)
    gmm = UniversalGMM(n_components=n_components)
    gmm.weights_ = rng.dirichlet(np.full(n_components, 5.0))
    gmm.means_ = rng.normal(size=(n_components, dim))
    gmm.variances_ = rng.uniform(0.5, 1.5, (n_components, dim))
    gmm.n_features_in_ = dim
    return gmm


def mixtures_of(n: int, n_components: int = 128, dim: int = 50) -> Mixtures:
    """Adapted mixtures as images give them: near one another, float32."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=(n_components, dim)).astype(np.float32)
    means = base + 0.1 * rng.standard_normal((n, n_components, dim), dtype=np.float32)
    variances = 0.8 + 0.4 * rng.random((n, n_components, dim), dtype=np.float32)
    weights = rng.dirichlet(np.full(n_components, 20.0), n).astype(np.float32)
    return Mixtures(weights, means, variances)


def dense(rounds: int) -> None:
    """Descriptors of the same patches of the same photographs by OpenCV."""
    import cv2

    from dense_sift import grids, opencv, ours
    from lookalike.features import DenseSift

    cv2.setNumThreads(1)
    sift = cv2.SIFT_create()
    files = sorted((ROOT.parent / "shared" / "data" / "corel1k" / "images").iterdir())[::250]
    images = [np.asarray(Image.open(file).convert("RGB")) for file in files]
    for words, feature in {
        "patches of 32 pixels every 4": DenseSift(step=4, scales=1),
        "patches of 16, 24, 32 and 40 pixels every 4, as for Fisher vectors": DenseSift(
            cells=(4, 6, 8, 10), step=4, scales=1
        ),
        "patches of 32 pixels every 11, five sizes of the image": DenseSift(step=11),
    }.items():
        parts = [part for image in images for part in grids(feature, image)]
        mine, theirs = in_turns(
            rounds, lambda p=parts, f=feature: ours(p, f), lambda p=parts: opencv(p, sift)
        )
        note = f"{1e3 * mine / len(images):.1f} ms an image"
        row(f"dense SIFT, {words}: OpenCV / ours", theirs / mine, "≥ 50", note)


def adaptation(rounds: int) -> None:
    """One image of 1,000 descriptors, 128 Gaussians in 50 dimensions."""
    model = AdaptedGMM(universal_of(128, 50))
    rng = np.random.default_rng(2)
    bag = rng.normal(size=(1000, 50)).astype(np.float32)
    bags = Bags(bag, [0, 1000])
    lifted = np.concatenate([bag**2, bag, np.ones((1000, 1), np.float32)], axis=1)
    matrix = rng.normal(size=(101, 128)).astype(np.float32)
    posterior = rng.random((1000, 128), dtype=np.float32)
    ours, products = in_turns(
        20 * rounds, lambda: model.transform(bags), lambda: (lifted @ matrix, posterior.T @ lifted)
    )
    row(
        "adaptation of an image (T = 1000, N = 128, D = 50) / its two matrix products",
        ours / products,
        "≤ 2",
        f"{1e3 * ours:.2f} ms an image",
    )


def fisher(rounds: int) -> None:
    """Fisher vectors of 1,000 descriptors, 64 Gaussians in 64 dimensions, against scikit-image's."""
    from skimage.feature import fisher_vector
    from sklearn.mixture import GaussianMixture

    gmm = universal_of(64, 64)
    peer = GaussianMixture(64, covariance_type="diag")
    peer.weights_, peer.means_, peer.covariances_ = gmm.mixture_
    peer.precisions_cholesky_ = 1 / np.sqrt(gmm.variances_)
    bag = np.random.default_rng(3).normal(size=(1000, 64)).astype(np.float32)
    bags = Bags(bag, [0, 1000])
    model = FisherVector(gmm, weights=True).fit(bags)
    ours, theirs = in_turns(
        5 * rounds, lambda: model.transform(bags), lambda: fisher_vector(bag, peer, improved=True)
    )
    row(
        "Fisher vector (T = 1000, N = 64, D = 64), scikit-image / ours",
        theirs / ours,
        "≥ 1.5",
        f"{1e3 * ours:.2f} ms an image",
    )


def divergences(rounds: int, n: int = 5000) -> None:
    """All one-to-one divergences of 5,000 images against one matrix product of that size.

    The divergence is not symmetric: its product is of two different matrices, and so is the one beside it.
    """
    m = mixtures_of(n)
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal((n, 2 * m.n_components * m.dim), dtype=np.float32) for _ in range(2))
    ours, product = in_turns(rounds, lambda: mixture_kl(m), lambda: a @ b.T)
    row(f"one-to-one KL matrix of {n:,} images / one product", ours / product, "≤ 2", f"{ours:.1f} s")


def matched(rounds: int, n: int = 5000) -> None:
    """One image against 5,000: one-to-one against one-to-many."""
    m, query = mixtures_of(n), mixtures_of(1)
    kl = SimilarityVectors(kernel="kl", gamma=0.1).fit(m)
    ppk = SimilarityVectors(kernel="probability-product").fit(m)
    one, many = in_turns(
        rounds,
        lambda: kl.transform(query),
        lambda: symmetric_kl(query, m, method="matching"),
    )
    note = f"{1e3 * one:.0f} ms an image, once the references are prepared"
    row(f"KL of one image with {n:,}, one-to-many / one-to-one", many / one, "≥ 50", note)
    one, many = in_turns(
        rounds,
        lambda: ppk.transform(query),
        lambda: probability_product(query, m, method="one-to-many"),
    )
    note = f"{1e3 * one:.0f} ms an image, once the references are prepared"
    row(f"overlap (PPK) of one image with {n:,}, one-to-many / one-to-one", many / one, "≥ 50", note)


def embedding(rounds: int, n: int = 140_000, dim: int = 4000, width: int = 8000) -> None:
    """Additive kernel PCA against kernel PCA, both learned and applied, at 8,000 outputs.

    Both transforms go block by block over the same histograms, as a trainer would read them; kernel PCA
    is applied to a share of them, and its time for all follows from that.
    """
    rng = np.random.default_rng(5)
    popular = rng.gamma(0.5, 1, dim)
    popular /= popular.sum()

    def histograms(count: int, seed: int) -> np.ndarray:
        counts = np.random.default_rng(seed).multinomial(1000, popular, size=count)
        return (counts / 1000).astype(np.float32)

    X = np.concatenate([histograms(10_000, seed) for seed in range(n // 10_000)])
    ours = AdditiveKernelPCA(n_components=width, random_state=0)
    start = time.process_time()
    ours.fit(X)
    learned = time.process_time() - start
    for block in range(0, n, 10_000):
        ours.transform(X[block : block + 10_000])
    total = time.process_time() - start
    peer = KernelPCAMap(kernel="exp-bhattacharyya", n_samples=width, random_state=0)
    start = time.process_time()
    peer.fit(X)
    peer_learned = time.process_time() - start
    share = 5_000
    applied = median(seconds(lambda: peer.transform(X[:share])) for _ in range(max(1, rounds // 5)))
    peer_total = peer_learned + applied * n / share
    note = (
        f"{total:.0f} s ({learned:.0f} s to learn) for {n:,} histograms; kernel PCA {peer_total:.0f} s "
        f"({peer_learned:.0f} s to learn; applied to {share:,}, scaled up)"
    )
    row(
        f"kernel PCA / additive kernel PCA, {dim:,} words, {width:,} outputs",
        peer_total / total,
        "≥ 20",
        note,
    )


ROWS = {
    "dense": dense,
    "adaptation": adaptation,
    "fisher": fisher,
    "divergences": divergences,
    "matched": matched,
    "embedding": embedding,
}


def main() -> None:
    """Print the rows that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in options.rows or [name for name in ROWS if name != "embedding"]:
            ROWS[name](options.rounds)
    if options.write:
        write(DOCUMENT, "speed", table(HEAD, list({**rows_of(DOCUMENT, "speed"), **MEASURED}.values())))


if __name__ == "__main__":
    main()
