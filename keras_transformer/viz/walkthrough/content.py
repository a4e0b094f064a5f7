"""The parts of a worked example, independent of how it is shown: in a terminal, as pictures, on a page."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Cell: TypeAlias = float | str
DECIMALS = 6
TEXTS = Path(__file__).parent / "texts"


@dataclass(frozen=True)
class Table:
    """Table of numbers or words (rows, columns), with the names of its rows and columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    corner: str = ""

    def numbers(self) -> NDArray[np.float64]:
        """Return the cells as an array; only a table of numbers has one."""
        return np.array(self.cells, "float64")

    def texts(self) -> list[list[str]]:
        """Return the cells as text, with as few decimals as the whole table needs, six at most."""
        numbers = [cell for row in self.cells for cell in row if not isinstance(cell, str)]
        decimals = max((_decimals(number) for number in numbers), default=0)
        return [[_text(cell, decimals) for cell in row] for row in self.cells]


@dataclass(frozen=True)
class Picture:
    """Table that is drawn as a picture.

    Attributes:
        name: Name of its file, without extension.
        kind: Kind of its numbers, which decides the colours.
        title: Text above the picture.
        table: The numbers.
    """

    name: str
    kind: Literal["weights", "probabilities", "mask", "positions", "similarity"]
    title: str
    table: Table


@dataclass(frozen=True)
class ExampleStep:
    """Step of a worked example. In its texts _x or _(...) is an index, and ^x or ^(...) an exponent."""

    caption: str
    formula: str = ""
    table: Table | None = None
    by_hand: str = ""
    picture: Picture | None = None
    remark: str = ""


@dataclass(frozen=True)
class WorkedExample:
    """Worked example: its steps, and the few lines of Python that compute the same."""

    title: str
    explanation: str
    steps: tuple[ExampleStep, ...]
    code: str


def table(cells: Any, rows: Sequence[str], columns: Sequence[str], corner: str = "") -> Table:
    """Create a table from an array or nested sequences of shape (rows, columns).

    Raises:
        ValueError: If the names do not fit the shape.
    """
    nested = cells.tolist() if isinstance(cells, np.ndarray) else cells
    content = tuple(tuple(row) for row in nested)
    if len(content) != len(rows) or any(len(row) != len(columns) for row in content):
        raise ValueError(
            f"a table needs a cell for each of its {len(rows)} rows and {len(columns)} columns; "
            f"got rows of {[len(row) for row in content]} cells."
        )
    return Table(tuple(rows), tuple(columns), content, corner)


def told(name: str, tables: Mapping[str, Table], **values: Any) -> WorkedExample:
    """Return the example whose words are in texts/NAME.toml.

    Args:
        name: Of the file.
        tables: The tables of its steps and pictures, by the names that they have there.
        **values: What the texts have in braces.
    """
    texts = tomllib.loads((TEXTS / f"{name}.toml").read_text("utf-8"))

    def filled(text: str) -> str:
        return text.format(**values)

    def step(caption: str, table: str = "", picture: Any = None, **others: str) -> ExampleStep:
        drawn = picture and Picture(**{**picture, "table": tables[picture.get("table", table)]})
        words = {part: filled(text) for part, text in others.items()}
        return ExampleStep(filled(caption), table=tables.get(table), picture=drawn, **words)

    steps = tuple(step(**described) for described in texts["steps"])
    return WorkedExample(filled(texts["title"]), filled(texts["explanation"]), steps, filled(texts["code"]))


def features(width: int) -> list[str]:
    """Return the names of the columns of a vector: its dimensions, counted from 0."""
    return [str(index) for index in range(width)]


def _decimals(number: float) -> int:
    """Return the number of decimals that show the number as well as six of them do."""
    if not np.isfinite(number):
        return 0
    return len(f"{number:.{DECIMALS}f}".rstrip("0").partition(".")[2])


def _text(cell: Cell, decimals: int) -> str:
    if isinstance(cell, str):
        return cell
    if np.isneginf(cell):
        return "−∞"
    text = f"{cell:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text
