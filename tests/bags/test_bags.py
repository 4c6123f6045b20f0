import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lookalike.bags import Bags

sizes = st.lists(st.integers(0, 5), min_size=0, max_size=12)


def make(sizes, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, dim)).astype(np.float32) for n in sizes]


def means(bags):
    return np.stack([bag.mean(0) for bag in bags])


@given(sizes, st.data())
def test_indexes_like_a_list_of_arrays(sizes, data):
    arrays = make(sizes)
    bags = Bags.from_list(arrays, dim=3)
    assert len(bags) == len(arrays)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, bags, strict=True))

    cut = slice(
        *data.draw(st.tuples(*[st.none() | st.integers(-15, 15)] * 2)),
        data.draw(st.sampled_from([None, 1, 2, -1])),
    )
    assert bags[cut] == Bags.from_list(arrays[cut], dim=3)

    if sizes:
        chosen = data.draw(st.lists(st.integers(-len(sizes), len(sizes) - 1), max_size=8))
        assert bags[chosen] == Bags.from_list([arrays[i] for i in chosen], dim=3)
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
        assert bags[mask] == Bags.from_list([a for a, m in zip(arrays, mask) if m], dim=3)


def test_a_slice_shares_memory_and_compacts():
    bags = Bags.from_list(make([2, 0, 3, 1]))
    part = bags[1:3]
    assert np.shares_memory(part.values, bags.values)
    assert part.compact().offsets.tolist() == [0, 0, 3]
    assert np.array_equal(part.compact().values, bags.values[2:5])
    assert part.owners.tolist() == [1, 1, 1]


def test_works_in_scikit_learn_pipelines():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = Bags.from_list([rng.normal(label * 3, 1, (5, 2)) for label in y])
    model = make_pipeline(FunctionTransformer(means), KNeighborsClassifier(3))
    assert cross_val_score(model, bags, y).mean() > 0.9


@pytest.mark.parametrize(
    ("values", "offsets", "says"),
    [
        (np.zeros(3), [0, 1], "matrix"),
        (np.zeros((3, 2)), [0, 4], "within the values"),
        (np.zeros((3, 2)), [0, 2, 1], "not decrease"),
        (np.zeros((3, 2)), [], "n \\+ 1"),
    ],
)
def test_refuses_offsets_that_do_not_fit(values, offsets, says):
    with pytest.raises(ValueError, match=says):
        Bags(values, offsets)


def test_refuses_bags_of_different_dimensions():
    with pytest.raises(ValueError, match="bag 1 has shape"):
        Bags.from_list([np.zeros((2, 3)), np.zeros((2, 4))])


def test_refuses_a_mask_of_another_length():
    with pytest.raises(IndexError, match="mask for 2 bags"):
        Bags.from_list(make([1, 1]))[np.array([True])]
