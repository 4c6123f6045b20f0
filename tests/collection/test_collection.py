"""Making, opening, reading and searching a collection."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests_of_collection import Mean, Pixels, png

from lookalike.bags import Bags
from lookalike.collection import Collection
from lookalike.collection import _schema as schema
from lookalike.errors import LookalikeError


def names(uris):
    return [Path(uri).name for uri in uris]


def test_is_found_upwards_like_git(folder, collection):
    assert Collection.find(folder / "cats").where == str(folder)
    assert Collection.open(folder / ".lookalike").where == str(folder)
    assert len(Collection.open(str(folder))) == 6


def test_says_that_there_is_none(tmp_path):
    with pytest.raises(LookalikeError, match=r"there is no collection in .*lookalike index"):
        Collection.open(tmp_path)
    with pytest.raises(LookalikeError, match=r"there is no collection in .* or above"):
        Collection.find(tmp_path)


def test_is_made_once(folder, collection):
    with pytest.raises(LookalikeError, match=r"a collection in .* already"):
        Collection.create(folder)
    assert len(Collection.open_or_create(folder)) == 6


def test_one_that_was_not_made_completely_is_made_again(folder, collection, tmp_path):
    import shutil

    shutil.rmtree(folder / ".lookalike" / "about.lance")
    with pytest.raises(LookalikeError, match="no collection"):
        Collection.open(folder)
    assert len(Collection.create(folder)) == 6


def test_refuses_one_of_a_newer_lookalike(folder, collection, monkeypatch):
    monkeypatch.setattr(schema, "VERSION", 0)
    with pytest.raises(LookalikeError, match=r"newer Lookalike .*version is 1.*update"):
        Collection.open(folder)


def test_brings_an_older_one_up_to_date(folder, collection, monkeypatch):
    steps = []
    monkeypatch.setattr(schema, "VERSION", 3)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: lambda t: steps.append(1), 2: lambda t: steps.append(2)})
    assert len(Collection.open(folder)) == 6
    Collection.open(folder)
    assert steps == [1, 2]


def test_a_folder_that_moves_takes_its_collection_along(folder, collection, tmp_path):
    (folder / "bad.png").write_bytes(b"bad")
    outside = tmp_path / "outside's"
    outside.mkdir()
    (outside / "x.png").write_bytes(png(90))
    collection.index([folder / "bad.png", folder / "dogs", outside], features=[Mean()])
    collection.label_from_folders()
    folder.rename(tmp_path / "moved's")
    moved = Collection.open(tmp_path / "moved's")
    assert moved.sources == [
        str(tmp_path / p) for p in ("moved's", "moved's/bad.png", "moved's/dogs", "outside's")
    ]
    report = moved.index(features=[Mean()])
    assert (report.unchanged, report.found, report.set_aside, report.removed) == (7, 8, 1, 0)
    assert moved.status().labels == {"cats": 3, "dogs": 3}
    assert all(Path(uri).exists() for uri in moved.images(["uri"])["uri"].to_pylist())
    assert all(Path(uri).exists() for uri in moved.set_aside()["uri"].to_pylist())


def test_another_name_of_its_folder_changes_nothing(folder, collection, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    linked = Collection.open(tmp_path / "link")
    assert linked.where == str(folder)
    assert linked.index(features=[Mean()]).unchanged == 6


def test_the_same_code_serves_an_object_store(tmp_path, folder):
    address = f"file-object-store://{tmp_path}/store/mine"
    made = Collection.create(address)
    made.index([folder], features=[Mean(), Pixels()])
    made.set_labels({folder / "cats" / "0.png": "cat"}, by="ann")
    with made.models.new("first") as into:
        (into / "model.json").write_text("{}")
    there = Collection.open(address)
    assert len(there) == 6
    assert there.root is None
    assert there.labels()["label"].to_pylist() == ["cat"]
    assert there.vectors()[1].shape == (6, 6)
    assert there.sources == [str(folder)]
    assert there.models.names() == ["first"]
    assert (there.models.folder("first") / "model.json").read_text() == "{}"
    assert there.status().bytes_on_disk is None
    with pytest.raises(LookalikeError, match="already"):
        Collection.create(address)


def test_reads_vectors_in_the_order_of_uris(folder, collection):
    uris, X = collection.vectors("mean")
    assert list(uris) == sorted(str(p) for p in folder.rglob("*.png"))
    assert X.dtype == np.float32
    assert X[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    some, Y = collection.vectors(Mean(), [folder / "dogs" / "5.png", uris[0]])
    assert names(some) == ["5.png", "0.png"]
    assert Y[:, 0].tolist() == [6, 1]


def test_blocks_give_the_same_vectors(folder, collection):
    (folder / "twin.png").write_bytes(png(2))
    collection.index(features=[Mean()])
    blocks = list(collection.vector_blocks("mean", 4))
    assert [len(uris) for uris, _ in blocks] == [5, 2]
    streamed = {uri: row.tolist() for uris, X in blocks for uri, row in zip(uris, X)}
    uris, X = collection.vectors()
    assert streamed == {uri: row.tolist() for uri, row in zip(uris, X)}


def test_reads_bags_as_they_were(folder, collection):
    collection.index(features=[Pixels()])
    uris, bags = collection.bags("pixels")
    assert isinstance(bags, Bags)
    assert bags.sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.allclose(bags[4], [[5 / 255, 0, 0]] * 5)
    some, few = collection.bags("pixels", [uris[3], uris[0], uris[3]])
    assert list(some) == [uris[3], uris[0], uris[3]]
    assert few.sizes.tolist() == [4, 1, 4]
    streamed = {uri: bag.tolist() for u, b in collection.bag_blocks("pixels", 4) for uri, bag in zip(u, b)}
    assert streamed == {uri: bag.tolist() for uri, bag in zip(uris, bags)}


def test_an_empty_collection_answers(tmp_path):
    empty = Collection.create(tmp_path)
    report = empty.index([tmp_path], features=[Mean(), Pixels()])
    assert report.found == 0
    assert empty.vectors()[1].shape == (0, 6)
    assert len(empty.bags()[1]) == 0
    assert empty.search(np.ones(6)) == []
    assert len(empty.duplicates()) == len(empty.duplicates(near=False)) == 0
    assert list(empty.vector_blocks()) == []
    assert empty.images().num_rows == empty.labels().num_rows == 0
    assert empty.status().indexed == 0


def test_tells_features_with_other_settings_apart(folder, collection):
    collection.index(features=[Mean(scale=2.0)])
    assert collection.vectors(Mean())[1][0, 0] == 1
    assert collection.vectors(Mean(scale=2.0))[1][0, 0] == 2
    assert collection.vectors("mean")[1][0, 0] == 2  # the newest


def test_names_what_it_has_when_a_feature_is_missing(collection):
    with pytest.raises(LookalikeError, match=r"has no .*'?gist'? \(it has: mean\)"):
        collection.vectors("gist")
    with pytest.raises(LookalikeError, match="gives vectors, not bags"):
        collection.bags("mean")


@pytest.mark.parametrize("few", [4096, 1])
def test_images_come_by_uri_or_as_asked(folder, collection, few, monkeypatch):
    monkeypatch.setattr("lookalike.collection._collection.FEW_IMAGES", few)
    assert collection.images(uris=[]).num_rows == 0
    twice = collection.images(["uri"], uris=[folder / "dogs" / "4.png"] * 2)["uri"].to_pylist()
    assert names(twice) == ["4.png", "4.png"]
    assert names(collection.images(["uri"])["uri"].to_pylist()) == [f"{i}.png" for i in range(6)]
    rows = collection.images(uris=[folder / "dogs" / "4.png", folder / "cats" / "1.png"]).to_pylist()
    assert [(Path(r["uri"]).name, r["width"], r["height"], r["format"]) for r in rows] == [
        ("4.png", 8, 8, "PNG"),
        ("1.png", 8, 8, "PNG"),
    ]
    assert sum(batch.num_rows for batch in collection.image_batches(["uri"])) == 6
    with pytest.raises(LookalikeError, match=r"nothing\.png is not in the collection"):
        collection.images(uris=[folder / "nothing.png"])
    with pytest.raises(ValueError, match="no column 'color'"):
        collection.images(["color"])


def test_a_reader_sees_what_another_wrote(folder, collection):
    reader = Collection.open(folder)
    assert len(reader.vectors()[0]) == 6
    (folder / "new.png").write_bytes(png(77))
    collection.index(features=[Mean()])
    assert len(reader) == 7
    uris, X = reader.vectors()
    assert len(uris) == len(X) == 7
    (folder / "cats" / "0.png").unlink()
    collection.index(features=[Mean()])
    assert len(reader.vectors()[0]) == 6
    assert np.array_equal(reader.vectors()[1], Collection.open(folder).vectors()[1])


@pytest.mark.parametrize("harm", ["short", "note", "other"])
def test_a_damaged_cache_is_made_again(folder, collection, harm):
    uris, _ = collection.vectors()
    cache = folder / ".lookalike" / "cache"
    if harm == "short":
        next(cache.glob("*.vectors")).write_bytes(b"")
    elif harm == "note":
        next(cache.glob("*.json")).write_text("{")
    else:
        note = next(cache.glob("*.json"))
        note.write_text(json.dumps(json.loads(note.read_text()) | {"dim": 7}))
    again, Y = Collection.open(folder).vectors()
    assert list(again) == list(uris)
    assert np.array_equal(Y, [[1 + i, 0, 0, 0, 0, 0] for i in range(6)])


@pytest.mark.parametrize(
    ("harmed", "says"),
    [
        ("images.lance/data/*", "'images' in .* is damaged: put back a copy"),
        ("feature-*/data/*", r"'feature-mean.*' in .* is damaged: delete .*feature-mean.* and index again"),
    ],
)
@pytest.mark.parametrize("gone", [True, False])
def test_a_damaged_table_is_one_clear_error(folder, collection, harmed, says, gone):
    for path in (folder / ".lookalike").glob(harmed):
        path.unlink()
        if not gone:
            path.write_bytes(b"short")
    with pytest.raises(LookalikeError, match=says):
        Collection.open(folder).vectors()
    if harmed.startswith("feature"):
        import shutil

        for path in (folder / ".lookalike").glob("feature-*"):
            shutil.rmtree(path)
        report = Collection.open(folder).index(features=[Mean()])
        assert (report.unchanged, report.computed) == (6, 6)
        assert len(Collection.open(folder).vectors()[0]) == 6


def test_a_collection_that_may_only_be_read_is_read(folder, collection, monkeypatch, tmp_path):
    import os

    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    reader = Collection.open(folder)
    assert len(reader.vectors()[0]) == 6
    assert list((tmp_path / "cache").rglob("*.vectors"))
    with pytest.raises(LookalikeError, match="may only be read"):
        reader.index(features=[Mean()])
    with pytest.raises(LookalikeError, match="may only be read"):
        reader.set_labels({folder / "cats" / "0.png": "x"}, by="me")


def test_a_full_disk_is_one_clear_error(folder, collection, monkeypatch):
    def full(*_, **__):
        raise RuntimeError("lance error: LanceError(IO): No space left on device (os error 28), /rustc/x.rs")

    (folder / "more.png").write_bytes(png(60))
    collection._tables.table("images")
    monkeypatch.setattr(type(collection._tables.table("images")), "add", full)
    with pytest.raises(LookalikeError, match=r"no room left for .* what was committed is safe"):
        collection.index(features=[Mean()])


def test_without_room_for_a_cache_blocks_are_read(folder, collection, monkeypatch):
    from lookalike.collection import _reader

    uris, X = collection.vectors()
    hits = collection.search(X[2], k=6)
    duplicates = collection.duplicates(0.5)
    monkeypatch.setattr(_reader, "MATRIX_BYTES", 0)
    streaming = Collection.open(folder)
    assert np.array_equal(streaming.vectors()[1], X)
    assert np.array_equal(streaming.vectors(None, list(uris[::-1]))[1], X[::-1])
    assert streaming.search(X[2], k=6) == hits
    assert streaming.duplicates(0.5) == duplicates


def test_status_counts(folder, collection):
    (folder / "twin.png").write_bytes(png(2))
    (folder / "broken.jpg").write_bytes(b"nothing")
    collection.index(features=[Mean()])
    collection.label_from_folders()
    with collection.models.new("mine") as into:
        (into / "model.json").write_text("{}")
    status = collection.status().to_dict()
    assert status["indexed"] == 7
    assert status["contents"] == 6
    assert status["labelled"] == 6
    assert status["labels"] == {"cats": 3, "dogs": 3}
    assert status["set_aside"] == 1
    assert names([status["set_aside_files"][0]["uri"]]) == ["broken.jpg"]
    assert [(f["name"], f["contents"]) for f in status["features"]] == [("mean", 6)]
    assert status["models"] == ["mine"]
    assert status["bytes_on_disk"] > 1000
    json.dumps(status)


def test_models_are_put_in_place_as_a_whole(collection):
    with collection.models.new("mine") as into:
        (into / "a").write_text("1")
    with pytest.raises(RuntimeError), collection.models.new("mine") as into:
        (into / "a").write_text("2")
        raise RuntimeError
    assert (collection.models.folder("mine") / "a").read_text() == "1"
    with collection.models.new("mine") as into:
        (into / "b").write_text("3")
    assert [p.name for p in collection.models.folder("mine").iterdir()] == ["b"]
    collection.models.remove("mine")
    assert collection.models.names() == []
    with pytest.raises(LookalikeError, match="no model called 'mine'"):
        collection.models.folder("mine")
    with pytest.raises(LookalikeError, match="not a name"), collection.models.new("../x"):
        pass
