"""Runtime for the ctranslate2 directory of a version."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from export.formats.format import VersionFiles
from keras_transformer.inference.answer import Answer

BATCH_TOKENS = 2048  # of source


class CTranslate2Runtime:
    """Decoding in CTranslate2, which takes and returns the pieces of the tokenizer."""

    def __init__(self, directory: Path, version: VersionFiles) -> None:
        self._translator = ctranslate2.Translator(
            str(directory), compute_type="float32", inter_threads=1, intra_threads=version.cores
        )
        tokenizer = self._tokenizer = version.tokenizer
        self._max_length, self._limit = version.max_length, version.limit
        pieces = tokenizer.pieces_target(range(tokenizer.target_size))
        self._ids = {piece: number for number, piece in enumerate(pieces)}

    def translate_ids(self, rows: Sequence[Sequence[int]]) -> list[Answer]:
        """Translate rows of source ids greedily, in their order."""
        return [answers[0] if answers else Answer([], 0.0) for answers in self.search(rows)]

    def search(self, rows: Sequence[Sequence[int]], beam: int = 1) -> list[list[Answer]]:
        """Return the answers of a beam to each row of source ids, best first.

        All rows of a CTranslate2 batch have one length limit, so each batch has rows of equal length.
        """
        answers: list[list[Answer]] = [[] for _ in rows]
        alike = defaultdict(list)
        for index, row in enumerate(rows):
            alike[len(row)].append(index)
        for length, indices in alike.items():
            results = self._translator.translate_batch(
                [self._tokenizer.pieces_source(rows[index]) for index in indices],
                max_batch_size=BATCH_TOKENS // beam,
                batch_type="tokens",
                beam_size=beam,
                num_hypotheses=beam,
                length_penalty=1,
                min_decoding_length=0,
                max_decoding_length=min(self._limit(length), self._max_length),
                max_input_length=0,
                return_scores=True,
                return_end_token=True,
            )
            for index, result in zip(indices, results, strict=True):
                found = zip(result.hypotheses, result.scores, strict=True)
                answers[index] = [Answer([self._ids[piece] for piece in ids], score) for ids, score in found]
        return answers
