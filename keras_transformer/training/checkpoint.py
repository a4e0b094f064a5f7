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
    """Every variable in its order, and what JSON can hold of where the run stands."""
    arrays = {f"{place:05d}": np.asarray(variable) for place, variable in enumerate(variables)}
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as beside:
        np.savez(beside, allow_pickle=False, progress=np.array(json.dumps(progress)), **arrays)


def restore(path: Path, variables: Sequence[Any]) -> dict[str, Any]:
    """Give every variable what `save` wrote, if all of it fits; returns the progress."""
    progress, arrays = _read(path)
    wanted = [tuple(variable.shape) for variable in variables]
    found = [array.shape for array in arrays]
    if wanted != found:
        raise CheckpointError(
            f"{path} holds {len(found)} tensors that do not fit the {len(wanted)} of this run: "
            "it belongs to another recipe."
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return dict(progress)


def read(path: Path, places: Sequence[int]) -> list[Any]:
    """Of the variables that `save` was given those at these places, and no other is read."""
    return _read(path, places)[1]


def _read(path: Path, places: Sequence[int] | None = None) -> tuple[Any, list[Any]]:
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                progress = json.loads(str(archive["progress"]))
                names = sorted(set(archive.files) - {"progress"})
                chosen = names if places is None else [names[place] for place in places]
                return progress, [archive[name] for name in chosen]
        except MemoryError:
            raise  # nothing is wrong with the file
        except Exception as error:  # zipfile and NumPy have one of their own for each kind of damage
            raise CheckpointError(
                f"{path} is damaged ({error}): remove it, and the run goes on from the checkpoint before it."
            ) from error


def kept(directory: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(directory.glob("step-*.npz"))
