"""``ShrinkageDiscriminant``: vectors become class scores that few labels can carry."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lookalike.learn._calibration import fit_sharpness
from lookalike.learn._class_weights import class_weights
from lookalike.learn._ridge_scores import RidgeScores, ridge_scores
from lookalike.learn._row_scaling import SCALINGS, Scale, column_scale, scale_rows

Floats = NDArray[np.float64]

SHRINKAGES = tuple(float(s) for s in 10.0 ** np.arange(-2.0, 2.01, 0.5))
FEW = 3  # with fewer images in the rarest class, leaving one out says more about luck than about settings


class ShrinkageDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map from vectors to one score per class, shrunken as much as held-out images ask for.

    The scores are those of a ridge regression on the class indicators, which is linear discriminant
    analysis with a shrunken covariance [1]_. The shrinkage, and how rows are scaled before, are chosen by
    the log loss of exact leave-one-out scores, so choosing costs no refit.

    Parameters
    ----------
    shrinkage : "auto" or float, default="auto"
        Strength of the ridge, counted in images: 1 is a prior as strong as one average image.
    scaling : {"auto", "none", "standard", "unit", "root"}, default="auto"
        ``"standard"`` centres and scales columns, ``"unit"`` makes rows of length one, ``"root"`` takes
        signed square roots first (good for histograms and network activations).
    class_weight : "balanced", dict or None, default="balanced"
        As in scikit-learn; ``"balanced"`` lets every class count the same.

    Attributes
    ----------
    classes_ : array of shape (C,)
    components_ : array of shape (n_features, C)
    mean_ : array of shape (n_features,)
    shrinkage_ : float
        What was chosen.
    scaling_ : str
        What was chosen.
    held_out_scores_ : array of shape (n_samples, C)
        The score of each training row from a fit without it.

    References
    ----------
    .. [1] T. Hastie, A. Buja, R. Tibshirani, "Penalized discriminant analysis", Annals of Statistics, 1995.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> discriminant = ShrinkageDiscriminant().fit(X, y)
    >>> discriminant.transform(X).shape
    (150, 3)
    >>> bool((discriminant.transform(X).argmax(1) == y).mean() > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "scaling": [StrOptions({"auto", *SCALINGS})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        shrinkage: float | str = "auto",
        scaling: str = "auto",
        class_weight: Any = "balanced",
    ) -> None:
        self.shrinkage = shrinkage
        self.scaling = scaling
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags

    @classmethod
    def _for_checks(cls) -> Self:
        # Leaving one of two equal rows out is not leaving one row of weight two out, so what is chosen
        # may differ between the two; with the choices made, scikit-learn's weight checks hold.
        return cls(shrinkage=1.0, scaling="none")

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map from labelled vectors."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=[np.float32, np.float64])
        check_classification_targets(y)
        self.classes_, truth = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        weights = class_weights(self.class_weight, y, weights)
        targets = np.eye(len(self.classes_))[truth]
        self._fit_targets(X, targets, weights, truth)
        return self

    def _fit_targets(
        self, X: NDArray[np.floating], targets: Floats, weights: Floats, truth: NDArray[np.intp]
    ) -> None:
        counts = np.bincount(truth, weights=weights > 0, minlength=targets.shape[1])
        enough = counts.min() >= FEW
        best: tuple[float, str, Scale, RidgeScores] | None = None
        for scaling in self._scalings(X.shape[1], enough):
            scale = column_scale(X, scaling)
            scaled = scale_rows(X, scaling, scale)
            for fit in ridge_scores(scaled, targets, weights, self._shrinkages(enough)):
                loss = fit_sharpness(fit.held_out, truth, weights=weights)[1] if enough else 0.0
                if best is None or loss < best[0]:
                    best = (loss, scaling, scale, fit)
        assert best is not None  # there is always at least one scaling and one shrinkage
        _, self.scaling_, (self._centre, self._width), fit = best
        self.shrinkage_, self.mean_, self.components_ = fit.shrinkage, fit.mean, fit.components
        self.held_out_scores_ = fit.held_out

    def _scalings(self, d: int, enough: bool) -> tuple[str, ...]:
        if self.scaling != "auto":
            return (self.scaling,)
        if enough:
            return ("unit", "root", "standard") if d > 1 else ("standard",)
        # Wide vectors are network features or histograms; narrow ones are tables of measurements.
        return ("unit",) if d >= 64 else ("standard",)

    def _shrinkages(self, enough: bool) -> tuple[float, ...]:
        if self.shrinkage != "auto":
            return (float(self.shrinkage),)
        return SHRINKAGES if enough else (1.0,)

    def scale(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Rows as the map sees them: scaled in the chosen way, around the training mean."""
        centred: NDArray[np.floating] = (
            scale_rows(X, self.scaling_, (self._centre, self._width)) - self.mean_
        ).astype(X.dtype)
        return centred

    def scores(self, centred: NDArray[np.floating]) -> Floats:
        """Class scores of rows that `scale` gave."""
        return (centred @ self.components_.astype(centred.dtype)).astype(np.float64)

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """One score for each class, centred over the classes' prior."""
        check_is_fitted(self)
        rows: NDArray[np.floating] = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        scores: NDArray[np.floating] = self.scale(rows) @ self.components_.astype(rows.dtype)
        return scores

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])
