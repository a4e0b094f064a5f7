"""Runtime for translate.onnx, on ONNX Runtime alone, without Keras and TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backends.session import onnxruntime, session_options
from keras_transformer.text.lengths import check_lengths, like_lengths
from keras_transformer.text.padding import padded, without_padding

BATCH_TOKENS = 512  # source tokens with padding; larger batches are hardly faster, and need more memory


class TranslateOnnx:
    """Translation of each batch in one call; the file contains the loop."""

    def __init__(self, path: Path, threads: int = 1, batch_tokens: int = BATCH_TOKENS) -> None:
        self._session = onnxruntime.InferenceSession(
            path, session_options(threads), providers=["CPUExecutionProvider"]
        )
        about = self._session.get_modelmeta().custom_metadata_map
        self._end_id, self._longest = int(about["end_id"]), int(about["max_length"])
        self._batch_tokens = batch_tokens

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Translate rows of source ids, each with its end id, in their order."""
        check_lengths(rows, self._longest)
        answers = [Answer([], 0.0)] * len(rows)
        for indices in like_lengths(rows, self._batch_tokens, self._end_id):
            source = padded([rows[index] for index in indices])
            target, score = self._session.run(["target", "score"], {"source": source})
            for index, ids, mean in zip(indices, target.tolist(), score.tolist(), strict=True):
                answers[index] = Answer(without_padding(ids), mean)
        return answers
