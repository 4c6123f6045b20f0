import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lookalike.cli._progress import Show, reporting
from lookalike.collection import Collection
from lookalike.progress import Step

from .conftest import COLOURS, paint


def names(rows, folder):
    return [os.path.relpath(row["path"], folder) for row in rows]


# ---- index and status --------------------------------------------------------------------------------


def test_index_tells_what_it_found(pictures, terminal):
    done = terminal.json("index", pictures, "--feature", "color-histogram")
    assert (done["new"], done["set_aside"], done["found"]) == (12, 1, 13)
    assert (pictures / ".lookalike").is_dir()
    (pictures / "red" / "0.png").rename(pictures / "moved.png")
    (pictures / "red" / "1.png").unlink()
    paint(pictures / "new.png", (0, 0, 0), 99)
    text = terminal("index", pictures).stdout
    assert "1 new, 1 moved, 1 removed, 10 unchanged." in text
    assert "1 file set aside" in text


def test_index_without_sources_updates_the_collection_above(collection, terminal, monkeypatch):
    paint(collection / "red" / "new.png", (200, 30, 30), 50)
    monkeypatch.chdir(collection / "red")
    assert terminal.json("index")["new"] == 1


def test_index_elsewhere_and_from_a_list(pictures, tmp_path, terminal):
    listed = tmp_path / "list.csv"
    listed.write_text("path\npictures/red/0.png\npictures/gone.png\n")
    home = tmp_path / "elsewhere"
    done = terminal.json("index", listed, "-c", home, "-f", "color-histogram")
    assert (done["new"], done["set_aside"]) == (1, 1)
    assert (home / ".lookalike").is_dir()
    assert not (tmp_path / ".lookalike").exists()
    assert terminal.json("status", "-c", home)["indexed"] == 1


def test_a_collection_in_an_object_store(pictures, tmp_path, terminal):
    address = f"file-object-store://{tmp_path}/store/mine"
    terminal("index", pictures, "-c", address, "-f", "color-histogram")
    assert not list(Path().glob("file-object-store:*")), "an address is no path"
    terminal("label", "from-folders", pictures, "-c", address)
    terminal("learn", "-c", address, "-r", "colors", "--no-judge")
    assert terminal.json("status", "-c", address)["models"] == ["colors"]
    assert len(terminal.json("search", pictures / "red" / "0.png", "-c", address)["hits"]) == 11
    assert terminal.json("explain", pictures / "red" / "0.png", "-c", address)["best"] == "red"


def test_addresses_that_lead_nowhere(pictures, tmp_path, terminal):
    nowhere = f"file-object-store://{tmp_path}/nowhere"
    says = terminal.error("status", "-c", nowhere)
    assert f"run 'lookalike index FOLDER --collection {nowhere}" in says
    assert "cannot be opened" in terminal.error("index", pictures, "-c", "ftp://host/folder")
    assert "is a remote address" in terminal.error("index", "s3://bucket/folder")


def test_status(collection, terminal):
    found = terminal.json("status")
    assert (found["indexed"], found["set_aside"]) == (12, 1)
    (file,) = found["set_aside_files"]
    assert (Path(file["uri"]).name, file["reason"]) == ("broken.jpg", "is empty")
    text = terminal("status").stdout
    assert "color-histogram (vector of 256): 12 of 12" in text
    assert "1 × is empty" in text
    assert terminal("status", "--set-aside").stdout == "broken.jpg: is empty\n"


def test_index_shows_progress_as_lines_when_asked_and_else_nothing(pictures, terminal):
    result = terminal("index", pictures, "-f", "color-histogram", "--progress", "json")
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert {"stage", "done", "total", "per_second", "seconds_left"} <= set(lines[-1])
    assert terminal("index", pictures).stderr == ""


