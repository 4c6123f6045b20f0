"""Scene-15 by Fisher vectors of dense descriptors in a pyramid, alone and fused with GIST."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from distributions_data import draws, listing, picture
from distributions_machine import Store, measure_kernels
from sklearn.metrics.pairwise import euclidean_distances

from lookalike.bags import Bags, DescriptorPCA, FisherVector, UniversalGMM
from lookalike.features import DenseSift, Gist
from lookalike.parallel import LocalEngine
from lookalike.similarity import mean_bandwidth

N_GAUSSIANS, N_DIMENSIONS = 256, 64
PYRAMID = ((1, 1), (2, 2), (3, 1))
DENSE = DenseSift(cells=(4, 6, 8, 10), step=4, scales=1, positions=True)
NAME = f"{DENSE.fingerprint[:12]}-root-{N_GAUSSIANS}-{N_DIMENSIONS}"
SCALE = 64  # keeps the small numbers of a vector out of float16's subnormal range
BLOCK = 50
CELL = 2 * N_GAUSSIANS * N_DIMENSIONS


def models(paths: list[Path], store: Store) -> tuple[DescriptorPCA, FisherVector]:
    """Projection and universal mixture of 1,200 descriptors from each of 250 images, without labels."""
    pca = DescriptorPCA(n_components=N_DIMENSIONS, n_positions=2, root=True)
    gmm = UniversalGMM(n_components=N_GAUSSIANS)

    def learn() -> dict[str, np.ndarray]:
        rng = np.random.RandomState(0)
        parts = []
        for i in rng.permutation(len(paths))[:250]:
            bag = DENSE.extract([picture(paths[i])])[0]
            parts.append(bag[rng.permutation(len(bag))[:1200]])
        sample = Bags.from_list(parts)
        projected = pca.fit(sample).transform(sample).values[:, :N_DIMENSIONS]
        gmm.fit(Bags(np.ascontiguousarray(projected), sample.offsets))
        return {
            "mean": pca.mean_,
            "components": pca.components_,
            "explained": pca.explained_variance_,
            "weights": gmm.weights_,
            "means": gmm.means_,
            "variances": gmm.variances_,
        }

    kept = store.arrays(f"fisher-models-{NAME}", learn)
    pca.mean_, pca.components_, pca.explained_variance_ = kept["mean"], kept["components"], kept["explained"]
    pca.n_features_in_ = len(pca.mean_) + 2
    gmm.weights_, gmm.means_, gmm.variances_ = kept["weights"], kept["means"], kept["variances"]
    gmm.n_features_in_ = N_DIMENSIONS
    model = FisherVector(gmm, pyramid=PYRAMID, n_positions=2)
    model.universal_, model.n_features_in_ = gmm, N_DIMENSIONS + 2
    return pca, model


def vectors(paths: list[Path], store: Store) -> np.ndarray:
    """Vectors of all images in float16 on disk, made block by block so that a run can be cut short."""
    pca, model = models(paths, store)
    n_cells = sum(rows * columns for rows, columns in PYRAMID)
    file = store.cache / f"fisher-{NAME}.npy"
    progress = file.with_suffix(".done")
    done = int(progress.read_text()) if progress.exists() else 0
    mode = "r+" if file.exists() else "w+"
    out = np.lib.format.open_memmap(file, mode=mode, dtype=np.float16, shape=(len(paths), n_cells * CELL))

    def one(path: Path) -> np.ndarray:
        return np.asarray(model.transform(pca.transform(DENSE.extract([picture(path)])))[0] * SCALE)

    while done < len(paths):
        part = paths[done : done + BLOCK]
        out[done : done + len(part)] = np.stack(list(LocalEngine().map(one, part)))
        done += len(part)
        progress.write_text(str(done))
    return out


def products(out: np.ndarray, first: int, last: int) -> np.ndarray:
    """Dot products of all images over the cells of one level, of length 1 together; read in strips."""
    total = np.zeros((len(out), len(out)), np.float32)
    for start in range(first * CELL, last * CELL, 8192):
        strip = np.asarray(out[:, start : min(start + 8192, last * CELL)], dtype=np.float32)
        total += strip @ strip.T
    # The vectors of a pyramid have length 1 as a whole.
    return total / np.sqrt(np.outer(total.diagonal(), total.diagonal()))


def gist_kernel(paths: list[Path], store: Store) -> np.ndarray:
    """Gaussian kernel of GIST."""
    feature = Gist()

    def one(path: Path) -> np.ndarray:
        return np.asarray(feature.extract([picture(path)])[0])

    X = store.array("scene15-gist", lambda: np.stack(list(LocalEngine().map(one, paths))))
    D = euclidean_distances(X, squared=True)
    return np.asarray(np.exp(-mean_bandwidth(D[:500, :500]) * D), dtype=np.float32)


def fisher(data: Path, store: Store, n_draws: int) -> None:
    """Whole images, pyramids, GIST, and the sum of kernels."""
    paths, y = listing(data, "scene15")
    stem = f"fisher-{NAME}"
    ends = np.cumsum([0, *(rows * columns for rows, columns in PYRAMID)])
    levels = [
        store.array(f"{stem}-level{k}", lambda a=a, b=b: products(vectors(paths, store), a, b))
        for k, (a, b) in enumerate(pairwise(ends))
    ]
    pyramid = sum(levels) / len(levels)  # each level counts alike
    gist = gist_kernel(paths, store)
    kernels = {"plain": levels[0], "pyramid": pyramid, "GIST": gist}
    # The share of GIST is chosen with the machine's C, on a part of the first training set.
    fused = {share: (1 - share) * pyramid + share * gist for share in (0.1, 0.2, 0.3, 0.5)}
    masks = draws(y, 100, n_draws)
    for name, kernel in kernels.items():
        measure_kernels(store, f"fisher/{name}", {1.0: kernel}, y, masks)
    measure_kernels(store, "fisher/pyramid + GIST", fused, y, masks)
