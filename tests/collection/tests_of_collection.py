"""A tiny feature, and tiny pictures whose content is a number."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from lookalike.features import Feature


class Mean(Feature):
    """Mean and deviation of each channel; counts the images it was given."""

    name, kind, dim = "mean", "vector", 6
    shorter_side = 8
    computed = 0

    def __init__(self, *, scale=1.0):
        self.scale = scale

    def _extract(self, images):
        type(self).computed += len(images)
        rows = [np.concatenate([i.mean((0, 1)), i.std((0, 1))]) for i in images]
        return np.stack(rows) * self.scale


class Pixels(Feature):
    """A bag of at most nine pixels, as many as the red of the first says."""

    name, kind, dim = "pixels", "bag", 3
    shorter_side = 8
    storage_dtype, storage_scale = "uint8", 255.0

    def _extract(self, images):
        return [i.reshape(-1, 3)[: int(i[0, 0, 0]) % 10].astype(np.float32) / 255 for i in images]


class Touchy(Mean):
    """Refuses pictures that are black."""

    name = "touchy"

    def _extract(self, images):
        if any(image.max() == 0 for image in images):
            raise ValueError("the picture is black")
        return super()._extract(images)


def png(number, size=8):
    """A picture that is different for each number below 2**24."""
    color = (number & 255, (number >> 8) & 255, (number >> 16) & 255)
    file = io.BytesIO()
    Image.new("RGB", (size, size), color).save(file, "PNG", compress_level=1)
    return file.getvalue()
