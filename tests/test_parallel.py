import threading

import pytest

from lookalike.parallel import LocalEngine, n_workers


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_keeps_the_order(kind):
    assert list(LocalEngine(2, kind=kind).map(abs, range(-20, 0))) == list(range(20, 0, -1))


def test_keeps_only_a_few_items_in_flight():
    taken = 0

    def items():
        nonlocal taken
        for i in range(1000):
            taken += 1
            yield i

    for given, _ in enumerate(LocalEngine(2, lookahead=3).map(lambda i: i, items()), start=1):
        assert taken - given <= 2 * 3


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
