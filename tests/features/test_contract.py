"""What holds for every feature, whatever it sees."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.arrays import Bags
from lookalike.errors import LookalikeError
from lookalike.features import Feature, get_feature, list_features

NAMES = [info.name for info in list_features() if info.source == "built in"]


def picture(height=70, width=90, seed=0):
    """A smooth random image: blobs of colour, as photographs have."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3))
    return np.kron(coarse, np.ones((8, 8, 1)))[:height, :width].astype(np.uint8)


def rows(result):
    return result.values if isinstance(result, Bags) else result


@pytest.fixture(params=NAMES)
def feature(request):
    return get_feature(request.param)


def test_it_says_what_it_gives(feature):
    images = [picture(), picture(64, 200, 1)]
    result = feature.extract(images)
    assert feature.kind == ("bag" if isinstance(result, Bags) else "vector")
    assert result.shape == (2, feature.dim)
    assert rows(result).dtype == np.float32
    assert np.isfinite(rows(result)).all()


def test_an_image_gives_the_same_numbers_alone_and_in_company(feature):
    images = [picture(seed=s) for s in range(3)]
    together = feature.extract(images)
    for i, image in enumerate(images):
        np.testing.assert_allclose(rows(feature.extract([image])), np.atleast_2d(together[i]), atol=1e-5)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((1, 1, 3), np.uint8),
        np.full((5, 3, 3), 255, np.uint8),
        np.full((64, 64, 3), 128, np.uint8),
        picture(2, 700),
        picture(700, 1),
        picture()[:, :, 0],
        picture()[::-1, ::2],
    ],
    ids=["one pixel", "tiny", "flat", "very wide", "very tall", "grey", "strided"],
)
def test_unusual_images_have_finite_features(feature, image):
    result = feature.extract([image])
    assert len(result) == 1
    assert len(rows(result)) >= 1
    assert np.isfinite(rows(result)).all()


def test_no_images_give_no_rows(feature):
    assert feature.extract([]).shape == (0, feature.dim)


def test_what_is_no_image_is_refused(feature):
    with pytest.raises(ValueError, match="image 1 is float64"):
        feature.extract([picture(), picture() / 255.0])
    with pytest.raises(ValueError, match="at least one pixel"):
        feature.extract([np.zeros((0, 4, 3), np.uint8)])
    with pytest.raises(ValueError, match="shape"):
        feature.extract([np.zeros((4, 4, 4), np.uint8)])


def test_plain_data_makes_an_equal_feature(feature):
    spec = json.loads(json.dumps(feature.spec))
    again = get_feature(spec["name"], **spec["settings"])
    assert again == feature
    assert hash(again) == hash(feature)
    assert again.fingerprint == feature.fingerprint
    copy = pickle.loads(pickle.dumps(feature))
    assert copy == feature
    np.testing.assert_array_equal(rows(copy.extract([picture()])), rows(feature.extract([picture()])))


def test_packing_keeps_the_values(feature):
    values = rows(feature.extract([picture()]))
    stored = feature.pack(values)
    assert stored.dtype == feature.storage_dtype
    step = 0.5 / feature.storage_scale if stored.dtype.kind == "u" else 1e-3 * max(1.0, np.abs(values).max())
    assert np.abs(feature.unpack(stored) - values).max() <= step + 1e-6


def test_fingerprints_are_the_same_in_another_process():
    code = (
        f"from lookalike.features import get_feature\nprint([get_feature(n).fingerprint for n in {NAMES!r}])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str([get_feature(name).fingerprint for name in NAMES])


# What collections out there hold. Where numbers change, raise the feature's revision and write the new one;
# where they do not, these must not change either, or everybody computes everything again.
FINGERPRINTS = {
    "color-grid": "f08234e218ce4f80ebb0f53c",
    "color-histogram": "89973767db1890f7095f1b7e",
    "dense-sift": "c436bff51362988e65b7d9d4",
    "efficientnet-lite0": "f4285d1e205e097a4717a746",
    "efficientnet-lite0-layers": "c4c34b620be4f7db2f27f400",
    "gist": "5060d4c6143ecf7ee330afff",
}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_fingerprints_do_not_change_by_accident(name):
    assert get_feature(name).fingerprint == FINGERPRINTS[name]


def test_all_fingerprints_differ():
    assert len({get_feature(name).fingerprint for name in NAMES}) == len(NAMES)


def test_unknown_names_and_settings_are_one_sentence():
    with pytest.raises(LookalikeError, match="Did you mean 'color-histogram'"):
        get_feature("colour_histogram")
    with pytest.raises(LookalikeError, match=r"There are: .*color-histogram"):
        get_feature("zzz")
    with pytest.raises(LookalikeError, match="no setting 'size': it takes bins, grid"):
        get_feature("color-histogram", size=3)
    with pytest.raises(LookalikeError, match="do not fit: grid must be at least 1"):
        get_feature("color-histogram", grid=0)


class Brightness(Feature):
    """How bright an image is, as another package might offer it."""

    name = "brightness"
    kind = "vector"
    dim = 1

    def __init__(self, *, scale=1.0):
        self.scale = scale

    def _extract(self, images):
        return np.array([[image.mean() * self.scale] for image in images])


class Point:
    """A stand-in for an entry point."""

    name, dist = "brightness", None

    def __init__(self, target):
        self.load = lambda: target


def test_features_of_other_packages_are_found(monkeypatch):
    import lookalike.features._registry as registry

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point(Brightness)])
    assert get_feature("brightness", scale=2).extract([picture()]).shape == (1, 1)
    assert "brightness" in {info.name for info in list_features()}
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point(Point)])
    with pytest.raises(LookalikeError, match="not a Feature"):
        get_feature("brightness", target=None)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5))
def test_color_histograms_have_length_one(height, width, seed):
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    for grid in (1, 2):
        vector = get_feature("color-histogram", grid=grid).extract([image])
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_color_histogram_counts_colours():
    feature = get_feature("color-histogram", bins=(2, 2, 2))
    image = np.zeros((2, 2, 3), np.uint8)  # three black pixels and a white one
    image[0, 0] = 255
    expected = np.zeros(8)
    expected[0], expected[1] = np.sqrt(0.75), np.sqrt(0.25)
    np.testing.assert_allclose(feature.extract([image])[0], expected, atol=1e-7)
    halves = np.repeat(np.repeat(image[:, ::-1], 4, 0), 4, 1)
    cells = get_feature("color-histogram", bins=(2, 2, 2), grid=2).extract([halves])[0].reshape(4, 8)
    np.testing.assert_allclose(cells[:, 1], [0, 0.5, 0, 0], atol=1e-7)  # white is upper right
