"""A folder of files written as a whole or not at all, and never over the files of someone else."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

INDEX = "index.html"
#: What tells a page of ours from another index.html.
MARK = '<meta name="generator" content="keras-transformer walkthrough">'


def check_folder(folder: Path, names: Sequence[str] = (INDEX,)) -> None:
    """Refuse a place where files of these names would replace someone else's.

    A folder whose index carries our mark was written by an earlier run, and may be written again.
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; the output needs a directory. Choose another name.")
    index = folder / INDEX
    ours = index.is_file() and MARK in index.read_text("utf-8", errors="replace")
    taken = [name for name in names if (folder / name).is_dir() or (not ours and (folder / name).exists())]
    if taken:
        raise FileExistsError(
            f"{folder} already has {', '.join(taken)}, not written by this command. Choose another directory."
        )


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files under their names; whatever else is in the folder stays.

    They are written to a temporary directory first, and renamed when all of them are complete.
    """
    check_folder(folder, list(files))
    # Inside a folder that exists, for its parent may be another disk, or not ours to write.
    parent = folder if folder.is_dir() else folder.parent
    temporary = parent / f".{folder.name}-{secrets.token_hex(4)}"
    try:
        temporary.mkdir(parents=True)
        for name, content in files.items():
            (temporary / name).write_bytes(content)
        if parent == folder:
            for name in files:
                (temporary / name).replace(folder / name)
        else:
            temporary.rename(folder)
    except OSError as error:
        raise OSError(f"cannot write {folder}: {error.strerror}. Choose another directory.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
