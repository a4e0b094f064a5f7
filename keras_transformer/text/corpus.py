r"""Reading of pairs of sentences from files, one at a time: a corpus may be larger than memory.

The files are two parallel files, or TSV, JSONL and TMX files, each plain or gzipped (detected by the first
bytes). Only \n and \r\n end a line: U+2028, U+0085, a vertical tab, NUL or a lone carriage return in a line
are text, which cleaning handles. A byte order mark at the start of a file is dropped. Errors of a file are a
CorpusError that names the file, the line and the remedy.
"""

import gzip
import io
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from keras_transformer.text.tmx import TmxError, translation_units

STANDARD_INPUT = Path("-")
GZIP_MAGIC = b"\x1f\x8b"
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character
BINARY = {GZIP_MAGIC: "gzip data inside of gzip", b"PK\3\4": "a zip archive", b"%PDF": "a PDF file"}
MAX_LINE_BYTES = 1 << 20
CHUNK_BYTES = 1 << 16

Stream: TypeAlias = "io.BufferedReader[Any] | gzip.GzipFile"


class Pair(NamedTuple):
    """Sentence and its translation."""

    source: str
    target: str


class CorpusError(ValueError):
    """Error of a corpus that cannot be read, with the file, the line and the remedy."""


def read_parallel(sources: Sequence[Path], targets: Sequence[Path]) -> Iterator[Pair]:
    """Read line n of each source file with line n of its target file.

    Args:
        sources: The source files; "-" is standard input, for one file only.
        targets: A target file for each source file.

    Returns:
        The pairs, which are read lazily.

    Raises:
        CorpusError: If a file is missing, damaged or not UTF-8, or the numbers of lines differ.
    """
    if len(sources) != len(targets):
        raise CorpusError(
            f"{len(sources)} source files ({_names(sources)}) and {len(targets)} target files "
            f"({_names(targets)}): give one target file for each source file, in the same order"
        )
    _check_files([*sources, *targets])
    for source, target in zip(sources, targets, strict=True):
        if STANDARD_INPUT not in (source, target) and source.samefile(target):
            raise CorpusError(
                f"{source} is given as source and as target: its translation must be another file"
            )
    return chain.from_iterable(map(_parallel_pairs, sources, targets))


def read_pairs(paths: Sequence[Path], source_lang: str, target_lang: str) -> Iterator[Pair]:
    """Read the pairs of files that contain both sides.

    TSV: source, tab, target. JSONL: {"fr": .., "en": ..} or {"source": .., "target": ..}, also inside
    "translation". TMX: languages match in any case, "fr" matches "fr-FR" too, and units that lack one of the
    two are skipped.

    Args:
        paths: Files that end in .tsv, .jsonl or .tmx, each also with .gz; "-" is standard input, as TSV.
        source_lang: Code of the source language.
        target_lang: Code of the target language.

    Returns:
        The pairs, which are read lazily.

    Raises:
        CorpusError: If a file is missing, damaged, of another format, or not UTF-8.
    """
    _check_files(paths)
    readers = [(path, _reader(path)) for path in paths]
    return chain.from_iterable(reader(path, source_lang, target_lang) for path, reader in readers)


def read_text(paths: Sequence[Path]) -> Iterator[str]:
    """Read the lines of text files, one after the other, without their ends.

    Args:
        paths: The files, plain or gzipped.

    Returns:
        The lines, which are read lazily.

    Raises:
        CorpusError: If a file is missing, empty, damaged or not UTF-8.
    """
    _check_files(paths)
    return (text for path in paths for _, text in _lines(path))


def _check_files(paths: Sequence[Path]) -> None:
    if not paths:
        raise CorpusError("no corpus file was given: give at least one")
    if list(paths).count(STANDARD_INPUT) > 1:
        raise CorpusError('standard input ("-") is given more than once: it can be read as one file only')
    for path in paths:
        if path != STANDARD_INPUT and not path.exists():
            raise CorpusError(f"{path} does not exist (looked in {path.absolute().parent})")
        if path != STANDARD_INPUT and path.is_dir():
            raise CorpusError(f"{path} is a directory: give the files in it instead")


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths)) or "none"


def _name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


# Bytes and lines


