"""The format `saved_model`: text in, text out, for TensorFlow Serving."""

from pathlib import Path
from typing import TYPE_CHECKING

from export.formats.format import Format, IdRuntime, RuntimeName, VersionFiles, WriteStep

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel


def _write(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.saved_model import write_saved_model  # noqa: PLC0415

    write_saved_model(model, directory)


def _open(name: RuntimeName, version: VersionFiles) -> IdRuntime:
    """Open it with all cores, because TensorFlow chooses their number when it starts."""
    from export.formats.runtimes.saved_model_runtime import SavedModelRuntime  # noqa: PLC0415

    return SavedModelRuntime(version.directory)


SAVED_MODEL_FORMAT = Format(
    name="saved_model",
    directory="",
    files={"float32": ("saved_model.pb", "variables/variables.index")},
    libraries=("tensorflow_text",),
    runtimes=(
        RuntimeName("saved_model", "float32", "saved_model", "saved_model.pb", "tensorflow_text", beams=True),
    ),
    steps=lambda request, tokenizer, calibration: [WriteStep("SavedModel", _write, traces=True)],
    open=_open,
)
