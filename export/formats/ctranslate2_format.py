"""The format `ctranslate2`: the weights for the engine CTranslate2."""

from pathlib import Path
from typing import TYPE_CHECKING

from export.artifact.layout import CTRANSLATE2
from export.formats.format import Format, IdRuntime, RuntimeName, VersionFiles, WriteStep

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel


def _write(model: "TranslationModel", directory: Path) -> None:
    from export.formats.writers.ctranslate2 import write_ctranslate2  # noqa: PLC0415

    write_ctranslate2(model, directory / CTRANSLATE2)


def _open(name: RuntimeName, version: VersionFiles) -> IdRuntime:
    from export.formats.runtimes.ctranslate2_runtime import CTranslate2Runtime  # noqa: PLC0415

    return CTranslate2Runtime(version.directory / CTRANSLATE2, version)


CTRANSLATE2_FORMAT = Format(
    name="ctranslate2",
    directory=CTRANSLATE2,
    files={"float32": ("ctranslate2/model.bin", "ctranslate2/config.json")},
    libraries=("ctranslate2",),
    runtimes=(
        RuntimeName(
            "ctranslate2", "float32", "ctranslate2", "ctranslate2/model.bin", "ctranslate2", beams=True
        ),
    ),
    steps=lambda request, tokenizer, calibration: [WriteStep("ctranslate2", _write)],
    open=_open,
)
