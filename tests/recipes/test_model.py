import json

import numpy as np
import pytest
from PIL import Image

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.recipes import (
    Model,
    Recipe,
    doubtful_labels,
    get_recipe,
    learn_collection,
    list_recipes,
    suggest_images,
)

COLORS = {"warm": (230, 60, 30), "cold": (30, 80, 230), "leaf": (40, 180, 50)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of three classes, one picture that is none of them, and a broken one."""
    root = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for name, color in COLORS.items():
        (root / name).mkdir()
        for i in range(8):
            noise = rng.integers(-25, 25, (24, 24, 3))
            Image.fromarray(np.clip(np.array(color) + noise, 0, 255).astype(np.uint8)).save(
                root / name / f"{i}.png"
            )
    return root


@pytest.fixture(scope="module")
def collection(folder):
    collection = Collection.create(folder)
    collection.index(features=["color-histogram"])
    collection.label_from_folders()
    return collection


@pytest.fixture(scope="module")
def learned(collection):
    return learn_collection(collection, "colors", n_folds=3)


def test_learning_judges_saves_and_reports(learned, collection):
    assert learned.model.classes == ["cold", "leaf", "warm"]
    assert learned.judgement.accuracy == 1.0
    assert collection.models.names() == ["colors"]
    assert sorted(p.name for p in learned.folder.iterdir()) == [
        "arrays.safetensors",
        "card.md",
        "model.json",
        "report.html",
    ]
    assert "Cross-validation on 24 images" in (learned.folder / "card.md").read_text()
    assert "data:image/" in learned.report.read_text()
    assert json.dumps(learned.to_json())


def test_a_loaded_model_answers_as_the_saved_one(learned, collection):
    uris, X = collection.vectors("color-histogram")
    loaded = Model.load(learned.folder)
    before = learned.model.answer_rows(X, uris, votes=-1)
    after = loaded.answer_rows(X, uris, votes=-1)
    assert before == after
    for answer in after:
        assert sum(v.share for v in answer.votes) == pytest.approx(answer.score)
        assert sum(answer.probabilities.values()) == pytest.approx(1)


def test_answers_for_files_and_tells_which_it_cannot_read(learned, folder, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG nothing")
    paths = [str(folder / "warm" / "0.png"), str(broken), str(folder / "leaf" / "1.png")]
    answers = list(learned.model.answer_images(paths, votes=2))
    assert [a.path for a in answers] == paths
    assert [a.best for a in answers] == ["warm", "", "leaf"]
    assert answers[1].reason
    assert not answers[1].declined
    assert len(answers[0].votes) == 2
    assert answers[0].votes[0].label == "warm"
    assert "reason" in answers[1].to_json()


def test_a_changed_feature_is_refused(learned):
    from dataclasses import replace

    other = replace(learned.model, fingerprint="0" * 64)
    with pytest.raises(LookalikeError, match="is not the one that the model"):
        list(other.answer_images([]))


def damage_json(folder, **changes):
    path = folder / "model.json"
    data = json.loads(path.read_text())
    data.update(changes)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda f: (f / "model.json").write_text("{"), "is damaged"),
        (lambda f: (f / "model.json").write_text("[]"), "is damaged"),
        (lambda f: (f / "model.json").unlink(), "there is no model"),
        (lambda f: (f / "arrays.safetensors").unlink(), "is damaged"),
        (lambda f: (f / "arrays.safetensors").write_bytes(b"12345678rubbish"), "is damaged"),
        (lambda f: damage_json(f, lookalike_model=99), "update Lookalike"),
        (lambda f: damage_json(f, pipeline={"$": "estimator", "is": "os.system"}), "is damaged"),
        (lambda f: damage_json(f, pipeline=3), "is damaged"),
        (lambda f: damage_json(f, classes=["a"]), "do not fit"),
        (lambda f: damage_json(f, recipe={}), "is damaged"),
    ],
)
def test_a_damaged_or_newer_model_is_one_clear_error(learned, tmp_path, harm, says):
    folder = learned.model.save(tmp_path / "model")
    harm(folder)
    with pytest.raises(LookalikeError, match=says) as caught:
        Model.load(folder)
    assert "\n" not in str(caught.value)


def test_labels_that_do_not_carry_a_model_are_told(folder, tmp_path):
    place = tmp_path / "fresh"
    place.mkdir()
    for i, color in enumerate([*COLORS.values()]):
        Image.new("RGB", (8, 8), color).save(place / f"{i}.png")
    fresh = Collection.create(place)
    fresh.index(features=["color-histogram"])
    with pytest.raises(LookalikeError, match="has no labels"):
        learn_collection(fresh, "colors")
    fresh.set_labels({place / "0.png": "a", place / "1.png": "a"}, by="me")
    with pytest.raises(LookalikeError, match="second class"):
        learn_collection(fresh, "colors")
    fresh.set_labels({place / "2.png": "b"}, by="me")
    with pytest.raises(LookalikeError, match="'b' has one image"):
        learn_collection(fresh, "colors")
    assert learn_collection(fresh, "colors", judge=False).judgement is None
    with pytest.raises(LookalikeError, match="index it with this feature first"):
        learn_collection(fresh, "scenes")
    fresh.set_labels({place / "2.png": "c"}, by="me", add=True)
    with pytest.raises(LookalikeError, match="several labels"):
        learn_collection(fresh, "colors")


@pytest.mark.parametrize("recipe", list_recipes(), ids=lambda r: r.name)
def test_presets_are_plain_data_and_can_be_made(recipe):
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    assert hasattr(recipe.make()[-1], "fit")
    assert recipe.make_feature().name == recipe.feature
    assert recipe.about


def test_the_best_recipe_fuses_what_its_blocks_say():
    best = get_recipe("best")
    joined = best.make_feature()
    assert best.steps[0][1]["blocks"] == [list(span) for span in joined.spans]
    assert joined.parts[0].name == get_recipe().feature


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "not a recipe"),
        ([], "not a recipe"),
        ({"lookalike_recipe": 99}, "update Lookalike"),
        ({"lookalike_recipe": 1}, "damaged"),
        ({"lookalike_recipe": 1, "name": "x", "feature": "gist", "steps": [3]}, "damaged"),
    ],
)
def test_bad_recipes_are_one_clear_error(data, says):
    with pytest.raises(LookalikeError, match=says):
        Recipe.from_json(data)


def test_bad_steps_and_names_are_told(tmp_path):
    with pytest.raises(LookalikeError, match="did you mean 'default'"):
        get_recipe("defualt")
    with pytest.raises(LookalikeError, match="Did you mean 'PrototypeClassifier'"):
        Recipe("x", "gist", steps=[("PrototypClassifier", {})]).make()
    with pytest.raises(LookalikeError, match="does not fit"):
        Recipe("x", "gist", steps=[("PrototypeClassifier", {"wings": 2})]).make()
    with pytest.raises(LookalikeError, match="no steps"):
        Recipe("x", "gist").make()
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(get_recipe("colors").to_json()))
    assert get_recipe(path) == get_recipe("colors")
    path.write_text("nonsense")
    with pytest.raises(LookalikeError, match="not JSON"):
        get_recipe(path)
    with pytest.raises(LookalikeError, match="cannot be read"):
        get_recipe(tmp_path / "missing.json")


def test_unlabelled_images_speak_for_few_labels_and_say_who_is_behind_them(folder, tmp_path):
    collection = Collection.create(tmp_path)
    collection.index([folder], features=["color-histogram"])
    collection.set_labels([(folder / name / f"{i}.png", name) for name in COLORS for i in (0, 1)], by="me")
    model = learn_collection(collection, "colors", judge=False).model
    assert len(model.labels) == 6
    assert len(model.borrowed) > 0
    uris, X = collection.vectors("color-histogram")
    labels = dict(zip(model.uris, model.labels))
    loaded = Model.load(collection.models.folder("colors"))
    assert loaded.borrowed == model.borrowed
    for answer in loaded.answer_rows(X, uris, votes=-1):
        assert sum(v.share for v in answer.votes) == pytest.approx(answer.score)
        for vote in answer.votes:
            if vote.uri in labels:
                assert vote.behind == ()
            else:
                assert {labels[uri] for uri in vote.behind} == {vote.label}
                assert vote.to_json()["unlabelled"]
    assert (
        "and " + str(len(model.borrowed)) + " unlabelled ones"
        in (collection.models.folder("colors") / "card.md").read_text()
    )


def test_suggestions_come_before_any_label_and_doubts_after(folder, tmp_path):
    collection = Collection.create(tmp_path)
    collection.index([folder], features=["color-histogram"])
    found = suggest_images(collection, 3)
    kinds = {one.uri.rsplit("/", 2)[1] for one in found}
    assert kinds == set(COLORS), "one of each kind"
    with pytest.raises(LookalikeError, match="two classes or more"):
        doubtful_labels(collection)
    right = [(folder / name / f"{i}.png", name) for name in COLORS for i in range(5)]
    right[0] = (right[0][0], "leaf")
    collection.set_labels(right, by="me")
    doubt = doubtful_labels(collection)[0]
    assert (doubt.given, doubt.likely) == ("leaf", "warm")
    collection.set_labels([(path, path.parent.name) for path in folder.glob("*/*.png")], by="me")
    with pytest.raises(LookalikeError, match=r"every image of .* has a label"):
        suggest_images(collection)
