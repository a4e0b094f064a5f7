"""The hidden directory of a killed export, next to the one it was making. The next export removes it.

An export of any name in the same directory does so. In the hidden directory lies a file that its writer has
locked, and the system releases the lock with the process: it tells what is left from what is still written.
"""

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from keras_transformer.files import making

LOCK = ".export"
HIDDEN = re.compile(r"\.(?P<name>.+)-\w{8}")  # as `making` names them


@contextmanager
def making_alone(directory: Path) -> Iterator[Path]:
    """files.making, after the removal of what killed exports left beside `directory`."""
    for path in _left_in(directory.parent):
        _remove_unless_locked(path)
    with ExitStack() as lock, making(directory) as complete:  # locked until the hidden directory is gone
        lock.enter_context(_locked(complete.parent / LOCK))
        yield complete


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Make a file that is locked from when it has its name."""
    unnamed = path.with_name(f"{path.name}.new")
    with unnamed.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        unnamed.rename(path)
        yield


def _left_in(folder: Path) -> list[Path]:
    """Return the hidden directories of exports in a folder, killed or running."""
    with suppress(OSError):  # not there yet
        return [path for path in folder.iterdir() if _is_of_an_export(path)]
    return []


def _is_of_an_export(path: Path) -> bool:
    """Return whether a directory holds nothing but what an export makes."""
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
