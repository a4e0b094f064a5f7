"""Formats of a corpus: how a file is cut into rows, what is written for them, and how that is joined.

A text file has a line for a row. A JSONL or Parquet file keeps its columns and gets others. Only a line
feed ends a line, as in `translate`.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from keras_transformer.bulk import BulkError
from keras_transformer.files import read_json
from keras_transformer.text.corpus import CorpusError, decoded, decompressed, json_text, reading
from keras_transformer.text.visible import single_line

if TYPE_CHECKING:
    from pyarrow import RecordBatch

MAX_ROWS = 500  # of a shard
MAX_BYTES = 1 << 18  # after which a shard of lines ends
ROW_GROUP = 1 << 16  # rows of a Parquet file that lie together
TRANSLATION, SCORE = "translation", "score"  # columns that are added
LOOP_MARK = "\tloop"  # behind a scored translation in which the loop guard found a loop

#: Translates texts; returns for each what `keras-transformer translate` prints, except for line ends.
Translate = Callable[[list[str]], list[str]]


class Answers(Enum):
    """What `Translate` returns for a text."""

    TEXT = "text"
    SCORED = "scored"  # a score, a tab, the text, and LOOP_MARK after a loop
    JSON = "json"  # a JSON object


@dataclass(frozen=True)
class Rows:
    """Consecutive rows of a file, and the bytes of the file that they stand for."""

    content: Any
    count: int
    weight: int


class Place(NamedTuple):
    """Position of rows in a file, for messages."""

    path: Path
    first: int

    def row(self, index: int) -> str:
        """Return the name of a row."""
        return f"{self.path}, line {self.first + index}"


class Format(Protocol):
    """Format of a file of the corpus."""

    def cut(self, path: Path) -> Iterator[Rows]:
        """Yield the rows of a file, in one stream."""

    def translate(self, content: Any, place: Place, translate: Translate) -> Any:
        """Return the content with its translation."""

    def write(self, content: Any, path: Path) -> None:
        """Write translated content to a file."""

    def join(self, source: Path, parts: Sequence[Path], path: Path) -> None:
        """Write the translated parts of a file together."""


class TextLines:
    """Text with a sentence or more on each line."""

    def cut(self, path: Path) -> Iterator[Rows]:
        """Yield lines without their ends."""
        with reading(path), path.open("rb") as raw:
            stream = decompressed(raw, path)
            lines: list[str] = []
            begin = size = offset = 0
            for number, line in enumerate(stream, 1):
                lines.append(decoded(path, number, line, offset))
                size += len(line)
                offset += len(line)
                if len(lines) == MAX_ROWS or size >= MAX_BYTES:
                    position = raw.tell()
                    yield Rows(lines, len(lines), position - begin)
                    lines, begin, size = [], position, 0
            if lines:
                yield Rows(lines, len(lines), raw.tell() - begin)

    def translate(self, content: list[str], place: Place, translate: Translate) -> list[str]:
        """Return a line for each line."""
        return [single_line(line) for line in translate(content)]

    def write(self, content: list[str], path: Path) -> None:
        """Write lines in UTF-8."""
        path.write_bytes("".join(f"{line}\n" for line in content).encode())

    def join(self, source: Path, parts: Sequence[Path], path: Path) -> None:
        """Concatenate files of lines."""
        with path.open("wb") as whole:
            for part in parts:
                with part.open("rb") as lines:
                    shutil.copyfileobj(lines, whole)


@dataclass(frozen=True)
class JsonLines(TextLines):
    """JSON objects, one on each line. What is in them stays as it is, to the byte."""

    column: str
    answers: Answers

    def translate(self, content: list[str], place: Place, translate: Translate) -> list[str]:
        """Append the translation to each object; a blank line stays blank."""
        texts = [self._text(place.row(index), line) for index, line in enumerate(content)]
        translated = iter(translate([text for text in texts if text is not None]))
        return [
            self._extended(line, None if text is None else next(translated)) if line.strip() else line
            for line, text in zip(content, texts, strict=True)
        ]

    def _text(self, where: str, line: str) -> str | None:
        if not line.strip():
            return None
        try:
            record = read_json(line)
        except ValueError as error:
            raise CorpusError(f"{where}: not JSON ({error}): each line must be one object") from error
        if not isinstance(record, dict):
            raise CorpusError(f"{where}: {type(record).__name__} where an object is expected")
        _check_columns(where, list(record), self.column, self.answers)
        text = record[self.column]
        return None if text is None else json_text(where, self.column, text)

    def _extended(self, line: str, answer: str | None) -> str:
        if answer is not None and self.answers is Answers.JSON:
            added = f'"{TRANSLATION}": {answer}'
        else:
            columns = {name: values[0] for name, values in _columns([answer], self.answers).items()}
            added = json.dumps(columns, ensure_ascii=False)[1:-1]
        return f"{line.rstrip().removesuffix('}').rstrip()}, {added}}}"


@dataclass(frozen=True)
class Parquet:
    """A Parquet file. The parts are kept in Arrow's own format, which has all its types."""

    column: str
    answers: Answers

    def cut(self, path: Path) -> Iterator[Rows]:
        """Yield record batches."""
        import pyarrow as pa  # noqa: PLC0415 (in the extra `scale`)
        from pyarrow import parquet  # noqa: PLC0415

        try:
            with parquet.ParquetFile(path) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
                _check_columns(str(path), schema.names, self.column, self.answers)
                kind = schema.field(self.column).type
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                    raise CorpusError(
                        f"{path}: column {self.column!r} has type {kind} where string is expected"
                    )
                for batch in file.iter_batches(MAX_ROWS):
                    yield Rows(batch, batch.num_rows, batch.num_rows * path.stat().st_size // rows)
        except pa.ArrowInvalid as error:
            raise CorpusError(f"{path} is no Parquet file, or it is damaged ({error})") from error

    def translate(self, content: "RecordBatch", place: Place, translate: Translate) -> "RecordBatch":
        """Append columns to a record batch."""
        texts = content.column(self.column).to_pylist()
        translated = iter(translate([text for text in texts if text is not None]))
        answers = [None if text is None else next(translated) for text in texts]
        for name, values in _columns(answers, self.answers).items():
            content = content.append_column(name, _array(name, values))
        return content

    def write(self, content: "RecordBatch", path: Path) -> None:
        """Write a record batch."""
        import pyarrow as pa  # noqa: PLC0415

        with pa.ipc.new_file(str(path), content.schema) as file:
            file.write_batch(content)

    def join(self, source: Path, parts: Sequence[Path], path: Path) -> None:
        """Write record batches as a Parquet file."""
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415

        schema = parquet.read_schema(source)
        for name in _columns([], self.answers):
            schema = schema.append(pa.field(name, _array(name, []).type))
        with parquet.ParquetWriter(path, schema) as file:
            for begin in range(0, len(parts), ROW_GROUP // MAX_ROWS):
                group = parts[begin : begin + ROW_GROUP // MAX_ROWS]
                file.write_table(pa.concat_tables([pa.ipc.open_file(part).read_all() for part in group]))


def format_of(name: str, column: str | None, answers: Answers) -> Format:
    """Return the format of a file by its name.

    Args:
        name: Name of the file, without .gz.
        column: The column that is translated; none for text.
        answers: What a translation consists of.

    Raises:
        BulkError: The format needs a column, or has none.
    """
    kinds: dict[str, Callable[[str, Answers], Format]] = {".jsonl": JsonLines, ".parquet": Parquet}
    kind = kinds.get(Path(name).suffix.lower())
    if kind is None and column is not None:
        raise BulkError(f"{name} is text and has no column {column!r}: leave out --column.")
    if kind is None:
        return TextLines()
    if column is None:
        raise BulkError(f"{name} has columns: name the one that is to be translated with --column.")
    return kind(column, answers)


def _check_columns(where: str, names: list[str], column: str, answers: Answers) -> None:
    if column not in names:
        raise CorpusError(
            f"{where}: no column {column!r} among {sorted(names)}: name one of them with --column"
        )
    for added in _columns([], answers):
        if added in names:
            raise CorpusError(
                f"{where}: there is a column {added!r} already, and it would be added: rename it"
            )


def _columns(answers: Sequence[str | None], kind: Answers) -> dict[str, list[Any]]:
    """Return the columns that are added for these answers; None is a row without a text."""
    if kind is not Answers.SCORED:
        return {TRANSLATION: list(answers)}
    pairs = [(None, None) if answer is None else answer.split("\t", 1) for answer in answers]
    return {
        TRANSLATION: [text and text.removesuffix(LOOP_MARK) for _, text in pairs],
        SCORE: [float(score) if score else None for score, _ in pairs],
    }


def _array(name: str, values: Sequence[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(values, pa.float64() if name == SCORE else pa.string())
