"""Removal of the hidden directories of killed exports, by the next export into the same parent directory.

A running export locks a file in its hidden directory. The system releases the lock when the process ends, so
the lock distinguishes a leftover from a directory that is still being written.
"""

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from keras_transformer.files import making

LOCK = ".export"
HIDDEN = re.compile(r"\.(?P<name>.+)-\w{8}")  # names that `making` gives


@contextmanager
def making_alone(directory: Path) -> Iterator[Path]:
    """Remove the leftovers of killed exports beside `directory`, then do what files.making does."""
    for path in _left_in(directory.parent):
        _remove_unless_locked(path)
    with ExitStack() as lock, making(directory) as complete:  # locked until the hidden directory is gone
        lock.enter_context(_locked(complete.parent / LOCK))
        yield complete


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Create a file that is locked before it appears under its name."""
    unnamed = path.with_name(f"{path.name}.new")
    with unnamed.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        unnamed.rename(path)
        yield


def _left_in(folder: Path) -> list[Path]:
    """Return the hidden directories of killed or running exports in a folder."""
    with suppress(OSError):  # not there yet
        return [path for path in folder.iterdir() if _is_of_an_export(path)]
    return []


def _is_of_an_export(path: Path) -> bool:
    """Return whether a directory holds only what an export creates."""
    named = HIDDEN.fullmatch(path.name)
    if not named or path.is_symlink():
        return False
    with suppress(OSError):  # no directory, or another user's
        names = {entry.name for entry in path.iterdir()} - {LOCK}
        return (path / LOCK).is_file() and all(name.startswith(named["name"]) for name in names)
    return False


def _remove_unless_locked(path: Path) -> None:
    with suppress(OSError), (path / LOCK).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path)
