"""How likely a model finds an answer, token by token, and which source token each of them looks at.

B batch, S source length, T target length.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keras import ops

from keras_transformer.decoding.tracing import traced
from keras_transformer.text.buckets import padded

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
        self._run = traced(model, self._score, 2, 2, 2)

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
            for place, log_probs, looks in zip(chosen, *found, strict=True):
                length = len(pairs[place][1])
                scored[place] = Scored(log_probs[:length].tolist(), looks[:length].tolist())
        return [scored[place] for place in range(len(pairs))]

    def _score(self, source: Any, given: Any, labels: Any) -> Any:
        logits, attention = self.model.attend({"source": source, "target": given})
        log_probs = ops.log_softmax(ops.cast(logits, "float32"))
        # the layer before the last is known to align best; its heads together
        looks = ops.mean(attention.cross[-2:][0], axis=1)
        return ops.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0], ops.argmax(looks, axis=-1)
