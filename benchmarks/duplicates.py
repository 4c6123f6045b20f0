"""The default threshold for near-duplicates on real sets, and what it finds.

python benchmarks/duplicates.py [--data ../shared/data] [--write]

"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from _markers import ROOT, option, show, table
from lookalike.collection import Collection

SETS = {"corel1k": "corel1k/images", "flowers17": "flowers17/images", "scene15": "scene15"}
FEATURES = ("efficientnet-lite0", "color-histogram")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--keep", type=Path, help="a folder for the collections, to use them again")
    option(parser)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, part in SETS.items():
            home = (options.keep or Path(temporary)) / name
            home.mkdir(parents=True, exist_ok=True)
            collection = Collection.open_or_create(home)
            collection.index([options.data / part], features=FEATURES)
            same = sum(len(group.uris) - 1 for group in collection.duplicates(near=False))
            for feature in FEATURES:
                found = collection.duplicates(feature=feature)
                assert found.threshold is not None
                links = np.array([s for group in found for _, _, s in group.links])
                rows.append(
                    [
                        name,
                        f"{collection.status().contents:,}",
                        same,
                        feature,
                        f"{found.threshold:.4f}",
                        len(links),
                        int((links >= 0.999).sum()),
                    ]
                )
    head = ["set", "contents", "exact pairs", "feature", "threshold", "near pairs", "of these from 0.999 on"]
    show("how-it-works/collection.md", "thresholds", table(head, rows), options)


if __name__ == "__main__":
    main()
