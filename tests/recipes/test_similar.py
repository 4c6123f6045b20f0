import numpy as np
import pytest
from PIL import Image, ImageFilter

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.features import get_feature
from lookalike.recipes import Model, find_similar, get_recipe, list_similarities
from lookalike.recipes._similar import _shares
from lookalike.similarity import PatchDissimilarity, bregman_pairwise, smooth_histograms


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for i in range(8):
        noise = rng.integers(0, 60 + 25 * i, (64, 64, 3)).astype(np.uint8)
        Image.fromarray(noise).filter(ImageFilter.GaussianBlur(0.5 + i % 3)).save(folder / f"{i}.png")
    made = Collection.create(folder)
    made.index([folder], features=["color-histogram", "sparse-multiscale-patches", "gist"])
    return made, folder


@pytest.mark.parametrize("name", sorted(list_similarities()))
def test_every_similarity_ranks_a_collection(collection, name):
    made, folder = collection
    found = find_similar(made, [folder / "3.png"], similarity=name, k=4)
    scores = [hit.score for hit in found.hits]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    assert not any(hit.uri.endswith("/3.png") for hit in found.hits)
    assert len(find_similar(made, [folder / "3.png"], similarity=name, k=50).hits) == 7


def test_patches_are_those_of_the_formula(collection):
    made, folder = collection
    uris, kept = made.bags("sparse-multiscale-patches")
    images = [np.asarray(Image.open(folder / f"{i}.png").convert("RGB")) for i in range(8)]
    bags = get_feature("sparse-multiscale-patches").extract(images)
    np.testing.assert_array_equal(kept.values, bags.values)  # what is on disk is what was extracted
    want = PatchDissimilarity().fit(bags).pairwise(bags[[2, 5]]).mean(axis=0)
    found = find_similar(made, [uris[2], uris[5]], similarity="smp-kl", k=6)
    assert found.feature == "sparse-multiscale-patches" and found.similarity == "patches"
    got = {hit.uri: -hit.similarity for hit in found.hits}
    assert got == pytest.approx({uris[i]: want[i] for i in range(8) if i not in (2, 5)}, abs=1e-5)


def test_a_copy_outside_the_collection_finds_its_original(collection, tmp_path):
    made, folder = collection
    for i in (0, 3, 6):
        (tmp_path / f"copy{i}.png").write_bytes((folder / f"{i}.png").read_bytes())
        found = find_similar(made, [tmp_path / f"copy{i}.png"], similarity="patches", k=8)
        assert len(found.hits) == 8 and found.hits[0].uri.endswith(f"/{i}.png")


def test_divergences_are_those_of_histograms(collection, tmp_path):
    made, folder = collection
    uris, X = made.vectors("color-histogram")
    outside = Image.open(folder / "1.png").rotate(90)
    outside.save(tmp_path / "outside.png")
    q = get_feature("color-histogram").extract([np.asarray(outside)])
    shares = [smooth_histograms(V / V.sum(axis=1, keepdims=True, dtype=float)) for V in (X, q)]
    want = bregman_pairwise(*shares, side="left")[:, 0]
    found = find_similar(made, [tmp_path / "outside.png"], similarity="kl-left", k=8)
    assert {hit.uri: -hit.similarity for hit in found.hits} == pytest.approx(dict(zip(uris, want)), abs=1e-9)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"similarity": "taste"}, "no similarity called 'taste'"),
        ({"similarity": "patches", "feature": "color-histogram"}, "color-histogram"),
        ({"feature": "dense-sift"}, "dense-sift"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(collection, how, says):
    made, folder = collection
    with pytest.raises(LookalikeError, match=says):
        find_similar(made, [folder / "0.png"], **how)


def test_vectors_with_negative_numbers_are_no_histograms():
    with pytest.raises(LookalikeError, match="'gist' has numbers below zero"):
        _shares(np.array([[0.5, -0.1]]), get_feature("gist"))


def test_the_recipe_for_search_does_not_learn_labels():
    recipe = get_recipe("smp-kl")
    assert recipe.make().steps[0][1].preselect == "sample"
    with pytest.raises(LookalikeError, match="for search"):
        Model.fit(recipe, [], [], uris=[])
