"""Scoring of given answers with a model: log-probabilities of their tokens, and attention to the source.

B batch, S source length, T target length, H heads.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_transformer.decoding.tracing import traced
from keras_transformer.inference.alignment import alignment_layer
from keras_transformer.text.padding import padded

if TYPE_CHECKING:
    from keras_transformer.models.encoder_decoder import EncoderDecoder

ROWS = 64

Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]  # sources, each with an answer
Floats = NDArray[np.float32]


class Scorer:
    """Scorer of answers with one model, each answer in one pass over all of its tokens."""

    def __init__(self, model: "EncoderDecoder") -> None:
        self.model = model
        self._log_probs: Any = None  # compiled at the first use
        self._cross: Any = None

    def log_probs(self, pairs: Pairs, start_id: int) -> list[list[float]]:
        """Return the log-probability of each token of each answer."""
        if self._log_probs is None:
            self._log_probs = traced(self.model, self._score, 2, 2, 2)
        scores = self._batched(self._log_probs, pairs, start_id)
        return [values[: len(answer)].tolist() for values, (_, answer) in zip(scores, pairs, strict=True)]

    def cross_attention(self, pairs: Pairs, start_id: int) -> list[Floats]:
        """Return the cross-attention weights (H, T, S) of each answer, in the layer that aligns best."""
        if self._cross is None:
            self._cross = traced(self.model, self._attend, 2, 2, 2)
        weights = self._batched(self._cross, pairs, start_id)
        return [
            values[:, : len(answer), : len(source)]
            for values, (source, answer) in zip(weights, pairs, strict=True)
        ]

    def _batched(self, run: Callable[..., Any], pairs: Pairs, start_id: int) -> list[Floats]:
        results: dict[int, Floats] = {}
        order = sorted(range(len(pairs)), key=lambda index: [len(ids) for ids in pairs[index]])
        for first in range(0, len(order), ROWS):
            chosen = order[first : first + ROWS]
            sources, answers = zip(*(pairs[index] for index in chosen), strict=True)
            labels = padded(answers)
            target = padded([[start_id, *answer[:-1]] for answer in answers], labels.shape[1])
            rows = run(padded(sources), target, labels)
            results.update(zip(chosen, rows, strict=True))
        return [results[index] for index in range(len(pairs))]

    def _score(self, source: Any, target: Any, labels: Any) -> Any:
        logits, _ = self.model.attend({"source": source, "target": target})
        log_probs = ops.log_softmax(ops.cast(logits, "float32"))
        return ops.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]

    def _attend(self, source: Any, target: Any, labels: Any) -> Any:
        _, attention = self.model.attend({"source": source, "target": target})
        return attention.cross[alignment_layer(len(attention.cross))]
