"""Runtime for text.onnx, on ONNX Runtime with its extensions: text in, text out."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnxruntime_extensions import get_library_path

from keras_transformer.inference.backends.session import onnxruntime, session_options
from keras_transformer.text.lengths import by_length
from keras_transformer.text.tokenizer_training import whole

BATCH_BYTES = 2048  # of text


class TextOnnx:
    """Translation of texts; the file contains the tokenizer."""

    def __init__(self, path: Path) -> None:
        options = session_options()
        options.register_custom_ops_library(get_library_path())
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def translate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """Return the translations of texts with their scores, in their order."""
        whole_texts = [whole(text) for text in texts]
        answers = [("", 0.0)] * len(whole_texts)
        for indices in by_length([len(text.encode()) for text in whole_texts], BATCH_BYTES):
            text = np.array([whole_texts[index] for index in indices], object)
            translations, score = self._session.run(["translation", "score"], {"text": text})
            for index, *answer in zip(indices, translations.tolist(), score.tolist(), strict=True):
                answers[index] = (answer[0], answer[1])
        return answers
