import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lookalike.learn import PrototypeClassifier

from .conftest import COLOURS, paint


@pytest.fixture
def outside(tmp_path):
    """New pictures of each colour, one that cannot be read, and a pipe of a name."""
    folder = tmp_path / "outside"
    for i, (name, colour) in enumerate(COLOURS.items()):
        paint(folder / f"{name}.png", colour, 500 + i)
    (folder / "torn.jpg").write_bytes(b"\xff\xd8\xff")
    (folder / "lost.png").symlink_to(folder / "nowhere.png")
    return folder


# ---- learn -------------------------------------------------------------------------------------------


def test_learn_judges_saves_and_reports(collection, terminal, tmp_path):
    terminal("label", "from-folders")
    report = tmp_path / "report.html"
    words = ["learn", "--recipe", "colors", "--name", "mine", "--folds", 2, "--report", report]
    done = terminal.json(*words)
    assert done["classes"] == {"blue": 4, "green": 4, "red": 4}
    assert done["judged"]["balanced_accuracy"] > 0.9
    assert "plain k-NN" in " ".join(done["rivals"])
    assert report.read_text().startswith("<!doctype html>")
    text = terminal(*words).stdout
    assert "3 classes from 12 labelled images" in text
    assert "balanced accuracy" in text


def test_learn_with_another_feature_and_without_judging(collection, terminal):
    terminal("label", "from-folders")
    done = terminal.json("learn", "--feature", "color-histogram", "--no-judge")
    assert (done["feature"], done["judged"], done["report"]) == ("color-histogram", {}, None)


def test_learn_computes_what_the_recipe_looks_at(collection, terminal):
    terminal("label", "from-folders")
    # These pictures give a single descriptor each.
    assert "'fisher' cannot learn from these images: 12 desc" in terminal.error("learn", "-r", "fisher")
    indexed = terminal.json("status")["features"]
    assert [one["name"] for one in indexed] == ["color-histogram", "dense-sift"]
    assert terminal.json("learn", "--recipe", "scenes", "--no-judge")["feature"] == "gist"
    assert len(terminal.json("status")["features"]) == 3


def test_learn_opens_its_report(collection, terminal, monkeypatch):
    terminal("label", "from-folders")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    terminal("learn", "-r", "colors", "--folds", 2, "--open")
    assert opened == [(collection / ".lookalike/models/colors/report.html").as_uri()]


def test_learn_from_a_recipe_of_ones_own(collection, terminal):
    terminal("label", "from-folders")
    recipe = terminal.json("recipe", "show", "logistic")
    recipe |= {"name": "own", "feature": "color-histogram"}
    (collection / "own.json").write_text(json.dumps(recipe))
    assert terminal.json("learn", "--recipe", "own.json", "--no-judge")["recipe"] == "own"


# ---- classify ----------------------------------------------------------------------------------------


def test_classify_writes_a_table(labelled, outside, terminal):
    result = terminal("classify", outside)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    best = {Path(row["path"]).stem: row["best"] for row in rows if not row["reason"]}
    assert best == {"red": "red", "green": "green", "blue": "blue"}
    for row in rows:
        if not row["reason"]:
            assert row["label"] == ("" if row["declined"] == "yes" else row["best"])
            assert 0 < float(row["probability"]) <= 1
    reasons = {Path(row["path"]).name: row["reason"] for row in rows if row["reason"]}
    assert set(reasons) == {"torn.jpg", "lost.png"}
    assert result.stderr == ""


def test_classify_writes_json_lines_and_files(labelled, outside, terminal, tmp_path):
    lines = [json.loads(line) for line in terminal("classify", outside, "--json").stdout.splitlines()]
    assert len(lines) == 5
    for line in lines:
        assert "reason" in line or abs(sum(line["probabilities"].values()) - 1) < 1e-6
    terminal("classify", outside, "-o", tmp_path / "answers.jsonl")
    assert [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()] == lines
    terminal("classify", outside, "-o", tmp_path / "answers.csv")
    assert (tmp_path / "answers.csv").read_text().startswith("path,label,probability,declined,best,reason\n")
    text = terminal("classify", outside / "red.png", outside / "torn.jpg", "--format", "text").stdout
    assert "red" in text.splitlines()[0]
    assert "torn.jpg: is a JPEG" in text


