"""Many sources through the encoder and the decoder in ONNX Runtime: where one ends the next begins."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.decoding.answer import Answer
from keras_transformer.decoding.lengths import longest_answer
from keras_transformer.onnx.silent import onnxruntime
from keras_transformer.onnx.slots import Slots

SLOTS = 64  # more at once are no faster
ENCODED = 384  # source tokens; what the encoder makes of more at once does not stay near the processor

Rows = Sequence[Sequence[int]]


class _Row(NamedTuple):
    """A source, and what is said to it."""

    place: int  # among all that were asked
    source: Sequence[int]
    prefix: Sequence[int]
    limit: int  # the most tokens of its answer
    ids: list[int]
    log_probs: list[float]


class Scheduler:
    """SLOTS sources at once in each of its workers. A row knows nothing of its neighbours."""

    def __init__(
        self, encoder: Any, decoder: Any, start_id: int, end_id: int, max_length: int, workers: int = 1
    ) -> None:
        """`encoder` and `decoder` are sessions; max_length is the most tokens of an answer."""
        self.encoder, self.decoder = encoder, decoder
        self.start_id, self.end_id, self.max_length = start_id, end_id, max_length
        self.workers = workers

    def translate_ids(self, rows: Rows, prefixes: Rows | None = None) -> list[Answer]:
        """Rows of source ids, each with its end -> their answers, in this order.

        An answer begins with the prefix of its row. The log-probabilities of forced tokens are those of what
        it would have said in their places.
        """
        prefixes = prefixes or [()] * len(rows)
        # the longest first: what is left at the end is short
        asked = [
            _Row(place, source, prefix, min(longest_answer(len(source)), self.max_length), [], [])
            for place, (source, prefix) in enumerate(zip(rows, prefixes, strict=True))
            if list(source) not in ([], [self.end_id])
        ]
        asked.sort(key=lambda row: len(row.source), reverse=True)
        shares = [asked[first :: self.workers] for first in range(min(self.workers, len(asked)))]
        answers = [Answer([], 0.0)] * len(rows)
        for row in chain.from_iterable(self._done(shares)):
            answers[row.place] = Answer(row.ids, sum(row.log_probs) / len(row.ids))
        return answers

    def _done(self, shares: list[list[_Row]]) -> Iterator[list[_Row]]:
        """Each share with its answers; one is worked on by who asks, several by a thread each."""
        if len(shares) < 2:
            yield from map(self._decode, shares)
            return
        ended = threading.Event()
        with ThreadPoolExecutor(len(shares)) as pool:
            try:
                yield from pool.map(partial(self._decode, ended=ended), shares)
            finally:  # whoever is interrupted waits for no more than a step
                ended.set()

    def _decode(self, rows: list[_Row], ended: threading.Event | None = None) -> list[_Row]:
        """The rows, each with its answer; the longest is the first."""
        longest = len(rows[0].source)
        slots = Slots(self.decoder, min(SLOTS, len(rows)), longest, rows[0].limit)
        waiting = self._encoded(rows)
        going: list[_Row] = []
        while ended is None or not ended.is_set():
            for row, encoded in islice(waiting, slots.free):
                slots.admit(encoded, self.start_id)
                going.append(row)
            if not going:
                break
            tokens, log_probs = slots.step()
            for row, token, log_prob in zip(going, tokens.tolist(), log_probs.tolist(), strict=True):
                row.ids.append(token)
                row.log_probs.append(log_prob)
            for slot in reversed(range(len(going))):
                row = going[slot]
                if len(row.ids) <= len(row.prefix):
                    row.ids[-1] = row.prefix[len(row.ids) - 1]
                    slots.say(slot, row.ids[-1])
                if row.ids[-1] == self.end_id or len(row.ids) == row.limit:
                    slots.retire(slot)
                    going[slot] = going[-1]
                    going.pop()
        return rows

    def _encoded(self, rows: list[_Row]) -> Iterator[tuple[_Row, list[NDArray[Any]]]]:
        """Each row with what the encoder gives for it. It takes rows of one length."""
        for length, group in groupby(rows, key=lambda row: len(row.source)):
            while alike := list(islice(group, max(1, ENCODED // length))):
                source = np.array([row.source for row in alike], np.int32)
                encoded = self.encoder.run(None, {"source": source})
                for place, row in enumerate(alike):
                    yield row, [part[:, place : place + 1] for part in encoded]


def session(graph: Path | bytes, threads: int = 1) -> Any:
    """A graph, ready to run on the processor: a file, or what stands in one."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
    )
