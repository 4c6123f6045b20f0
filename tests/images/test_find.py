import os
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import LookalikeError
from lookalike.images import Found, SetAside, Unreadable, find_images, open_image, path_of, printable, uri_of

from .pictures import bad_files, good_files, limit


def touch(path, data=b"..."):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def names(folder, *sources):
    things = find_images(sources or [folder])
    return [os.path.relpath(thing.path, folder) for thing in things if isinstance(thing, Found)]


def aside(*sources):
    return {Path(t.path).name: t.reason for t in find_images(sources) if isinstance(t, SetAside)}


def test_walks_in_the_order_of_names_and_takes_pictures_only(tmp_path):
    for name in [
        "b/2.jpg",
        "b/1.PNG",
        "b/notes.txt",
        "b/list.csv",
        "a.webp",
        "c.heic",
        "b/c/3.tif",
        "scan.dcm",
    ]:
        touch(tmp_path / name)
    assert names(tmp_path) == ["a.webp", "c.heic", "scan.dcm", "b/1.PNG", "b/2.jpg", "b/c/3.tif"]


def test_gives_size_and_time(tmp_path):
    path = touch(tmp_path / "a.jpg", b"12345")
    (found,) = find_images([tmp_path])
    assert found == Found(str(path), str(path), 5, path.stat().st_mtime_ns)


def test_hidden_folders_and_what_systems_leave_are_not_entered(tmp_path):
    for name in [
        ".lookalike/t.jpg",
        ".git/a.jpg",
        "__MACOSX/a.jpg",
        "@eaDir/a.jpg",
        "b/.lookalike/c/d.jpg",
        "._a.jpg",
    ]:
        touch(tmp_path / name)
    touch(tmp_path / "a.jpg")
    assert names(tmp_path) == ["a.jpg"]
    with pytest.raises(LookalikeError, match="is a collection, not a folder of pictures"):
        find_images([tmp_path / ".lookalike"])
    assert names(tmp_path, tmp_path / ".git") == [".git/a.jpg"]  # named, so meant


def test_files_without_a_suffix_are_known_by_their_first_bytes(tmp_path):
    touch(tmp_path / "IM0001", bytes(128) + b"DICM")
    touch(tmp_path / "README", b"hello")
    os.mkfifo(tmp_path / "pipe")
    assert names(tmp_path) == ["IM0001"]


def test_links_in_circles_end_and_no_folder_is_walked_twice(tmp_path):
    touch(tmp_path / "z" / "1.jpg")
    (tmp_path / "a").symlink_to(tmp_path / "z")
    (tmp_path / "z" / "up").symlink_to(tmp_path)
    (tmp_path / "z" / "self").symlink_to("self")
    (tmp_path / "z" / "self.jpg").symlink_to("self.jpg")
    assert names(tmp_path) == ["z/1.jpg"]
    assert aside(tmp_path) == {"self.jpg": "is a link that leads nowhere"}


def test_a_link_out_of_the_folder_is_followed(tmp_path):
    touch(tmp_path / "elsewhere" / "deep" / "1.jpg")
    inside = tmp_path / "inside"
    touch(inside / "2.jpg")
    (inside / "link").symlink_to(tmp_path / "elsewhere")
    (inside / "3.jpg").symlink_to(tmp_path / "elsewhere" / "deep" / "1.jpg")
    assert names(inside) == ["2.jpg", "3.jpg", "link/deep/1.jpg"]


def test_what_cannot_be_read_is_set_aside_with_its_reason(tmp_path):
    (tmp_path / "nowhere.jpg").symlink_to(tmp_path / "gone.jpg")
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "folder.jpg").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.png"))
        assert aside(tmp_path) == {
            "nowhere.jpg": "is a link that leads nowhere",
            "pipe.jpg": "is a named pipe, not a file",
            "s.png": "is a socket, not a file",
        }


def test_kinds_that_are_not_read_are_said(tmp_path):
    for name in ["a.CR2", "b.psd", "c.txt", "d.xmp"]:
        touch(tmp_path / name)
    says = "is of a kind that is not read ({}): save it as JPEG, PNG or TIFF"
    assert aside(tmp_path) == {"a.CR2": says.format(".cr2"), "b.psd": says.format(".psd")}


def test_a_folder_that_may_not_be_entered_is_set_aside(tmp_path, monkeypatch):
    touch(tmp_path / "a" / "1.jpg")
    touch(tmp_path / "b" / "2.jpg")
    real = os.scandir

    def scandir(path):
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert names(tmp_path) == ["b/2.jpg"]
    assert aside(tmp_path) == {"a": "is in a folder that may not be opened: permission denied"}


STRANGE = [
    b"a b.jpg",
    b"  .jpg",
    b"new\nline.jpg",
    b"caf\xe9.jpg",
    b"\xff\xfe.jpg",
    "🦊.jpg".encode(),
    b"-rf.jpg",
]
STRANGE += [b"100%25.jpg", b"quote'\".jpg", b"#?&.jpg", "e\u0301.jpg".encode(), b"file:.jpg"]


