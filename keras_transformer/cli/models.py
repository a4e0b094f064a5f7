"""How a verb opens the MODEL that it was given."""

from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer.cli import CommandError, loading

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel


def load_model(path: Path) -> "TranslationModel":
    """A run directory or a .keras file."""
    if not path.exists():
        raise CommandError(f"{path} does not exist: name a run directory or a .keras file.")
    try:
        return loading.load("keras_transformer.models.translation").TranslationModel.load(path)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
