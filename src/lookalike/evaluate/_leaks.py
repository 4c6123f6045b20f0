"""A check before measuring: does an attribute give the label away?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def columns_like_labels(X: ArrayLike, y: ArrayLike) -> list[int]:
    """Columns that alone tell all classes apart without an error: each is most likely the label itself.

    Sorted by such a column, the observations of each class stand together, and no value is shared by two
    classes.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Attributes.
    y : array-like of shape (n,)
        Classes.

    Returns
    -------
    list of int
        The numbers of these columns; empty where there are less than two classes.

    Examples
    --------
    >>> columns_like_labels([[5, 1], [7, 1], [6, 2], [4, 2]], ["live", "live", "die", "die"])
    [1]
    """
    table = np.asarray(X)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(table) != len(codes):
        raise ValueError(f"X has {len(table)} rows, but y has {len(codes)} entries.")
    found = []
    for j, column in enumerate(table.T):
        order = np.argsort(column, kind="stable")
        border = np.flatnonzero(np.diff(codes[order]))
        apart = bool(np.all(column[order[border]] < column[order[border + 1]]))
        if len(classes) > 1 and len(border) == len(classes) - 1 and apart:
            found.append(j)
    return found
