import json

import pytest
from typer.testing import CliRunner

from lookalike.cli._app import app

run = CliRunner()


@pytest.fixture
def model(tmp_path):
    """The mean of each channel, as a network."""
    import onnx
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, 1, 1])
    graph = helper.make_graph([helper.make_node("GlobalAveragePool", ["x"], ["y"])], "mean", [x], [y])
    path = tmp_path / "mean.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_lists_features():
    assert "efficientnet-lite0" in run.invoke(app, ["feature", "list"]).stdout
    found = json.loads(run.invoke(app, ["feature", "list", "--json"]).stdout)
    assert {"name": "color-histogram", "dim": 256}.items() <= found[1].items()


def test_adds_and_removes_a_network(model):
    result = run.invoke(app, ["feature", "add", str(model), "--name", "mine", "--mean", "0,0,0", "--json"])
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    assert (made["name"], made["dim"], made["settings"]["mean"]) == ("mine", 3, [0, 0, 0])
    assert "mine" in run.invoke(app, ["feature", "list"]).stdout
    again = run.invoke(app, ["feature", "add", str(model), "--name", "mine"])
    assert again.exit_code == 1
    assert "there is a feature called 'mine' already" in again.stderr
    assert (
        "mine gives vectors of 3 numbers"
        in run.invoke(app, ["feature", "add", str(model), "--name", "mine", "--replace"]).stdout
    )
    assert run.invoke(app, ["feature", "remove", "mine"]).stdout == "mine is forgotten.\n"
    assert "mine" not in run.invoke(app, ["feature", "list"]).stdout
    assert run.invoke(app, ["feature", "remove", "mine"]).exit_code == 1


@pytest.mark.parametrize(("arguments", "status", "says"), [
    (["gone.onnx"], 1, "there is no model file gone.onnx"),
    (["gone.onnx", "--mean", "1,2"], 2, "is not three numbers"),
    (["gone.onnx", "--std", "a,b,c"], 2, "is not three numbers"),
    (["gone.onnx", "--pool", "max"], 2, "max"),
])  # fmt: skip
def test_wrong_networks_are_refused(arguments, status, says):
    result = run.invoke(app, ["feature", "add", *arguments])
    assert result.exit_code == status
    assert says in result.stderr
