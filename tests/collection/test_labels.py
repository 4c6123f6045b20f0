"""Labels: written, followed, exported."""

import threading
from pathlib import Path

import pytest
from tests_of_collection import Mean, png

from lookalike.collection import Collection, _labels
from lookalike.errors import LookalikeError


def said(collection):
    return [(Path(row["uri"]).name, row["label"], row["by"]) for row in collection.labels().to_pylist()]


def test_a_label_takes_the_place_of_another_unless_added(folder, collection):
    image = folder / "cats" / "0.png"
    assert collection.set_labels({image: "cat"}, by="ann") == 1
    collection.set_labels([(str(image), "tabby")], by="bob", add=True)
    assert said(collection) == [("0.png", "cat", "ann"), ("0.png", "tabby", "bob")]
    collection.set_labels({image: "dog"}, by="cid")
    assert said(collection) == [("0.png", "dog", "cid")]
    assert collection.labels()["at"].to_pylist()[0].tzinfo is not None


def test_labels_are_removed_one_or_all(folder, collection):
    image = folder / "cats" / "0.png"
    for label in ("a", "b", "o'c"):
        collection.set_labels({image: label}, by="ann", add=True)
    assert collection.remove_labels([image], label="o'c") == 1
    assert collection.remove_labels([image], label="o'c") == 0
    assert collection.remove_labels([image]) == 2
    assert said(collection) == []


def test_refuses_unknown_images_and_empty_labels(folder, collection):
    with pytest.raises(LookalikeError, match=r"no\.png \(and 1 more\) is not in the collection"):
        collection.set_labels([(folder / "no.png", "x"), (folder / "nor.png", "x")], by="ann")
    with pytest.raises(LookalikeError, match="empty label"):
        collection.set_labels([(folder / "cats" / "0.png", " ")], by="ann")
    assert collection.set_labels({}, by="ann") == 0


def test_folders_give_labels(folder, collection):
    (folder / "loose.png").write_bytes(png(99))
    collection.index(features=[Mean()])
    assert collection.label_from_folders() == 6
    assert [label for _, label, _ in said(collection)] == ["cats"] * 3 + ["dogs"] * 3
    assert {by for _, _, by in said(collection)} == {"folders"}
    with pytest.raises(LookalikeError, match="nothing to label"):
        collection.label_from_folders(folder / "cats")


def test_labels_go_through_a_csv_and_back(folder, collection, tmp_path):
    collection.label_from_folders()
    before = collection.labels().select(["uri", "label"])
    assert collection.export_labels(tmp_path / "labels.csv") == 6
    collection.remove_labels(before["uri"].to_pylist())
    assert collection.import_labels(tmp_path / "labels.csv") == 6
    assert collection.labels().select(["uri", "label"]) == before
    assert {by for _, _, by in said(collection)} == {"labels.csv"}
    (folder / "relative.csv").write_text("label,path,more\nwolf,dogs/3.png,1\n")
    assert collection.import_labels(folder / "relative.csv", by="ann") == 1
    assert ("3.png", "wolf", "ann") in said(collection)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("file,label\na,b\n", "needs 'path' and 'label'"),
        ("", "none"),
        ("path,label\na\n", "line 2: needs a path and a label"),
        ("path,label\na,\n", "line 2"),
    ],
)
def test_says_what_is_wrong_with_a_csv(collection, tmp_path, text, says):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(LookalikeError, match=says):
        collection.import_labels(tmp_path / "labels.csv")


def test_says_that_a_csv_cannot_be_read(collection, tmp_path):
    with pytest.raises(LookalikeError, match="no such file"):
        collection.import_labels(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"path,label\n\xff\xfe\x00,b\n")
    with pytest.raises(LookalikeError, match="is not in UTF-8: save it"):
        collection.import_labels(tmp_path / "bytes.csv")
    with pytest.raises(LookalikeError, match="cannot be written"):
        collection.export_labels(tmp_path / "nowhere" / "labels.csv")


