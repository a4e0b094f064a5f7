"""Runtime for the ctranslate2 directory of a version."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from export.formats.format import VersionFiles
from keras_transformer.inference.answer import Answer

BATCH_TOKENS = 2048  # of source


class CTranslate2Runtime:
    """Greedy decoding in CTranslate2, which takes and returns the pieces of the tokenizer."""

    def __init__(self, directory: Path, version: VersionFiles) -> None:
        self._translator = ctranslate2.Translator(
            str(directory), compute_type="float32", inter_threads=1, intra_threads=version.cores
        )
        tokenizer = self._tokenizer = version.tokenizer
        self._max_length, self._limit = version.max_length, version.limit
        pieces = tokenizer.pieces_target(range(tokenizer.target_size))
        self._ids = {piece: number for number, piece in enumerate(pieces)}

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Translate rows of source ids, in their order.

        All rows of a CTranslate2 batch have one length limit, so each batch has rows of equal length.
        """
        answers = [Answer([], 0.0)] * len(rows)
        alike = defaultdict(list)
        for index, row in enumerate(rows):
            alike[len(row)].append(index)
        for length, indices in alike.items():
            results = self._translator.translate_batch(
                [self._tokenizer.pieces_source(rows[index]) for index in indices],
                max_batch_size=BATCH_TOKENS,
                batch_type="tokens",
                beam_size=1,
                min_decoding_length=0,
                max_decoding_length=min(self._limit(length), self._max_length),
                max_input_length=0,
                return_scores=True,
                return_end_token=True,
            )
            for index, result in zip(indices, results, strict=True):
                ids = [self._ids[piece] for piece in result.hypotheses[0]]
                answers[index] = Answer(ids, result.scores[0])
        return answers
