"""model.npz as Marian writes it: float tensors by name, and the options of the training as YAML."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

import numpy as np
import yaml
from numpy.lib import format as npy
from numpy.typing import NDArray

from keras_transformer.pretrained.directory import PretrainedError
from keras_transformer.pretrained.torch_file import Stored
from keras_transformer.pretrained.weights import Weights

OPTIONS = "special:model.yml"
MAX_OPTIONS_BYTES = 2**20
_SCALARS = (str, int, float, NoneType)
_DAMAGED = (ValueError, KeyError, EOFError, OSError, OverflowError, RuntimeError, NotImplementedError,
            zipfile.BadZipFile, yaml.YAMLError)  # fmt: skip


class _Options(yaml.SafeLoader):
    """YAML without merged mappings, `<<`, which make ten entries of one in each line."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing."""


def open_npz(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Read the names and shapes of the tensors, and the options. Nothing in the file is executed.

    Args:
        path: The file.

    Returns:
        The tensors, none of which is read yet, and the options of Marian by name.

    Raises:
        PretrainedError: If the file is damaged, compressed, or holds anything but floats and the options.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            if len(entries) < len(archive.infolist()):
                raise ValueError("it has two entries of one name")
            if OPTIONS not in entries:
                raise ValueError(f"it lacks {OPTIONS}, the options of its training")
            if entries[OPTIONS].file_size > MAX_OPTIONS_BYTES:
                raise ValueError(f"{OPTIONS} has more than {MAX_OPTIONS_BYTES:,} bytes")
            shapes = {name: _shape(archive, name, entry) for name, entry in entries.items()}
            text = _values(path, entries[OPTIONS].filename)().tobytes().rstrip(b"\0").decode()
        options = yaml.load(text, Loader=_Options)
        if not isinstance(options, dict):
            raise ValueError(f"{OPTIONS} must hold options by name")
        for name, value in options.items():  # a few bytes of YAML can stand for lists of lists without end
            if not all(isinstance(each, _SCALARS) for each in (value if type(value) is list else [value])):
                raise ValueError(f"option {name!r:.60} must be a value or a list of values")
    except (*_DAMAGED, RecursionError) as error:
        raise PretrainedError(path, [f"it is damaged, or no model of Marian ({error})"]) from error
    tensors = {
        name: Stored(shape, _values(path, entries[name].filename))
        for name, shape in shapes.items()
        if name != OPTIONS
    }
    return Weights(path, tensors), options


def _shape(archive: zipfile.ZipFile, name: str, entry: zipfile.ZipInfo) -> tuple[int, ...]:
    """Return the shape of an entry, whose bytes are as many as it needs."""
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name:.60} is compressed, which Marian never does")
    with archive.open(entry) as file:
        shape, dtype = _header(file)
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if dtype.kind != ("i" if name == OPTIONS else "f") or file.tell() + size != entry.file_size:
            raise ValueError(f"{name:.60} is truncated, or not of floats")
    return shape


def _values(path: Path, entry: str) -> Callable[[], NDArray[Any]]:
    def read() -> NDArray[Any]:
        try:
            with zipfile.ZipFile(path) as archive, archive.open(entry) as file:
                shape, dtype = _header(file)
                return np.frombuffer(file.read(), dtype).reshape(shape)
        except _DAMAGED as error:
            raise PretrainedError(path, [f"{entry:.60} is damaged ({error})"]) from error

    return read


def _header(file: BinaryIO | Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of an array in NumPy's format, and leave the file at its values."""
    if npy.read_magic(file) != (1, 0):
        raise ValueError("an array is of another version of NumPy's format than Marian's")
    shape, by_columns, dtype = npy.read_array_header_1_0(file)
    if by_columns or dtype.hasobject:
        raise ValueError("an array has objects, or its columns first")
    return shape, dtype
