"""Ways to damage a directory of a pretrained model, each as a function that does it to a copy."""

import json
import os
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

WEIGHTS, PICKLED = "model.safetensors", "pytorch_model.bin"


def change(name: str, **values: Any) -> Callable[[Path], None]:
    """Give keys of a JSON file other values; None removes them."""

    def damage(directory: Path) -> None:
        content = json.loads((directory / name).read_bytes()) | values
        content = {key: value for key, value in content.items() if value is not None}
        (directory / name).write_text(json.dumps(content))

    return damage


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_bytes(content) and None


def remove(*names: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        for name in names:
            (directory / name).unlink()

    return damage


def tensors(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Change the tensors of model.safetensors."""

    def damage(directory: Path) -> None:
        values = {name: np.array(value) for name, value in load_file(directory / WEIGHTS).items()}
        change(values)
        save_file(values, directory / WEIGHTS)

    return damage


def header(
    values: dict[str, Any] | bytes, size: int | None = None, data: bytes = bytes(8)
) -> Callable[[Path], None]:
    """A safetensors file with this header."""
    content = values if isinstance(values, bytes) else json.dumps(values).encode()
    return write(WEIGHTS, struct.pack("<Q", len(content) if size is None else size) + content + data)


def entry(*offsets: int, shape: tuple[int, ...] = (1,), dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


class Runs:
    """Unpickled by pickle itself, it runs a command."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def pickled(content: Any, **entries: bytes) -> Callable[[Path], None]:
    """pytorch_model.bin as a zip archive with this pickle: bytes, or an object that makes them."""

    def damage(directory: Path) -> None:
        (directory / WEIGHTS).unlink()
        proof = directory.parent / "executed"
        made = content(proof) if callable(content) else content
        with zipfile.ZipFile(directory / PICKLED, "w") as archive:
            archive.writestr("model/data.pkl", made if isinstance(made, bytes) else pickle.dumps(made, 2))
            for name, value in entries.items():
                archive.writestr(f"model/data/{name.removeprefix('_')}", value)

    return damage


def legacy(content: Callable[[Path], Any]) -> Callable[[Path], None]:
    """pytorch_model.bin in the format before PyTorch 1.6."""

    def damage(directory: Path) -> None:
        (directory / WEIGHTS).unlink()
        parts = [
            0x1950A86A20F9469CFC6C,
            1001,
            {"little_endian": True},
            content(directory.parent / "executed"),
            [],
        ]
        (directory / PICKLED).write_bytes(b"".join(pickle.dumps(part, 2) for part in parts))

    return damage


def tensor(offset: int, shape: tuple[int, ...], strides: tuple[int, ...], count: int = 4) -> bytes:
    """The pickle of {"weight": a tensor of storage 0}, written by hand."""

    def name(text: str) -> bytes:
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    def numbers(values: tuple[int, ...]) -> bytes:
        whole = b"".join(b"J" + struct.pack("<i", value) for value in values)
        return b"(" + whole + b"t"

    kind = b"ctorch\nFloatStorage\n"
    storage = (
        b"(" + name("storage") + kind + name("0") + name("cpu") + b"J" + struct.pack("<i", count) + b"tQ"
    )
    where = b"J" + struct.pack("<i", offset) + numbers(shape) + numbers(strides)
    arguments = b"(" + storage + where + b"\x89}t"
    return b"\x80\x02}" + name("weight") + b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"Rs."


def compressed(directory: Path) -> None:
    (directory / WEIGHTS).unlink()
    with zipfile.ZipFile(directory / PICKLED, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/data.pkl", bytes(10**6))


def link(name: str, target: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        outside = directory.parent / "outside"
        shutil.copy(directory / name, outside)
        (directory / name).unlink()
        (directory / name).symlink_to(target)

    return damage


def fifo(directory: Path) -> None:
    (directory / WEIGHTS).unlink()
    os.mkfifo(directory / WEIGHTS)


def truncated(name: str, count: int) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        content = (directory / name).read_bytes()
        (directory / name).write_bytes(content[:-count])

    return damage
