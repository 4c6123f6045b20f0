"""The images of a collection without a label: what a learner may know beside the labelled ones."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline


@dataclass(frozen=True)
class Others:
    """Unlabelled images and their vectors.

    Examples
    --------
    >>> import numpy as np
    >>> len(Others(["a.jpg"], np.zeros((1, 4))).uris)
    1
    """

    uris: Sequence[str]
    rows: NDArray[Any]


def takes_others(pipeline: Pipeline) -> bool:
    """Whether a chain of steps can learn from unlabelled vectors too.

    Examples
    --------
    >>> from lookalike.learn import PrototypeClassifier
    >>> takes_others(Pipeline([("vote", PrototypeClassifier())]))
    True
    """
    return len(pipeline) == 1 and "unlabelled" in inspect.signature(pipeline[-1].fit).parameters


def fit_among(pipeline: Pipeline, rows: Any, labels: NDArray[Any], others: NDArray[Any] | None) -> Pipeline:
    """Fit the chain, among unlabelled vectors where there are any and it takes them.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import PrototypeClassifier
    >>> X, y = np.eye(6), np.array([0, 0, 1, 1])
    >>> fit_among(Pipeline([("vote", PrototypeClassifier())]), X[:4], y, X[4:])[-1].n_unlabelled_
    2
    """
    if others is None or not len(others) or not takes_others(pipeline):
        return pipeline.fit(rows, labels)
    return pipeline.fit(rows, labels, **{f"{pipeline.steps[-1][0]}__unlabelled": others})
