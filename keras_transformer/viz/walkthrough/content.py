"""What a worked example consists of, apart from how it is shown: in a terminal, as pictures, on a page."""

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
    """Numbers or words, (rows, columns), and what the rows and the columns are called."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    corner: str = ""

    def numbers(self) -> NDArray[np.float64]:
        """The cells as an array; only a table of numbers has one."""
        return np.array(self.cells, "float64")

    def texts(self) -> list[list[str]]:
        """The cells as they are printed: as few decimals as the whole table needs, six at most."""
        numbers = [cell for row in self.cells for cell in row if not isinstance(cell, str)]
        decimals = max((_decimals(number) for number in numbers), default=0)
        return [[_text(cell, decimals) for cell in row] for row in self.cells]


@dataclass(frozen=True)
class Picture:
    """A table to look at. `name` is its file's; `kind` says what its numbers are, and so its colours."""

    name: str
    kind: Literal["weights", "probabilities", "mask", "positions", "similarity"]
    title: str
    table: Table


@dataclass(frozen=True)
class ExampleStep:
    """One thing to understand. In its texts _x or _(...) is an index, and ^x or ^(...) a power."""

    caption: str
    formula: str = ""
    table: Table | None = None
    by_hand: str = ""
    picture: Picture | None = None
    remark: str = ""


@dataclass(frozen=True)
class WorkedExample:
    """A few steps that belong together, and the few lines of Python that do the same."""

    title: str
    explanation: str
    steps: tuple[ExampleStep, ...]
    code: str


def table(cells: Any, rows: Sequence[str], columns: Sequence[str], corner: str = "") -> Table:
    """A table of an array, a tensor already on the CPU or nested sequences, shape (rows, columns)."""
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
    """The names of the columns of a vector: its dimensions, counted from 0."""
    return [str(index) for index in range(width)]


def _decimals(number: float) -> int:
    """How many decimals show the number as well as six of them do."""
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
