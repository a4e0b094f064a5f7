"""A version's runtimes by their names; a library is loaded only for the runtime that needs it."""

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from export.artifact.layout import CTRANSLATE2, ONNX, RuntimeName
from export.formats.runtime import Runtime
from keras_transformer.text.tokenizer import Tokenizer


class TextRuntime(Protocol):
    """A version directory opened in a runtime that has its tokenizer inside."""

    def translate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Texts -> their translations with their scores, in this order."""
        ...


class LibraryError(RuntimeError):
    """A library that is not installed, and what to do."""


def installed(library: str) -> bool:
    """Whether it could be loaded."""
    return find_spec(library) is not None


def check_installed(libraries: Iterable[str], purpose: str) -> None:
    """Refuse, before anything is loaded, what could not be loaded."""
    missing = [library for library in libraries if not installed(library)]
    if missing:
        raise LibraryError(
            f"{purpose} needs {' and '.join(missing)}, which this environment has not: "
            "install the package from its clone with its extra `export`"
        )


def open_runtime(
    name: RuntimeName, directory: Path, tokenizer: Tokenizer, max_length: int, cores: int = 1
) -> Runtime:
    """Of a version directory that was checked. The runtime takes ids. TensorFlow's asks nobody for cores."""
    check_installed([name.library], str(name))
    return _OPENED[name.runtime](name.precision, directory, tokenizer, max_length, cores)


def open_text_runtime(name: RuntimeName, directory: Path) -> TextRuntime:
    """The same for one that takes text alone."""
    check_installed([name.library], str(name))
    from export.formats.onnx_text_runtime import TextOnnx  # noqa: PLC0415

    return TextOnnx(directory / name.file)


def _scheduler(precision: str, directory: Path, tokenizer: Tokenizer, max_length: int, cores: int) -> Runtime:
    from export.formats.onnx_scheduler_runtime import SchedulerOnnx  # noqa: PLC0415

    return SchedulerOnnx(
        directory / ONNX, precision, tokenizer.bos_id, tokenizer.eos_id, max_length, workers=cores
    )


def _translate(precision: str, directory: Path, tokenizer: Tokenizer, max_length: int, cores: int) -> Runtime:
    from export.formats.onnx_translate_runtime import TranslateOnnx  # noqa: PLC0415

    return TranslateOnnx(directory / ONNX / "translate.onnx", cores)


def _ctranslate2(
    precision: str, directory: Path, tokenizer: Tokenizer, max_length: int, cores: int
) -> Runtime:
    from export.formats.ctranslate2_runtime import CTranslate2Runtime  # noqa: PLC0415

    return CTranslate2Runtime(directory / CTRANSLATE2, tokenizer, max_length, cores)


def _saved_model(
    precision: str, directory: Path, tokenizer: Tokenizer, max_length: int, cores: int
) -> Runtime:
    from export.formats.saved_model_runtime import SavedModelRuntime  # noqa: PLC0415

    return SavedModelRuntime(directory)


_OPENED: dict[str, Callable[[str, Path, Tokenizer, int, int], Runtime]] = {
    "onnx/scheduler": _scheduler,
    "onnx/translate": _translate,
    "ctranslate2": _ctranslate2,
    "saved_model": _saved_model,
}
