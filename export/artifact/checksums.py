"""The files of a directory with their sizes and sums, and all that differs from what was written of them."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

AGAIN = "copy the version again from where it came, or export it again"


@dataclass(frozen=True)
class Sum:
    """Of one file."""

    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        if len(self.sha256) != 64 or set(self.sha256) - set("0123456789abcdef"):
            raise ValueError(f"sha256 must be 64 digits of 0-9a-f; got {self.sha256!r}")
        if self.bytes < 0:
            raise ValueError(f"bytes must be at least 0; got {self.bytes}")

    @classmethod
    def of(cls, path: Path) -> "Sum":
        """As it lies there."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(digest, os.fstat(file.fileno()).st_size)


def sums(directory: Path) -> dict[str, Sum]:
    """Of every file below, by its path with slashes."""
    files = (name for name in sorted(_entries(directory)) if (directory / name).is_file())
    return {name: Sum.of(directory / name) for name in files}


def path_problem(name: str) -> str | None:
    """Why this cannot be the path of a file inside; such a path is never looked at."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        return "a path must stay inside the directory: it is relative, with slashes, and has no .."
    if str(path) != name or name == ".":
        return f"a path must be written as plainly as it can be: {str(path)!r}"
    return None


def differences(directory: Path, expected: Mapping[str, Sum], besides: str) -> list[str]:
    """A line for each file that is missing, is another, or is there besides; `besides` is expected, too."""
    known = {besides, *expected}
    folders = {str(folder) for name in known for folder in PurePosixPath(name).parents}
    problems = [problem for name, each in expected.items() if (problem := _difference(directory, name, each))]
    extra = sorted(set(_entries(directory)) - known - folders)
    return problems + [f"{name}: it is not in the manifest; remove it" for name in extra]


def _difference(directory: Path, name: str, expected: Sum) -> str | None:
    path = Path(os.path.realpath(directory / name))
    if not path.is_relative_to(os.path.realpath(directory)):
        return f"{name}: it is a link that leaves the directory, to {path}; put the file itself there"
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"{name}: it is missing; {AGAIN}"
    if not stat.S_ISREG(mode):
        found = "a directory" if stat.S_ISDIR(mode) else "neither file nor directory"
        return f"{name}: it must be a file, and is {found}; {AGAIN}"
    there = Sum.of(path)
    if there.bytes != expected.bytes:
        return f"{name}: it has {there.bytes:,} bytes, not {expected.bytes:,}; {AGAIN}"
    if there.sha256 != expected.sha256:
        return f"{name}: its sha256 is {there.sha256[:12]}..., not {expected.sha256[:12]}...; {AGAIN}"
    return None


def _entries(directory: Path) -> Iterator[str]:
    """Everything below it, directories too; a link is an entry, and nothing behind it is."""
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            yield (Path(folder) / name).relative_to(directory).as_posix()