@contextmanager
def _opened(path: Path) -> Iterator[Stream]:
    """Open a file, decompressed. An error while it is read names the file."""
    if path == STANDARD_INPUT and sys.stdin is None:
        raise CorpusError("standard input is closed: name a file")
    with (
        reading(path),
        open(
            sys.stdin.fileno() if path == STANDARD_INPUT else path, "rb", closefd=path != STANDARD_INPUT
        ) as raw,
    ):
        yield decompressed(raw, path)


def decompressed(raw: "io.BufferedReader[Any]", path: Path) -> Stream:
    """Return a stream of the bytes, decompressed if they begin like a gzip file.

    Raises:
        CorpusError: If the file is named .gz and is not gzipped.
    """
    compressed = raw.peek(2)[:2] == GZIP_MAGIC
    if path.suffix.lower() == ".gz" and not compressed and raw.peek(1):
        raise CorpusError(f"{path} is named .gz but is not gzipped: rename it, or compress it with gzip")
    return gzip.GzipFile(fileobj=raw) if compressed else raw


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert errors of reading a file to a CorpusError that names it."""
    try:
        yield
    except EOFError as error:
        raise CorpusError(
            f"{_name(path)} is cut off: its gzip data end too early. Copy the file again"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{_name(path)} has damaged gzip data ({error}). Copy the file again") from error
    except OSError as error:
        raise CorpusError(f"{_name(path)} cannot be read: {error.strerror or error}") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, without its end."""
    with _opened(path) as stream:
        number, offset = 0, 0
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            _check_line(path, number, raw)
            yield number, decoded(path, number, raw, offset)
            offset += len(raw)
    if number == 0:
        raise _empty(path)


def _empty(path: Path) -> CorpusError:
    return CorpusError(f"{_name(path)} is empty: it has 0 lines")


def _check_line(path: Path, number: int, raw: bytes) -> None:
    if len(raw) > MAX_LINE_BYTES:
        raise CorpusError(
            f"{_name(path)}, line {number}: longer than {MAX_LINE_BYTES} bytes. "
            "A corpus is a text file with a sentence on each line"
        )
    if number == 1 and b"\r" in raw.rstrip(b"\r\n") and not raw.endswith(b"\n"):
        returns = raw.count(b"\r")
        raise CorpusError(
            f"{_name(path)} ends its lines with a carriage return alone ({returns} of them, no line feed): "
            f"convert it, for example with tr '\\r' '\\n' < {path}"
        )


def decoded(path: Path, number: int, raw: bytes, offset: int) -> str:
    """Decode a line, without its end and without a byte order mark at the start of the file.

    Args:
        path: The file, for the error text.
        number: Number of the line, from 1.
        raw: Bytes of the line.
        offset: Number of bytes of the file before the line.

    Raises:
        CorpusError: If the line is not UTF-8.
    """
    if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CorpusError(
            f"{_name(path)} is UTF-16, not UTF-8 (it starts with the bytes {raw[:2].hex(' ').upper()}): "
            f"convert it, for example with iconv -f UTF-16 -t UTF-8 {path}"
        )
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        kinds = (kind for magic, kind in BINARY.items() if number == 1 and raw.startswith(magic))
        kind = next(kinds, "binary data, with a NUL byte" if b"\0" in raw else None)
        if kind:
            raise CorpusError(
                f"{_name(path)} is no text: line {number} is {kind}. Give the text in it"
            ) from error
        start = raw.rindex(error.object) + error.start  # the codec leaves a byte order mark out of its object
        raise CorpusError(
            f"{_name(path)}, line {number}: 0x{raw[start]:02X} at byte {start + 1} of the line "
            f"({offset + start + 1} of the file) is not UTF-8 ({error.reason}): convert the file, "
            f"for example with iconv -f WINDOWS-1252 -t UTF-8 {path}"
        ) from error
    return text.removesuffix("\n").removesuffix("\r")


# Formats


def _parallel_pairs(source: Path, target: Path) -> Iterator[Pair]:
    source_lines, target_lines = _lines(source), _lines(target)
    for number, text in source_lines:
        other = next(target_lines, None)
        if other is None:
            count = number + sum(1 for _ in source_lines)
            raise _counts_differ(source, count, target, number - 1, ends_first=target)
        yield Pair(text, other[1])
    extra = sum(1 for _ in target_lines)
    if extra:
        raise _counts_differ(source, number, target, number + extra, ends_first=source)