@pytest.mark.parametrize("words", [[], ["--collection"], ["--collection", "--all"], ["-c", "."]])
def test_classify_answers_for_the_rest_of_the_collection(labelled, terminal, words):
    terminal("label", "remove", "red/0.png")
    lines = terminal("classify", *words, "--format", "jsonl").stdout.splitlines()
    found = {str(Path(json.loads(line)["path"]).relative_to(labelled)) for line in lines}
    assert len(found) == (12 if "--all" in words else 1)
    assert "red/0.png" in found


def test_classify_says_none_of_these(labelled, terminal, monkeypatch):
    monkeypatch.setattr(PrototypeClassifier, "declines", lambda self, X: np.ones(len(X), bool))
    answer = json.loads(terminal("classify", "red/0.png", "--json").stdout)
    assert (answer["label"], answer["declined"], answer["best"]) == (None, True, "red")
    (row,) = csv.DictReader(io.StringIO(terminal("classify", "red/0.png").stdout))
    assert (row["label"], row["declined"]) == ("", "yes")
    assert "none of these (perhaps red)" in terminal("classify", "red/0.png", "--format", "text").stdout
    assert "none of these (perhaps red" in terminal("explain", "red/0.png").stdout


def test_classify_fails_when_nothing_could_be_answered(labelled, outside, terminal):
    result = terminal("classify", outside / "torn.jpg", status=1)
    assert "is a JPEG" in result.stdout


# ---- explain -----------------------------------------------------------------------------------------


def test_explain_shows_shares_that_add_up(labelled, outside, terminal):
    answer = terminal.json("explain", outside / "red.png", "--votes", 12)
    assert answer["best"] == "red"
    assert sum(vote["share"] for vote in answer["votes"]) == pytest.approx(answer["score"])
    assert answer["votes"][0]["label"] == "red"
    lines = terminal("explain", outside / "red.png", "-n", 2).stdout.splitlines()
    assert "red/" in lines[2]
    assert "all others; the score is" in lines[-1]


def test_explain_draws_a_page_and_a_strip(labelled, outside, terminal, tmp_path, monkeypatch):
    page, strip = tmp_path / "why.html", tmp_path / "why.png"
    assert terminal.json("explain", outside / "red.png", "-n", 3, "-o", page)["file"] == str(page)
    assert page.read_text().count("<img") == 4
    terminal("explain", outside / "red.png", "-n", 3, "-o", strip)
    assert Image.open(strip).size[0] > 700
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    terminal("explain", outside / "red.png", "--open")
    assert opened == [(labelled / ".lookalike/sheets/explain.html").as_uri()]
    assert "--output" in terminal("explain", outside / "red.png", "-o", "why.txt", status=2).stderr


# ---- models and recipes ------------------------------------------------------------------------------


def test_models_are_listed_shown_exported_and_removed(labelled, outside, terminal, tmp_path, monkeypatch):
    (facts,) = terminal.json("model", "list")
    assert (facts["name"], facts["recipe"]) == ("colours", "colors")
    assert "colours" in terminal("model", "list").stdout
    assert terminal("model", "show", "colours").stdout.startswith("# colours")
    assert terminal.json("model", "show", "colours")["recipe"]["feature"] == "color-histogram"
    exported = tmp_path / "exported"
    terminal("model", "export", "colours", exported)
    assert "is there already" in terminal.error("model", "export", "colours", exported)
    terminal("model", "remove", "colours")
    assert terminal.json("model", "list") == []
    monkeypatch.chdir(tmp_path)  # where there is no collection
    row = json.loads(terminal("classify", outside / "red.png", "--model", exported, "--json").stdout)
    assert row["best"] == "red"
    assert terminal("model", "show", exported).stdout.startswith("# colours")


def test_the_newest_model_answers(labelled, terminal):
    source = labelled / ".lookalike/models/colours"
    newer = labelled / ".lookalike/models/newer"
    shutil.copytree(source, newer)
    data = json.loads((newer / "model.json").read_text())
    data |= {"name": "newer", "created": "2999-01-01T00:00:00+00:00"}
    (newer / "model.json").write_text(json.dumps(data))
    terminal("explain", "red/0.png", "-o", "why.html")
    assert "“newer”" in (labelled / "why.html").read_text()


