"""Tensors of a file that `torch.save` wrote, without PyTorch, and without running what is in the file.

A pickle is a program. Before it runs, every instruction is checked against a list; while it runs, the only
names that it can reach are those of a state dict, and they stand for the functions of this module. The
storages of a zip archive, and those of the format before PyTorch 1.6, are read when a tensor is asked for.
"""

import io
import math
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from keras_transformer.pretrained.directory import PretrainedError

MAX_RANK = 4
MAX_PICKLE_BYTES = 16 * 2**20  # that of a model of 6 + 6 layers has 50,000
LEGACY_MAGIC, LEGACY_PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
REMEDY = "save the model with safetensors: model.save_pretrained(DIR, safe_serialization=True)"

DTYPES: dict[str, Any] = {
    "FloatStorage": np.dtype("<f4"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "DoubleStorage": np.dtype("<f8"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ByteStorage": np.dtype("u1"),
    "BoolStorage": np.dtype("?"),
}
#: What safetensors calls these types.
NAMES = dict(zip(DTYPES.values(), ("F32", "F16", "BF16", "F64", "I64", "I32", "U8", "BOOL"), strict=True))
#: All that torch.save needs for a state dict. There is none that looks up a class by a computed name.
OPCODES = {
    "PROTO", "STOP", "MARK", "POP", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1",
    "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3",
    "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM", "SETITEMS", "BINPUT", "LONG_BINPUT", "BINGET",
    "LONG_BINGET", "GLOBAL", "REDUCE", "BUILD", "BINPERSID",
}  # fmt: skip


class Stored(NamedTuple):
    """A tensor in a file, how to read it, and the name that safetensors has for its type."""

    shape: tuple[int, ...]
    read: Callable[[], NDArray[Any]]
    dtype: str = "F32"


class _Storage(NamedTuple):
    key: str
    dtype: Any
    length: int


Read = Callable[[_Storage], bytes]


class _View(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, content: bytes) -> NDArray[Any]:
        """Return the values from the content of the storage."""
        values = np.frombuffer(content, self.storage.dtype)
        if len(values) != self.storage.length:  # a view would read past its end
            raise _RefusedError(f"its storage {self.storage.key} is truncated")
        strides = [stride * self.storage.dtype.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(values[self.offset :], self.shape, strides, writeable=False)


class _RefusedError(ValueError):
    """What is wrong with a file."""


#: What a damaged file makes pickle, pickletools and zipfile raise.
_DAMAGED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OverflowError, MemoryError,
    RuntimeError, OSError, pickle.UnpicklingError, zipfile.BadZipFile,
)  # fmt: skip


def open_torch(path: Path) -> dict[str, Stored]:
    """Read the names, shapes and places of the tensors in a file.

    Args:
        path: What `torch.save(model.state_dict(), path)` wrote.

    Returns:
        The tensors by name.

    Raises:
        PretrainedError: If the file is damaged, or holds anything but tensors by name.
    """
    with _refusing(path):
        views, read = _open_zip(path) if zipfile.is_zipfile(path) else _open_legacy(path)

    def values(view: _View) -> NDArray[Any]:
        with _refusing(path):
            return view.of(read(view.storage))

    return {
        name: Stored(view.shape, partial(values, view), NAMES[view.storage.dtype])
        for name, view in views.items()
    }


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn the errors of a damaged file into a PretrainedError."""
    try:
        yield
    except _RefusedError as error:
        raise PretrainedError(path, [str(error)]) from error
    except _DAMAGED as error:
        raise PretrainedError(
            path, [f"it is damaged, or no file of torch.save ({error}); {REMEDY}"]
        ) from error


def _open_zip(path: Path) -> tuple[dict[str, _View], Read]:
    """Return the tensors of a zip archive, and a function that reads one of its storages."""
    with zipfile.ZipFile(path) as archive:
        entries = {each.filename: each for each in archive.infolist()}
        if len(entries) < len(archive.infolist()):
            raise _RefusedError("it has two entries of one name")
        packed = [name for name, each in entries.items() if each.compress_type != zipfile.ZIP_STORED]
        if packed:
            raise _RefusedError(f"its entry {packed[0]!r:.60} is compressed, which torch.save never does")
        pickles = [name for name in entries if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise _RefusedError(f"it must have one entry NAME/data.pkl; it has {len(pickles)}")
        folder = pickles[0].removesuffix("data.pkl")
        order = f"{folder}byteorder"
        if order in entries and (entries[order].file_size > 6 or archive.read(order) != b"little"):
            raise _RefusedError("its byte order is not little, which alone is read")
        content = _limited(archive.open(pickles[0]), entries[pickles[0]].file_size)
    views = _views(_unpickled(content))
    sizes = {key: entries[f"{folder}data/{key}"].file_size for key in _storages(views)}
    _check(views, sizes)

    def read(storage: _Storage) -> bytes:
        with zipfile.ZipFile(path) as archive:
            return archive.read(f"{folder}data/{storage.key}")

    return views, read


def _open_legacy(path: Path) -> tuple[dict[str, _View], Read]:
    """Five pickles: magic number, protocol, system, state dict, keys; then each key's values, counted."""
    with path.open("rb") as file:
        head = [_unpickled(_next_pickle(file)) for _ in range(2)]
        if head != [LEGACY_MAGIC, LEGACY_PROTOCOL]:
            raise _RefusedError(f"it is no file of torch.save; {REMEDY}")
        system, state, keys = (_unpickled(_next_pickle(file)) for _ in range(3))
        if not isinstance(system, dict) or system.get("little_endian") is not True:
            raise _RefusedError("its byte order is not little, which alone is read")
        views = _views(state)
        storages = _storages(views)
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages):
            raise _RefusedError("its list of storages is not that of its tensors")
        places, end = {}, path.stat().st_size
        for key in keys:
            count = int.from_bytes(file.read(8), "little")
            if count != storages[key].length:
                raise _RefusedError(f"its storage {key!r:.20} has {count} values, not {storages[key].length}")
            places[key] = file.tell()
            file.seek(count * storages[key].dtype.itemsize, io.SEEK_CUR)
        if file.tell() != end:
            raise _RefusedError(f"it has {end:,} bytes; its tensors need {file.tell():,}")
    _check(views, {key: each.length * each.dtype.itemsize for key, each in storages.items()})

    def read(storage: _Storage) -> bytes:
        with path.open("rb") as file:
            file.seek(places[storage.key])
            return file.read(storage.length * storage.dtype.itemsize)

    return views, read


def _limited(file: Any, size: int) -> bytes:
    if size > MAX_PICKLE_BYTES:
        raise _RefusedError(f"its pickle has {size:,} bytes; at most {MAX_PICKLE_BYTES:,} are read")
    with file:
        return bytes(file.read(MAX_PICKLE_BYTES))


def _next_pickle(file: BinaryIO) -> bytes:
    """Return the bytes of the pickle that begins here, with its last instruction."""
    start = file.tell()
    for _, _, place in pickletools.genops(file):
        if place is not None and place - start > MAX_PICKLE_BYTES:
            raise _RefusedError(f"its pickle has more than {MAX_PICKLE_BYTES:,} bytes")
    size = file.tell() - start
    file.seek(start)
    return file.read(size)


def _unpickled(content: bytes) -> Any:
    """Run a pickle whose instructions are all on the list."""
    for opcode, argument, place in pickletools.genops(content):
        if opcode.name not in OPCODES:
            raise _RefusedError(
                f"its pickle has the instruction {opcode.name}, which no tensor needs; {REMEDY}"
            )
        if opcode.name == "GLOBAL" and _Unpickler.known(*str(argument).split(" ", 1)) is None:
            name = str(argument).replace(" ", ".")
            raise _RefusedError(
                f"its pickle calls {name!r:.80}, which no tensor needs: nothing was run; {REMEDY}"
            )
        if opcode.name == "LONG_BINPUT" and not 0 <= int(argument or 0) <= len(content):
            raise _RefusedError(f"its pickle is damaged at byte {place}")
    return _Unpickler(io.BytesIO(content)).load()


class _Unpickler(pickle.Unpickler):
    """A pickle reaches the names of `known`, and no other. What they stand for has no attribute to set."""

    @staticmethod
    def known(module: str, name: str = "") -> Any:
        """Return the meaning of a name in a state dict, or None."""
        if module == "torch" and name in DTYPES:
            return _StorageType(name)
        return {
            "collections.OrderedDict": _Function("dictionary"),
            "torch._utils._rebuild_tensor_v2": _Function("tensor"),
            "torch._utils._rebuild_parameter": _Function("parameter"),
        }.get(f"{module}.{name}")

    def find_class(self, module: str, name: str) -> Any:
        found = self.known(module, name)
        if found is None:
            raise _RefusedError(f"its pickle calls {module}.{name}, which no tensor needs: nothing was run")
        return found

    def persistent_load(self, pid: Any) -> _Storage:
        match pid:
            case ("storage", _StorageType() as kind, str() as key, str(), int() as count, *rest) if (
                rest in ([], [None]) and key.isdecimal() and key.isascii() and count >= 0
            ):
                return _Storage(key, DTYPES[str(kind)], count)
        raise _RefusedError(f"its pickle names a storage of an unknown type: {pid!r:.80}; {REMEDY}")


class _StorageType(str):
    """The name of a type of storages, such as FloatStorage."""

    __slots__ = ()


class _Function(str):
    """A function that a pickle may call, by its name here."""

    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        return {"dictionary": _dictionary, "tensor": _tensor, "parameter": _parameter}[self](*arguments)


def _dictionary(*arguments: Any) -> Any:
    if arguments not in ((), ([],)):
        raise _RefusedError("its pickle makes a dictionary in an unknown way")
    return OrderedDict()


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> _View:
    """Of _rebuild_tensor_v2; what follows tells of gradients."""
    sizes = (offset, *shape, *strides)
    if not isinstance(storage, _Storage) or not all(type(size) is int and size >= 0 for size in sizes):
        raise _RefusedError("its pickle has a tensor of an impossible size")
    return _View(storage, offset, tuple(shape), tuple(strides))


def _parameter(view: Any, *_: Any) -> Any:
    return view


def _views(state: Any) -> dict[str, _View]:
    items = dict.items(state) if isinstance(state, dict) else None  # whatever else the pickle gave it
    if items is None or not all(isinstance(name, str) and isinstance(view, _View) for name, view in items):
        raise _RefusedError("it must hold a state dict, tensors by name; it holds something else")
    return dict(items)


def _storages(views: Mapping[str, _View]) -> dict[str, _Storage]:
    found: dict[str, _Storage] = {}
    for view in views.values():
        if found.setdefault(view.storage.key, view.storage) != view.storage:
            raise _RefusedError(f"its storage {view.storage.key} has two types or sizes")
    return found


def _check(views: Mapping[str, _View], sizes: Mapping[str, int]) -> None:
    """Check that every storage has the size of its tensors, and that every tensor is inside its storage."""
    for name, view in views.items():
        storage = view.storage
        if sizes[storage.key] != storage.length * storage.dtype.itemsize:
            raise _RefusedError(
                f"its storage {storage.key} has {sizes[storage.key]:,} bytes, and "
                f"{storage.length:,} values: it is truncated or damaged"
            )
        if not len(view.shape) == len(view.strides) <= MAX_RANK or math.prod(view.shape) > storage.length:
            raise _RefusedError(f"{name} has the shape {view.shape!s:.60}, which its storage does not hold")
        steps = ((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
        last = view.offset + sum(steps)
        if 0 not in view.shape and last >= storage.length:
            raise _RefusedError(f"{name} reaches value {last:,} of a storage of {storage.length:,}")
