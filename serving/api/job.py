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
        tokens: Tokens of the first parts; the last one may still grow.
        complete: Whether the result is complete.
    """

    tokens: list[list[int]]
    complete: bool


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
        left = self._max_tokens
        for request in self.requests:
            end = request.end  # read before the tokens: they do not change after the end is set
            decoded.append(request.tokens[:left])
            left -= len(decoded[-1])
            if not left:
                break
            if end is None:
                return Partial(decoded, complete=False)
            if end not in (End.STOP, End.LENGTH):
                raise UnansweredError(end)
        return Partial(decoded, complete=True)

    def alternatives(self, result: Partial, count: int) -> list[tuple[Partial, list[float]]]:
        """Return up to `count` further complete results with their log-probabilities, the best first.

        Combinations that the limit makes equal are one result.
        """
        found = []
        seen = [result.tokens]
        for answers in n_best(self.requests[: len(result.tokens)], count + 1):
            tokens: list[list[int]] = []
            log_probs: list[float] = []
            left = self._max_tokens
            for answer in answers:
                tokens.append(answer.ids[:left])
                log_probs += answer.log_probs[:left]
                left -= len(tokens[-1])
            if tokens not in seen:
                seen.append(tokens)
                found.append((Partial(tokens, complete=True), log_probs))
        return found

    def text(self, result: Partial) -> str:
        """Return the part of the text that further tokens cannot change."""
        tokenizer = self.model.tokenizer
        if result.complete and len(result.tokens) == len(self.requests):
            return self.parts.joined(tokenizer.decode_target(result.tokens))
        *finished, last = result.tokens
        last = last if result.complete else list(settled(tokenizer, last))
        return self.parts.begun(tokenizer.decode_target([*finished, last]))

    def finish_reason(self, result: Partial) -> "wire.FinishReason":
        """Return why a complete result ended."""
        end_id = self.model.tokenizer.eos_id
        stopped = all(
            tokens[-1:] == [end_id] or len(request.source) == 1
            for tokens, request in zip(result.tokens, self.requests, strict=False)
        )
        if stopped and len(result.tokens) == len(self.requests):
            return wire.FINISH_REASON_STOP
        return wire.FINISH_REASON_LENGTH

    def log_probs(self, result: Partial) -> list[float]:
        """Return the log-probability of each token of a complete result."""
        pairs = zip(result.tokens, self.requests, strict=False)
        return [value for tokens, request in pairs for value in request.log_probs[: len(tokens)]]

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