def _counts_differ(
    source: Path, lines: int, target: Path, target_lines: int, ends_first: Path
) -> CorpusError:
    return CorpusError(
        f"{_name(source)} has {lines} lines and {_name(target)} has {target_lines}: {_name(ends_first)} ends "
        f"first, after line {min(lines, target_lines)}. Line n of one must be the translation of line n of "
        "the other"
    )


def _tsv_pairs(path: Path, source_lang: str, target_lang: str) -> Iterator[Pair]:
    for number, line in _lines(path):
        columns = line.split("\t")
        if len(columns) == 2:
            yield Pair(*columns)
        elif line:  # an empty line is skipped
            raise CorpusError(
                f"{_name(path)}, line {number}: {len(columns)} columns where 2 are expected, source and "
                f"target with a tab between them. Choose two columns, for example with cut -f1,2 {path}"
            )


def _jsonl_pairs(path: Path, source_lang: str, target_lang: str) -> Iterator[Pair]:
    for number, line in _lines(path):
        if line.strip():
            yield _json_pair(f"{_name(path)}, line {number}", line, source_lang, target_lang)


def _json_pair(where: str, line: str, source_lang: str, target_lang: str) -> Pair:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where}: not JSON ({error}): each line must be one object") from error
    if isinstance(record, dict) and isinstance(record.get("translation"), dict):
        record = record["translation"]
    if not isinstance(record, dict):
        raise CorpusError(
            f"{where}: {type(record).__name__} where an object like {{{source_lang!r}: .., ..}} is expected"
        )
    by_language = source_lang in record or target_lang in record
    keys = (source_lang, target_lang) if by_language else ("source", "target")
    lacking = [key for key in keys if key not in record]
    if lacking:
        raise CorpusError(
            f"{where}: no key {lacking[0]!r} among {sorted(record)}: the keys must be {source_lang!r} and "
            f"{target_lang!r}, or 'source' and 'target'"
        )
    return Pair(*(json_text(where, key, record[key]) for key in keys))


def json_text(where: str, key: str, text: object) -> str:
    """Return the text of a record.

    Raises:
        CorpusError: If it is no string, or has half a character.
    """
    if not isinstance(text, str):
        raise CorpusError(f"{where}: {key!r} is {text!r} where a string is expected")
    if half := SURROGATE.search(text):
        raise CorpusError(
            f"{where}: {key!r} has the lone surrogate \\u{ord(half[0]):x}, which is half a character: "
            "repair it"
        )
    return text


def _tmx_pairs(path: Path, source_lang: str, target_lang: str) -> Iterator[Pair]:
    seen: Counter[str] = Counter()
    has_pairs = False
    with _opened(path) as stream:
        if not stream.peek(1):
            raise _empty(path)
        try:
            for unit in translation_units(iter(partial(stream.read, CHUNK_BYTES), b"")):
                seen.update(unit.keys())
                source, target = _segment(unit, source_lang), _segment(unit, target_lang)
                if source is not None and target is not None:
                    has_pairs = True
                    yield Pair(source, target)
        except TmxError as error:
            raise CorpusError(f"{_name(path)}, {error}") from error
    if not has_pairs:
        languages = ", ".join(f"{language} ({count})" for language, count in sorted(seen.items())) or "none"
        raise CorpusError(
            f"{_name(path)} has no unit in both {source_lang!r} and {target_lang!r}; "
            f"its languages are: {languages}"
        )


def _segment(unit: dict[str, str], language: str) -> str | None:
    """Return the text in exactly this language, or else in one of its regions: fr, then fr-FR or fr_CA."""
    prefix = language.lower().replace("_", "-")
    names = {name.lower().replace("_", "-"): name for name in unit}
    regional = (name for key, name in names.items() if key.startswith(prefix + "-"))
    name = names.get(prefix) or next(regional, None)
    return None if name is None else unit[name]


_READERS: dict[str, Callable[[Path, str, str], Iterator[Pair]]] = {
    ".tsv": _tsv_pairs,
    ".jsonl": _jsonl_pairs,
    ".tmx": _tmx_pairs,
}


def _reader(path: Path) -> Callable[[Path, str, str], Iterator[Pair]]:
    if path == STANDARD_INPUT:
        return _tsv_pairs
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if name.suffix.lower() not in _READERS:
        raise CorpusError(
            f"{path} is none of the formats .tsv, .jsonl and .tmx (each also .gz). "
            "Two parallel files are given as source and target files"
        )
    return _READERS[name.suffix.lower()]