@pytest.mark.parametrize("name", STRANGE)
def test_strange_names_come_back_from_their_address(tmp_path, name):
    path = os.fsencode(tmp_path) + b"/" + name
    Path(os.fsdecode(path)).write_bytes(b"..")
    (found,) = find_images([tmp_path])
    found.uri.encode()  # any format can hold it
    assert os.fsencode(path_of(found.uri)) == path
    assert Path(path_of(found.uri)).read_bytes() == b".."
    assert list(find_images([found.uri])) == [found]


@given(st.binary(min_size=1, max_size=20).filter(lambda b: not set(b) & {0, 47} and b not in (b".", b"..")))
def test_any_name_comes_back_from_its_address(name):
    path = os.fsdecode(b"/folder/" + name)
    uri_of(path).encode()
    assert path_of(uri_of(path)) == path
    printable(path).encode()


def test_several_sources_give_each_file_once(tmp_path):
    one = touch(tmp_path / "a" / "1.jpg")
    touch(tmp_path / "a" / "2.jpg")
    assert names(tmp_path, one, tmp_path / "a", one, tmp_path) == ["a/1.jpg", "a/2.jpg"]


def test_a_file_that_is_named_is_taken_whatever_its_suffix(tmp_path):
    path = touch(tmp_path / "photo.xyz")
    assert names(tmp_path, path) == ["photo.xyz"]


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "txt"])
def test_lists_of_paths(tmp_path, kind):
    touch(tmp_path / "a, b.jpg")
    touch(tmp_path / "deep" / "2.jpg")
    paths = ["a, b.jpg", str(tmp_path / "deep" / "2.jpg"), "gone.jpg", "deep/2.jpg"]
    listed = tmp_path / f"list.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"label": ["x"] * 4, "Path": paths}), listed)
    elif kind == "txt":
        listed.write_text("\r\n".join([*paths, "", ""]))
    else:
        tab = "\t" if kind == "tsv" else ","
        rows = [f'"{path}"{tab}x' for path in paths]
        listed.write_text("\ufeff" + "\n".join([f"path{tab}label", *rows, ""]), encoding="utf-8")
    assert names(tmp_path, listed) == ["a, b.jpg", "deep/2.jpg"]
    assert aside(listed) == {"gone.jpg": "does not exist"}


def test_names_in_a_list_may_be_no_utf8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jpg")
    Path(path).write_bytes(b"..")
    (tmp_path / "list.csv").write_bytes(b"path\ncaf\xe9.jpg\n")
    assert [found.path for found in find_images([tmp_path / "list.csv"])] == [path]


@pytest.mark.parametrize(("name", "data", "says"), [
    ("a.csv", b"name,label\nx,y\n", "has no column 'path' .*'name', 'label'"),
    ("a.csv", b"", "has no column 'path'"),
    ("a.csv", b"path\n" + b"x" * 200_000, "not a CSV file"),
    ("a.parquet", b"hello", "is not a Parquet table"),
])  # fmt: skip
def test_lists_without_paths_are_one_clear_error(tmp_path, name, data, says):
    with pytest.raises(LookalikeError, match=says):
        list(find_images([touch(tmp_path / name, data)]))


@pytest.mark.parametrize(("source", "says"), [
    ("gone", "gone does not exist: give a folder"),
    ("s3://bucket/folder", "is a remote address"),
    ("/dev/null", "is a device"),
])  # fmt: skip
def test_missing_sources_are_an_error_at_once(tmp_path, source, says):
    with pytest.raises(LookalikeError, match=says):
        find_images([source if source[0] in "/s" else tmp_path / source])


def test_tells_how_far_it_is(tmp_path):
    for i in range(600):
        touch(tmp_path / f"{i}.jpg")
    steps = []
    assert len(list(find_images([tmp_path], progress=steps.append))) == 600
    assert [(step.done, step.total) for step in steps] == [(256, None), (512, None), (600, 600)]


def test_a_folder_of_everything(tmp_path):
    """Every good picture is read, every bad one has a reason, nothing hangs."""
    good, bad = dict(good_files()), dict(bad_files())
    for name, data in (good | bad).items():
        touch(tmp_path / name, data)
    os.mkfifo(tmp_path / "pipe.jpg")
    read, reasons = [], {}
    for thing in find_images([tmp_path]):
        name = Path(thing.path).name
        if isinstance(thing, SetAside):
            reasons[name] = thing.reason
            continue
        try:
            read.append((name, open_image(thing.path, shorter_side=32, time_limit=limit(name))))
        except Unreadable as error:
            reasons[name] = error.reason
    assert {name for name, _ in read} == set(good)
    assert set(reasons) == set(bad) | {"pipe.jpg"}
    assert all(reasons.values())


def test_remote_addresses_in_a_list_are_set_aside(tmp_path):
    listed = touch(tmp_path / "list.csv", b"path\ns3://bucket/a.jpg\nb.jpg\n")
    touch(tmp_path / "b.jpg")
    first, second = find_images([listed])
    assert (first.uri, first.reason) == (
        "s3://bucket/a.jpg",
        "is a remote address: copy it to a local folder",
    )
    assert Path(second.path).name == "b.jpg"
