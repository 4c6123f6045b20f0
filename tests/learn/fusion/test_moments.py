"""Moments are the same however the samples came, and samples can be taken out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.learn import BlockMoments


def sample(seed, n=60, dims=(3, 2), c=3, offset=0.0):
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(n, d)) + offset for d in dims]
    return blocks, np.eye(c)[rng.integers(c, size=n)], rng.random(n) + 0.1


def moments(blocks, labels, weights=None):
    return BlockMoments([b.shape[1] for b in blocks], range(labels.shape[1])).update(blocks, labels, weights)


def test_agrees_with_the_definition():
    blocks, labels, _ = sample(0)
    joined = np.concatenate([*blocks, labels], axis=1)
    got = moments(blocks, labels)
    np.testing.assert_allclose(got.mean, joined.mean(0), atol=1e-14)
    np.testing.assert_allclose(got.products, np.cov(joined.T, bias=True) * 60, atol=1e-12)


def test_weights_count_as_repetitions():
    blocks, labels, _ = sample(1, n=20)
    times = np.arange(20) % 4
    got = moments(blocks, labels, times.astype(float))
    repeated = moments([np.repeat(b, times, axis=0) for b in blocks], np.repeat(labels, times, axis=0))
    assert got.weight == repeated.weight
    np.testing.assert_allclose(got.products, repeated.products, atol=1e-12)


@given(st.integers(0, 10_000), st.lists(st.integers(0, 60), max_size=5), st.floats(-1e4, 1e4))
def test_batches_of_any_sizes_merged_in_any_order(seed, cuts, offset):
    blocks, labels, weights = sample(seed, offset=offset)
    whole = moments(blocks, labels, weights)
    parts = np.split(np.random.default_rng(seed).permutation(60), sorted(cuts))
    merged = BlockMoments([3, 2], range(3))
    for part in parts:
        merged.merge(moments([b[part] for b in blocks], labels[part], weights[part]))
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(merged.products, whole.products, atol=1e-6 if abs(offset) > 10 else 1e-9)


def test_removed_samples_leave_no_trace():
    blocks, labels, weights = sample(2)
    kept = moments([b[20:] for b in blocks], labels[20:], weights[20:])
    got = moments(blocks, labels, weights).remove([b[:20] for b in blocks], labels[:20], weights[:20])
    np.testing.assert_allclose(got.mean, kept.mean, atol=1e-12)
    np.testing.assert_allclose(got.products, kept.products, atol=1e-11)
    got.remove([b[20:] for b in blocks], labels[20:], weights[20:])
    assert got.weight == 0 and not got.products.any()


def test_classes_may_come_later():
    blocks, labels, _ = sample(3)
    first = BlockMoments([3, 2], ["b"]).update([b[:5] for b in blocks], np.ones((5, 1)))
    second = BlockMoments([3, 2], ["a", "b"]).update([b[5:] for b in blocks], labels[5:, :2])
    both = first.merge(second)
    L = np.zeros((60, 2))
    L[:5, 0], L[5:, 1], L[5:, 0] = 1, labels[5:, 0], labels[5:, 1]
    assert both.classes == ["b", "a"]
    np.testing.assert_allclose(both.products, moments(blocks, L).products, atol=1e-11)
    with pytest.raises(ValueError, match="would be lost"):
        both.extend(["a"])


def test_a_far_offset_costs_no_digits():
    blocks, labels, _ = sample(4)
    far = moments([b + 1e6 for b in blocks], labels)
    np.testing.assert_allclose(far.products, moments(blocks, labels).products, atol=1e-6)


def test_wrong_shapes_are_told():
    blocks, labels, _ = sample(5)
    got = moments(blocks, labels)
    with pytest.raises(ValueError, match="columns"):
        got.update(blocks[::-1], labels)
    with pytest.raises(ValueError, match="one column for each"):
        got.update(blocks, labels[:, :2])
    with pytest.raises(ValueError, match="as many rows"):
        got.update([blocks[0], blocks[1][:5]], labels)
    with pytest.raises(ValueError, match="cannot remove"):
        got.remove([np.repeat(b, 2, 0) for b in blocks], np.repeat(labels, 2, 0))
    with pytest.raises(ValueError, match="do not fit"):
        got.merge(BlockMoments([1], [0]))
    with pytest.raises(ValueError, match="must have 3 columns"):
        BlockMoments([2], [0], 1.0, np.zeros(5), np.zeros((5, 5)))


def test_no_sample_changes_nothing():
    got = BlockMoments([3, 2], range(3)).update([np.zeros((0, 3)), np.zeros((0, 2))], np.zeros((0, 3)))
    assert got.weight == 0 and not got.products.any()
