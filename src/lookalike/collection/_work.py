"""What a worker does: read a few pictures and compute what is missing of their features.

Workers get paths and give rows back; they know nothing of the tables, so they may be threads, processes or
machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection._contents import Shape
from lookalike.collection._plan import Task
from lookalike.features import Feature
from lookalike.images import Unreadable, content_hash, open_image, path_of

# What the decoded pictures of one worker may take before their features are computed.
PIXEL_BYTES = 96 * 2**20


@dataclass(slots=True)
class Outcome:
    """What is known of one file after it was looked at.

    Parameters
    ----------
    task : Task
        The file.
    key : bytes
        Its content hash; empty where it could not be read.
    needs : tuple of int
        The features to compute, by position; None where not even its picture has to be read.
    shape : tuple, optional
        Width, height and format of its picture.
    reason : str
        Why it is set aside; empty where it is not.
    """

    task: Task
    key: bytes
    needs: tuple[int, ...] | None = None
    shape: Shape | None = None
    reason: str = ""
    claimed: bytes = b""


@dataclass(slots=True)
class Values:
    """The rows of one feature: content hashes, and a vector or a bag for each."""

    keys: list[bytes] = field(default_factory=list)
    rows: list[NDArray[Any]] = field(default_factory=list)


@dataclass(slots=True)
class Done:
    """A job that was done."""

    outcomes: list[Outcome]
    values: list[Values]


def hash_files(tasks: Sequence[Task]) -> list[tuple[Task, bytes, str]]:
    """The content hash of each file, or the reason why it cannot be read."""
    found = []
    for task in tasks:
        try:
            found.append((task, bytes.fromhex(content_hash(path_of(task.uri))), ""))
        except Unreadable as error:
            found.append((task, b"", error.reason))
    return found


class Work:
    """Read the pictures of a job and extract features, a bounded number of pictures at a time.

    Parameters
    ----------
    features : list of Feature
        All that are wanted; each outcome says which it needs.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = list(features)

    def __call__(self, job: list[Outcome]) -> Done:
        """Fill in the outcomes of a job and compute what they need."""
        values = [Values() for _ in self.features]
        waiting: list[tuple[Outcome, NDArray[np.uint8]]] = []
        held = 0
        for outcome in job:
            if outcome.needs is None or outcome.reason:
                continue
            pixels = self._read(outcome)
            if pixels is None:
                continue
            waiting.append((outcome, pixels))
            held += pixels.nbytes
            if held >= PIXEL_BYTES:
                self._extract(waiting, values)
                waiting, held = [], 0
        self._extract(waiting, values)
        return Done(job, values)

    def _read(self, outcome: Outcome) -> NDArray[np.uint8] | None:
        sides = [self.features[i].shorter_side for i in outcome.needs or ()]
        side = None if None in sides else max((s for s in sides if s is not None), default=64)
        try:
            picture = open_image(path_of(outcome.task.uri), shorter_side=side)
        except Unreadable as error:
            outcome.reason = error.reason
            return None
        outcome.key = bytes.fromhex(picture.sha256)  # of what was decoded, should the file change meanwhile
        outcome.shape = (picture.width, picture.height, picture.format)
        return picture.pixels

    def _extract(self, waiting: list[tuple[Outcome, NDArray[np.uint8]]], values: list[Values]) -> None:
        for i, feature in enumerate(self.features):
            chosen = [(o, pixels) for o, pixels in waiting if i in (o.needs or ()) and not o.reason]
            if not chosen:
                continue
            try:
                rows = _rows(feature, [pixels for _, pixels in chosen])
            except Exception:  # one picture must not cost the others: find out which it is
                for outcome, pixels in chosen:
                    self._extract_one(feature, outcome, pixels, values[i])
                continue
            for (outcome, _), row in zip(chosen, rows):
                _keep(feature, outcome, row, values[i])

    def _extract_one(
        self, feature: Feature, outcome: Outcome, pixels: NDArray[np.uint8], values: Values
    ) -> None:
        try:
            row = _rows(feature, [pixels])[0]
        except MemoryError:
            raise
        except Exception as error:
            outcome.reason = f"gives no {feature.name}: {str(error) or type(error).__name__}"
        else:
            _keep(feature, outcome, row, values)


def _rows(feature: Feature, images: list[NDArray[np.uint8]]) -> list[NDArray[Any]]:
    extracted = feature.extract(images)
    rows = [feature.pack(bag) for bag in extracted] if feature.kind == "bag" else list(extracted)
    if len(rows) != len(images):
        raise ValueError(f"{len(images)} images gave {len(rows)} rows")
    return rows


def _keep(feature: Feature, outcome: Outcome, row: NDArray[Any], values: Values) -> None:
    if not np.isfinite(row).all():
        outcome.reason = f"gives no {feature.name}: its numbers are not finite"
        return
    values.keys.append(outcome.key)
    values.rows.append(row)
