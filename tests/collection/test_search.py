"""Search and duplicates against what a sort of all pairs gives."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests_of_collection import Mean, png

from lookalike.collection import Collection, _duplicates, _search
from lookalike.collection._search import top
from lookalike.errors import LookalikeError
from lookalike.features import Feature
from lookalike.progress import silent


class Given(Feature):
    """The row of a table whose number is the colour of the picture."""

    name, kind, dim = "given", "vector", 5
    table = None

    def _extract(self, images):
        numbers = [int(i[0, 0, 0]) + 256 * int(i[0, 0, 1]) for i in images]
        return np.stack([self.table[n] for n in numbers])


@pytest.fixture
def many(tmp_path):
    """Sixty images, some vectors equal, one zero, two images of the same content."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 5)).astype(np.float32)
    table[10] = table[11] = table[12]
    table[20] = 0
    table[30] = table[31] * 3
    table[41] = table[40] + rng.normal(size=5) * 0.01
    Given.table = table
    for n in range(60):
        (tmp_path / f"{n:02}.png").write_bytes(png(n))
    (tmp_path / "zz.png").write_bytes(png(12))
    collection = Collection.create(tmp_path)
    collection.index(features=[Given()])
    return collection


def literal(collection, wanted, unwanted=(), metric="cosine"):
    """Uris by score: one pair at a time, in double precision."""
    uris, X = collection.vectors()

    def similarity(x, q):
        x, q = np.float64(x), np.float64(q)
        if metric == "euclidean":
            return 1 / (1 + np.sqrt(((x - q) ** 2).sum()))
        length = np.sqrt((x**2).sum()) * np.sqrt((q**2).sum())
        return (x * q).sum() / length if length else 0.0

    def mean(x, queries):
        return sum(similarity(x, q) for q in queries) / len(queries) if len(queries) else 0.0

    return {uri: mean(x, wanted) - 0.5 * mean(x, unwanted) for uri, x in zip(uris, X)}


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize(("wanted", "unwanted"), [([3], []), ([3, 7, 8], []), ([3, 7], [9]), ([12], [5, 6])])
def test_finds_what_a_sort_of_all_finds(many, metric, wanted, unwanted):
    _, X = many.vectors()
    expected = literal(many, X[wanted], X[unwanted], metric)
    hits = many.search(X[wanted], not_=X[unwanted] if unwanted else None, k=61, metric=metric)
    assert {hit.uri for hit in hits} == set(expected)
    scores = np.array([hit.score for hit in hits])
    assert np.all(np.diff(scores) <= 0)
    tolerance = 1e-6
    assert np.allclose(scores, [expected[hit.uri] for hit in hits], atol=tolerance)
    few = many.search(X[wanted], not_=X[unwanted] if unwanted else None, k=7, metric=metric)
    assert few == hits[:7]


def test_equal_ones_come_in_the_order_of_their_uris(many):
    hits = many.search(many.vectors()[1][10], k=5)
    assert [Path(hit.uri).name for hit in hits][:4] == ["10.png", "11.png", "12.png", "zz.png"]
    assert [Path(h.uri).name for h in many.search(many.vectors()[1][10], k=2)] == ["10.png", "11.png"]


def test_examples_of_the_collection_are_left_out_unless_asked_for(many):
    where = Path(many.where)
    hits = many.search([where / "10.png", where / "11.png"], k=61)
    assert len(hits) == 59
    assert Path(hits[0].uri).name == "12.png"
    assert hits[0].similarity == pytest.approx(1)
    assert len(many.search(where / "10.png", not_=where / "11.png", k=61)) == 59
    assert len(many.search(where / "10.png", k=61, include_examples=True)) == 61


def test_a_zero_vector_is_similar_to_nothing(many):
    hits = many.search(np.ones(5), k=61)
    zero = next(hit for hit in hits if hit.uri.endswith("20.png"))
    assert zero.similarity == 0
    assert all(hit.similarity == 0 for hit in many.search(np.zeros(5), k=61))


