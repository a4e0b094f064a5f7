"""A version of every format that becomes one of a single format."""

from pathlib import Path
from typing import Any

from export.formats.onnx_format import TEXT_ONNX
from export.formats.registry import format_of
from tests.support.versions.damages import written


def only(version: Path, kind: str) -> None:
    """This format is kept, without text.onnx, and no other."""

    def forget(values: dict[str, Any]) -> None:
        for name in list(values["files"]):
            if format_of(name) not in (kind, "all") or name == TEXT_ONNX:
                (version / name).unlink()
                del values["files"][name]
        values["formats"] = {kind: values["formats"][kind]}

    written(version, forget)
    for folder in filter(Path.is_dir, version.iterdir()):
        if not any(folder.iterdir()):
            folder.rmdir()
