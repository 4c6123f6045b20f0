"""Images as mixtures of reference images (named in a patent: see docs/patents.md)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import Bags, row_blocks
from lookalike.bags._em import LOG_LEAST, Encoder
from lookalike.bags._gaussians import References, one_to_one_kl
from lookalike.bags._mixtures import Mixture, Mixtures, check_mixtures, sample_mixture


class MixtureOfReferences(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Describe each image by the weights of the mixture of reference images that comes nearest to it.

    The image's own mixture q is approached by sum_k omega_k p_k with the mixtures p_k of the reference
    images; EM finds the weights (chapter 5 of [1]_). It starts at equal weights and stops early: fully
    converged weights reward near-perfect matches of single components too much.

    Parameters
    ----------
    objective : {"bhattacharyya", "kl", "sampling", "heuristic"}, default="bhattacharyya"
        "bhattacharyya" is MOM-PPK (equations 5.24, 5.25), "kl" the variational bound of MOM-KL (5.17,
        5.18), "sampling" its approximation by descriptors (5.10): those of a bag, or drawn from a mixture.
        "heuristic" puts overlaps into the equations of "kl" (section 5.3.4); it was found worse.
    match : {"one-to-one", "one-to-many"}, default="one-to-one"
        Compare component i only with component i, or with all components.
    n_iter : int, default=4
        EM iterations; 3 to 5 were best in [1]_.
    sharpness : float, default=1
        Exponent of the likeness of two components. Below 1 it tempers: in many dimensions likenesses span
        so many orders of magnitude that a component votes for one reference alone, and a training image for
        itself; with 0.1 and one iteration the weights stay comparable to those of new images. Not in [1]_.
    sqrt_weights : bool, default=False
        With "bhattacharyya", weigh component i by the square root of its weight: a tighter bound for
        one-to-one, whose maximum for a reference image is that image.
    exclude_self : bool or "largest", default=False
        In ``fit_transform``, an image that is a reference has weight 0 in its own description; with "largest"
        it then takes the largest of its other weights. A new image has no reference that is itself: the
        second makes the rows a classifier learns from most like those of new images. See the notes.
    n_references : int or None, default=None
        How many references are kept; None keeps all images given to ``fit``.
    selection : {"balanced", "random", "spread"}, default="balanced"
        How they are chosen: equally many from each class (at random within it, without labels among all),
        at random, or each farthest from those already chosen.
    scaled : bool, default=False
        Multiply by the number of references, so that the mean of a row is 1 (before ``power``).
    power : float, default=1
        Exponent of the weights that are given back. Below 1 it lets small weights count: with 1/2 the dot
        product of two rows is the overlap of two distributions over the references. Not in [1]_.
    n_samples : int, default=1000
        Descriptors drawn from each mixture by "sampling".
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    references_ : Mixtures
    reference_indices_ : array of int
        Their places among the images given to ``fit``.

    Notes
    -----
    Taken literally, a training image gives nearly all its weight to itself after four iterations, and a
    classifier learns from that weight alone, which no new image has. ``exclude_self="largest"`` mends it.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import MixtureOfReferences, Mixtures
    >>> means = np.array([[[0.0]], [[1.0]], [[5.0]]])
    >>> images = Mixtures(np.ones((3, 1)), means, np.ones((3, 1, 1)))
    >>> MixtureOfReferences(n_iter=3).fit(images).transform(images[:1]).round(3)
    array([[0.818, 0.182, 0.   ]])
    """

    _flat_input = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "objective": [StrOptions({"bhattacharyya", "kl", "sampling", "heuristic"})],
        "match": [StrOptions({"one-to-one", "one-to-many"})],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "sharpness": [Interval(Real, 0, None, closed="neither")],
        "sqrt_weights": ["boolean"],
        "exclude_self": ["boolean", StrOptions({"largest"})],
        "n_references": [None, Interval(Integral, 1, None, closed="left")],
        "selection": [StrOptions({"balanced", "random", "spread"})],
        "scaled": ["boolean"],
        "power": [Interval(Real, 0, None, closed="neither")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        objective: str = "bhattacharyya",
        match: str = "one-to-one",
        n_iter: int = 4,
        sharpness: float = 1.0,
        sqrt_weights: bool = False,
        exclude_self: bool | str = False,
        n_references: int | None = None,
        selection: str = "balanced",
        scaled: bool = False,
        power: float = 1.0,
        n_samples: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.objective = objective
        self.match = match
        self.n_iter = n_iter
        self.sharpness = sharpness
        self.sqrt_weights = sqrt_weights
        self.exclude_self = exclude_self
        self.n_references = n_references
        self.selection = selection
        self.scaled = scaled
        self.power = power
        self.n_samples = n_samples
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the references among these mixtures."""
        mixtures = check_mixtures(X)
        if len(mixtures) == 0:
            raise ValueError("there is no image to take as a reference: give at least one mixture.")
        self.reference_indices_ = self._choose(mixtures, y)
        self.references_ = mixtures[self.reference_indices_]
        self.n_features_in_ = mixtures.n_components
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Weights of the references, a row for each image."""
        check_is_fitted(self)
        return self._weights(X, None)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit, and describe the same images (each without itself where ``exclude_self`` is set)."""
        self.fit(X, y)
        if not self.exclude_self:
            return self._weights(X, None)
        if len(self.references_) == 1:
            raise ValueError("exclude_self needs at least two references.")
        own = np.full(len(X), -1)
        own[self.reference_indices_] = np.arange(len(self.reference_indices_))
        return self._weights(X, own)

    def _choose(self, mixtures: Mixtures, y: Any) -> NDArray[np.intp]:
        n, wanted = len(mixtures), self.n_references
        if wanted is None or wanted >= n:
            return np.arange(n)
        rng = check_random_state(self.random_state)
        if self.selection == "spread":
            return np.sort(_farthest_first(mixtures, wanted, int(rng.randint(n))))
        order = rng.permutation(n)
        if self.selection == "random" or y is None:
            return np.sort(order[:wanted])
        # Rank within the class first: the first images of all classes come before the second ones.
        labels = np.asarray(y)[order]
        rank = np.empty(n, np.intp)
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            rank[members] = np.arange(len(members))
        return np.sort(order[np.argsort(rank, kind="stable")[:wanted]])

    def _weights(self, X: Any, own: NDArray[Any] | None) -> NDArray[Any]:
        if self.objective == "sampling":
            return self._by_sampling(X, own)
        mixtures = check_mixtures(X, like=self.references_, matched=self.match == "one-to-one")
        overlap = {"bhattacharyya": 2, "heuristic": 1}.get(self.objective, 0)
        references = References(self.references_, overlap=overlap, matched=self.match == "one-to-one")
        out = np.empty((len(mixtures), len(self.references_)), self.references_.dtype)
        for block in row_blocks(len(mixtures), references.bytes_per_query):
            logs = references.logs(mixtures[block])
            out[block] = self._maximise(logs, mixtures.weights[block], None if own is None else own[block])
        return self._finished(out)

    def _by_sampling(self, X: Any, own: NDArray[Any] | None) -> NDArray[Any]:
        rng = check_random_state(self.random_state)
        is_bags = isinstance(X, Bags)
        items = X if is_bags else check_mixtures(X, like=self.references_)
        densities = _Densities(self.references_)
        out = np.empty((len(items), len(self.references_)), self.references_.dtype)
        for i in range(len(items)):
            bag = items[i] if is_bags else sample_mixture(items[i], self.n_samples, rng)
            if len(bag) == 0:
                out[i] = 1 / out.shape[1]
                continue
            logs = densities(bag.astype(out.dtype, copy=False))[:, None, :]
            weights = np.full((1, len(bag)), 1 / len(bag), out.dtype)
            out[i] = self._maximise(logs, weights, None if own is None else own[i : i + 1])[0]
        return self._finished(out)

    def _finished(self, omega: NDArray[Any]) -> NDArray[Any]:
        if self.scaled:
            omega *= omega.shape[1]
        if self.power != 1:
            omega **= self.power
        return omega

    def _maximise(self, logs: NDArray[Any], weights: NDArray[Any], own: NDArray[Any] | None) -> NDArray[Any]:
        if self.sharpness != 1:
            logs *= self.sharpness
        if own is not None:
            known = np.flatnonzero(own >= 0)
            logs[:, known, own[known]] = -np.inf
        if self.objective != "bhattacharyya":
            omega = mixture_proportions(logs, weights, self.n_iter)
        else:
            omega = overlap_proportions(logs, np.sqrt(weights) if self.sqrt_weights else weights, self.n_iter)
        if own is not None and self.exclude_self == "largest":
            omega[known, own[known]] = omega[known].max(1)
        return omega


def mixture_proportions(logs: NDArray[Any], weights: NDArray[Any], n_iter: int) -> NDArray[Any]:
    """EM for the proportions omega that maximise sum_i w_i log sum_k omega_k e^(logs_ik).

    Equations 5.17 and 5.18 (and 5.10, where each i is a descriptor), with the index j summed out.

    Parameters
    ----------
    logs : array of shape (n_parts, n, n_references)
        Overwritten.
    weights : array of shape (n, n_parts)
    """
    likelihood, _ = _rescale(logs)
    n, _, n_references = likelihood.shape
    omega = np.full((n, n_references), 1 / n_references, likelihood.dtype)
    for _ in range(n_iter):
        total = np.matmul(likelihood, omega[:, :, None])[:, :, 0]
        vote = weights / np.maximum(total, 1e-30)
        omega *= np.matmul(vote[:, None, :], likelihood)[:, 0]
        omega /= omega.sum(1, keepdims=True)
    return omega


def overlap_proportions(logs: NDArray[Any], weights: NDArray[Any], n_iter: int) -> NDArray[Any]:
    """EM for the proportions that maximise sum_i w_i sqrt(sum_k omega_k e^(logs_ik)): 5.24 and 5.25."""
    likelihood, top = _rescale(logs)
    # A row divided by s is made up for by its weight times sqrt(s); a common factor changes nothing.
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights) + 0.5 * top
    weights = np.exp(log_weights - log_weights.max(1, keepdims=True))
    n, _, n_references = likelihood.shape
    omega = np.full((n, n_references), 1 / n_references, likelihood.dtype)
    for _ in range(n_iter):
        total = np.matmul(likelihood, omega[:, :, None])[:, :, 0]
        vote = weights / np.sqrt(np.maximum(total, 1e-30))
        omega *= np.matmul(vote[:, None, :], likelihood)[:, 0] ** 2
        omega /= omega.sum(1, keepdims=True)
    return omega


def _rescale(logs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """e^(logs - maximum over the references) as (n, n_parts, n_references), and the maxima (n, n_parts)."""
    top = logs.max(2)
    logs -= top[:, :, None]
    np.maximum(logs, LOG_LEAST, out=logs, where=logs != -np.inf)  # no subnormal numbers in the products
    np.exp(logs, out=logs)
    return logs.transpose(1, 0, 2), top.T


class _Densities:
    """log p_k(x_t) of many reference mixtures at many descriptors."""

    def __init__(self, references: Mixtures) -> None:
        n, N, d = references.means.shape
        # All Gaussians as one mixture, and the logarithm of its factor 1 / n given back.
        together = Mixture(
            references.weights.ravel() / n,
            references.means.reshape(-1, d),
            references.variances.reshape(-1, d),
        )
        self.encoder = Encoder(together, references.dtype)
        self.shape = (n, N)

    def __call__(self, X: NDArray[Any]) -> NDArray[Any]:
        n, N = self.shape
        lifted = self.encoder.lift(X)
        out = np.empty((len(X), n), self.encoder.dtype)
        for block in row_blocks(n, 3 * self.encoder.dtype.itemsize * N * len(X)):
            columns = slice(block.start * N, block.stop * N)
            joint = (lifted @ self.encoder.matrix[:, columns]).reshape(len(X), -1, N)
            top = joint.max(2)
            joint -= top[:, :, None]
            out[:, block] = top + np.log(np.exp(joint, out=joint).sum(2)) + np.log(n)
        return out


def _farthest_first(mixtures: Mixtures, wanted: int, start: int) -> NDArray[np.intp]:
    """Each next one is farthest from those chosen, by the symmetric one-to-one divergence."""
    chosen = [start]
    nearest = np.full(len(mixtures), np.inf)
    while len(chosen) < wanted:
        last = mixtures[chosen[-1] : chosen[-1] + 1]
        apart = one_to_one_kl(mixtures, last)[:, 0] + one_to_one_kl(last, mixtures)[0]
        nearest = np.minimum(nearest, apart)
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
    return np.array(chosen)
