"""The request of an export, checked before a model is loaded."""

from dataclasses import dataclass

from export.artifact.manifest import LearnedLengths
from export.artifact.quality_card import Pairs
from export.formats.onnx_format import TEXT_LIBRARY
from export.formats.registry import FORMATS
from keras_transformer.libraries import check_installed
from keras_transformer.training.model_card import UNKNOWN_LICENSE


@dataclass(frozen=True)
class ExportRequest:
    """The formats of a version.

    Args:
        formats: their names.
        quantize: a precision to write besides float32.
        with_tokenizer: whether to write text.onnx as well.

    Raises:
        ValueError: with every problem.
    """

    formats: tuple[str, ...]
    quantize: str | None = None
    with_tokenizer: bool = False  # text.onnx as well

    def __post_init__(self) -> None:
        problems = [
            f"there is no format {name!r}; there are {', '.join(FORMATS)}"
            for name in self.formats
            if name not in FORMATS
        ]
        if not self.formats:
            problems.append(f"an export has one format at least; there are {', '.join(FORMATS)}")
        able = [name for name, kind in FORMATS.items() if self.quantize in kind.files]
        if self.quantize is not None and not set(able) & set(self.formats):
            problems.append(
                f"{self.quantize} is a precision of {', '.join(able) or 'no format'}: ask for one that has it"
            )
        if self.with_tokenizer and "onnx" not in self.formats:
            problems.append("a tokenizer goes into an ONNX file: ask for the format onnx as well")
        if problems:
            raise ValueError("; ".join(problems))

    def check_libraries(self) -> None:
        """Raise LibraryError if a library that the writers load is missing."""
        libraries = {library for name in self.formats for library in FORMATS[name].libraries}
        if self.with_tokenizer:
            libraries.add(TEXT_LIBRARY)
        check_installed(sorted(libraries), "this export", "export")

    def precisions(self) -> dict[str, tuple[str, ...]]:
        """Return the precisions of each format, as the manifest has them."""
        return {
            name: tuple(
                precision for precision in FORMATS[name].files if precision in ("float32", self.quantize)
            )
            for name in FORMATS
            if name in self.formats
        }


@dataclass(frozen=True)
class Origin:
    """The origin of a model, which its file does not hold; None is unknown."""

    corpus: str | None
    pairs: Pairs | None
    lengths: LearnedLengths
    license: str = UNKNOWN_LICENSE
