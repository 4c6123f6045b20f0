"""What the middle of the default network sees: textures and parts, before they become things."""

from __future__ import annotations

from typing import ClassVar

from lookalike.features._efficientnet_graph import N_CHANNELS_LATE
from lookalike.features._efficientnet_lite0 import EfficientNetLite0


class EfficientNetLite0Layers(EfficientNetLite0):
    """What the middle of that network sees: how much of 1664 patterns, and how unevenly over the image.

    The last layer of a network (see `EfficientNetLite0`) knows best the kinds of things that it was trained
    for. For other pictures the layers before it often tell more. This takes the mean and the deviation, over
    all positions, of every channel that its last eleven blocks pass on. It is made to be fused with the last
    layer: ``lookalike learn --features efficientnet-lite0,efficientnet-lite0-layers``.

    Parameters
    ----------
    size, view
        See `EfficientNetLite0`.

    Examples
    --------
    >>> feature = EfficientNetLite0Layers()
    >>> feature.dim
    3328
    >>> import numpy as np
    >>> feature.extract([np.zeros((20, 30, 3), np.uint8)]).shape
    (1, 3328)
    """

    name = "efficientnet-lite0-layers"
    dim: ClassVar[int] = 2 * N_CHANNELS_LATE
    _layers = True
