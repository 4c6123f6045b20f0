"""Single questions about index runs; the model of many runs is in ``test_incremental``."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from tests_of_collection import Mean, Pixels, Touchy, png

from lookalike.collection import Collection, _plan
from lookalike.errors import LookalikeError, LookalikeWarning
from lookalike.features import get_feature
from lookalike.parallel import LocalEngine


def names(uris):
    return [Path(uri).name for uri in uris]


def aside(collection):
    return {Path(row["uri"]).name: row["reason"] for row in collection.set_aside().to_pylist()}


def test_bad_files_are_listed_and_do_not_stop_the_run(folder, collection):
    (folder / "cats" / "empty.jpg").touch()
    (folder / "cats" / "text.png").write_text("not a picture")
    (folder / "cats" / "short.png").write_bytes(png(300, 64)[:60])
    (folder / "cats" / "dangling.png").symlink_to(folder / "nowhere.png")
    report = collection.index(features=[Mean()])
    assert (report.unchanged, report.set_aside, report.found) == (6, 4, 10)
    assert set(aside(collection)) == {"empty.jpg", "text.png", "short.png", "dangling.png"}
    assert all(reason for reason in aside(collection).values())
    again = collection.index(features=[Mean()])
    assert (again.unchanged, again.set_aside) == (6, 4)
    (folder / "cats" / "text.png").write_bytes(png(70))
    (folder / "cats" / "empty.jpg").unlink()
    (folder / "cats" / "dangling.png").unlink()
    mended = collection.index(features=[Mean()])
    assert (mended.new, mended.set_aside) == (1, 1)
    assert set(aside(collection)) == {"short.png"}


def test_what_was_set_aside_is_read_again_only_when_there_is_a_reason(folder, collection, monkeypatch):
    (folder / "bad.png").write_bytes(b"bad")
    collection.index(features=[Mean()])
    opened = []
    from lookalike.collection import _work

    original = _work.open_image
    monkeypatch.setattr(_work, "open_image", lambda path, **k: opened.append(path) or original(path, **k))
    collection.index(features=[Mean()])
    assert not opened
    collection.index(features=[Mean()], retry=True)
    assert names(opened) == ["bad.png"]
    monkeypatch.setattr(_plan, "__version__", "99")
    collection.index(features=[Mean()])
    assert names(opened) == ["bad.png"] * 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may open everything")
def test_a_folder_that_cannot_be_entered_keeps_its_images(folder, collection):
    (folder / "cats").chmod(0)
    try:
        report = collection.index(features=[Mean()])
    finally:
        (folder / "cats").chmod(0o755)
    assert (report.removed, report.unchanged, report.set_aside) == (0, 3, 1)
    assert len(collection) == 6


def test_a_walk_that_could_not_reach_a_folder_removes_nothing_there(folder, collection, monkeypatch):
    from lookalike.collection import _index
    from lookalike.images import SetAside, find_images

    cats = str(folder / "cats")

    def walk(sources, **options):
        yield SetAside(cats, cats, "is in a folder that may not be opened")
        yield from (found for found in find_images(sources, **options) if "cats" not in found.uri)

    with monkeypatch.context() as patch:
        patch.setattr(_index, "find_images", walk)
        report = collection.index(features=[Mean()])
        assert (report.removed, report.unchanged, report.set_aside) == (0, 3, 1)
        assert list(aside(collection)) == ["cats"]
        assert collection.index(features=[Mean()]).set_aside == 1
    assert len(collection) == 6
    assert collection.index(features=[Mean()]).unchanged == 6
    assert aside(collection) == {}


def test_one_picture_that_a_feature_refuses_costs_only_itself(folder):
    (folder / "black.png").write_bytes(png(0))
    (folder / "black again.png").write_bytes(png(0))
    collection = Collection.create(folder)
    report = collection.index([folder], features=[Touchy()])
    assert (report.new, report.set_aside) == (6, 2)
    assert aside(collection)["black.png"] == "gives no touchy: the picture is black"
    assert aside(collection)["black again.png"] == "gives no touchy: the picture is black"


def test_numbers_that_are_not_finite_are_refused(folder):
    class Broken(Mean):
        name = "broken"

        def _extract(self, images):
            return np.where(super()._extract(images)[:, :1] == 3, np.nan, 1) * np.ones((1, 6))

    collection = Collection.create(folder)
    assert collection.index([folder], features=[Broken()]).new == 5
    assert aside(collection) == {"2.png": "gives no broken: its numbers are not finite"}


def test_equal_contents_are_computed_once(folder):
    for i in range(40):
        (folder / f"copy {i}.png").write_bytes(png(i % 2 + 1))
    collection = Collection.create(folder)
    report = collection.index([folder], features=[Mean()], batch_size=1)
    assert (report.new, report.computed, Mean.computed) == (46, 6, 6)


def test_another_feature_reads_each_content_once_and_leaves_the_first(folder, collection):
    (folder / "copy.png").write_bytes(png(1))
    collection.index(features=[Mean()])
    assert Mean.computed == 6
    report = collection.index(features=[Mean(), Pixels(), Touchy()])
    assert (report.unchanged, report.computed) == (7, 6)
    assert Mean.computed == 6
    assert Touchy.computed == 6
    assert [column.name for column in collection.features] == ["mean", "pixels", "touchy"]
    assert collection.index(features=[Mean(), Mean()]).unchanged == 7


def test_without_names_it_goes_on_with_sources_and_features_of_before(folder, tmp_path):
    collection = Collection.create(folder)
    collection.index(features=["color-histogram"])
    assert collection.sources == [str(folder)]
    (folder / "more.png").write_bytes(png(9))
    assert collection.index().new == 1
    assert collection.column().fingerprint == get_feature("color-histogram").fingerprint
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.png").write_bytes(png(10))
    assert collection.index([elsewhere]).new == 1
    (elsewhere / "y.png").write_bytes(png(11))
    (folder / "more.png").unlink()
    report = collection.index()
    assert (report.new, report.removed) == (1, 1)
    assert len(collection) == 8


def test_other_sources_are_left_alone(folder, collection):
    report = collection.index([folder / "cats"], features=[Mean()])
    assert (report.unchanged, report.removed) == (3, 0)
    (folder / "cats" / "0.png").unlink()
    report = collection.index([folder / "dogs", folder / "cats" / "1.png"], features=[Mean()])
    assert (report.unchanged, report.removed) == (4, 0)
    assert collection.index([folder / "cats"], features=[Mean()]).removed == 1


def test_lists_and_single_files(folder, tmp_path):
    (tmp_path / "list.csv").write_text("path\npictures/cats/0.png\npictures/no.png\n")
    collection = Collection.create(tmp_path)
    report = collection.index([tmp_path / "list.csv", folder / "dogs" / "4.png"], features=[Mean()])
    assert (report.new, report.set_aside) == (2, 1)
    assert aside(collection) == {"no.png": "does not exist"}
    with pytest.raises(LookalikeError, match="does not exist"):
        collection.index([tmp_path / "nothing"], features=[Mean()])


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are Unicode")
def test_strange_names(tmp_path):
    strange = [
        "with space",
        "o'quote",
        "emoji 🐈",
        "new\nline",
        "percent %41",
        os.fsdecode(b"caf\xe9"),
        "\\",
        '"',
    ]
    for i, name in enumerate(strange):
        (tmp_path / f"{name}.png").write_bytes(png(i + 1))
    deep = tmp_path / os.fsdecode(b"\xff")
    deep.mkdir()
    (deep / "x.png").write_bytes(png(50))
    collection = Collection.create(tmp_path)
    assert collection.index([tmp_path], features=[Mean()]).new == 9
    assert collection.index([tmp_path], features=[Mean()]).unchanged == 9
    assert collection.label_from_folders() == 1
    for i, name in enumerate(strange):
        assert collection.vectors(None, [tmp_path / f"{name}.png"])[1][0, 0] == i + 1
        collection.set_labels({tmp_path / f"{name}.png": name.encode("utf-8", "replace").decode()}, by="o'me")
        (tmp_path / f"{name}.png").rename(tmp_path / f"{name}{name}.png")
    report = collection.index(features=[Mean()])
    assert (report.moved, report.unchanged, Mean.computed) == (8, 1, 9)
    assert collection.labels().num_rows == 9
    for path in tmp_path.glob("*.png"):
        path.unlink()
    (deep / "x.png").unlink()
    assert collection.index(features=[Mean()]).removed == 9


def test_processes_give_what_threads_give(folder, collection, tmp_path):
    other = Collection.create(tmp_path)
    engine = LocalEngine(2, kind="process")
    report = other.index([folder], features=["color-histogram"], engine=engine)
    collection.index(features=["color-histogram"])
    assert report.new == 6
    assert np.array_equal(other.vectors()[1], collection.vectors("color-histogram")[1])


def test_progress_ends_where_it_should(folder, collection):
    (folder / "more.png").write_bytes(png(50))
    (folder / "bad.png").write_bytes(b"")
    steps = []
    collection.index(features=[Mean()], progress=steps.append)
    mine = [step for step in steps if step.stage == "index"]
    assert [step.done for step in mine] == sorted(step.done for step in mine)
    assert (mine[0].done, mine[-1].done, mine[-1].total) == (6, 8, 8)
    assert mine[-1].note == "1 set aside"


def test_a_file_that_changes_while_it_is_read_is_read_again(folder, collection, monkeypatch):
    """Two copies of one content; the first is overwritten between its hash and its picture."""
    from lookalike.collection import _work

    (folder / "u.png").write_bytes(png(40))
    (folder / "v.png").write_bytes(png(40))
    original = _work.open_image

    def late(path, **options):
        if path.endswith("u.png"):
            Path(path).write_bytes(png(41))
        return original(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(_work, "open_image", late)
        report = collection.index(features=[Mean()])
    assert (report.new, report.set_aside) == (1, 1)
    uris, X = collection.vectors()
    assert {Path(uri).name: x[0] for uri, x in zip(uris, X)}["u.png"] == 41
    report = collection.index(features=[Mean()])
    assert (report.new, report.set_aside) == (1, 0)
    assert collection.vectors(None, [folder / "v.png"])[1][0, 0] == 40


def test_a_feature_that_is_not_known_here_is_one_clear_error(collection):
    with pytest.raises(LookalikeError, match="no feature called 'mean'"):
        collection.index()


def test_a_folder_with_fifty_kinds_of_bad_files(tmp_path, monkeypatch):
    """All good pictures are indexed, all bad ones are listed with a reason, and nothing hangs."""
    from tests.images.pictures import bad_files, good_files, limit

    from lookalike.collection import _work

    good, bad = dict(good_files()), dict(bad_files())
    assert len(bad) >= 50
    for name, data in (good | bad).items():
        (tmp_path / name).write_bytes(data)
    original = _work.open_image
    monkeypatch.setattr(
        _work, "open_image", lambda path, **k: original(path, **k, time_limit=limit(Path(path).name))
    )
    collection = Collection.create(tmp_path)
    report = collection.index([tmp_path], features=[Mean()])
    assert {Path(uri).name for uri in collection.images(["uri"])["uri"].to_pylist()} == set(good)
    assert set(aside(collection)) == set(bad)
    assert all(aside(collection).values())
    assert (report.new, report.set_aside) == (len(good), len(bad))
    again = collection.index([tmp_path], features=[Mean()])
    assert (again.unchanged, again.set_aside, again.computed) == (len(good), len(bad), 0)


def test_a_source_that_is_gone_is_told_and_can_be_forgotten(folder, collection, tmp_path):
    other = tmp_path / "other"
    (other / "deeper").mkdir(parents=True)
    for i, place in enumerate([other, other / "deeper"]):
        (place / f"{i}.png").write_bytes(png(90 + i))
    (other / "bad.png").write_bytes(b"bad")
    collection.index([other, other / "deeper"], features=[Mean()])
    collection.set_labels({other / "0.png": "x", other / "deeper" / "1.png": "y"}, by="me")
    other.rename(tmp_path / "unplugged")
    with pytest.warns(LookalikeWarning, match=r"other.* does not exist: .* --forget "):
        report = collection.index(features=[Mean()])
    assert (report.removed, len(collection)) == (0, 8), "what cannot be seen is left as it was"
    assert collection.forget(other) == 1, "one picture lies in another source too"
    assert len(collection) == 7
    assert not collection.set_aside().num_rows
    assert names(collection.labels()["uri"].to_pylist()) == ["1.png"]
    with pytest.raises(LookalikeError, match=r"other is no source of the collection \(there are: "):
        collection.forget(other)
    collection.forget(other / "deeper")
    assert collection.sources == [str(folder)]
    (tmp_path / "unplugged").rename(other)
    assert collection.index([other], features=[Mean()]).computed == 0
    assert len(collection.labels()) == 2, "labels waited for their contents"


def test_a_source_that_cannot_be_read_is_not_remembered(collection, tmp_path):
    listed = tmp_path / "list.csv"
    listed.write_text("name\nx.png\n")
    with pytest.raises(LookalikeError, match="no column 'path'"):
        collection.index([listed], features=[Mean()])
    assert collection.index(features=[Mean()]).unchanged == 6
