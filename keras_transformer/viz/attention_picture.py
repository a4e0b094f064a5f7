"""Pictures of attention heads: one head with its numbers, or an overview of every layer and head.

All sizes are inches. Every axes has a fixed position; no layout engine is used.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from keras_transformer.viz.heads import AttentionKind, Choice, Heads
from keras_transformer.viz.pictures import INK, PAPER, WEIGHTS, attention_picture, png

CELL, WIDEST = 0.15, 2.6  # largest size of a weight, and of a head
READABLE = 0.085  # smallest distance between two tokens that are labelled
LETTER = 0.075
GAP = 1  # cells between two heads
TITLE = 0.75  # above a kind, with the numbers of its heads
LEGEND = 0.6  # below the kinds
MARGIN = 0.55  # left of the tokens, with the numbers of the layers


def attention_png(heads: Heads, choice: Choice) -> bytes:
    """Draw the chosen heads as a PNG file.

    Raises:
        ValueError: If the choice has a layer or a head that the model lacks.
    """
    with matplotlib.rc_context({"text.parse_math": False}):  # a token with dollar signs is not a formula
        return png(attention_figure(heads, choice))


def attention_figure(heads: Heads, choice: Choice) -> Figure:
    """Draw one chosen head, or an overview of each kind: a row for each layer, a column for each head."""
    kinds = choice.of(heads)
    if choice.kind and choice.layer and choice.head:
        kind = kinds[choice.kind]
        weights = kind.weights[choice.layer - 1, choice.head - 1]
        title = f"{kind.name}, layer {choice.layer}, head {choice.head}"
        return attention_picture(weights, drawable(kind.queries), drawable(kind.keys), title)
    return _overview([_Mosaic(kind, choice) for kind in kinds.values()])


def drawable(tokens: Sequence[str]) -> list[str]:
    """Replace each character that the font lacks with its code."""
    font = get_font(findfont(FontProperties()))

    def drawn(character: str) -> str:
        return character if font.get_char_index(ord(character)) else f"U+{ord(character):04X}"

    return ["".join(map(drawn, token)) for token in tokens]


class _Mosaic:
    """Picture of the chosen heads of a kind in one array, with the layers below each other."""

    def __init__(self, kind: AttentionKind, choice: Choice) -> None:
        self.name = kind.name
        self.layers = [choice.layer] if choice.layer else list(range(1, kind.layers + 1))
        self.heads = [choice.head] if choice.head else list(range(1, kind.heads + 1))
        self.rows, self.columns = drawable(kind.queries), drawable(kind.keys)
        self.weights = kind.weights
        self.cell = min(CELL, WIDEST / max(len(self.rows), len(self.columns)))
        self.named = self.cell >= READABLE
        self.width = self.cell * (len(self.heads) * (len(self.columns) + GAP) - GAP)
        self.height = self.cell * (len(self.layers) * (len(self.rows) + GAP) - GAP)
        self.left = MARGIN + (LETTER * max(map(len, self.rows)) if self.named else 0)
        self.top = TITLE + (LETTER * max(map(len, self.columns)) if self.named else 0)

    def middles(self, count: int, size: int) -> list[float]:
        """Return the middles of `count` heads of `size` cells each, from the edge of the first one."""
        return [self.cell * (index * (size + GAP) + size / 2) for index in range(count)]

    def draw(self, figure: Figure, x: float, y: float) -> None:
        """Draw it with its labels; x, y is the upper left corner."""
        left, top = x + self.left, y - self.top
        width, height = figure.get_size_inches()
        axes = figure.add_axes(
            (left / width, (top - self.height) / height, self.width / width, self.height / height)
        )
        self._cells(axes)
        self._tokens(axes)

        def write(across: float, up: float, text: str, **style: Any) -> None:
            figure.text(across / width, up / height, text, color=INK, va="center", **style)

        write(x, y - 0.15, f"{self.name}: rows are queries, columns are keys", fontsize=12, fontweight="bold")
        numbered: dict[str, Any] = {"fontsize": 9, "ha": "center"}
        for head, middle in zip(self.heads, self.middles(len(self.heads), len(self.columns)), strict=True):
            write(left + middle, y - 0.5, f"head {head}", **numbered)
        for layer, middle in zip(self.layers, self.middles(len(self.layers), len(self.rows)), strict=True):
            write(x + 0.2, top - middle, f"layer {layer}", rotation=90, **numbered)

    def _cells(self, axes: Axes) -> None:
        blank = np.full(
            (len(self.layers), len(self.heads), len(self.rows) + GAP, len(self.columns) + GAP), np.nan
        )
        chosen = np.ix_([layer - 1 for layer in self.layers], [head - 1 for head in self.heads])
        blank[..., :-GAP, :-GAP] = self.weights[chosen]
        flat = blank.transpose(0, 2, 1, 3).reshape(len(self.layers) * blank.shape[2], -1)[:-GAP, :-GAP]
        axes.pcolormesh(np.ma.masked_invalid(flat), cmap=WEIGHTS, vmin=0, vmax=1, rasterized=True)
        axes.invert_yaxis()

    def _tokens(self, axes: Axes) -> None:
        axes.xaxis.tick_top()
        axes.tick_params(colors=INK, labelsize=min(8, 60 * self.cell), length=0, pad=2)
        for axis, tokens, count in (
            (axes.xaxis, self.columns, len(self.heads)),
            (axes.yaxis, self.rows, len(self.layers)),
        ):
            places = [
                block * (len(tokens) + GAP) + index + 0.5
                for block in range(count)
                for index in range(len(tokens))
            ]
            axis.set_ticks(places if self.named else [], list(tokens) * count if self.named else [])
        axes.xaxis.set_tick_params(labelrotation=90)
        axes.spines[:].set_visible(False)


def _overview(mosaics: list[_Mosaic]) -> Figure:
    """Draw the kinds below each other, and the legend of the colours at the end."""
    width = max(4.0, *(mosaic.left + mosaic.width for mosaic in mosaics))
    height = sum(mosaic.top + mosaic.height + 0.3 for mosaic in mosaics) + LEGEND
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    top = height
    for mosaic in mosaics:
        mosaic.draw(figure, 0, top)
        top -= mosaic.top + mosaic.height + 0.3
    axes = figure.add_axes((MARGIN / width, 0.25 / height, 2 / width, 0.12 / height))
    legend = figure.colorbar(ScalarMappable(Normalize(0, 1), WEIGHTS), axes, orientation="horizontal")
    legend.set_ticks([0, 1], labels=["weight 0", "1"])
    legend.outline.set_visible(False)
    axes.tick_params(colors=INK, labelsize=8, length=0)
    return figure
