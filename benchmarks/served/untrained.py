"""A version of a model that has learned nothing, but ends its answers after some time."""

from pathlib import Path
from typing import Any

import numpy as np
import smallest

#: Pieces, sentences, and the words of the shortest and the longest; each word is some three tokens.
MANY, FEW = (8000, 400, (2, 50)), (700, 24, (2, 16))  # FEW for a smoke test
NEVER = -1
FITTED, TOGETHER = 200, 20  # sentences from which the end is learned, so many at a time
NEAR, SLOWLY = 20, 15  # tokens from the wanted end within which it counts, and over which it is passed
STEADY = 30.0  # what keeps the end's vector short


def export_untrained(preset: str, directory: Path, formats: tuple[str, ...]) -> None:
    """Export the formats, ONNX at float32 and int8; golden sentences of words that nobody says.

    Random weights say one token until they may say no more: the end is made to come, about when the answer is
    as long as its source.
    """
    from export.artifact.manifest import LearnedLengths
    from export.artifact.quality_card import Pairs
    from export.export_request import ExportRequest, Origin
    from export.exporter import export_version
    from export.golden_sentences import Chosen, SourceSentence
    from keras_transformer import Tokenizer
    from keras_transformer.text.corpus import Pair

    vocabulary, sentence_count, words_each = FEW if preset == smallest.PRESET else MANY
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(20_000)]
    pairs = [Pair(word, word) for word in words]
    tokenizer = Tokenizer.train(pairs, vocabulary, joint=False)  # the end of a source keeps its own vector
    model = smallest.untrained(preset, tokenizer)
    # all lengths, for others to draw from
    counts = np.geomspace(*words_each, sentence_count).round().astype(int)
    rng.shuffle(counts)
    sentences = [SourceSentence(" ".join(rng.choice(words, count))) for count in counts]
    _let_it_end(model, tokenizer.encode_source([each.source for each in sentences[:FITTED]]))
    lengths = LearnedLengths(0, 200, 0)
    origin = Origin("nothing", Pairs(sentence_count, sentence_count), lengths)
    request = ExportRequest(formats, quantize="int8")
    export_version(
        model, directory, request, Chosen(sentences, sentences[:32]), origin, notify=lambda line: None
    )


def _let_it_end(model: Any, sources: list[list[int]]) -> None:
    """Least squares: the end's logit rises past the highest of the others where the source would end."""
    embedding, end = model.target_embedding.embeddings, model.tokenizer.eos_id
    weights = embedding.numpy()
    weights[end] = 0.0
    embedding.assign(weights)
    inverse = np.linalg.pinv(weights).T  # logits are states times weights: this leads back
    left = STEADY * np.eye(weights.shape[1])
    right = np.zeros(weights.shape[1])
    for first in range(0, len(sources), TOGETHER):
        states, wanted, counts = _around_the_end(model, sources[first : first + TOGETHER], inverse)
        left += (states * counts[:, None]).T @ states
        right += (states * counts[:, None]).T @ wanted
    weights[end] = np.linalg.solve(left, right)
    embedding.assign(weights)


def _around_the_end(model: Any, sources: list[list[int]], inverse: Any) -> tuple[Any, Any, Any]:
    """-> of each token: the state it comes from, the logit that the end should have, and what it counts."""
    from keras_transformer.decoding.traced_search import Search
    from keras_transformer.models.translate import search_ids
    from keras_transformer.text.padding import padded
    from keras_transformer.training.data.dataset import shifted

    lengths = np.array([len(source) for source in sources])
    longest, start = int(lengths.max()) + NEAR, model.tokenizer.bos_id
    found = search_ids(model, sources, Search(start, NEVER), max_tokens=longest)
    said = padded([answer.ids for (answer,) in found], longest)
    logits = model({"source": padded(sources, int(lengths.max())), "target": shifted(said, start)}).numpy()
    highest, late = logits.max(-1), np.arange(1, longest + 1) - lengths[:, None]
    wanted = highest * (1 + np.tanh(late / SLOWLY))
    real = said != 0
    return (logits @ inverse)[real], wanted[real], np.exp(-np.abs(late) / NEAR)[real]
