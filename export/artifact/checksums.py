"""Files of a directory with their sizes and checksums, and their differences from a manifest."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath

from export.artifact.schema import Large

AGAIN = "copy the version again from where it came, or export it again"
MAX_ENTRIES = 10_000  # files and folders of a version directory


class NotReadableError(OSError):
    """Error of a file that is not read because of its type or size; the message has both."""


class TooManyEntriesError(OSError):
    """Error of a directory with more than MAX_ENTRIES files and folders in it."""


@dataclass(frozen=True)
class Checksum:
    """Checksum and size of one file."""

    sha256: str
    bytes: Large

    def __post_init__(self) -> None:
        if len(self.sha256) != 64 or set(self.sha256) - set("0123456789abcdef"):
            raise ValueError(f"sha256 must be 64 digits of 0-9a-f; got {self.sha256!r}")

    @classmethod
    def of(cls, path: Path) -> "Checksum":
        """Compute the checksum of a file."""
        with open_regular(path) as file:
            return cls.read(file)

    @classmethod
    def read(cls, file: BufferedReader) -> "Checksum":
        """Compute the checksum of an open file, from its beginning."""
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(digest, _size(file))


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading, without ever waiting, as opening a pipe would.

    Args:
        path: The file; it may be a link to one.

    Returns:
        The open file.

    Raises:
        NotReadableError: If it is a directory, a pipe, a device or a socket.
        OSError: If it is missing, or may not be read.
    """
    _check_regular(path.stat())  # before opening, which alone can change the state of a device
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115
    try:
        _check_regular(os.fstat(file.fileno()))  # another file may have replaced it
    except NotReadableError:
        file.close()
        raise
    return file


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Read all of a regular file.

    Args:
        path: The file; it may be a link to one.
        max_bytes: Largest size.

    Returns:
        Its bytes.

    Raises:
        NotReadableError: If it is not a regular file, or is larger.
        OSError: If it is missing, or may not be read.
    """
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise NotReadableError(f"it must have at most {max_bytes:,} bytes, and has {_size(file):,}")
        return content


def entries(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every file, folder and link below a directory. Links are not followed.

    Args:
        directory: The directory. A folder that cannot be read counts as empty.

    Yields:
        The entries, in any order.

    Raises:
        TooManyEntriesError: After MAX_ENTRIES entries.
    """
    folders, count = [os.fspath(directory)], 0
    while folders:
        try:
            scan = os.scandir(folders.pop())
        except OSError:
            continue
        with scan:
            for entry in scan:
                count += 1
                if count > MAX_ENTRIES:
                    raise TooManyEntriesError(f"it has more than {MAX_ENTRIES:,} files and folders")
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                yield entry


def checksums(directory: Path) -> dict[str, Checksum]:
    """Return the checksum of every file below a directory, by its path with slashes."""
    files = (name for name in sorted(_names(directory)) if (directory / name).is_file())
    return {name: Checksum.of(directory / name) for name in files}


def path_problem(name: str) -> str | None:
    """Return the reason why this cannot be the path of a file inside, and is never opened, or None."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        return "a path must stay inside the directory: it is relative, with slashes, and has no .."
    if str(path) != name or name == ".":
        return f"a path must be in its simplest form: {str(path)!r}"
    return None


def differences(directory: Path, expected: Mapping[str, Checksum], besides: str) -> list[str]:
    """Compare a directory with its checksums.

    Args:
        directory: The directory.
        expected: Checksums by path.
        besides: Another expected file, the manifest.

    Returns:
        A line for each file that is missing, changed or unexpected.
    """
    known = {besides, *expected}
    folders = {str(folder) for name in known for folder in PurePosixPath(name).parents}
    problems = [
        problem for name, checksum in expected.items() if (problem := _difference(directory, name, checksum))
    ]
    try:
        extra = sorted(set(_names(directory)) - known - folders)
    except TooManyEntriesError as error:
        return [*problems, f"{error}; {AGAIN}"]
    return problems + [f"{name}: it is not in the manifest; remove it" for name in extra]


def _difference(directory: Path, name: str, expected: Checksum) -> str | None:
    path = Path(os.path.realpath(directory / name))
    if not path.is_relative_to(os.path.realpath(directory)):
        return f"{name}: it is a link that leaves the directory; put the file itself there"
    try:
        with open_regular(path) as file:
            if (size := _size(file)) != expected.bytes:
                return f"{name}: it has {size:,} bytes, not {expected.bytes:,}; {AGAIN}"
            actual = Checksum.read(file)
    except (FileNotFoundError, NotADirectoryError):
        return f"{name}: it is missing; {AGAIN}"
    except NotReadableError as error:
        return f"{name}: {error}; {AGAIN}"
    if actual.sha256 != expected.sha256:
        return f"{name}: its sha256 is {actual.sha256[:12]}..., not {expected.sha256[:12]}...; {AGAIN}"
    return None


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "neither file nor directory"
        raise NotReadableError(f"it must be a file, and is {kind}")


def _size(file: BufferedReader) -> int:
    return os.fstat(file.fileno()).st_size


def _names(directory: Path) -> Iterator[str]:
    """Yield the paths of all entries, with slashes."""
    for entry in entries(directory):
        yield Path(entry.path).relative_to(directory).as_posix()