def test_recipes_are_listed(terminal):
    names = [recipe["name"] for recipe in terminal.json("recipe", "list")]
    assert "default" in names
    assert "colors" in terminal("recipe", "list").stdout


# ---- what goes wrong ---------------------------------------------------------------------------------


def test_mistakes_before_there_is_a_model(collection, terminal):
    assert "has no labels" in terminal.error("learn", "-r", "colors")
    assert "has no model yet" in terminal.error("classify", "red/0.png")
    assert "has no model yet" in terminal.error("explain", "red/0.png")
    terminal("label", "set", "a", "red/0.png", "red/1.png")
    assert "label images of a second class" in terminal.error("learn", "-r", "colors")
    terminal("label", "set", "b", "blue/0.png")
    assert "'b' has one image" in terminal.error("learn", "-r", "colors")
    assert "no recipe called 'colour'" in terminal.error("learn", "-r", "colour")
    assert "cannot be read" in terminal.error("learn", "-r", "gone.json")
    assert "no feature called 'nonsense'" in terminal.error("learn", "-f", "nonsense")


def test_mistakes_with_a_model(labelled, terminal, tmp_path):
    wrong = [
        (["classify", "gone.png"], "gone.png does not exist"),
        (["classify", "red/0.png", "-m", "other"], "no model called 'other' (there are: colours)"),
        (["classify", "red/0.png", "-o", "no/such/folder/x.csv"], "cannot be written"),
        (["explain", "gone.png"], "gone.png cannot be read: the picture does not exist"),
        (["explain", "broken.jpg"], "the picture is empty"),
        (["model", "show", "other"], "no model called 'other'"),
        (["model", "export", "other", tmp_path / "x"], "no model called 'other'"),
        (["model", "remove", "other"], "no model called 'other'"),
    ]
    for words, says in wrong:
        assert says in terminal.error(*words)
    terminal("learn", "--recipe", "logistic", "--feature", "color-histogram", "--no-judge")
    assert "shows no evidence" in terminal.error("explain", "red/0.png", "-m", "logistic")


def test_nothing_to_answer_for_is_said(labelled, terminal, tmp_path):
    done = terminal("classify")
    assert done.stdout.count("\n") == 1 and "has a label already" in done.stderr
    assert "none of these files" in terminal("classify", "broken.jpg", status=1).stderr
    (tmp_path / "empty").mkdir()
    assert "no picture was found" in terminal("classify", tmp_path / "empty").stderr


def test_models_that_cannot_be_read_are_one_clear_error(labelled, terminal, outside):
    model = labelled / ".lookalike/models/colours/model.json"
    good = model.read_text()
    model.write_text(json.dumps(json.loads(good) | {"lookalike_model": 99}))
    assert "has format 99" in terminal.error("classify", outside / "red.png")
    model.write_text(good[:100])
    assert "is damaged" in terminal.error("classify", outside / "red.png")
    assert "is damaged" in terminal("model", "list").stderr
    model.write_text(json.dumps(json.loads(good) | {"feature_fingerprint": "another"}))
    assert "run 'lookalike learn' again" in terminal.error("classify", outside / "red.png")
    assert "run 'lookalike learn' again" in terminal.error("classify")


def test_a_model_of_another_feature_does_not_answer_for_a_collection(labelled, terminal, tmp_path):
    terminal("model", "export", "colours", tmp_path / "model")
    other = tmp_path / "other"
    paint(other / "1.png", (1, 2, 3), 1)
    terminal("index", other, "-f", "gist")
    says = terminal.error("classify", "-c", other, "-m", tmp_path / "model")
    assert "'color-histogram'" in says
    assert "it has: gist" in says


# ---- several features --------------------------------------------------------------------------------


