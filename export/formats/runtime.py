"""What the runtimes of a version have in common."""

from collections.abc import Sequence
from typing import Protocol

from keras_transformer.inference.answer import Answer


class Runtime(Protocol):
    """A version directory opened in one runtime."""

    name: str  # as the certificate calls it: "onnx/translate", "onnx/scheduler int8", "ctranslate2"

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Rows of source ids, each with its end -> their answers, in this order."""
        ...
