"""The files of a corpus that match a pattern, and the names of their translations."""

import hashlib
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from keras_transformer.bulk import BulkError
from keras_transformer.text.corpus import decompressed, reading


class Input(NamedTuple):
    """One file of the corpus.

    Attributes:
        path: The file, absolute.
        name: Name of its translation in the output directory.
    """

    path: Path
    name: str

    @classmethod
    def of(cls, path: Path) -> "Input":
        """Create one; the translation of a gzipped file is not gzipped."""
        return cls(path.absolute(), path.name[:-3] if path.suffix.lower() == ".gz" else path.name)

    @property
    def size(self) -> int:
        """Size in bytes, as it is on the disk."""
        return self.path.stat().st_size

    def checksum(self) -> str:
        """Return the SHA-256 of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def matching(pattern: str, output: Path) -> list[Input]:
    """Return the files that match a pattern, sorted by their names.

    Args:
        pattern: A path, in which `*`, `?`, `[...]` and `**` have the meaning of a shell.
        output: Directory of the translations.

    Raises:
        BulkError: No file matches, two have one name, or a translation would match the pattern.
        CorpusError: A file cannot be read, or is named .gz and is not gzipped.
    """
    paths = [pattern] if Path(pattern).is_file() else glob(pattern, recursive=True)  # noqa: PTH207 (it may be absolute)
    inputs = sorted(Input.of(Path(path)) for path in paths if Path(path).is_file())
    if not inputs:
        directory = f"{pattern} is a directory" if Path(pattern).is_dir() else f"no file matches {pattern}"
        raise BulkError(f"{directory}: name files, for example --input 'in/*.gz', between quotation marks.")
    _check_names(inputs)
    _check_outside(pattern, inputs, output)
    for item in inputs:
        with reading(item.path), item.path.open("rb") as file:
            decompressed(file, item.path).read(1)
    return inputs


def _check_names(inputs: Sequence[Input]) -> None:
    paths: dict[str, Path] = {}
    for item in inputs:
        other = paths.setdefault(item.name, item.path)
        if other != item.path:
            raise BulkError(
                f"{other} and {item.path} would both be translated into {item.name}: rename one of them, or "
                "translate them into different directories."
            )


def _check_outside(pattern: str, inputs: Sequence[Input], output: Path) -> None:
    """Refuse an output that a later command would take for input, or that replaces the input."""
    parts = _resolved(pattern).parts
    for item in inputs:
        target = output.resolve() / item.name
        source = item.path.parent.resolve() / item.path.name
        # the directory of an input may have another path than the pattern, behind a link that `*` matches
        beside = source.parent == target.parent and fnmatchcase(item.name, parts[-1])
        if target == source or beside or _covers(parts, target.parts):
            raise BulkError(
                f"the translation {output / item.name} would match the pattern {pattern} of the input: name "
                "another directory with --output."
            )


def _resolved(pattern: str) -> Path:
    """Return a pattern without `..`, and without links in the directories before its first wildcard."""
    path = Path(pattern).absolute()
    directory = next(parent for parent in path.parents if not has_magic(str(parent)))
    return Path(os.path.normpath(directory.resolve() / path.relative_to(directory)))


def _covers(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Return whether the parts of a pattern match the parts of a path."""
    if not pattern or not path:
        return not path and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _covers(pattern[1:], path) or _covers(pattern, path[1:])
    return fnmatchcase(path[0], pattern[0]) and _covers(pattern[1:], path[1:])
