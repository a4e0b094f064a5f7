"""How likely a model finds an answer, token by token, and which source token each of them looks at.

B batch, S source length, T target length.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

from keras_transformer.text.batches import padded

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel

ROWS = 64


class Scored(NamedTuple):
    """One answer, looked at again with all of it given."""

    log_probs: list[float]  # of each token
    alignment: list[int]  # for each token, the position in the source that it looks at most


class Scorer:
    """Scores answers of one model, in one pass over all their tokens at once."""

    def __init__(self, model: "TranslationModel") -> None:
        self.model = model
        ids = tf.TensorSpec((None, None), tf.int32)
        self._run = tf.function(self._score, input_signature=[ids, ids, ids], autograph=False)

    def __call__(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], start_id: int) -> list[Scored]:
        """For each source its answer as it was said, the end included where it has one."""
        scored: dict[int, Scored] = {}
        order = sorted(range(len(pairs)), key=lambda place: [len(ids) for ids in pairs[place]])
        for first in range(0, len(order), ROWS):
            chosen = order[first : first + ROWS]
            sources, answers = zip(*(pairs[place] for place in chosen), strict=True)
            labels = padded(answers, max(map(len, answers)))
            given = padded([[start_id, *answer[:-1]] for answer in answers], labels.shape[1])
            found = self._run(padded(sources, max(map(len, sources))), given, labels)
            for place, log_probs, looks in zip(chosen, *(part.numpy() for part in found), strict=True):
                length = len(pairs[place][1])
                scored[place] = Scored(log_probs[:length].tolist(), looks[:length].tolist())
        return [scored[place] for place in range(len(pairs))]

    def _score(self, source: Any, given: Any, labels: Any) -> Any:
        logits, attention = self.model.attend({"source": source, "target": given})
        log_probs = tf.nn.log_softmax(tf.cast(logits, tf.float32))
        # the layer before the last is known to align best; its heads together
        looks = tf.reduce_mean(attention.cross[-2:][0], axis=1)
        return tf.gather(log_probs, labels, batch_dims=2), tf.argmax(looks, axis=-1, output_type=tf.int32)
