import threading
import time

import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.parallel import DaskEngine, LocalEngine, n_workers

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """A cluster of one process with two threads."""
    settings = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def engine(client):
    return DaskEngine(client)


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_keeps_the_order(kind):
    assert list(LocalEngine(2, kind=kind).map(abs, range(-20, 0))) == list(range(20, 0, -1))


def most_in_flight(engine, n):
    """How many of ``n`` items were taken before their results were given, at most."""
    taken = 0

    def items():
        nonlocal taken
        for i in range(n):
            taken += 1
            yield i

    return max(taken - given for given, _ in enumerate(engine.map(abs, items()), start=1))


def test_keeps_only_a_few_items_in_flight():
    assert most_in_flight(LocalEngine(2, lookahead=3), 1000) <= 2 * 3


def test_raises_what_the_function_raises_and_leaves_no_thread():
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(2).map(lambda i: 1 // i, [1, 0, 1]))
    assert threading.active_count() == before


def test_counts_workers_as_scikit_learn_does():
    assert n_workers(-1) >= 1
    assert n_workers(5) == 5
    with pytest.raises(ValueError, match="must not be 0"):
        n_workers(0)


def test_a_cluster_keeps_the_order_and_raises_what_the_function_raises(engine):
    def slowly(i):
        time.sleep(0.02 if i % 2 else 0.0)
        return i

    assert list(engine.map(slowly, range(20))) == list(range(20))
    with pytest.raises(ZeroDivisionError):
        list(engine.map(lambda i: 1 / i, [1, 0, 1]))


def test_a_cluster_keeps_only_a_few_items_in_flight(engine):
    assert most_in_flight(engine, 60) <= 2 * 2


def test_indexing_on_a_cluster_gives_what_indexing_here_gives(engine, tmp_path):
    for i in range(40):
        Image.new("RGB", (20, 20), (i, 100, 255 - i)).save(tmp_path / f"{i:02}.png")
    (tmp_path / "broken.jpg").write_bytes(b"")
    there, here = (Collection.create(_made(tmp_path / name)) for name in ("there", "here"))
    for collection, with_ in [(there, engine), (here, LocalEngine(2))]:
        report = collection.index([tmp_path], features=["color-histogram"], engine=with_, batch_size=4)
        assert (report.new, report.set_aside) == (40, 1)
    assert there.vectors()[1].tolist() == here.vectors()[1].tolist()
    assert there.images().drop_columns(["mtime_ns"]) == here.images().drop_columns(["mtime_ns"])


def _made(folder):
    folder.mkdir()
    return folder


def test_a_cluster_that_is_not_there_is_one_clear_error(monkeypatch):
    with pytest.raises(LookalikeError, match="no Dask scheduler answers at nonsense"):
        DaskEngine("nonsense://x")
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(LookalikeError, match=r"pip install lookalike\[cluster\]"):
        DaskEngine("tcp://x")
