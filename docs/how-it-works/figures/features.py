"""Draw docs/how-it-works/figures/features.png: one picture, and what five features see in it.

    python docs/how-it-works/figures/features.py

The picture comes inside scikit-learn; no other data is needed.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import onnx
from sklearn.datasets import load_sample_image

from lookalike.features import ColorGrid, ColorHistogram, DenseSift, Gist
from lookalike.features._efficientnet_lite0 import EfficientNetLite0
from lookalike.features._efficientnet_lite0 import network as lite0
from lookalike.features._grid import axis
from lookalike.features._network import import_onnxruntime
from lookalike.features._pixels import fit

IMAGE = load_sample_image("china.jpg")
HEIGHT, WIDTH = IMAGE.shape[:2]


def network(ax):
    """Mean answer of the 1280 maps in each of 7 × 7 cells, over the picture."""
    model = onnx.load_from_string(lite0(EfficientNetLite0.revision))
    model.graph.node[-1].CopyFrom(
        onnx.helper.make_node("Identity", [model.graph.node[-1].input[0]], ["features"])
    )
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    session = import_onnxruntime().InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    maps = session.run(None, {"image": fit(IMAGE, 224, "whole")[None]})[0][0]
    ax.imshow(IMAGE)
    ax.imshow(maps.mean(0), extent=(0, WIDTH, HEIGHT, 0), alpha=0.55, cmap="magma", interpolation="bicubic")


def gist(ax):
    """For each of 4 × 4 parts, a star: the strength of each direction, the coarser the darker."""
    energy = Gist().extract([IMAGE])[0].reshape(4, 8, 4, 4)
    energy = energy / energy.max(axis=(1, 2, 3), keepdims=True)
    ax.imshow(np.full_like(IMAGE, 255))
    reach = HEIGHT / 9
    for size, colour in enumerate(["#9ecae1", "#6baed6", "#2171b5", "#08306b"]):
        for row in range(4):
            for column in range(4):
                # A wave along θ makes lines across it; a half turn is the same line.
                turn = np.pi * np.arange(17) / 8
                radius = (
                    reach * np.r_[energy[size, :, row, column], energy[size, :, row, column]][np.r_[:16, 0]]
                )
                x = (column + 0.5) * WIDTH / 4 + radius * np.cos(turn + np.pi / 2)
                y = (row + 0.5) * HEIGHT / 4 - radius * np.sin(turn + np.pi / 2)
                ax.plot(x, y, color=colour, linewidth=0.9)
    for k in range(1, 4):
        ax.axhline(k * HEIGHT / 4, color="#dddddd", linewidth=0.6)
        ax.axvline(k * WIDTH / 4, color="#dddddd", linewidth=0.6)


def histogram(ax):
    """The 24 most frequent colours, as bars in those colours."""
    shares = ColorHistogram().extract([IMAGE])[0] ** 2
    top = np.argsort(-shares)[:24]
    hue, saturation, value = np.unravel_index(top, (16, 4, 4))
    colours = matplotlib.colors.hsv_to_rgb(
        np.stack([hue / 16 + 1 / 32, saturation / 4 + 1 / 8, value / 4 + 1 / 8], 1)
    )
    ax.bar(np.arange(24), 100 * shares[top], color=colours, edgecolor="#555555", linewidth=0.4)
    ax.set_ylabel("% of the pixels")
    ax.set_xticks([])
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def level():
    """The third size of the picture, its grid, and where patch numbers begin in the bag."""
    feature = DenseSift()
    sizes = feature.grid.sizes(HEIGHT, WIDTH)
    before = sum(len(axis(h, 8, 16).centres) * len(axis(w, 8, 16).centres) for h, w in sizes[:2])
    return sizes[2], before


def sift(ax):
    """Each patch of one size of the picture: its 16 cells as stars of 8 directions."""
    (h, w), before = level()
    rows, columns = axis(h, 8, 16), axis(w, 8, 16)
    bag = DenseSift().extract([IMAGE])[0]
    ax.imshow(fit_to(h, w), alpha=0.35)
    for i in range(0, len(rows.centres), 2):
        for j in range(0, len(columns.centres), 2):
            cells = bag[before + i * len(columns.centres) + j].reshape(4, 4, 8)
            for a in range(4):
                for b in range(4):
                    y = rows.starts[rows.index[i, a]] + 4
                    x = columns.starts[columns.index[j, b]] + 4
                    for o in range(8):
                        length = 14 * cells[a, b, o]
                        dx, dy = length * np.cos(o * np.pi / 4), length * np.sin(o * np.pi / 4)
                        ax.plot([x, x + dx], [y, y + dy], color="#08306b", linewidth=0.6)


def fit_to(height, width):
    import PIL.Image

    return np.asarray(PIL.Image.fromarray(IMAGE).resize((width, height)))


def colours(ax):
    """The mean colour of each cell of the same patches."""
    (h, w), before = level()
    rows, columns = axis(h, 8, 16), axis(w, 8, 16)
    bag = ColorGrid().extract([IMAGE])[0][before:]
    shown = np.ones((h, w, 3))
    for i in range(len(rows.centres)):
        for j in range(len(columns.centres)):
            cells = bag[i * len(columns.centres) + j].reshape(4, 4, 6)
            for a in range(4):
                for b in range(4):
                    y, x = rows.starts[rows.index[i, a]], columns.starts[columns.index[j, b]]
                    shown[y : y + 8, x : x + 8] = cells[a, b, :3]
    ax.imshow(shown, interpolation="nearest")


def main():
    figure, axes = plt.subplots(2, 3, figsize=(12, 5.8), layout="constrained")
    drawn = [
        ("the picture", lambda ax: ax.imshow(IMAGE)),
        ("efficientnet-lite0: where the network answers", network),
        ("gist: sizes and directions in 4 × 4 parts", gist),
        ("color-histogram: its 24 fullest bins", histogram),
        ("dense-sift: every fourth patch of one size", sift),
        ("color-grid: means of the cells", colours),
    ]
    for ax, (title, draw) in zip(axes.flat, drawn, strict=True):
        draw(ax)
        ax.set_title(title, fontsize=10)
        if draw is not histogram:
            ax.set_xticks([]), ax.set_yticks([])
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=85)


if __name__ == "__main__":
    main()
