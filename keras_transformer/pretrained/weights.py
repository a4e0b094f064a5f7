"""Weights by name, read from the disk one at a time, in float32."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy)
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.torch_file import Stored, open_torch

SAFETENSORS, PYTORCH = "model.safetensors", "pytorch_model.bin"
FLOATS = {"F16", "BF16", "F32", "F64"}
OTHERS = {"BOOL", "U8", "I32", "I64"}  # of tables that are computed, such as positions or a causal mask
MAX_SHARDS = 1000

Tensors = Mapping[str, Stored]


class Weights(Mapping[str, NDArray[np.float32]]):
    """Names and their values. A value is read anew each time that it is asked for.

    Args:
        path: The file, for error messages.
        stored: Its tensors.
    """

    def __init__(self, path: Path, stored: Tensors) -> None:
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

    def dtype(self, name: str) -> str:
        """Return the type of a weight in the file, as safetensors names it."""
        return self._stored[name].dtype


def open_weights(directory: PretrainedDirectory) -> Weights:
    """Open the weights of a model: model.safetensors, its shards, pytorch_model.bin, or its shards.

    Args:
        directory: The directory of the model.

    Returns:
        Its weights; none of them is read yet.

    Raises:
        PretrainedError: If there is no such file, a file is not what its name says, or the index of the
            shards does not describe them.
    """
    readers: dict[str, Callable[[Path], Tensors]] = {SAFETENSORS: _open_safetensors, PYTORCH: open_torch}
    for name, read in readers.items():
        if directory.has(name):
            path = directory.file(name)
            return Weights(path, read(path))
        index = f"{name}.index.json"
        if directory.has(index):
            return Weights(directory.file(index), _open_shards(directory, index, name, read))
    raise PretrainedError(
        directory.path,
        [f"it has neither {SAFETENSORS} nor {PYTORCH}, which hold the weights; copy it into the directory"],
    )


def _open_shards(
    directory: PretrainedDirectory, index: str, name: str, read: Callable[[Path], Tensors]
) -> Tensors:
    """Open the files that an index names, and check that they hold the tensors that it places in them."""
    places = directory.json(index).get("weight_map")
    suffix = Path(name).suffix
    if not isinstance(places, dict) or not all(_is_plain(file, suffix) for file in places.values()):
        problem = f"weight_map must name a file of this directory, *{suffix}, for each tensor"
        raise PretrainedError(directory.file(index), [problem])
    files = sorted(set(places.values()))
    if len(files) > MAX_SHARDS:
        problem = f"it names {len(files):,} files; at most {MAX_SHARDS:,} are read"
        raise PretrainedError(directory.file(index), [problem])
    tensors: dict[str, Stored] = {}
    problems = []
    for file in files:
        found = read(directory.file(file))
        placed = {tensor for tensor, place in places.items() if place == file}
        problems += [f"{file} lacks {tensor}, which the index places there" for tensor in placed - {*found}]
        problems += [
            f"{file} has {tensor}, which the index does not place there" for tensor in {*found} - placed
        ]
        tensors.update(found)
    if problems:
        raise PretrainedError(directory.file(index), sorted(problems))
    return tensors


def _is_plain(name: Any, suffix: str) -> bool:
    """Return whether a text is the name of a file in the directory itself."""
    return isinstance(name, str) and name.endswith(suffix) and Path(name).name == name and "\0" not in name


def _open_safetensors(path: Path) -> Tensors:
    """Open a file with the library, which checks every offset, and maps the file into memory."""
    try:
        file = safe_open(path, framework="numpy")
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
    except (SafetensorError, OSError) as error:
        raise PretrainedError(path, [f"it is damaged, or no safetensors file: {error}"]) from error
    wrong = [
        f"{name} holds {part.get_dtype()}; the weights must be of {', '.join(sorted(FLOATS))}"
        for name, part in parts.items()
        if part.get_dtype() not in FLOATS | OTHERS
    ]
    if wrong:
        raise PretrainedError(path, wrong)

    def stored(name: str) -> Stored:
        part = parts[name]
        return Stored(tuple(part.get_shape()), lambda: file.get_tensor(name), part.get_dtype())

    return {name: stored(name) for name in parts}
