"""The quick benchmarks, one after the other: ratios of two things measured in turns, in about ten minutes.

    python -m benchmarks [--write] [NAME ...]

Without names all of ``QUICK``. Those that need the measuring data are passed over where it is absent; the
longer scripts beside this one, and those in ``reproduction``, are run by themselves. ``--write`` puts what
was measured into the documents.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data"

QUICK = {
    "startup": [],
    "search": [],
    "interruption": [],
    "index": ["--rounds", "3"],
    "features": [],
    "dense_sift": [],
    "boosted_kernels": ["fit", "rounds"],
    "leverage": ["graph", "rounds"],
    "discriminants": ["step"],
    "distributions": ["adaptation", "fisher", "divergences"],
    "patches": ["compare"],
}
NEED_DATA = {"index", "features", "dense_sift", "discriminants", "patches"}


def run(name: str, *, write: bool) -> bool:
    """Run one script; whether it went well, or had nothing to measure."""
    if name in NEED_DATA and not DATA.is_dir():
        print(f"{name}: passed over, for there is no measuring data in {DATA}", flush=True)
        return True
    print(f"\n{name}", flush=True)
    command = [sys.executable, str(HERE / f"{name}.py"), *QUICK[name], *(["--write"] if write else [])]
    paths = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(QUICK))
    parser.add_argument("--write", action="store_true", help="put the tables into the documents")
    options = parser.parse_args()
    if unknown := set(options.names) - set(QUICK):
        parser.error(f"there is no quick benchmark {min(unknown)!r}: {', '.join(QUICK)}")
    failed = [name for name in options.names or QUICK if not run(name, write=options.write)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
