"""The whole state of a run in one file, written beside, synced and renamed: a kill leaves one of the two."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.files import replacing


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, and why."""


def save(path: Path, variables: Sequence[Any], progress: dict[str, Any]) -> None:
    """Write a checkpoint: whole, or not at all.

    Args:
        path: the file.
        variables: every variable of the run, in an order that stays.
        progress: the step and the history, as JSON has them.
    """
    arrays = {f"{index:05d}": np.asarray(variable) for index, variable in enumerate(variables)}
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as temp_path:
        np.savez(temp_path, allow_pickle=False, progress=np.array(json.dumps(progress)), **arrays)


def restore(path: Path, variables: Sequence[Any]) -> dict[str, Any]:
    """Assign the values of a checkpoint to the variables, if all of them fit, and return its progress.

    Raises:
        CheckpointError: the file is damaged, or belongs to another recipe.
    """
    progress, arrays = _read(path)
    expected = [tuple(variable.shape) for variable in variables]
    shapes = [array.shape for array in arrays]
    if expected != shapes:
        raise CheckpointError(
            f"{path} holds {len(shapes)} tensors that do not fit the {len(expected)} of this run: "
            "it belongs to another recipe."
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return dict(progress)


def read(path: Path, indices: Sequence[int]) -> list[Any]:
    """Read the values of the variables with these indices, and no others."""
    return _read(path, indices)[1]


def _read(path: Path, indices: Sequence[int] | None = None) -> tuple[Any, list[Any]]:
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                progress = json.loads(str(archive["progress"]))
                names = sorted(set(archive.files) - {"progress"})
                chosen = names if indices is None else [names[index] for index in indices]
                return progress, [archive[name] for name in chosen]
        except MemoryError:
            raise  # nothing is wrong with the file
        except Exception as error:  # zipfile and NumPy have one of their own for each kind of damage
            raise CheckpointError(
                f"{path} is damaged ({error}): remove it, and the run goes on from the checkpoint before it."
            ) from error


def checkpoints(directory: Path) -> list[Path]:
    """Return the checkpoints of a run, oldest first."""
    return sorted(directory.glob("step-*.npz"))
