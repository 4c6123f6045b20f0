"""Where the reproduction of boosted kernels keeps what it measured."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Store:
    """Results by key in a JSON file, and arrays beside it; a clock that says when to stop."""

    sets: list[str]  # image sets that are asked for

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.end = folder, time.monotonic() + seconds
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "results.json"
        self.results: dict[str, Any] = self._kept()

    def _kept(self) -> dict[str, Any]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def once(self, key: str, measure: Callable[[], Any]) -> Any:
        if key not in self.results:
            if time.monotonic() > self.end:
                sys.exit(f"the time is over before {key}: run again to go on")
            value = measure()
            self.results = self._kept() | {key: value}  # another part may have written meanwhile
            fresh = self.file.with_suffix(".new")
            fresh.write_text(json.dumps(self.results, indent=0))
            fresh.replace(self.file)
            print(key, self.results[key], flush=True)
        return self.results[key]

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        path = self.folder / f"{name}.npy"
        if not path.exists():
            if time.monotonic() > self.end:
                sys.exit(f"the time is over before {name}: run again to go on")
            np.save(path, make())
        return np.load(path)