def test_refuses_what_is_no_query(many):
    with pytest.raises(ValueError, match=r"has shape .* 5 numbers"):
        many.search(np.ones(4))
    with pytest.raises(ValueError, match="not finite"):
        many.search([np.nan] * 5)
    with pytest.raises(ValueError, match="metric must be"):
        many.search(np.ones(5), metric="manhattan")
    with pytest.raises(ValueError, match="k must be"):
        many.search(np.ones(5), k=0)
    with pytest.raises(ValueError, match="no example"):
        many.search(np.zeros((0, 5)))
    with pytest.raises(LookalikeError, match="not in the collection"):
        many.search("nowhere.png")


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, -1.0, -np.inf]), max_size=30), st.integers(0, 31))
def test_top_is_a_stable_sort(scores, k):
    scores = np.array(scores, np.float32)
    assert top(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()


def all_pairs(collection, threshold):
    """Connected groups by a literal union of all similar pairs."""
    uris, X = collection.vectors()
    X = np.float64(X)
    lengths = np.linalg.norm(X, axis=1)
    groups = {i: {i} for i in range(len(X))}
    for i in range(len(X)):
        for j in range(i):
            same = np.array_equal(X[i], X[j]) and {uris[i][-6:], uris[j][-6:]} == {"12.png", "zz.png"}
            cosine = X[i] @ X[j] / (lengths[i] * lengths[j]) if lengths[i] * lengths[j] else 0
            if same or cosine >= threshold:
                joined = groups[i] | groups[j]
                for member in joined:
                    groups[member] = joined
    found = {tuple(uris[i] for i in sorted(group)) for group in groups.values() if len(group) > 1}
    return sorted(found)


@pytest.mark.parametrize("threshold", [0.6, 0.8, 0.95, 0.9999])
@pytest.mark.parametrize("block", [7, 2048])
def test_groups_are_those_of_all_pairs(many, threshold, block, monkeypatch):
    monkeypatch.setattr(_duplicates, "BLOCK", block)
    found = many.duplicates(threshold)
    assert [tuple(sorted(group.uris)) for group in found] == all_pairs(many, threshold)
    assert found.threshold == threshold
    for group in found:
        for a, b, similarity in group.links:
            assert a < b < len(group.contents)
            assert threshold <= similarity <= 1


def test_the_same_content_needs_no_feature(many):
    (group,) = many.duplicates(near=False)
    assert [Path(uri).name for uri in group.uris] == ["12.png", "zz.png"]
    assert group.same_content
    assert group.similarity == 1


def test_too_many_links_are_thinned_to_those_that_hold_the_groups(many, monkeypatch):
    whole = many.duplicates(0.6)
    monkeypatch.setattr(_duplicates, "MOST_LINKS", 5)
    monkeypatch.setattr(_duplicates, "BLOCK", 7)
    thin = many.duplicates(0.6)
    assert [group.contents for group in thin] == [group.contents for group in whole]
    for a, b in zip(thin, whole):
        assert set(a.links) <= set(b.links)
        assert len(a.links) <= len(a.contents) - 1 + 5 * 7 * 7
    assert sum(len(group.links) for group in thin) < sum(len(group.links) for group in whole)


def test_the_default_threshold_tells_twins_from_neighbours():
    """Random directions in classes, some of them twice with a little noise."""
    from tests_of_matrix import matrix_of

    rng = np.random.default_rng(1)
    centres = rng.normal(size=(20, 64))
    X = np.repeat(centres, 40, axis=0) + rng.normal(size=(800, 64))
    twins = X[:50] + rng.normal(size=(50, 64)) * 0.05
    matrix = matrix_of(np.concatenate([X, twins]))
    threshold = _duplicates.default_threshold(matrix, np.arange(850))
    i, j, _ = _duplicates.similar_pairs(matrix, np.arange(850), threshold, progress=silent)
    assert sorted(zip(i.tolist(), j.tolist())) == [(n, 800 + n) for n in range(50)]


def test_the_default_threshold_is_never_absurd():
    from tests_of_matrix import matrix_of

    rng = np.random.default_rng(1)
    assert _duplicates.default_threshold(matrix_of(np.ones((5, 3))), np.arange(5)) == 0.95
    assert _duplicates.default_threshold(matrix_of(np.ones((50, 3))), np.arange(50)) == 0.9999
    assert _duplicates.default_threshold(matrix_of(rng.normal(size=(50, 999))), np.arange(50)) == 0.9


def test_near_duplicates_by_default(folder, collection):
    assert collection.duplicates().threshold == 0.95
    assert collection.duplicates().feature == "mean"
    (folder / "twin.png").write_bytes(png(2))
    collection.index(features=[Mean()])
    assert any(group.same_content for group in collection.duplicates(near=False))
    with pytest.raises(ValueError, match="cosine from -1 to 1"):
        collection.duplicates(2)


def test_the_score_counts_what_is_not_wanted_half():
    assert _search.AGAINST == 0.5
