"""Those compared behind the same front: continuous batches, static ones, and CTranslate2's."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from export.artifact.layout import CTRANSLATE2, ONNX
from export.artifact.manifest import Version
from keras_transformer.inference.backend import Encoded, Floats, StepResult
from keras_transformer.inference.request import End, Request
from keras_transformer.text.lengths import longest_answer
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.tokenizer import Tokenizer
from serving.engine.attention_graph import AttentionGraph
from serving.engine.engine import Engine
from serving.engine.latency import LatencyEstimate
from serving.registry.served_version import ServedVersion

if TYPE_CHECKING:
    from keras_transformer.inference.backends.onnx_runtime import OnnxBackend

NAMES = ("continuous", "static", "ctranslate2_int8")
GATHERING = 0.002  # seconds that a batch which is not full waits for others
WITHOUT_LIMIT = 2**20  # tokens that are read before a step: a batch is read as a whole


def model(name: str, version: Version, precision: str, rows: int, queue: int, beam: int = 1) -> ServedVersion:
    """A version with the engine of that name, which runs."""
    manifest, tokenizer = version.manifest, version.tokenizer
    longest = manifest.limits.source_tokens
    engine: Engine
    if name == "ctranslate2_int8":
        # it counts the sentences of a batch, where the queue counts rows
        engine = CTranslate2(version.directory / CTRANSLATE2, tokenizer, rows * beam, queue)
    else:
        from export.formats.runtimes.onnx_scheduler_runtime import (
            open_backend,  # beside CTranslate2 it would block it
        )

        make_backend = open_backend(version.directory / ONNX, precision, tokenizer.bos_id)
        backend = make_backend(rows, longest, min(longest_answer(longest), longest))
        if name == "continuous":
            engine = Engine(backend, tokenizer.eos_id, queue)
        else:
            engine = Static(_Staying(backend), tokenizer.eos_id, queue)
    lengths = Lengths(manifest.lengths.whole, manifest.lengths.longest, manifest.lengths.least)
    attention = AttentionGraph(version.directory / ONNX / "attention.onnx")
    return ServedVersion("model", 1, tokenizer, lengths, longest, precision, engine.start(), attention)


class OfBatches(LatencyEstimate):
    """Where all wait for the last one, an answer takes the same time whatever its length."""

    def left(self, seconds: float, rows: int, tokens: int = 1, answered: bool = True) -> None:
        super().left(seconds, rows, 1, answered)

    def in_time(self, wait: float, left: float, tokens: int) -> bool:
        return super().in_time(wait, left, 1)


class Static(Engine):
    """A batch is gathered, decoded until its last row is done, and answered then; nobody joins it.

    Rows that are done stay until then, as in a graph that has its loop inside.
    """

    def __init__(self, runtime: "_Staying", end_id: int, queue: int) -> None:
        super().__init__(runtime, end_id, queue, WITHOUT_LIMIT)
        self._latency = OfBatches()

    def _turn(self) -> None:
        self._gather()
        begun = self._clock()
        with self._changed:
            chosen, ended = self._queue.take(self._batch.free, self._prefill_tokens, begun)
        ended += self._batch.admit(chosen)
        while self._batch:
            turn = self._batch.step(self._clock())
            self.counts.steps += bool(turn.advanced)
            self.counts.tokens += len(turn.advanced)
            ended += turn.ended
        for _ in chosen:
            self._latency.left(self._clock() - begun, len(chosen))
        self._report(ended)

    def _gather(self) -> None:
        with self._changed:
            full = self._batch.backend.slots
            self._changed.wait_for(
                lambda: len(self._queue.waiting) >= full or self._stopping is not None, timeout=GATHERING
            )


class CTranslate2(Engine):
    """All that wait, up to `rows` of them, are one batch of CTranslate2: int8, one thread."""

    def __init__(self, directory: Path, tokenizer: Tokenizer, rows: int, queue: int) -> None:
        import ctranslate2

        super().__init__(_Rows(rows), tokenizer.eos_id, queue, WITHOUT_LIMIT)
        self._latency = OfBatches()
        self._decoding = 0
        self._translator = ctranslate2.Translator(
            str(directory), compute_type="int8", inter_threads=1, intra_threads=1
        )
        self._source = tokenizer.pieces_source(range(tokenizer.source_size))
        target = tokenizer.pieces_target(range(tokenizer.target_size))
        self._ids = {piece: number for number, piece in enumerate(target)}

    @property
    def running(self) -> int:
        return self._decoding

    def _turn(self) -> None:
        with self._changed:
            chosen, lost = self._queue.take(self._batch.free, self._prefill_tokens, self._clock())
        self._report(lost)
        if not chosen:
            return
        chosen.sort(key=lambda request: len(request.source))
        self._decoding, begun = len(chosen), self._clock()
        found = self._translator.translate_batch(
            [[self._source[number] for number in request.source] for request in chosen],
            beam_size=max(request.beam for request in chosen),
            max_decoding_length=max(request.max_tokens for request in chosen),
            max_input_length=0,
            return_end_token=True,
        )
        self._decoding = 0
        for request, result in zip(chosen, found, strict=True):
            self._answer(request, [self._ids[piece] for piece in result.hypotheses[0]])
            self._latency.left(self._clock() - begun, len(chosen))
        self.counts.steps += 1
        self._report(chosen)

    def _answer(self, request: Request, ids: list[int]) -> None:
        request.tokens = ids[: request.max_tokens]
        request.log_probs = [0.0] * len(request.tokens)  # it was not asked for scores
        request.end = End.STOP if request.tokens[-1:] == [self._batch.end_id] else End.LENGTH
        self.counts.tokens += len(request.tokens)


class _Staying:
    """Rows that have retired go on with the others until all have."""

    has_candidates = False

    def __init__(self, backend: "OnnxBackend") -> None:
        self.slots = backend.slots
        self._backend = backend
        self._all = 0
        self._going: list[int] = []  # which of all each row is

    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        return self._backend.encode(sources)

    def admit(self, encoded: Encoded, copies: int = 1) -> None:
        self._backend.admit(encoded, copies)
        self._going += range(self._all, self._backend.rows)
        self._all = self._backend.rows

    def step(self) -> StepResult:
        tokens, logits = self._backend.step()
        return StepResult(tokens[self._going], logits[self._going])

    def log_probs(self) -> Floats:
        return self._backend.log_probs()[self._going]

    def step_alone(self, row: int) -> StepResult:
        return self._backend.step_alone(self._going[row])

    def retire(self, row: int) -> None:
        self._going[row] = self._going[-1]
        self._going.pop()
        while self._all and not self._going:
            self._all -= 1
            self._backend.retire(self._all)


class _Rows:
    """CTranslate2 keeps rows of its own: of a runtime the engine asks here for nothing but their number."""

    has_candidates = True

    def __init__(self, slots: int) -> None:
        self.slots = slots
