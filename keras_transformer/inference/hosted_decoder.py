"""Decoding of many sources at once: when a source has ended, the next one takes its row."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from keras_transformer.inference.answer import Answer, DecodingError
from keras_transformer.inference.backend import Backend, Encoded
from keras_transformer.inference.batch import Batch
from keras_transformer.inference.loop_guard import LoopGuard
from keras_transformer.inference.partition import run_partitioned
from keras_transformer.inference.request import End, Request
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit

SLOTS = 64  # rows of a worker; more rows are no faster
ENCODED_TOKENS = 384  # source tokens encoded at once; the results of more do not fit in the processor's cache

Rows = Sequence[Sequence[int]]
Sizes = tuple[int, int, int]  # slots, longest source, longest answer
#: Creates the backend of a worker for these sizes.
MakeBackend = Callable[[int, int, int], Backend]


class Decoder:
    """Decoder of rows of source ids. The answers to a row do not depend on the other rows.

    A later call uses the backend of an earlier one again, if it is large enough.

    Args:
        make_backend: Creates the backend of a worker for the sizes that it needs.
        end_id: Id of the token that ends a sentence.
        max_length: Largest number of tokens of an answer.
        workers: Number of threads that decode at the same time, each with its own backend.
        slots: Number of rows that a worker decodes together.
        limit: Largest number of tokens of an answer, given the length of its source; max_length applies too.
        longest: Largest number of tokens that the model allows for any answer. Give it if max_length is
            smaller; the default is max_length.
        scores: Whether greedy answers have log-probabilities and scores, which cost time in each step. The
            answers of a beam always have them.
    """

    def __init__(
        self,
        make_backend: MakeBackend,
        end_id: int,
        max_length: int,
        workers: int = 1,
        slots: int = SLOTS,
        limit: AnswerLimit = ANSWER_LIMIT,
        longest: int | None = None,
        scores: bool = True,
    ) -> None:
        self.make_backend = make_backend
        self.end_id, self.max_length = end_id, max_length
        self.workers, self.slots = workers, slots
        self.limit = limit
        self.longest = longest or max_length
        self.scores = scores
        self._idle: list[tuple[Sizes, Batch]] = []

    def search(
        self,
        rows: Rows,
        beam: int = 1,
        length_penalty: float = 1.0,
        prefixes: Rows | None = None,
        loop_guard: bool = False,
    ) -> list[list[Answer]]:
        """Return the answers to each row of source ids, best first.

        Args:
            rows: Source ids of each row, with the end id. A row with only the end id has no answer.
            beam: Width of the search; 1 is greedy decoding.
            length_penalty: Scores are divided by the length to the power of this number.
            prefixes: For each row, the ids with which its answer begins.
            loop_guard: Whether loops are cut and marked, and returned after the other answers.

        Raises:
            DecodingError: If the backend could not decode a row.
        """
        requests = [
            Request(
                source,
                min(self.limit(len(source)), self.max_length),
                beam=beam,
                length_penalty=length_penalty,
                prefix=prefix,
                guard=self._guard(source, prefix) if loop_guard else None,
                scores=self.scores,
            )
            for source, prefix in zip(rows, prefixes or [()] * len(rows), strict=True)
        ]
        longest_first = sorted(range(len(rows)), key=[len(row) for row in rows].__getitem__, reverse=True)
        wanted = [requests[index] for index in longest_first if list(rows[index]) not in ([], [self.end_id])]
        run_partitioned(self._decode, wanted, self.workers)
        return [request.answers for request in requests]

    def translate_ids(self, rows: Rows) -> list[Answer]:
        """Return the greedy answer to each row of source ids, with its end id."""
        return [answers[0] if answers else Answer([], 0.0) for answers in self.search(rows)]

    def _guard(self, source: Sequence[int], prefix: Sequence[int]) -> LoopGuard:
        return LoopGuard.of(source, min(self.limit(len(source)), self.longest), prefix)

    def _decode(self, requests: list[Request], stop: threading.Event) -> None:
        """Decode the requests, longest source first."""
        beam = requests[0].beam
        slots = beam * max(1, min(self.slots // beam, len(requests)))
        needed = slots, len(requests[0].source), requests[0].max_tokens
        sizes, batch = needed, None
        with suppress(IndexError):
            sizes, batch = self._idle.pop()
        too_small = any(size < least for size, least in zip(sizes, needed, strict=True))
        if batch is None or too_small:
            sizes, batch = needed, Batch(self.make_backend(*needed), self.end_id)
        waiting = _encoded(batch.backend, requests)
        unfinished = len(requests)
        while unfinished and not stop.is_set():
            for request, encoded in islice(waiting, batch.free // beam):
                batch.place([request], encoded)
            for request in batch.step(0.0).ended:
                if request.end is End.FAILED:
                    raise DecodingError(f"a source of {len(request.source)} tokens: {request.error}")
                unfinished -= 1
        if not unfinished:
            self._idle.append((sizes, batch))


def _encoded(backend: Backend, requests: list[Request]) -> Iterator[tuple[Request, Encoded]]:
    """Yield each request with its encoding. Sources of the same length are encoded together."""
    begin = 0
    while begin < len(requests):
        length = len(requests[begin].source)
        near = requests[begin : begin + max(1, ENCODED_TOKENS // length)]
        alike = [request for request in near if len(request.source) == length]
        begin += len(alike)
        try:
            parts = backend.encode([request.source for request in alike])
        except Exception as error:
            raise DecodingError(f"{len(alike)} sources of {length} tokens: {error}") from error
        for index, request in enumerate(alike):
            yield request, [part[:, index : index + 1] for part in parts]
