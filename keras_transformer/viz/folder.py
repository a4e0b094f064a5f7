"""Writing of all files of a folder together. Files that another program wrote are not replaced."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

INDEX = "index.html"
#: Distinguishes our page from another index.html.
MARK = '<meta name="generator" content="keras-transformer walkthrough">'


def check_folder(folder: Path, names: Sequence[str] = (INDEX,)) -> None:
    """Check that files with these names would replace no files of another program.

    A folder whose index has our mark was written by an earlier run, and may be overwritten.

    Raises:
        FileExistsError: If a file would be replaced, or the folder is a file.
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
    """Write files under their names; other files in the folder are kept.

    They are written to a temporary directory first, and renamed when all of them are complete.

    Raises:
        FileExistsError: If a file would replace one of another program.
        OSError: If the folder cannot be written.
    """
    check_folder(folder, list(files))
    # inside an existing folder, because its parent may be on another disk or read-only
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