def test_a_whole_table_is_written_as_single_rows_are(folder, collection, monkeypatch):
    images = sorted(folder.rglob("*.png"))
    for few in (10**6, 0):
        monkeypatch.setattr(_labels, "FEW", few)
        collection.set_labels([(i, "a") for i in images], by="ann")
        collection.set_labels([(i, "b") for i in images[:3]], by="ann")
        collection.set_labels([(i, "b") for i in images[2:4]], by="bob", add=True)
        found = [(name, label) for name, label, _ in said(collection)]
        assert found == [
            ("0.png", "b"),
            ("1.png", "b"),
            ("2.png", "b"),
            ("3.png", "a"),
            ("3.png", "b"),
            ("4.png", "a"),
            ("5.png", "a"),
        ]
        assert [by for name, label, by in said(collection) if (name, label) == ("2.png", "b")] == ["bob"]
        monkeypatch.setattr(_labels, "FEW", 10**6)
        collection.remove_labels(images)


def test_labels_may_be_written_while_an_index_runs(folder, collection):
    image = folder / "cats" / "0.png"
    for i in range(50):
        (folder / f"more{i}.png").write_bytes(png(1000 + i))
    written = threading.Event()

    def progress(step):
        if step.stage == "index" and not written.is_set():
            Collection.open(folder).set_labels({image: "cat"}, by="ann")
            written.set()

    collection.index(features=[Mean()], progress=progress)
    assert written.is_set()
    assert said(collection) == [("0.png", "cat", "ann")]


def row(uri, content, label="x", attached=True):
    return {"uri": uri, "hash": content, "label": label, "by": "", "at": None, "attached": attached}


def test_a_content_that_returns_takes_up_the_labels_of_its_own_place_first():
    rows = [row("b", b"1", "old b", False), row("a", b"1", "old a", False)]

    def after(returned):
        new = _labels.follow(rows, {}, returned, {}) or rows
        return sorted((r["uri"], r["label"], r["attached"]) for r in new)

    assert after({"b": b"1"}) == [("a", "old a", False), ("b", "old b", True)]
    assert after({"c": b"1"}) == [("b", "old b", False), ("c", "old a", True)]
    assert after({"c": b"1", "a": b"1"}) == [("a", "old a", True), ("c", "old b", True)]
    assert after({"c": b"1", "d": b"1", "e": b"1"}) == [("c", "old a", True), ("d", "old b", True)]
    assert after({"a": b"2"}) == [("a", "old a", False), ("b", "old b", False)]


def test_following_nothing_changes_nothing():
    assert _labels.follow([row("a", b"1")], {}, {"b": b"1"}, {"c": b"1"}) is None


def test_labels_wait_for_the_content_that_was_last_there(folder, collection):
    image = folder / "cats" / "0.png"
    collection.set_labels({image: "cat"}, by="ann")
    image.write_bytes(png(200))
    collection.index(features=[Mean()])
    image.unlink()
    collection.index(features=[Mean()])
    assert said(collection) == []
    (folder / "before.png").write_bytes(png(1))
    (folder / "last.png").write_bytes(png(200))
    collection.index(features=[Mean()])
    assert said(collection) == [("last.png", "cat", "ann")]


def test_labels_of_several_contents_may_wait_at_one_place(folder, collection):
    image = folder / "cats" / "0.png"
    for content in (301, 302):
        image.write_bytes(png(content))
        collection.index(features=[Mean()])
        collection.set_labels({image: "cat"}, by=f"ann {content}")
        image.unlink()
        collection.index(features=[Mean()])
    for content in (301, 302):
        (folder / f"{content}.png").write_bytes(png(content))
    collection.index(features=[Mean()])
    assert said(collection) == [("301.png", "cat", "ann 301"), ("302.png", "cat", "ann 302")]
