"""Models of the user's own: what fits, what is refused, and how they are remembered."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from lookalike.errors import LookalikeError
from lookalike.features import OnnxFeature, get_feature, list_features, register_onnx, unregister_onnx

FLOAT, HALF, BYTE = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8


def save(path, nodes, outputs, *, shape=("n", 3, "h", "w"), dtype=FLOAT, numbers=(), more_inputs=()):
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("pixels", dtype, shape), *more_inputs],
        [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in numbers],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
        path,
    )
    return path


def means_model(path, **options):
    """The mean of each channel as a vector, and the pixels themselves as a map."""
    nodes = [
        helper.make_node("ReduceMean", ["pixels"], ["vector"], axes=[2, 3], keepdims=0),
        helper.make_node("Identity", ["pixels"], ["map"]),
    ]
    return save(path, nodes, [("vector", FLOAT, ("n", 3)), ("map", FLOAT, ("n", 3, "h", "w"))], **options)


@pytest.fixture
def model(tmp_path):
    return means_model(tmp_path / "Means.onnx")


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKALIKE_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


def image(red, green, blue, height=9, width=20):
    return np.tile(np.array([red, green, blue], np.uint8), (height, width, 1))


def test_pixels_are_scaled_as_asked(model):
    images = [image(255, 0, 51), image(0, 255, 102)]
    plain = OnnxFeature(model, size=16, mean=(0, 0, 0), std=(1, 1, 1)).extract(images)
    np.testing.assert_allclose(plain, [[1, 0, 0.2], [0, 1, 0.4]], atol=1e-6)
    scaled = OnnxFeature(model, size=16, mean=(0.5, 0.2, 0), std=(0.5, 0.1, 2)).extract(images)
    np.testing.assert_allclose(scaled, [[1, -2, 0.1], [-1, 8, 0.2]], atol=1e-5)


def test_maps_are_pooled(model):
    feature = OnnxFeature(model, size=16, mean=(0, 0, 0), std=(1, 1, 1), output="map")
    assert feature.dim == 3
    np.testing.assert_allclose(feature.extract([image(255, 0, 51)]), [[1, 0, 0.2]], atol=1e-6)


def test_tokens_are_pooled(tmp_path):
    nodes = [
        helper.make_node("Reshape", ["pixels", "shape"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["tokens"], perm=[0, 2, 1]),
    ]
    path = save(
        tmp_path / "t.onnx",
        nodes,
        [("tokens", FLOAT, ("n", "t", 3))],
        numbers=[("shape", np.array([0, 3, -1]))],
    )
    picture = image(0, 0, 0, 16, 16)
    picture[0, 0] = 255
    mean = OnnxFeature(path, size=16, mean=(0, 0, 0), std=(1, 1, 1)).extract([picture])
    first = OnnxFeature(path, size=16, mean=(0, 0, 0), std=(1, 1, 1), pool="first").extract([picture])
    np.testing.assert_allclose(mean, np.full((1, 3), 1 / 256), rtol=1e-5)
    np.testing.assert_allclose(first, np.ones((1, 3)), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 3, 7])
def test_channels_last_bytes_and_a_fixed_batch(tmp_path, n):
    nodes = [
        helper.make_node("Cast", ["pixels"], ["x"], to=FLOAT),
        helper.make_node("ReduceMean", ["x"], ["vector"], axes=[1, 2], keepdims=0),
    ]
    path = save(tmp_path / "b.onnx", nodes, [("vector", FLOAT, (2, 3))], shape=(2, 16, 16, 3), dtype=BYTE)
    images = [image(10 * i, i, 3) for i in range(n)]
    expected = [[10 * i, i, 3] for i in range(n)]
    np.testing.assert_allclose(OnnxFeature(path).extract(images), expected, atol=1e-5)


def test_half_precision(tmp_path):
    path = tmp_path / "h.onnx"
    nodes = [helper.make_node("ReduceMean", ["pixels"], ["vector"], axes=[2, 3], keepdims=0)]
    save(path, nodes, [("vector", HALF, ("n", 3))], dtype=HALF, shape=("n", 3, 16, 16))
    rows = OnnxFeature(path, mean=(0, 0, 0), std=(1, 1, 1)).extract([image(255, 0, 51)])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[1, 0, 0.2]], atol=1e-3)


def test_what_does_not_fit_is_one_sentence(tmp_path, model):
    def refused(message, path=model, **settings):
        with pytest.raises(LookalikeError, match=message):
            OnnxFeature(path, **settings).extract([image(1, 2, 3)])

    refused("no output 'x'; it has vector, map", output="x")
    refused("no model file", path=tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    refused("onnxruntime cannot open", path=tmp_path / "bad.onnx")
    refused("has changed since", sha256="0" * 64)

    same = [helper.make_node("Identity", ["pixels"], ["y"])]
    refused(
        "gives 'y' of shape",
        path=save(
            tmp_path / "1.onnx",
            [helper.make_node("ReduceMean", ["pixels"], ["y"], keepdims=0)],
            [("y", FLOAT, ())],
        ),
        size=16,
    )
    refused(
        "an image model takes",
        path=save(tmp_path / "2.onnx", same, [("y", FLOAT, ("n", 8))], shape=("n", 8)),
    )
    refused(
        "only square ones",
        path=save(tmp_path / "3.onnx", same, [("y", FLOAT, ("n", 3, 4, 8))], shape=("n", 3, 4, 8)),
    )
    refused("takes images of 32 pixels, not size=16", path=means_model(
        tmp_path / "4.onnx", shape=("n", 3, 32, 32)
    ), size=16)  # fmt: skip
    two = [helper.make_node("Add", ["pixels", "other"], ["y"])]
    other = helper.make_tensor_value_info("other", FLOAT, (1,))
    refused(
        "2 inputs",
        path=save(tmp_path / "5.onnx", two, [("y", FLOAT, ("n", 3, "h", "w"))], more_inputs=[other]),
    )
    nan = [helper.make_node("Log", ["pixels"], ["y"])]
    refused("not finite", path=save(tmp_path / "6.onnx", nan, [("y", FLOAT, ("n", 3, "h", "w"))]), size=16)
    for wrong in ({"mean": (0, 0)}, {"std": (0, 1, 1)}, {"pool": "max"}, {"view": "all"}, {"size": 3}):
        with pytest.raises(ValueError, match="must be"):
            OnnxFeature(model, **wrong)


def test_the_fingerprint_is_that_of_the_model_not_of_its_place(tmp_path, model):
    copy = tmp_path / "elsewhere.onnx"
    copy.write_bytes(model.read_bytes())
    base = OnnxFeature(model, size=16)
    assert OnnxFeature(copy, size=16, name="other").fingerprint == base.fingerprint
    assert OnnxFeature(model, size=16, sha256=base.weights_hash).fingerprint == base.fingerprint
    different = [
        OnnxFeature(model, size=32),
        OnnxFeature(model, size=16, output="map"),
        OnnxFeature(model, size=16, mean=(0, 0, 0)),
        OnnxFeature(means_model(tmp_path / "x.onnx", shape=("n", 3, "height", "w")), size=16),
    ]
    assert len({f.fingerprint for f in [base, *different]}) == 5


def test_a_registered_model_is_found_by_name(config, model):
    feature = register_onnx(model, size=16, mean=(0, 0, 0), std=(1, 1, 1))
    assert feature.name == "means"
    found = get_feature("means")
    assert found == feature
    np.testing.assert_allclose(found.extract([image(255, 0, 51)]), [[1, 0, 0.2]], atol=1e-6)
    (info,) = [i for i in list_features() if i.name == "means"]
    assert (info.kind, info.dim, info.source) == ("vector", 3, "registered")
    assert get_feature("means", output="map").fingerprint != feature.fingerprint
    with pytest.raises(LookalikeError, match="no setting 'grid'"):
        get_feature("means", grid=3)
    unregister_onnx("means")
    with pytest.raises(LookalikeError, match="no feature called 'means'"):
        get_feature("means")


def test_plain_data_makes_the_model_again(config, model, tmp_path):
    feature = register_onnx(model, name="mine", size=16)
    spec = json.loads(json.dumps(feature.spec))
    for name in (spec["name"], feature.name):
        again = get_feature(name, **spec["settings"])
        assert again.name == "mine"
        assert again.fingerprint == feature.fingerprint
    # On another machine the same model lies in another place, under the same name ...
    moved = tmp_path / "moved.onnx"
    model.rename(moved)
    register_onnx(moved, name="mine", size=16, replace=True)
    assert get_feature(spec["name"], **spec["settings"]).extract([image(1, 2, 3)]).shape == (1, 3)
    # ... or is not there at all.
    unregister_onnx("mine")
    with pytest.raises(LookalikeError, match="no model file"):
        get_feature(spec["name"], **spec["settings"]).extract([image(1, 2, 3)])


def test_a_changed_model_is_noticed(config, model):
    register_onnx(model, name="mine", size=16)
    means_model(model, shape=("k", 3, "h", "w"))
    with pytest.raises(LookalikeError, match="changed since it was registered"):
        get_feature("mine").extract([image(1, 2, 3)])


def test_names_are_guarded(config, model):
    for taken in ("gist", "onnx"):
        with pytest.raises(LookalikeError, match="already"):
            register_onnx(model, name=taken)
    with pytest.raises(LookalikeError, match="no name for a feature"):
        register_onnx(model, name="My Model")
    register_onnx(model, name="a")
    with pytest.raises(LookalikeError, match="already"):
        register_onnx(model, name="a")
    with pytest.raises(LookalikeError, match="do not fit"):
        register_onnx(model, name="b", siize=3)


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1, "onnx": {"a": 3}}'])
def test_a_damaged_list_is_one_sentence(config, text):
    config.mkdir()
    (config / "features.json").write_text(text)
    with pytest.raises(LookalikeError, match="is damaged"):
        get_feature("mine")
    assert get_feature("gist").name == "gist"  # the others still work


def test_a_newer_list_is_one_sentence(config):
    config.mkdir()
    (config / "features.json").write_text('{"version": 99, "onnx": {}}')
    with pytest.raises(LookalikeError, match="newer version"):
        list_features()
