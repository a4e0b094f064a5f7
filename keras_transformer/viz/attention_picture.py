"""Heads as a picture: one of them with its numbers, or every layer and head at once, from above.

All sizes are inches. The axes stand where they are told to: nothing is left to a layout engine.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from keras_transformer.viz.heads import AttentionKind, Choice, Heads
from keras_transformer.viz.pictures import INK, PAPER, WEIGHTS, attention_picture, png

CELL, WIDEST = 0.15, 2.6  # a weight, and a head, which has smaller weights where they are many
READABLE = 0.085  # what a token needs beside the next one
LETTER = 0.075
GAP = 1  # cells between two heads
TITLE = 0.75  # above a kind, with the numbers of its heads
MARGIN = 0.55  # left of the tokens, with the numbers of the layers


def attention_png(heads: Heads, choice: Choice) -> bytes:
    """What was chosen, as a PNG file."""
    with matplotlib.rc_context({"text.parse_math": False}):  # a token is no formula, whatever its dollars
        return png(attention_figure(heads, choice))


def attention_figure(heads: Heads, choice: Choice) -> Figure:
    """One head if the choice leaves one; else a map of maps for each kind, a row a layer, a column a head."""
    kinds = choice.of(heads)
    if choice.kind and choice.layer and choice.head:
        kind = kinds[choice.kind]
        weights = kind.weights[choice.layer - 1, choice.head - 1]
        title = f"{kind.name}, layer {choice.layer}, head {choice.head}"
        return attention_picture(weights, drawable(kind.looking), drawable(kind.seen), title)
    return _overview([_Mosaic(kind, choice) for kind in kinds.values()])


def drawable(tokens: Sequence[str]) -> list[str]:
    """The tokens with the code of each character that the font does not have."""
    font = get_font(findfont(FontProperties()))

    def drawn(character: str) -> str:
        return character if font.get_char_index(ord(character)) else f"U+{ord(character):04X}"

    return ["".join(map(drawn, token)) for token in tokens]


class _Mosaic:
    """The chosen heads of a kind in one array, layers below each other, and its size."""

    def __init__(self, kind: AttentionKind, choice: Choice) -> None:
        self.name = kind.name
        self.layers = [choice.layer] if choice.layer else list(range(1, kind.layers + 1))
        self.heads = [choice.head] if choice.head else list(range(1, kind.heads + 1))
        self.rows, self.columns = drawable(kind.looking), drawable(kind.seen)
        self.weights = kind.weights
        self.cell = min(CELL, WIDEST / max(len(self.rows), len(self.columns)))
        self.named = self.cell >= READABLE
        self.width = self.cell * (len(self.heads) * (len(self.columns) + GAP) - GAP)
        self.height = self.cell * (len(self.layers) * (len(self.rows) + GAP) - GAP)
        self.left = MARGIN + (LETTER * max(map(len, self.rows)) if self.named else 0)
        self.top = TITLE + (LETTER * max(map(len, self.columns)) if self.named else 0)

    def middles(self, count: int, size: int) -> list[float]:
        """Where each of so many heads of so many cells has its middle, from the first one's edge."""
        return [self.cell * (index * (size + GAP) + size / 2) for index in range(count)]

    def draw(self, figure: Figure, x: float, y: float) -> None:
        """With its upper left corner at x, y, labels included."""
        left, top = x + self.left, y - self.top
        width, height = figure.get_size_inches()
        axes = figure.add_axes(
            (left / width, (top - self.height) / height, self.width / width, self.height / height)
        )
        self._cells(axes)
        self._tokens(axes)

        def write(across: float, up: float, text: str, **style: Any) -> None:
            figure.text(across / width, up / height, text, color=INK, va="center", **style)

        write(x, y - 0.15, f"{self.name}: rows look at columns", fontsize=12, fontweight="bold")
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
        for spine in axes.spines.values():
            spine.set_visible(False)


def _overview(mosaics: list[_Mosaic]) -> Figure:
    """The kinds below each other."""
    width = max(4.0, *(mosaic.left + mosaic.width for mosaic in mosaics))
    height = sum(mosaic.top + mosaic.height + 0.3 for mosaic in mosaics)
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    for mosaic in mosaics:
        mosaic.draw(figure, 0, height)
        height -= mosaic.top + mosaic.height + 0.3
    return figure
