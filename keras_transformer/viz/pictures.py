"""Heat maps of attention, masks and positions, drawn without pyplot: no window, and no global state.

T queries, S keys.
"""

import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure

from keras_transformer.viz.walkthrough.content import Picture

# Colours that a page replaces with its own, so that a picture follows its light or dark theme.
INK, PAPER = "#1d2733", "#fffffe"
# The scale of attention: each step in a light and in a dark page.
_STYLES = (Path(__file__).parent / "viewer" / "base.css").read_text("utf-8")
_STEPS = re.findall(r"--weight-\d: light-dark\((#\w{6}), (#\w{6})\)", _STYLES)
WEIGHTS, _DARK = (LinearSegmentedColormap.from_list("weights", steps) for steps in zip(*_STEPS, strict=True))
SIGNED = matplotlib.colormaps["RdBu_r"]

# Up to this number of cells, each one is drawn with its number; more are drawn as an image.
CELLS = 400
CELL = 0.56  # inches


class Look(NamedTuple):
    """Style of a kind of picture: colours and their range, format of numbers, names of axes."""

    colours: Colormap
    lowest: float | None
    highest: float | None
    format: str
    across: str
    down: str


LOOKS = {
    "weights": Look(WEIGHTS, 0, 1, ".2f", "key", "query"),
    "probabilities": Look(WEIGHTS, 0, 1, ".2f", "next word", "step"),
    "mask": Look(WEIGHTS, 0, 1, ".0f", "key", "query"),
    "positions": Look(SIGNED, -1, 1, ".2f", "dimension", "position"),
    "similarity": Look(WEIGHTS, None, None, ".0f", "position", "position"),
}


def attention_picture(
    weights: Any, query_tokens: Sequence[str], key_tokens: Sequence[str], title: str = ""
) -> Figure:
    """Draw attention weights (T, S) as a heat map: a row for each query, a column for each key.

    Args:
        weights: Array of shape (T, S).
        query_tokens: Names of the rows.
        key_tokens: Names of the columns.
        title: Text above the picture.

    Raises:
        ValueError: If the names do not fit the shape.
    """
    return heat_map(weights, query_tokens, key_tokens, LOOKS["weights"], title)


def draw(picture: Picture) -> Figure:
    """Draw the picture of a worked example."""
    shown = picture.table
    return heat_map(shown.numbers(), shown.rows, shown.columns, LOOKS[picture.kind], picture.title)


def heat_map(values: Any, rows: Sequence[str], columns: Sequence[str], look: Look, title: str = "") -> Figure:
    """Draw numbers (rows, columns) as colours, and write them into the cells if there are few.

    Raises:
        ValueError: If the names do not fit the shape.
    """
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
    """Return the figure as a PNG file."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight", pad_inches=0.15)
    return file.getvalue()


def svg(figure: Figure, name: str) -> str:
    """Return the figure as an <svg> element of a page, in the colours of its light or dark theme.

    It refers to nothing outside, and its ids begin with `name`.
    """
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
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _THEMED.get(found[0], found[0]), drawing).strip()


def _size(shape: tuple[int, ...], rows: Sequence[str], small: bool) -> tuple[float, float]:
    """Return width and height in inches: cells of one size with room for labels, or a fixed width."""
    height, width = shape
    if not small:
        across = 6.4 if width > height else 4.6
        return across, across * 0.9 * height / width + 0.9
    margin = 0.7 + 0.09 * max(map(len, rows))
    return margin + CELL * width * 1.25, 1.35 + CELL * height * 1.25


def _label(axes: Axes, rows: Sequence[str], columns: Sequence[str], look: Look) -> None:
    """Write every token beside its axis, or every 16th of many; the columns are at the top."""
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
    axes.spines[:].set_visible(False)


def _write_numbers(axes: Axes, values: Any, colours: Any, look: Look) -> None:
    """Write each number into its cell, in black or white, whichever has more contrast."""
    for (row, column), value in np.ndenumerate(values):
        light = tuple(colours[row, column])
        axes.text(
            column + 0.5,
            row + 0.5,
            f"{value:{look.format}}",
            ha="center",
            va="center",
            fontsize=9,
            color=_NUMBERS[_contrast(light), _contrast(_ON_DARK.get(to_hex(light), light))],
        )


def _contrast(colour: Any) -> str:
    luminance = np.asarray(to_rgb(colour)) ** 2.2 @ [0.2126, 0.7152, 0.0722]
    return "black" if luminance > 0.18 else "white"


# The colour of a weight in a light page -> in a dark one.
_ON_DARK = {to_hex(WEIGHTS(level)): to_hex(_DARK(level)) for level in range(WEIGHTS.N)}
# Black or white in a light page and in a dark one -> a shade of it that a page can tell apart.
_NUMBERS = {
    ("black", "black"): "#000000",
    ("white", "white"): "#ffffff",
    ("black", "white"): "#000001",
    ("white", "black"): "#fffffd",
}
_THEMED = (
    {INK: "currentColor", PAPER: "var(--card)"}
    | {light: f"light-dark({light}, {dark})" for light, dark in _ON_DARK.items()}
    | {shade: f"light-dark({light}, {dark})" for (light, dark), shade in _NUMBERS.items()}
)
