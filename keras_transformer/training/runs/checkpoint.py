"""Checkpoints: the whole state of a run in one file, which is written atomically."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.files import replacing


class CheckpointError(ValueError):
    """Error of a checkpoint that cannot be used, with the reason."""


def save(path: Path, variables: Sequence[Any], progress: dict[str, Any]) -> None:
    """Write a checkpoint atomically.

    Args:
        path: The file.
        variables: All variables of the run, in a fixed order.
        progress: Step and history, as JSON values.
    """
    arrays = {f"{index:05d}": np.asarray(variable) for index, variable in enumerate(variables)}
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as temp_path:
        np.savez(temp_path, allow_pickle=False, progress=np.array(json.dumps(progress)), **arrays)


def restore(path: Path, variables: Sequence[Any]) -> dict[str, Any]:
    """Assign the values of a checkpoint to the variables, if all of them fit, and return its progress.

    Raises:
        CheckpointError: If the file is damaged, or belongs to another recipe.
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
    """Return the values of the variables with these indices."""
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
        except Exception as error:  # zipfile and NumPy raise many types for damaged files
            raise CheckpointError(
                f"{path} is damaged ({error}): remove it, and the run goes on from the checkpoint before it."
            ) from error


def checkpoints(directory: Path) -> list[Path]:
    """Return the paths of a run's checkpoints, oldest first."""
    return sorted(directory.glob("step-*.npz"))
