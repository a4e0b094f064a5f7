"""Weights by name, read from the disk one at a time, in float32."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy)
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.torch_file import Stored, open_torch

SAFETENSORS, PYTORCH = "model.safetensors", "pytorch_model.bin"
FLOATS = {"F16", "BF16", "F32", "F64"}


class Weights(Mapping[str, NDArray[np.float32]]):
    """Names and their values. A value is read anew each time that it is asked for.

    Args:
        path: The file, for error messages.
        stored: Its tensors.
    """

    def __init__(self, path: Path, stored: Mapping[str, Stored]) -> None:
        self.path = path
        self._stored = stored

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        values = self._stored[name].read()
        return np.asarray(values, np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a weight without reading it."""
        return self._stored[name].shape


def open_weights(directory: PretrainedDirectory) -> Weights:
    """Open model.safetensors, or where there is none pytorch_model.bin.

    Args:
        directory: The directory of the model.

    Returns:
        Its weights; none of them is read yet.

    Raises:
        PretrainedError: If there is neither file, or the file is not what its name says.
    """
    if directory.has(SAFETENSORS):
        return _open_safetensors(directory.file(SAFETENSORS))
    if directory.has(PYTORCH):
        path = directory.file(PYTORCH)
        return Weights(path, open_torch(path))
    parts = [name for name in (SAFETENSORS, PYTORCH) if directory.has(f"{name}.index.json")]
    remedy = "its weights are in several files: save them as one" if parts else "copy it into the directory"
    raise PretrainedError(
        directory.path, [f"it has neither {SAFETENSORS} nor {PYTORCH}, which hold the weights; {remedy}"]
    )


def _open_safetensors(path: Path) -> Weights:
    """Open a file with the library, which checks every offset, and maps the file into memory."""
    try:
        file = safe_open(path, framework="numpy")
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
    except (SafetensorError, OSError) as error:
        raise PretrainedError(path, [f"it is damaged, or no safetensors file: {error}"]) from error
    wrong = [
        f"{name} holds {part.get_dtype()}; the weights must be of {', '.join(sorted(FLOATS))}"
        for name, part in parts.items()
        if part.get_dtype() not in FLOATS
    ]
    if wrong:
        raise PretrainedError(path, wrong)

    def stored(name: str) -> Stored:
        return Stored(tuple(parts[name].get_shape()), lambda: file.get_tensor(name))

    return Weights(path, {name: stored(name) for name in parts})
