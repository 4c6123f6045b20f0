"""Index a folder in a process of its own, so that it can be killed: ``python FILE FOLDER SECONDS``."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tests_of_collection import Mean, Pixels

from lookalike.collection import Collection, _index


class Slow(Mean):
    """Takes its time, so that there is a moment to be killed in."""

    name = "mean"
    pause = 0.0

    def _extract(self, images):
        time.sleep(self.pause * len(images))
        return super()._extract(images)


def main(folder, pause):
    Slow.pause = pause
    _index.COMMIT_COMPUTED = 16
    collection = Collection.open_or_create(folder)
    print("ready", flush=True)
    report = collection.index([folder], features=[Slow(), Pixels()], batch_size=4)
    print(report.computed, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
