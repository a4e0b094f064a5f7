"""How a verb opens the MODEL that it was given."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer.cli import CommandError

if TYPE_CHECKING:
    from keras_transformer.models import TranslationModel


def load(path: Path) -> "TranslationModel":
    """A run directory or a .keras file; says what takes so long."""
    if not path.exists():
        raise CommandError(f"{path} does not exist: name a run directory or a .keras file.")
    print("loading TensorFlow and the model", file=sys.stderr, flush=True)
    from keras_transformer.models import TranslationModel

    try:
        return TranslationModel.load(path)
    except (ValueError, TypeError, FileNotFoundError) as error:
        raise CommandError(str(error)) from error
