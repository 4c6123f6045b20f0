"""``tag``, ``search WORD`` and ``search --feedback``."""

import pytest

from lookalike.cli._feedback import parse_marks
from lookalike.errors import LookalikeWarning


def test_tag_says_words_for_pictures(labelled, terminal, tmp_path):
    from tests.cli.conftest import paint

    paint(tmp_path / "new.png", (200, 30, 30), 99)
    found = terminal.json("tag", tmp_path / "new.png", "--taxonomy", "flat")
    assert [t["word"] for t in found["images"][0]["tags"]] == ["red"]
    assert 0.5 <= found["images"][0]["tags"][0]["probability"] <= 1
    said = terminal("tag", tmp_path / "new.png", "--taxonomy", "flat", "--top", 2).stdout
    assert "red" in said.split("new.png")[1]
    assert len(said.split(",")) == 2
    nothing = terminal("tag", tmp_path / "new.png", "--taxonomy", "flat", "--at-least", 1.0).stdout
    assert "nothing is safe" in nothing


def test_a_folder_is_tagged_and_a_bad_picture_stops_nothing(labelled, terminal, tmp_path):
    from tests.cli.conftest import paint

    folder = tmp_path / "new"
    folder.mkdir()
    paint(folder / "a.png", (200, 30, 30), 99)
    (folder / "b.png").write_text("no picture")
    found = terminal.json("tag", folder, "red/0.png", "--taxonomy", "flat")["images"]
    assert [[t["word"] for t in image["tags"]] for image in found] == [["red"], ["red"], []]
    assert found[2]["path"].endswith("b.png")
    assert found[2]["reason"]
    assert "b.png" in terminal("tag", folder, "--taxonomy", "flat").stderr
    assert "does not exist" in terminal.error("tag", folder, "nowhere.png")


def test_a_taxonomy_of_ones_own(labelled, terminal, tmp_path):
    table = tmp_path / "tree.csv"
    table.write_text("parent,child\nall,warm\nwarm,red\nall,cold\ncold,green\ncold,blue\n")
    hits = terminal.json("search", "cold", "--taxonomy", table, "-n", 8)["hits"]
    assert len(hits) == 8
    assert not any("red" in hit["path"] for hit in hits)
    best = terminal.json("search", "Warm reds", "--taxonomy", table, "-n", 4)["hits"]
    assert all("red" in hit["path"] for hit in best)
    table.write_text("a,x\nb,x\n")
    assert "two parents" in terminal.error("search", "cold", "--taxonomy", table)
    assert "is no taxonomy" in terminal.error("search", "cold", "--taxonomy", "nowhere.csv")


def test_words_find_pictures(labelled, terminal, tmp_path):
    hits = terminal.json("search", "blue", "--taxonomy", "flat", "-n", 4)["hits"]
    assert all("blue" in hit["path"] for hit in hits)
    assert len(terminal("search", "blue", "--taxonomy", "flat", "-n", 3).stdout.splitlines()) == 3
    terminal("search", "blue", "--taxonomy", "flat", "--html", tmp_path / "page.html")
    assert "blue" in (tmp_path / "page.html").read_text("utf-8")
    assert "nothing was learned about 'zebra'" in terminal.error("search", "zebra", "--taxonomy", "flat")
    assert "need example pictures" in terminal.error("search", "blue", "--feedback")


def test_without_wordnet_a_notice_says_what_is_missing(labelled, terminal, tmp_path, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    with pytest.warns(LookalikeWarning, match="no WordNet here"):
        assert "red" in terminal("tag", "red/0.png").stdout
    assert "no WordNet in" in terminal.error("tag", "red/0.png", "--taxonomy", "wordnet")
    terminal("tag", "red/0.png", "--taxonomy", "flat")  # and no warning, or it would be an error


def test_without_labels_words_are_told_to_need_them(collection, terminal):
    assert "has no labels" in terminal.error("search", "blue")
    assert "has no labels" in terminal.error("tag")


def test_all_labelled_pictures_leave_nothing_to_tag(labelled, terminal):
    result = terminal("tag", "--taxonomy", "flat")
    assert result.stdout == ""
    assert "every picture has a label" in result.stderr


def test_feedback_goes_on_in_rounds(collection, terminal):
    from lookalike.cli._app import app

    def run(lines):
        words = ["search", "red/0.png", "-n", "4", "--feedback", "--json"]
        result = terminal.runner.invoke(app, words, input=lines, prog_name="lookalike")
        assert result.exit_code == 0, result.output
        return result

    plain = terminal.json("search", "red/0.png", "-n", 4)["hits"]
    import json

    assert [h["uri"] for h in json.loads(run("\n").stdout)["hits"]] == [h["uri"] for h in plain]
    marked = run("-1\n\n")
    assert plain[0]["uri"] not in [h["uri"] for h in json.loads(marked.stdout)["hits"]]
    back = run("-1\nu\n9\nx\n\n")
    assert [h["uri"] for h in json.loads(back.stdout)["hits"]] == [h["uri"] for h in plain]
    assert "'9' is not among the results" in back.stderr
    assert back.stderr.count("   1 ") == 3  # a line that is not understood is asked for again
    kept = json.loads(run("4\n\n").stdout)["hits"]
    assert kept[0]["uri"] == plain[3]["uri"]


@pytest.mark.parametrize("line", ["0", "5", "a", "3-1", "1 -1", "1-"])
def test_wrong_marks_are_refused(line):
    with pytest.raises(ValueError):
        parse_marks(line, 4)
