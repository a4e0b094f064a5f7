"""What is made once in a run of the tests, by the first of its processes that needs it."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return `folder`, which `make` has filled. Nobody changes what is in it.

    Args:
        folder: Where it is, the same in every process.
        make: Fills a folder that it is given; it is called again where the process that called it was ended.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder
