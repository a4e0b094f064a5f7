"""What a killed export leaves: a hidden directory beside the one it was making. The next one removes it."""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keras_transformer.files import making


@contextmanager
def making_alone(directory: Path) -> Iterator[Path]:
    """files.making, and what others who were making the same directory left when they were killed is removed.

    A lock that the system lets go of with its process tells those from one that is still at work.
    """
    for left in _scratch_of(directory):
        _remove_if_left(left)
    with making(directory) as complete:
        scratch = os.open(complete.parent, os.O_RDONLY)
        try:
            fcntl.flock(scratch, fcntl.LOCK_EX)
            yield complete
        finally:
            os.close(scratch)


def _scratch_of(directory: Path) -> list[Path]:
    """The directories that `making` has used, or is using, for it."""
    if not directory.parent.is_dir():
        return []
    named = re.compile(rf"\.{re.escape(directory.name)}-\w{{8}}")
    return [
        path
        for path in directory.parent.iterdir()
        if named.fullmatch(path.name)
        and path.is_dir()
        and not path.is_symlink()
        and {each.name for each in path.iterdir()} <= {directory.name}
    ]


def _remove_if_left(scratch: Path) -> None:
    lock = os.open(scratch, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        shutil.rmtree(scratch)
    finally:
        os.close(lock)
