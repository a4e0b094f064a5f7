"""Heat maps of attention, masks and positions, drawn without pyplot: no window, no state shared by two calls.

T queries, S keys.
"""

import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure

from keras_transformer.viz.walkthrough.content import Picture

# Colours that a page replaces by its own, so that a picture follows its light or dark theme.
INK, PAPER = "#1d2733", "#fffffe"
# Colour-blind-safe: more is darker, in steps of CIELAB lightness (92, 77, ... 17) that the eye sees as even.
STEPS = ("#e0eaf0", "#96c5db", "#559ec3", "#1d76a6", "#00507f", "#012a55")
WEIGHTS = LinearSegmentedColormap.from_list("weights", STEPS)
HIDDEN_OR_SEEN = ListedColormap(["#e0eaf0", "#00507f"])
SIGNED = matplotlib.colormaps["RdBu_r"]

# Up to this many cells, each one is drawn and may hold its number; more become an image.
CELLS = 400
CELL = 0.56  # inches


class Look(NamedTuple):
    """How the numbers of a kind of picture are coloured, and what the axes are called."""

    colours: Colormap
    lowest: float | None
    highest: float | None
    format: str
    across: str
    down: str


LOOKS = {
    "weights": Look(WEIGHTS, 0, 1, ".2f", "looked at", "looks"),
    "probabilities": Look(WEIGHTS, 0, 1, ".2f", "next word", "step"),
    "mask": Look(HIDDEN_OR_SEEN, 0, 1, ".0f", "looked at", "looks"),
    "positions": Look(SIGNED, -1, 1, ".2f", "dimension", "position"),
    "similarity": Look(WEIGHTS, None, None, ".0f", "position", "position"),
}


def attention_picture(
    weights: Any, query_tokens: Sequence[str], key_tokens: Sequence[str], title: str = ""
) -> Figure:
    """Attention weights (T, S) as a heat map: a row for each token that looks, a column for each one seen."""
    return heat_map(weights, query_tokens, key_tokens, LOOKS["weights"], title)


def draw(picture: Picture) -> Figure:
    """The picture of a worked example."""
    shown = picture.table
    return heat_map(shown.numbers(), shown.rows, shown.columns, LOOKS[picture.kind], picture.title)


def heat_map(values: Any, rows: Sequence[str], columns: Sequence[str], look: Look, title: str = "") -> Figure:
    """Numbers (rows, columns) as colours; written into the cells as well where there are few."""
    values = np.asarray(values, "float64")
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"a heat map needs a number for each of its {len(rows)} rows and {len(columns)} columns; "
            f"got shape {values.shape}."
        )
    small = values.size <= CELLS
    figure = Figure(figsize=_size(values.shape, rows, small), layout="constrained", facecolor=PAPER)
    axes = figure.add_subplot()
    edges: dict[str, Any] = {"edgecolors": PAPER, "linewidth": 2.5} if small else {"rasterized": True}
    mesh = axes.pcolormesh(values, cmap=look.colours, vmin=look.lowest, vmax=look.highest, **edges)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    _label(axes, rows, columns, look)
    if title:
        axes.set_title(title, fontsize=12, fontweight="bold", color=INK, pad=12, loc="left")
    if small:
        _write_numbers(axes, values, mesh.to_rgba(values), look)
    else:
        bar = figure.colorbar(mesh, ax=axes, shrink=0.7, aspect=25, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=INK, labelsize=8, length=0)
    return figure


def png(figure: Figure, dpi: int = 160) -> bytes:
    """The figure as a PNG file."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight", pad_inches=0.15)
    return file.getvalue()


def svg(figure: Figure, name: str) -> str:
    """The figure as an <svg> element for a page: no reference outside, ids of its own, the page's colours."""
    file = StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}
    with matplotlib.rc_context(settings):
        figure.savefig(file, format="svg", transparent=True, dpi=160, bbox_inches="tight", pad_inches=0.05)
    drawing = file.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r' xmlns(:\w+)?="[^"]*"', "", drawing)
    drawing = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", drawing)
    drawing = re.sub(r"font: ([^;\"]*px) [^;\"]*", r"font: \1 system-ui, sans-serif", drawing)
    drawing = drawing.replace(INK, "currentColor").replace(PAPER, "var(--card)")
    return drawing.strip()


def _size(shape: tuple[int, ...], rows: Sequence[str], small: bool) -> tuple[float, float]:
    """Width and height in inches: cells of one size and room for the labels, or a fixed width."""
    height, width = shape
    if not small:
        across = 6.4 if width > height else 4.6
        return across, across * 0.9 * height / width + 0.9
    margin = 0.7 + 0.09 * max(map(len, rows))
    return margin + CELL * width * 1.25, 1.35 + CELL * height * 1.25


def _label(axes: Axes, rows: Sequence[str], columns: Sequence[str], look: Look) -> None:
    """Every token on its axis, or some of the numbers where there are too many; the columns on top."""
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    for axis, names, label in ((axes.xaxis, columns, look.across), (axes.yaxis, rows, look.down)):
        step = 1 if len(names) <= 40 else 16
        shown = range(0, len(names), step)
        axis.set_ticks([index + 0.5 for index in shown], [names[index] for index in shown])
        axis.set_label_text(label, color=INK, fontsize=9, alpha=0.75)
    if max(map(len, columns)) > 8:
        axes.xaxis.set_tick_params(labelrotation=45)
        for text in axes.get_xticklabels():
            text.set(ha="left", rotation_mode="anchor")
    axes.tick_params(colors=INK, labelsize=10, length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _write_numbers(axes: Axes, values: Any, colours: Any, look: Look) -> None:
    """Each number in its cell, in black or white, whichever can be read better on its colour."""
    luminance = colours[..., :3] ** 2.2 @ [0.2126, 0.7152, 0.0722]
    for (row, column), value in np.ndenumerate(values):
        axes.text(
            column + 0.5,
            row + 0.5,
            f"{value:{look.format}}",
            ha="center",
            va="center",
            fontsize=9,
            color="black" if luminance[row, column] > 0.18 else "white",
        )
