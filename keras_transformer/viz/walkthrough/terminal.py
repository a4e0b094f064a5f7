"""The worked examples as text: at most 100 columns, in any encoding, with or without colours."""

import textwrap
from collections.abc import Iterator

from keras_transformer.viz.walkthrough.content import ExampleStep, Table, WorkedExample

WIDTH = 92
BOLD, CYAN, YELLOW, PLAIN = "\033[1m", "\033[36m", "\033[33m", "\033[0m"

# How to write what an encoding does not have.
SPELLINGS = {
    "√": "sqrt ", "∞": "inf", "∂": "d", "−": "-", "×": "x", "·": "*", "≠": "!=", "≤": "<=", "²": "^2",
    "μ": "mean", "σ": "sd", "γ": "gamma", "β": "beta", "ε": "epsilon", "“": '"', "”": '"', "é": "e",
}  # fmt: skip


def render(example: WorkedExample, number: int, encoding: str = "utf-8", colour: bool = False) -> str:
    """Return the whole example as text that `encoding` can represent."""
    return "\n".join(_Sheet(encoding, colour).lines(example, number)) + "\n"


def spell(text: str, encoding: str) -> str:
    """Replace each character that `encoding` lacks with characters that it has."""
    return "".join(
        character if _writes(encoding, character) else SPELLINGS.get(character, "?") for character in text
    )


class _Sheet:
    """Layout of text for one encoding, with or without colour."""

    def __init__(self, encoding: str, colour: bool) -> None:
        self.encoding = encoding
        self.colour = colour

    def lines(self, example: WorkedExample, number: int) -> Iterator[str]:
        title = self._spelled(f"{number}. {example.title}")
        yield self._painted(title, BOLD)
        yield self._painted("=" * len(title), BOLD)
        yield from self._paragraph(example.explanation, "")
        for index, step in enumerate(example.steps):
            yield ""
            yield from self._step(step, f"{number}.{index + 1}  ")
        yield ""
        yield "In Python:"
        yield ""
        yield from (f"    {line}".rstrip() for line in self._spelled(example.code).splitlines())

    def _step(self, step: ExampleStep, label: str) -> Iterator[str]:
        yield from self._paragraph(step.caption, label)
        indent = " " * len(label)
        if step.formula:
            yield from (self._painted(line, CYAN) for line in self._paragraph(step.formula, indent))
        if step.table:
            yield ""
            yield from (indent + line for line in self._table(step.table))
        if step.by_hand:
            yield ""
            yield from self._paragraph(f"By hand: {step.by_hand}", indent)
        if step.remark:
            yield ""
            yield from (
                self._painted(line, YELLOW) for line in self._paragraph(f"Note: {step.remark}", indent)
            )

    def _table(self, table: Table) -> Iterator[str]:
        """Align the columns right under their names, and the names of the rows left."""
        grid = [[table.corner, *table.columns]]
        grid += [[name, *cells] for name, cells in zip(table.rows, table.texts(), strict=True)]
        grid = [[self._spelled(cell) for cell in row] for row in grid]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        for name, *cells in grid:
            aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            yield "  ".join([name.ljust(widths[0]), *aligned]).rstrip()

    def _paragraph(self, text: str, label: str) -> list[str]:
        """Wrap a text, with its label before the first line and the others indented."""
        return textwrap.wrap(
            self._spelled(text), WIDTH, initial_indent=label, subsequent_indent=" " * len(label)
        )

    def _spelled(self, text: str) -> str:
        return spell(text, self.encoding)

    def _painted(self, text: str, code: str) -> str:
        return f"{code}{text}{PLAIN}" if self.colour else text


def _writes(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
