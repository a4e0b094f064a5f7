"""The request of an export, which is checked before a model is loaded."""

from dataclasses import dataclass

from export.artifact.manifest import LearnedLengths
from export.artifact.quality_card import Pairs
from export.formats.onnx_format import TEXT_LIBRARY
from export.formats.registry import FORMATS
from keras_transformer.libraries import check_installed
from keras_transformer.training.runs.model_card import UNKNOWN_LICENSE


@dataclass(frozen=True)
class ExportRequest:
    """Formats and options of an export.

    Args:
        formats: Names of the formats.
        quantize: A precision to write in addition to float32.
        with_tokenizer: Whether to write text.onnx too.

    Raises:
        ValueError: With every problem.
    """

    formats: tuple[str, ...]
    quantize: str | None = None
    with_tokenizer: bool = False

    def __post_init__(self) -> None:
        problems = [
            f"there is no format {name!r}; there are {', '.join(FORMATS)}"
            for name in self.formats
            if name not in FORMATS
        ]
        if not self.formats:
            problems.append(f"an export needs at least one format; there are {', '.join(FORMATS)}")
        able = [name for name, kind in FORMATS.items() if self.quantize in kind.files]
        if self.quantize is not None and not set(able) & set(self.formats):
            problems.append(
                f"{self.quantize} is a precision of {', '.join(able) or 'no format'}: name such a format"
            )
        if self.with_tokenizer and "onnx" not in self.formats:
            problems.append("a tokenizer is written into an ONNX file: name the format onnx too")
        if problems:
            raise ValueError("; ".join(problems))

    def check_libraries(self) -> None:
        """Raise LibraryError if a library for writing the formats is missing."""
        libraries = {library for name in self.formats for library in FORMATS[name].libraries}
        if self.with_tokenizer:
            libraries.add(TEXT_LIBRARY)
        check_installed(sorted(libraries), "this export", "export")

    def precisions(self) -> dict[str, tuple[str, ...]]:
        """Return the precisions of each format, as the manifest stores them."""
        return {
            name: tuple(
                precision for precision in FORMATS[name].files if precision in ("float32", self.quantize)
            )
            for name in FORMATS
            if name in self.formats
        }


@dataclass(frozen=True)
class Origin:
    """Origin of a model, which its file does not contain; None is unknown."""

    corpus: str | None
    pairs: Pairs | None
    lengths: LearnedLengths
    license: str = UNKNOWN_LICENSE
