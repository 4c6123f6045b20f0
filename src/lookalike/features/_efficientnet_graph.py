"""EfficientNet-Lite0 as an ONNX graph, made from its weights.

The network (reference [1] of ``EfficientNetLite0``): a 3×3 stem of stride 2; sixteen inverted bottlenecks
(1×1 expansion, k×k depthwise convolution, 1×1 projection, and a sum with the input where the shape stays);
a 1×1 head; the mean over all positions. Every activation is ReLU6, there is no squeeze-and-excitation,
paddings are TensorFlow's "same" (the odd pixel goes right and down), and each batch normalisation
is folded into the convolution before it.

In place of the head, a graph can end in the means and deviations, over all positions, of what the later
blocks pass on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of each run of blocks: how many, stride of the first, expansion, channels out. (The weights have the rest.)
STAGES = (
    (1, 1, 1, 16),
    (2, 2, 6, 24),
    (2, 2, 6, 40),
    (3, 2, 6, 80),
    (3, 1, 6, 112),
    (4, 2, 6, 192),
    (1, 1, 6, 320),
)
BATCH_NORM_EPSILON = 1e-3
MEAN, DEVIATION = 127.0, 128.0
LATE = 80  # channels, from which a block is one of the later ones
N_CHANNELS_LATE = sum(count * out for count, _, _, out in STAGES if out >= LATE)


class _Builder:
    """Collects nodes and numbers; every method returns the name of its output."""

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        from onnx import helper, numpy_helper

        self._node, self._tensor = helper.make_node, numpy_helper.from_array
        self.weights = weights
        self.nodes: list[Any] = []
        self.numbers: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.numbers.append(self._tensor(np.asarray(value, order="C"), name))
        return name

    def add(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self._node(kind, inputs, [name], **attributes))
        return name

    def convolution(
        self, x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, scale: float = 1.0
    ) -> str:
        """A convolution with its batch normalisation folded in: w·γ/√(v + ε) and β − m·γ/√(v + ε)."""
        w = self.weights[f"{name}.weight"].astype(np.float64)
        gamma, beta, mean, var = (
            self.weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        factor = gamma / np.sqrt(var + BATCH_NORM_EPSILON)
        weight = self.constant(f"{name}.w", (w * (factor * scale)[:, None, None, None]).astype(np.float32))
        bias = self.constant(f"{name}.b", (beta - mean * factor).astype(np.float32))
        return self.add(
            "Conv",
            [x, weight, bias],
            kernel_shape=list(w.shape[2:]),
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )

    def relu6(self, x: str) -> str:
        return self.add("Clip", [x, "zero", "six"])

    def block(self, x: str, number: int, stride: int, expand: int, channels: tuple[int, int]) -> str:
        """One inverted bottleneck."""
        name, inside = f"_blocks.{number}", channels[0] * expand
        y = x
        if expand > 1:
            y = self.relu6(self.convolution(y, f"{name}._expand_conv", f"{name}._bn0"))
        y = self.convolution(y, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, groups=inside)
        y = self.convolution(self.relu6(y), f"{name}._project_conv", f"{name}._bn2")
        return self.add("Add", [y, x]) if stride == 1 and channels[0] == channels[1] else y

    def moments(self, layers: list[str], output: str) -> None:
        """The means over all positions of each channel of some layers, then the deviations of each."""
        means = [self.add("ReduceMean", [x], axes=[2, 3], keepdims=1) for x in layers]
        rests = [self.add("Sub", [x, mean]) for x, mean in zip(layers, means)]
        squares = [self.add("Mul", [rest, rest]) for rest in rests]
        powers = [self.add("ReduceMean", [square], axes=[2, 3], keepdims=1) for square in squares]
        both = self.add("Concat", means + [self.add("Sqrt", [power]) for power in powers], axis=1)
        self.nodes.append(self._node("Flatten", [both], [output], axis=1))


def build_graph(weights: Mapping[str, NDArray[Any]], *, layers: bool = False) -> bytes:
    """The network from uint8 pixels ``(n, height, width, 3)`` to features, as an ONNX file.

    These are ``(n, 1280)``, what the head says; or, of the later ``layers``, ``(n, 2 N_CHANNELS_LATE)``.
    """
    import onnx
    from onnx import TensorProto, helper

    b = _Builder(weights)
    b.constant("zero", np.float32(0)), b.constant("six", np.float32(6))
    # Pixels arrive as bytes, a quarter of the memory; the mean goes here (so that the padding is the mean),
    # the deviation into the weights of the stem.
    x = b.add("Transpose", ["image"], perm=[0, 3, 1, 2])
    x = b.add("Cast", [x], to=TensorProto.FLOAT)
    x = b.add("Sub", [x, b.constant("mean", np.float32(MEAN))])
    x = b.relu6(b.convolution(x, "_conv_stem", "_bn0", stride=2, scale=1 / DEVIATION))
    number, channels = 0, 32
    late = []
    for count, stride, expand, out in STAGES:
        for repeat in range(count):
            x = b.block(x, number, stride if repeat == 0 else 1, expand, (channels, out))
            number, channels = number + 1, out
            if out >= LATE:
                late.append(x)
    if layers:
        b.moments(late, "features")
    else:
        x = b.relu6(b.convolution(x, "_conv_head", "_bn1"))
        b.nodes.append(helper.make_node("ReduceMean", [x], ["features"], axes=[2, 3], keepdims=0))
    dim = 2 * N_CHANNELS_LATE if layers else 1280
    graph = helper.make_graph(
        b.nodes,
        "efficientnet-lite0",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["n", "height", "width", 3])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", dim])],
        b.numbers,
    )
    # An old version of the operators and of the file, so that every supported onnxruntime reads it.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)
