"""Literal transcriptions of the document's equations on n × n matrices: what the tests compare with."""

import numpy as np

Y = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
X1 = np.array([[2, 1], [1, 3], [3, 2], [2, 4], [5, 1], [6, 3], [4, 2], [3, 6], [5, 5]], float)
X2 = np.array([[0, 2], [1, 1], [0, 0], [2, 1], [1, 4], [0, 3], [2, 5], [4, 1], [3, 0]], float)


def indicators(y):
    return (np.asarray(y)[:, None] == np.unique(y)).astype(float)


def basis(L):
    """Orthonormal columns that span HL, by singular values (not by moments)."""
    U, s, _ = np.linalg.svd(L - L.mean(0), full_matrices=False)
    return U[:, s > 1e-8 * s[0]]


def centred(K):
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H


def alignment(K, target):
    K, target = centred(K), centred(target)
    return np.sum(K * target) / np.linalg.norm(K) / np.linalg.norm(target)


def boost(
    spaces, levels, L, *, theta, n_rounds, order="eigen_first", select="first", mu=0.0, cap=10.0, Q=None
):
    """Algorithms 2 and 1, every kernel written out: selections, weights, alignments and the kernel."""
    Q = basis(L) if Q is None else Q
    c, target = Q.shape[1], Q @ Q.T
    spaces = [X - X.mean(0) for X in spaces]

    def fit(X, f):
        U, s, _ = np.linalg.svd(X, full_matrices=False)
        U, s = U[:, s > 1e-6 * s[0]], s[s > 1e-6 * s[0]]
        return U @ (s**2 / (s**2 + mu * np.mean(s**2)) * (U.T @ f))

    K = np.zeros_like(target)
    taken, betas, path = [], [], []
    for t in range(c):
        f = fit(spaces[0], Q[:, t])
        K = K + np.outer(f, f)
        taken.append((0, -1)), betas.append(1.0), path.append(alignment(K, target))
    while len(taken) < n_rounds:
        N2, S = np.sum(K * K), np.sum(K * target)
        values, vectors = np.linalg.eigh(Q.T @ K @ Q)
        phi = np.sqrt(c / N2) * values
        pairs = [(i, s) for i in range(c) for s in range(len(spaces))]
        if order == "level_first":
            pairs = sorted(pairs, key=lambda p: (levels[p[1]], p[0], p[1]))
        elif order == "space_first":
            pairs = sorted(pairs, key=lambda p: (p[1], p[0]))
        best = None
        for i, s in pairs:
            if phi[i] >= 1 - 1e-12:
                continue
            f = fit(spaces[s], Q @ (np.sqrt(1 - phi[i]) * vectors[:, i]))
            k = np.outer(f, f)
            q, b, p = np.sum(k * k), np.sum(k * target), np.sum(K * k)
            num, den = b * N2 - S * p, S * q - b * p
            if num <= 1e-12 * (b * N2 + S * p):
                continue
            limit = cap * np.sqrt(N2 / q)
            beta = limit if den <= 1e-12 * (S * q + b * p) else min(num / den, limit)
            A = alignment(K + beta * k, target)
            if path[-1] + theta < A and (best is None or best[0] < A):
                best = (A, i, s, beta, k)
                if select == "first":
                    break
        if best is None:
            break
        A, i, s, beta, k = best
        K = K + beta * k
        taken.append((s, i)), betas.append(beta), path.append(A)
    return taken, np.array(betas), np.array(path), K


def unit_regression(X, f):
    """``min ‖Xw − f‖`` with ``‖w‖ = 1``, by the secular equation: the multiplier and the coefficients."""
    from scipy.optimize import brentq

    e, V = np.linalg.eigh(X.T @ X)
    z = V.T @ (X.T @ f)

    def excess(nu):
        return np.sum((z / (e + nu)) ** 2) - 1

    low = -e[0] + 1e-13 * max(e[-1], 1)
    high = -e[0] + np.linalg.norm(z) + 1
    nu = brentq(excess, low, high, xtol=1e-15)
    return nu, V @ (z / (e + nu))
