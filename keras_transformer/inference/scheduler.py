"""Many sources through the encoder and the decoder in ONNX Runtime: where one ends the next begins."""

import threading
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backends.quiet import onnxruntime
from keras_transformer.inference.backends.slots import Slots
from keras_transformer.inference.partition import Asked, Rows, encoded, shared

SLOTS = 64  # more at once are no faster


class _Going(NamedTuple):
    """A source, and what is said to it so far."""

    asked: Asked
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
        answers = [Answer([], 0.0)] * len(rows)
        found = shared(self._decode, rows, prefixes, self.end_id, self.max_length, self.workers)
        for place, answer in found:
            answers[place] = answer
        return answers

    def _decode(self, rows: list[Asked], ended: threading.Event) -> list[tuple[int, Answer]]:
        slots = Slots(self.decoder, min(SLOTS, len(rows)), len(rows[0].source), rows[0].limit)
        waiting = encoded(self.encoder, rows)
        going: list[_Going] = []
        done: list[tuple[int, Answer]] = []
        while not ended.is_set():
            for asked, parts in islice(waiting, slots.free):
                slots.admit(parts, self.start_id)
                going.append(_Going(asked, [], []))
            if not going:
                break
            tokens, log_probs = slots.step()
            for row, token, log_prob in zip(going, tokens.tolist(), log_probs.tolist(), strict=True):
                row.ids.append(token)
                row.log_probs.append(log_prob)
            for slot in reversed(range(len(going))):
                (place, _, prefix, limit), ids, said = going[slot]
                if len(ids) <= len(prefix):
                    ids[-1] = prefix[len(ids) - 1]
                    slots.say(slot, ids[-1])
                if ids[-1] == self.end_id or len(ids) == limit:
                    done.append((place, Answer(ids, sum(said) / len(ids))))
                    slots.retire(slot)
                    going[slot] = going[-1]
                    going.pop()
        return done


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