def test_a_bar_shows_images_per_second(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with reporting(Show.bar) as progress:
        for done in range(0, 101, 10):
            progress(Step("index", done, 100))
    shown = capsys.readouterr().err
    assert "images/s" in shown
    assert "100/100" in shown


def test_a_stopped_index_is_kept_and_said(pictures, terminal, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Collection, "index", stop)
    assert "stopped; what was computed is kept" in terminal("index", pictures, status=1).stderr


def test_control_c_ends_a_real_run_with_status_1(tmp_path):
    for i in range(400):
        paint(tmp_path / "many" / f"{i}.png", (10, 20, 30), i)
    command = [
        sys.executable,
        "-m",
        "lookalike",
        "index",
        str(tmp_path / "many"),
        "-f",
        "gist",
        "--progress",
        "json",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if '"index"' in line or '"done"' in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode in (0, 1)
    if process.returncode == 1:
        assert "stopped; what was computed is kept" in rest


# ---- search and duplicates ---------------------------------------------------------------------------


def test_search_finds_the_same_colour(collection, terminal):
    found = terminal.json("search", "red/0.png", "-n", 3)
    assert sorted(names(found["hits"], collection)) == ["red/1.png", "red/2.png", "red/3.png"]
    lines = terminal("search", "red/0.png", "-n", 2).stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].split()[1].startswith("red/")


def test_search_by_pictures_from_outside_and_against_others(collection, tmp_path, terminal):
    paint(tmp_path / "outside.png", COLOURS["blue"], 77)
    hits = terminal.json("search", tmp_path / "outside.png", "red/0.png", "-n", 7)["hits"]
    assert {Path(p).parts[0] for p in names(hits, collection)} == {"blue", "red"}
    assert "red/0.png" not in names(hits, collection)
    words = ["search", tmp_path / "outside.png", "red/0.png", "--not", "red/1.png", "-n", 4]
    hits = terminal.json(*words)["hits"]
    assert {Path(p).parts[0] for p in names(hits, collection)} == {"blue"}


def test_search_by_another_similarity(collection, terminal):
    words = ["search", "red/0.png", "-n", 3, "--similarity", "jeffreys", "--with", "color-histogram"]
    found = terminal.json(*words)
    assert found["similarity"] == "jeffreys" and found["feature"] == "color-histogram"
    assert sorted(names(found["hits"], collection)) == ["red/1.png", "red/2.png", "red/3.png"]
    assert "no similarity called" in terminal.error("search", "red/0.png", "-s", "taste")
    assert "'cosine' only" in terminal.error("search", "red/0.png", "-s", "kl", "--not", "red/1.png")
    assert "sparse-multiscale-patches" in terminal.error("search", "red/0.png", "-s", "patches")


def test_search_writes_a_contact_sheet(collection, tmp_path, terminal, monkeypatch):
    page = tmp_path / "deep" / "sheet.html"
    assert terminal.json("search", "red/0.png", "--html", page)["html"] == str(page)
    assert page.read_text().count("<img") == 12
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    terminal("search", "red/0.png", "--not", "blue/1.png", "--open")
    assert opened == [(collection / ".lookalike" / "sheets" / "search.html").as_uri()]


def test_duplicates(collection, terminal, tmp_path):
    shutil.copy(collection / "red" / "0.png", collection / "twin.png")
    terminal("index")
    found = terminal.json("duplicates", "--exact")
    assert [[Path(p).name for p in g["paths"]] for g in found["groups"]] == [["0.png", "twin.png"]]
    assert found["threshold"] is None
    assert "1 group of 2 images, by content alone." in terminal("duplicates", "--exact").stdout
    near = terminal.json("duplicates", "--threshold", 0.5)
    assert len(near["groups"]) == 3
    page = tmp_path / "sheet.html"
    assert "contact sheet" in terminal("duplicates", "-t", 0.5, "--html", page).stderr
    assert page.read_text().count("<img") == 13


# ---- labels ------------------------------------------------------------------------------------------


def test_labels_from_folders_and_back_through_a_table(collection, terminal, tmp_path):
    assert terminal.json("label", "from-folders") == {"labelled": 12}
    assert terminal.json("label", "show")["counts"] == {"blue": 4, "green": 4, "red": 4}
    assert terminal("label", "show").stdout.splitlines()[1].split() == ["blue", "4"]
    table = tmp_path / "labels.csv"
    assert terminal("label", "export", table).stdout.startswith("12 labels in ")
    terminal("label", "remove", *collection.glob("*/*.png"))
    assert terminal.json("label", "show")["counts"] == {}
    assert terminal.json("label", "from-csv", table) == {"labelled": 12}
    assert terminal.json("status")["labels"] == {"blue": 4, "green": 4, "red": 4}
    with table.open() as file:
        assert len(list(csv.DictReader(file))) == 12


def test_labels_one_by_one_remember_who_and_when(collection, terminal):
    terminal("label", "set", "warm", "red/0.png", "red/1.png", "--by", "ann")
    terminal("label", "set", "nice", "red/0.png", "--add")
    (rows) = terminal.json("label", "show", "red/0.png")["labels"]
    assert [(row["label"]) for row in rows] == ["nice", "warm"]
    assert rows[1]["by"] == "ann"
    assert rows[1]["at"].startswith("20")
    assert "ann" in terminal("label", "show", "--label", "warm").stdout
    assert terminal.json("label", "remove", "red/0.png", "--label", "nice") == {"removed": 1}
    terminal("label", "set", "cold", "red/0.png")
    assert terminal.json("label", "show")["counts"] == {"cold": 1, "warm": 1}
    assert "no picture has the label 'mild'" in terminal("label", "show", "-l", "mild").stderr


# ---- what goes wrong ---------------------------------------------------------------------------------

WRONG = [
    (["index", "gone"], "gone does not exist"),
    (["index", "red", "gone.csv"], "gone.csv does not exist"),
    (["index", "no column.csv"], "has no column 'path'"),
    (["index", "red", "-f", "nonsense"], "there is no feature called 'nonsense'"),
    (["index", ".lookalike"], "is a collection, not a folder of pictures"),
    (["status", "-c", "/tmp/no/such/folder"], "does not exist"),
    (["search", "gone.png"], "gone.png cannot be read: the picture does not exist."),
    (["search", "broken.jpg"], "broken.jpg cannot be read: the picture is empty."),
    (["search", "."], ". cannot be read: the picture is a folder."),
    (["search", "red/0.png", "--html", "red"], "red is a folder: name a file."),
    (["search", "red/0.png", "-f", "gist"], "has no vector feature 'gist'"),
    (["search", "red/0.png", "--not", "gone.png"], "gone.png cannot be read"),
    (["duplicates", "-f", "gist"], "has no vector feature 'gist'"),
    (["label", "set", "x", "gone.png"], "is not in the collection"),
    (["label", "set", "", "red/0.png"], "empty label"),
    (["label", "remove", "gone.png"], "is not in the collection"),
    (["label", "from-csv", "gone.csv"], "gone.csv"),
    (["label", "from-csv", "no column.csv"], "it needs 'path' and 'label'"),
    (["label", "from-csv", "latin.csv"], "is not in UTF-8: save it"),
    (["label", "from-folders", "red"], "nothing to label"),
    (["label", "export", "no/such/folder/labels.csv"], "cannot be written"),
]


def test_mistakes_are_one_clear_sentence(collection, terminal):
    (collection / "no column.csv").write_text("name,class\n1.png,red\n")
    (collection / "latin.csv").write_bytes("path,label\nred/0.png,café\n".encode("latin-1"))
    for words, says in WRONG:
        assert says in terminal.error(*words)


def test_a_mistake_makes_no_collection(pictures, terminal, tmp_path):
    (tmp_path / "list.csv").write_text("name\nx.png\n")
    terminal.error("index", tmp_path / "list.csv")
    terminal.error("index", pictures, "-f", "nonsense")
    terminal.error("index", pictures, tmp_path / "gone")
    assert not list(tmp_path.rglob(".lookalike"))


def test_without_a_collection_the_first_step_is_named(tmp_path, terminal, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in [["index"], ["status"], ["search", "x.png"], ["duplicates"], ["label", "show"]]:
        assert "run 'lookalike index FOLDER' first" in terminal.error(*words)


@pytest.mark.parametrize(
    "words", [["search"], ["duplicates", "-t", 2], ["search", "x", "-n", 0], ["label", "set"]]
)
def test_wrong_calls_are_status_2(collection, terminal, words):
    terminal.error(*words, status=2)


def test_a_collection_of_a_newer_version_is_refused(collection, terminal):
    import lancedb

    about = lancedb.connect(collection / ".lookalike").open_table("about")
    about.update(where="key = 'schema'", values={"value": "999"})
    assert "written by a newer Lookalike" in terminal.error("status")


def test_names_that_are_no_text_go_through(collection, terminal):
    paint(collection / "tmp.png", COLOURS["red"], 5)
    strange = os.fsdecode(b"caf\xe9 \xf0\x9f\xa6\x8a\n.png")
    (collection / "tmp.png").rename(collection / strange)
    terminal("index")
    done = subprocess.run(
        [sys.executable, "-m", "lookalike", "search", "red/0.png", "--json"], capture_output=True, check=True
    )
    paths = [hit["path"] for hit in json.loads(done.stdout)["hits"]]
    assert str(collection / strange) in paths
    done = subprocess.run(
        [sys.executable, "-m", "lookalike", "search", strange], capture_output=True, check=True
    )
    assert done.stdout.splitlines()


def test_index_on_a_cluster_that_is_not_there(pictures, terminal):
    assert "no Dask scheduler answers at nonsense://x" in terminal.error(
        "index", pictures, "--cluster", "nonsense://x"
    )


def test_a_source_is_forgotten(collection, terminal):
    home, red = ["-c", collection / "of-two"], collection / "red"
    terminal("index", red, collection / "blue", *home, "-f", "color-histogram")
    result = terminal("index", *home, "--forget", red)
    assert "is forgotten, with 4 pictures." in result.stderr
    assert "4 unchanged." in result.stdout
    assert "is no source" in terminal.error("index", *home, "--forget", "red")


def test_a_collection_inside_another_is_told(collection, terminal):
    assert "inside that of" not in terminal("index", collection).stderr
    assert f"inside that of {collection};" in terminal("index", "red", "-f", "color-histogram").stderr
    assert terminal("index", "red").stderr == ""