def test_learn_fuses_features_and_says_what_each_brought(collection, terminal, outside, tmp_path):
    terminal("label", "from-folders")
    both = "color-histogram,local-binary-patterns"
    report = tmp_path / "report.html"
    done = terminal.json("learn", "--features", both, "--folds", 2, "--report", report)
    assert done["recipe"] == "fused" and done["feature"] == "joined"
    assert set(done["brought"]) == {"color-histogram", "local-binary-patterns"}
    assert sum(done["brought"].values()) == pytest.approx(1)
    assert done["judged"]["balanced_accuracy"] > 0.9
    assert {"color-histogram alone", "local-binary-patterns alone"} <= set(done["rivals"])
    assert "what each feature brought" in report.read_text() and "color-histogram alone" in report.read_text()
    assert "brought by each feature: " in terminal("learn", "--features", both, "--no-judge").stdout
    answers = terminal("classify", outside / "red.png", "--model", "fused", "--json").stdout
    assert json.loads(answers)["best"] == "red"
    everything = terminal("classify", "--model", "fused", "--all", "--json").stdout
    assert len(everything.splitlines()) == 12
    explained = terminal.json("explain", outside / "blue.png", "--model", "fused")
    assert "blue" in json.dumps(explained)


def test_learn_looks_at_a_small_collection_by_the_best_features_and_by_all_it_has(
    collection, terminal, monkeypatch
):
    terminal("label", "from-folders")
    terminal("index", "--feature", "gist", "--feature", "dense-sift")
    best = {"efficientnet-lite0", "efficientnet-lite0-layers", "hog", "local-binary-patterns"}
    fused = terminal.json("learn", "--no-judge")
    assert (fused["name"], fused["feature"]) == ("default", "joined")
    assert set(fused["brought"]) == best | {"color-histogram", "gist"}
    assert terminal.json("learn", "--feature", "efficientnet-lite0", "--no-judge")["brought"] is None
    monkeypatch.setattr("lookalike.cli._learn.SOON_LOOKED_AT", 3)
    again = terminal.json("learn", "--no-judge")
    assert set(again["brought"]) == set(fused["brought"])


def test_a_fused_model_is_judged_among_the_unlabelled(collection, terminal):
    terminal("label", "from-folders")
    terminal("label", "remove", *sorted((collection / "red").iterdir())[:2])
    done = terminal.json("learn", "--features", "color-histogram,hog", "--folds", 2)
    assert done["judged"]["balanced_accuracy"] > 0.9 and sum(done["classes"].values()) == 10
    said = Path(done["report"]).read_text()
    assert "how much each feature counts" in said and "who looks like whom" in said


def test_learn_does_not_look_at_a_large_collection_again(collection, terminal, monkeypatch):
    monkeypatch.setattr("lookalike.cli._learn.SOON_LOOKED_AT", 3)
    terminal("label", "from-folders")
    alone = terminal.json("learn", "--no-judge")
    assert (alone["name"], alone["feature"], alone["brought"]) == ("default", "efficientnet-lite0", None)
    both = terminal.json("learn", "--no-judge")
    assert set(both["brought"]) == {"efficientnet-lite0", "color-histogram"}


def test_features_that_cannot_be_fused(collection, terminal):
    terminal("label", "from-folders")
    assert "two or more" in terminal.error("learn", "--features", "color-histogram")
    assert "dense-sift" in terminal.error("learn", "--features", "color-histogram,dense-sift")
    assert "no feature called" in terminal.error("learn", "--features", "color-histogram,nose")
    assert "leave out" in terminal.error("learn", "--features", "a,b", "--recipe", "colors")


# ---- suggest -----------------------------------------------------------------------------------------


def test_suggest_asks_for_one_of_each_kind(collection, terminal, tmp_path):
    page = tmp_path / "ask.html"
    found = terminal.json("suggest", "-n", 3, "--html", page)["suggestions"]
    assert {Path(one["path"]).parent.name for one in found} == set(COLOURS)
    assert "What to label next" in page.read_text()
    assert "settles" in terminal("suggest", "-n", 1).stdout


def test_suggest_shows_labels_that_are_probably_wrong(collection, terminal):
    terminal("label", "from-folders")
    assert terminal.json("suggest", "--mistakes")["doubts"] == []
    terminal("label", "set", "blue", "red/0.png")
    found = terminal.json("suggest", "--mistakes")["doubts"]
    assert (Path(found[0]["path"]).name, found[0]["given"], found[0]["likely"]) == ("0.png", "blue", "red")
    assert "labelled blue, probably red" in terminal("suggest", "--mistakes").stdout
    assert "every image" in terminal.error("suggest")
    assert "has no vector feature 'nothing'" in terminal.error("suggest", "-f", "nothing")
