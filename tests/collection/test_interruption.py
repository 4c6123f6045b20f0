"""What is left when an index run ends before its time."""

import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests_of_collection import Mean, Pixels, png

from lookalike.collection import Collection, _index
from lookalike.collection._lock import Lock
from lookalike.errors import LookalikeError
from lookalike.parallel import LocalEngine

PROGRAM = str(Path(__file__).with_name("tests_of_interruption.py"))


def start(folder, pause):
    process = subprocess.Popen(
        [sys.executable, PROGRAM, str(folder), str(pause)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def content(collection):
    """All that a collection knows, in plain data."""
    images = collection.images(["uri", "hash", "size", "mtime_ns", "width", "height", "format"]).to_pylist()
    uris, X = collection.vectors("mean")
    _, bags = collection.bags("pixels")
    return images, list(uris), X.tolist(), [bag.tolist() for bag in bags], collection.labels().to_pylist()


@pytest.fixture
def pictures(tmp_path):
    home = tmp_path / "pictures"
    for i in range(160):
        path = home / str(i % 3) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(i % 140))  # some of them twice
    return home


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is for POSIX")
def test_kill_9_costs_at_most_the_batch_in_flight(pictures):
    whole = Collection.create(pictures)
    whole.index([pictures], features=[Mean(), Pixels()])
    undisturbed = content(whole)
    shutil.rmtree(pictures / ".lookalike")

    chance = random.Random(7)
    committed = 0
    for _ in range(3):
        process = start(pictures, 0.01)
        time.sleep(chance.uniform(0.05, 0.7))
        process.send_signal(signal.SIGKILL)
        process.wait()
        collection = Collection.open(pictures)
        uris = collection.images(["uri"])["uri"].to_pylist()
        assert len(uris) >= committed
        committed = len(uris)
        if committed:
            seen, X = collection.vectors("mean")
            assert list(seen) == uris, "an image is only visible with its features"
            assert X.tolist() == [undisturbed[2][undisturbed[1].index(uri)] for uri in uris]
    collection = Collection.open(pictures)
    collection.set_labels({pictures / "0" / "0.png": "x"} if committed else {}, by="me")
    labels = collection.labels().to_pylist()
    last = start(pictures, 0)
    out, err = last.communicate(timeout=60)
    assert last.returncode == 0, err
    assert int(out) <= 140 - committed + 20, "what was committed is not computed again"
    assert content(Collection.open(pictures)) == (*undisturbed[:4], labels)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are for POSIX")
def test_ctrl_c_writes_what_was_computed(pictures):
    process = start(pictures, 0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    collection = Collection.open(pictures)
    some = len(collection)
    assert 0 < some < 160
    report = collection.index(features=[Mean(), Pixels()])
    assert report.unchanged == some
    assert report.found == len(collection) == 160


@pytest.mark.parametrize(
    "step",
    [
        "Shards.append",
        "Labels.follow",
        "Tables.upsert set_aside",
        "Tables.upsert images",
        "Tables.append images",
    ],
)
def test_a_commit_may_be_cut_anywhere(folder, collection, monkeypatch, step):
    """Each step of a commit fails once, before it is done; the next run leads to the same state."""
    from lookalike.collection import _labels, _shards, _tables

    collection.label_from_folders()
    (folder / "cats" / "0.png").rename(folder / "cats" / "moved.png")
    (folder / "cats" / "1.png").write_bytes(b"broken")
    if step != "Tables.append images":
        (folder / "dogs" / "3.png").write_bytes(png(33))
    (folder / "dogs" / "new.png").write_bytes(png(34))
    if step == "Tables.append images":
        for name in ("moved", "1"):
            (folder / "cats" / f"{name}.png").unlink()
        collection.index(features=[Mean()])
        (folder / "dogs" / "newer.png").write_bytes(png(35))

    method, _, table = step.partition(" ")
    owner, name = method.split(".")
    where = {"Shards": _shards.Shards, "Labels": _labels.Labels, "Tables": _tables.Tables}[owner]
    original = getattr(where, name)

    def fails(self, first, *args, **kwargs):
        if table in ("", first):
            raise RuntimeError("cut")
        return original(self, first, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(where, name, fails)
        with pytest.raises(RuntimeError, match="cut"):
            collection.index(features=[Mean()])
    collection = Collection.open(folder)
    collection.index(features=[Mean()])
    found = {Path(row["uri"]).name: row["label"] for row in collection.labels().to_pylist()}
    uris, X = collection.vectors()
    numbers = {Path(uri).name: int(x[0]) for uri, x in zip(uris, X)}
    if step == "Tables.append images":
        assert numbers == {"2.png": 3, "3.png": 4, "4.png": 5, "5.png": 6, "new.png": 34, "newer.png": 35}
        assert found == {"2.png": "cats", "3.png": "dogs", "4.png": "dogs", "5.png": "dogs"}
    else:
        assert numbers == {"moved.png": 1, "2.png": 3, "3.png": 33, "4.png": 5, "5.png": 6, "new.png": 34}
        assert found == {
            "moved.png": "cats",
            "2.png": "cats",
            "3.png": "dogs",
            "4.png": "dogs",
            "5.png": "dogs",
        }
        assert [Path(u).name for u in collection.set_aside()["uri"].to_pylist()] == ["1.png"]


def test_one_writer_at_a_time_and_readers_meanwhile(folder, collection):
    (folder / "more.png").write_bytes(png(50))
    seen = []

    def progress(step):
        if step.stage != "index":
            return
        other = Collection.open(folder)
        seen.append(len(other.vectors()[0]))
        with pytest.raises(LookalikeError, match=r"is being written by process \d+: wait until it has ended"):
            other.index(features=[Mean()])

    collection.index(features=[Mean()], progress=progress)
    assert seen and set(seen) == {6}
    assert len(Collection.open(folder).vectors()[0]) == 7


def test_a_lock_may_be_waited_for_and_ends_with_its_holder(tmp_path):
    path = tmp_path / "lock"
    with Lock(path, "it"):
        done = threading.Timer(0.2, lambda: None)
        done.start()
        with (
            pytest.raises(LookalikeError, match="it is being written by process"),
            Lock(path, "it", wait=0.1),
        ):
            pass
    with Lock(path, "it"):
        pass
    with pytest.raises(LookalikeError, match="it cannot be written"), Lock(Path("/dev/null/x"), "it"):
        pass


def test_what_progress_raises_ends_the_run_and_gives_the_lock_back(folder, collection):
    (folder / "more.png").write_bytes(png(50))

    def progress(step):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        collection.index(features=[Mean()], progress=progress)
    assert collection.index(features=[Mean()]).new == 1


def test_long_runs_keep_order_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(_index, "COMMIT_COMPUTED", 1)
    monkeypatch.setattr(_index.Indexer, "_next_tidy", 4)
    monkeypatch.setattr("lookalike.collection._shards.SEAL_BYTES", 400)
    for i in range(40):
        (tmp_path / f"{i:02}.png").write_bytes(png(i))
    collection = Collection.create(tmp_path)
    collection.index([tmp_path], features=[Mean(), Pixels()], engine=LocalEngine(1), batch_size=1)
    shards = list((tmp_path / ".lookalike").glob("feature-mean-*.lance"))
    assert len(shards) > 3
    assert collection.vectors()[1][:, 0].tolist() == list(range(40))
    assert collection.bags()[1].sizes.tolist() == [i % 10 for i in range(40)]
    assert collection.status().features[0]["contents"] == 40
    fragments = collection._tables.table("images").stats()["fragment_stats"]["num_fragments"]
    assert fragments == 1
