"""The format `onnx`: graphs for any ONNX Runtime, and for the scheduler of the server."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from export.artifact.layout import ONNX
from export.formats.format import Format, IdRuntime, RuntimeName, TextRuntime, VersionFiles, WriteStep
from keras_transformer.libraries import check_installed

if TYPE_CHECKING:
    from export.export_request import ExportRequest
    from keras_transformer.models.translation import TranslationModel
    from keras_transformer.text.tokenizer import Tokenizer

TEXT_ONNX = "onnx/text.onnx"
TEXT_LIBRARY = "onnxruntime_extensions"


def _steps(
    request: "ExportRequest", tokenizer: "Tokenizer", calibration: Sequence[str]
) -> Iterator[WriteStep]:
    yield WriteStep("onnx/encoder.onnx, decoder.onnx, scores.onnx, candidates.onnx", _scheduler)
    if request.quantize == "int8":
        write = partial(_scheduler_int8, tokenizer, calibration)
        yield WriteStep("onnx/encoder.int8.onnx, decoder.int8.onnx", write)
    yield WriteStep("onnx/translate.onnx", _translate, traces=True)
    yield WriteStep("onnx/attention.onnx", _attention, traces=True)
    if request.with_tokenizer:
        yield WriteStep(TEXT_ONNX, _text, traces=True)


def _scheduler(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.onnx_scheduler import write_scheduler_onnx  # noqa: PLC0415

    (directory / ONNX).mkdir()
    write_scheduler_onnx(model, directory / ONNX)


def _scheduler_int8(
    tokenizer: "Tokenizer", texts: Sequence[str], model: "TranslationModel", directory: Path
) -> None:
    from export.calibration import observed_ranges  # noqa: PLC0415
    from export.formats.writers.onnx_scheduler import write_scheduler_onnx  # noqa: PLC0415
    from keras_transformer.graphs.int8 import Int8  # noqa: PLC0415

    rows = tokenizer.encode_source(texts, model.network.max_length)
    ranges = observed_ranges(model, rows, tokenizer.bos_id, tokenizer.eos_id)
    write_scheduler_onnx(model, directory / ONNX, Int8(ranges))


def _translate(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.onnx_translate import write_translate_onnx  # noqa: PLC0415

    write_translate_onnx(model, directory / ONNX / "translate.onnx")


def _attention(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.onnx_attention import write_attention_onnx  # noqa: PLC0415

    write_attention_onnx(model, directory / ONNX / "attention.onnx")


def _text(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.onnx_text import write_text_onnx  # noqa: PLC0415

    write_text_onnx(model, directory / TEXT_ONNX)


def _open(name: RuntimeName, version: VersionFiles) -> IdRuntime:
    if name.runtime == "onnx/translate":
        from export.formats.runtimes.onnx_translate_runtime import TranslateOnnx  # noqa: PLC0415

        return TranslateOnnx(version.directory / name.file, version.cores)
    from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx  # noqa: PLC0415

    directory, tokenizer, max_length, limit, cores, scores = version
    ids = (tokenizer.bos_id, tokenizer.eos_id)
    return SchedulerOnnx(directory / ONNX, name.precision, *ids, max_length, cores, limit, scores)


def open_text_runtime(name: RuntimeName, directory: Path) -> TextRuntime:
    """Open text.onnx, which takes text only."""
    check_installed([name.library], str(name), "export")
    from export.formats.runtimes.onnx_text_runtime import TextOnnx  # noqa: PLC0415

    return TextOnnx(directory / name.file)


ONNX_FORMAT = Format(
    name="onnx",
    directory=ONNX,
    files={
        "float32": ("onnx/translate.onnx", "onnx/encoder.onnx", "onnx/decoder.onnx", "onnx/attention.onnx"),
        "int8": ("onnx/encoder.int8.onnx", "onnx/decoder.int8.onnx"),
    },
    libraries=("onnx", "tf2onnx", "onnxruntime"),
    runtimes=(
        RuntimeName("onnx/scheduler", "float32", "onnx", "onnx/encoder.onnx", "onnxruntime", beams=True),
        RuntimeName("onnx/scheduler", "int8", "onnx", "onnx/encoder.int8.onnx", "onnxruntime", beams=True),
        RuntimeName("onnx/translate", "float32", "onnx", "onnx/translate.onnx", "onnxruntime"),
        RuntimeName("onnx/text", "float32", "onnx", TEXT_ONNX, TEXT_LIBRARY, takes_ids=False),
    ),
    steps=_steps,
    open=_open,
)
