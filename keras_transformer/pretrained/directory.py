"""A directory that another program wrote. Nothing in it is trusted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.files import unique_keys

MAX_JSON_BYTES = 64 * 2**20  # a vocabulary of a million pieces


class PretrainedError(ValueError):
    """A directory that cannot be imported: every problem that was found, one a line.

    Args:
        path: The directory, or a file of it.
        problems: What is wrong, each with what is allowed or what to do.
    """

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        self.path = path
        self.problems = list(problems)
        super().__init__(f"{path} cannot be imported:" + "".join(f"\n  {each}" for each in problems))


class PretrainedDirectory:
    """The files of a pretrained model. Links that leave the directory are refused.

    The links of a Hugging Face cache are allowed: `snapshots/REVISION/config.json` -> `../../blobs/HASH`.

    Args:
        path: The directory.

    Raises:
        PretrainedError: If there is no such directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise PretrainedError(
                path, ["it is no directory: name that of config.json, model.npz or decoder.yml"]
            )
        root = path.resolve()
        self._roots = [root]
        if root.parent.name == "snapshots":
            self._roots.append(root.parent.parent / "blobs")

    def has(self, name: str) -> bool:
        """Return whether there is an entry of this name, a broken link included."""
        path = self.path / name
        return path.exists() or path.is_symlink()

    def file(self, name: str) -> Path:
        """Return the path of a regular file.

        Raises:
            PretrainedError: If it is missing, no regular file, or a link that leaves the directory.
        """
        path = self.path / name
        if not self.has(name):
            raise PretrainedError(self.path, [f"{name} is missing"])
        try:
            resolved = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise PretrainedError(self.path, [f"{name} is a link that leads nowhere ({error})"]) from None
        if not any(resolved.is_relative_to(root) for root in self._roots):
            raise PretrainedError(
                self.path, [f"{name} is a link to {resolved}, outside the directory; copy the file into it"]
            )
        if not resolved.is_file():
            raise PretrainedError(self.path, [f"{name} is no regular file"])
        return path

    def bytes(self, name: str, limit: int) -> bytes:
        """Return the content of a file of at most `limit` bytes.

        Raises:
            PretrainedError: As `file` does, or if the file is larger.
        """
        path = self.file(name)
        size = path.stat().st_size
        if size > limit:
            raise PretrainedError(self.path, [f"{name} has {size:,} bytes; at most {limit:,} are allowed"])
        return path.read_bytes()

    def json(self, name: str) -> dict[str, Any]:
        """Return the object in a JSON file.

        Raises:
            PretrainedError: As `bytes` does, or if the file holds no object, or a key twice.
        """
        try:
            values = json.loads(self.bytes(name, MAX_JSON_BYTES).decode(), object_pairs_hook=unique_keys)
        except RecursionError:
            raise PretrainedError(self.path, [f"{name} is no JSON: it is nested too deeply"]) from None
        except PretrainedError:
            raise
        except ValueError as error:
            raise PretrainedError(self.path, [f"{name} is no JSON: {error}"]) from error
        if not isinstance(values, dict):
            raise PretrainedError(self.path, [f"{name} must hold an object; it holds {values!r:.60}"])
        return values
