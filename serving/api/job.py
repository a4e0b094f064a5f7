"""The job of translating one text: divide, submit to the engine, follow, and join."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from keras_transformer.inference.queue import QueueFullError
from keras_transformer.inference.request import End, Request
from keras_transformer.text.sentences import Parts
from serving.api.partial_text import settled
from serving.api.search import n_best
from serving.errors import UnansweredError
from serving.registry.served_version import ServedVersion
from serving.registry.users import Users
from serving.v1 import translation_pb2 as wire


class Partial(NamedTuple):
    """Result of a job so far.

    Attributes:
        tokens: Tokens of the first parts; the last one may still grow, but these tokens stay.
        log_probs: Log-probability of each of the tokens; empty for a greedy search without scores.
        complete: Whether the result is complete.
        looped: Whether the loop guard found a loop in one of the parts, within the limit.
    """

    tokens: list[list[int]]
    log_probs: list[float]
    complete: bool
    looped: bool = False


class Job:
    """Translation of one text. It belongs to the event loop; the engine's thread notifies it of changes.

    Args:
        model: Version that decodes.
        parts: The text, divided into sentences.
        requests: A request for each sentence.
        max_tokens: Largest number of tokens of the whole answer; 0 for the sum of the sentences' limits.
    """

    def __init__(
        self, model: ServedVersion, parts: Parts, requests: Sequence[Request], max_tokens: int
    ) -> None:
        self.model = model
        self.parts = parts
        self.requests = requests
        self._max_tokens = max_tokens or sum(request.max_tokens for request in requests)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    async def result(self) -> Partial:
        """Decode the text, and return the complete result.

        Raises:
            QueueFullError: If the queue has no room.
            EngineStoppedError: If the engine has stopped.
            UnansweredError: If a sentence failed, expired, or was cancelled.
        """
        with self._submitted():
            while True:
                await self._changed.wait()
                self._changed.clear()
                if (result := self.partial()).complete:
                    return result

    async def result_beside(self, others: Users) -> Partial:
        """Decode a text of a batch; without room in the queue, wait until the others have ended.

        Args:
            others: The texts of the batch that are being decoded.

        Raises:
            QueueFullError: If the queue is full of other calls' requests.
            EngineStoppedError: If the engine has stopped.
            UnansweredError: If a sentence failed, expired, or was cancelled.
        """
        while True:
            try:
                with others:
                    return await self.result()
            except QueueFullError:
                if not others:  # the queue is full of other calls
                    raise
            await others.gone()

    async def results(self) -> AsyncGenerator[Partial, None]:
        """Decode the text, and yield the result whenever it has grown, up to the complete one.

        Raises:
            QueueFullError: If the queue has no room.
            EngineStoppedError: If the engine has stopped.
            UnansweredError: If a sentence failed, expired, or was cancelled.
        """
        with self._submitted(each_token=True):
            while True:
                await self._changed.wait()
                self._changed.clear()
                yield (result := self.partial())
                if result.complete:
                    return

    def partial(self) -> Partial:
        """Return the tokens of the parts in order, as far as they are decoded and within the limit.

        Raises:
            UnansweredError: If a sentence failed, expired, or was cancelled.
        """
        decoded: list[list[int]] = []
        log_probs: list[float] = []
        left, looped = self._max_tokens, False
        for request in self.requests:
            end = request.end  # read before the tokens: they do not change after the end is set
            ended = end is not None and end.answered
            tokens, values = (request.tokens, request.log_probs) if ended else _growing(request)
            looped = looped or (end is End.LOOP and len(tokens) <= left)
            decoded.append(tokens[:left])
            log_probs += values[: len(decoded[-1])]
            # a token more shows that the part will not end here as a loop
            full = len(tokens) >= left + (not ended and request.guard is not None)
            left -= len(decoded[-1])
            if full:
                break
            if end is None:
                return Partial(decoded, log_probs, complete=False)
            if not ended:
                raise UnansweredError(end)
        return Partial(decoded, log_probs, True, looped)

    def alternatives(self, result: Partial, count: int) -> list[Partial]:
        """Return up to `count` further complete results, the best first.

        Combinations that the limit makes equal are one result.
        """
        found = []
        seen = [result.tokens]
        for answers in n_best(self.requests[: len(result.tokens)], count + 1):
            tokens: list[list[int]] = []
            log_probs: list[float] = []
            left, looped = self._max_tokens, False
            for answer in answers:
                looped = looped or (answer.looped and len(answer.ids) <= left)
                tokens.append(answer.ids[:left])
                log_probs += answer.log_probs[:left]
                left -= len(tokens[-1])
            if tokens not in seen:
                seen.append(tokens)
                found.append(Partial(tokens, log_probs, True, looped))
        return found

    def text(self, result: Partial) -> str:
        """Return the part of the text that further tokens cannot change."""
        tokenizer = self.model.tokenizer
        if result.complete and len(result.tokens) == len(self.requests):
            return self.parts.joined(tokenizer.decode_target(result.tokens))
        *finished, last = result.tokens
        if not result.complete:
            last = list(settled(tokenizer, last))
        return self.parts.begun(tokenizer.decode_target([*finished, last]))

    def finish_reason(self, result: Partial) -> "wire.FinishReason":
        """Return why a complete result ended."""
        if result.looped:
            return wire.FINISH_REASON_LOOP
        end_id = self.model.tokenizer.eos_id
        stopped = all(
            tokens[-1:] == [end_id] or len(request.source) == 1
            for tokens, request in zip(result.tokens, self.requests, strict=False)
        )
        if stopped and len(result.tokens) == len(self.requests):
            return wire.FINISH_REASON_STOP
        return wire.FINISH_REASON_LENGTH

    @contextmanager
    def _submitted(self, each_token: bool = False) -> Iterator[None]:
        """Submit the sentences to the engine; unfinished ones are cancelled at the end."""
        unfinished = [request for request in self.requests if request.end is None]
        if not unfinished:
            self._changed.set()
        for request in unfinished:
            request.on_end = self._notify
            request.on_token = self._notify if each_token and request.beam == 1 else None
        self.model.engine.submit(*unfinished)
        try:
            yield
        finally:
            for request in unfinished:
                if request.end is None:
                    self.model.engine.cancel(request)

    def _notify(self, request: Request) -> None:
        """Wake the event loop; called in the engine's thread."""
        self._loop.call_soon_threadsafe(self._changed.set)


def _growing(request: Request) -> tuple[list[int], list[float]]:
    """Return the tokens that stay whatever follows them, with their log-probabilities.

    The engine's thread may be between two changes: a token that has no log-probability yet is left out, if it
    gets one.
    """
    log_probs = request.log_probs
    tokens = request.tokens[: len(log_probs) if request.scores else None]
    if request.guard is not None:
        tokens = list(request.guard.certain(tokens))
    return tokens, log_probs[: len(tokens)]
