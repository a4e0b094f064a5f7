"""The writers of a version's formats, in the order in which they run; each loads its framework then.

What TensorFlow takes to write it does not give back whole: it comes last.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from export.artifact.layout import CTRANSLATE2, ONNX, TEXT_ONNX
from export.export_request import ExportRequest
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.tokenizer import Tokenizer


class Writer(NamedTuple):
    """One step of an export."""

    name: str
    write: Callable[[TranslationModel, Path], None]  # into a version directory


def writers(request: ExportRequest, tokenizer: Tokenizer, calibration: Sequence[str]) -> Iterator[Writer]:
    """Those of what is asked for. int8 is calibrated on these texts."""
    onnx = "onnx" in request.formats
    if onnx:
        yield Writer("onnx/encoder.onnx, decoder.onnx", _scheduler)
    if onnx and request.quantize == "int8":
        yield Writer(
            "onnx/encoder.int8.onnx, decoder.int8.onnx", partial(_scheduler_int8, tokenizer, calibration)
        )
    if "ctranslate2" in request.formats:
        yield Writer("ctranslate2", _ctranslate2)
    if "saved_model" in request.formats:
        yield Writer("SavedModel", _saved_model)
    if onnx:
        yield Writer("onnx/translate.onnx", _translate)
        yield Writer("onnx/attention.onnx", _attention)
    if request.with_tokenizer:
        yield Writer(TEXT_ONNX, _text)


def _saved_model(model: TranslationModel, directory: Path) -> None:
    from export.formats.saved_model import write_saved_model  # noqa: PLC0415

    write_saved_model(model, directory)


def _translate(model: TranslationModel, directory: Path) -> None:
    from export.formats.onnx_translate import write_translate_onnx  # noqa: PLC0415

    write_translate_onnx(model, directory / ONNX / "translate.onnx")


def _text(model: TranslationModel, directory: Path) -> None:
    from export.formats.onnx_text import write_text_onnx  # noqa: PLC0415

    write_text_onnx(model, directory / TEXT_ONNX)


def _attention(model: TranslationModel, directory: Path) -> None:
    from export.formats.onnx_attention import write_attention_onnx  # noqa: PLC0415

    write_attention_onnx(model, directory / ONNX / "attention.onnx")


def _scheduler(model: TranslationModel, directory: Path) -> None:
    from export.formats.onnx_scheduler import write_scheduler_onnx  # noqa: PLC0415

    (directory / ONNX).mkdir()
    write_scheduler_onnx(model, directory / ONNX)


def _scheduler_int8(
    tokenizer: Tokenizer, texts: Sequence[str], model: TranslationModel, directory: Path
) -> None:
    from export.calibration import observed_ranges  # noqa: PLC0415
    from export.formats.onnx_scheduler import write_scheduler_onnx  # noqa: PLC0415
    from keras_transformer.graphs.int8 import Int8  # noqa: PLC0415

    rows = tokenizer.encode_source(texts, model.network.max_length)
    ranges = observed_ranges(model, rows, tokenizer.bos_id, tokenizer.eos_id)
    write_scheduler_onnx(model, directory / ONNX, Int8(ranges))


def _ctranslate2(model: TranslationModel, directory: Path) -> None:
    from export.formats.ctranslate2 import write_ctranslate2  # noqa: PLC0415

    write_ctranslate2(model, directory / CTRANSLATE2)
