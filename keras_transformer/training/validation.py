"""Scores of a model on held-out pairs: loss, token accuracy, and the BLEU of its translations."""

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.evaluation.scores import bleu, tokenization
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.text.corpus import Pair
from keras_transformer.text.lengths import by_length
from keras_transformer.text.padding import padded
from keras_transformer.training.data.dataset import shifted
from keras_transformer.training.loss import smoothed_cross_entropy

TOKENS = 4096  # of a batch, with padding, on its longer side; with 8,000 pieces, its logits take 125 MiB


class Validation:
    """Validation of a model on held-out pairs, which are tokenized once.

    The loss is computed without label smoothing, so its exponential is the perplexity.

    Args:
        model: Model with a tokenizer.
        pairs: The held-out pairs.
        max_tokens: Largest number of tokens of a text; longer texts are cut.

    Raises:
        ValueError: If the model has no tokenizer.
    """

    def __init__(self, model: EncoderDecoder, pairs: list[Pair], max_tokens: int) -> None:
        self.model = model
        self.pairs = pairs
        tokenizer = model.tokenizer
        if tokenizer is None:
            raise ValueError("validation needs a model with a tokenizer.")
        self._start_id = tokenizer.bos_id
        self._tokenization = tokenization(tokenizer.target_lang)
        sources = tokenizer.encode_source([pair.source for pair in pairs], max_tokens)
        targets = tokenizer.encode_target([pair.target for pair in pairs], max_tokens)
        self._rows = list(zip(sources, targets, strict=True))
        self._counts = tf.function(self._count, input_signature=[_IDS, _IDS, _IDS], autograph=False)

    def scores(self) -> dict[str, float]:
        """Return the loss and the accuracy per token, and the BLEU of the translations.

        For loss and accuracy, each token is predicted from the correct tokens before it.
        """
        counts = np.array([self._counts(*batch) for batch in self._batches()])
        loss, right, tokens = counts.sum(axis=0, dtype=np.float64).tolist()
        # if the loss is not finite, the model cannot translate either
        found = self._bleu() if np.isfinite(loss) else float("nan")
        return {"loss": loss / tokens, "accuracy": right / tokens, "bleu": found}

    def _bleu(self) -> float:
        translations = self.model.translate([pair.source for pair in self.pairs])
        return bleu(translations, [pair.target for pair in self.pairs], self._tokenization)

    def _batches(self) -> Any:
        for indices in by_length([max(map(len, row)) for row in self._rows], TOKENS):
            rows = [self._rows[index] for index in indices]
            sides = ([row[side] for row in rows] for side in (0, 1))
            source, labels = (padded(side) for side in sides)
            yield source, shifted(labels, self._start_id), labels

    def _count(self, source: Any, target: Any, labels: Any) -> Any:
        logits = self.model({"source": source, "target": target}, training=False)
        loss = smoothed_cross_entropy(labels, logits, tf.constant(0.0))
        right = (tf.argmax(logits, -1, tf.int32) == labels) & (labels != 0)
        return [tf.reduce_sum(tf.cast(count, tf.float32)) for count in (loss, right, labels != 0)]


_IDS = tf.TensorSpec((None, None), tf.int32)
