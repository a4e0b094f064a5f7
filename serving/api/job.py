"""One text on its way through a version: divided, submitted to the engine, followed, joined again."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from keras_transformer.inference.request import End, Request
from keras_transformer.text.sentences import Parts
from serving.api.partial_text import settled
from serving.errors import InvalidError, UnansweredError
from serving.limits import Limits
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire

PRIORITIES = {
    wire.PRIORITY_LOW: -1,
    wire.PRIORITY_UNSPECIFIED: 0,
    wire.PRIORITY_NORMAL: 0,
    wire.PRIORITY_HIGH: 1,
}


def priority(options: wire.Options) -> int:
    """Return the priority as the engine counts it."""
    if options.priority not in PRIORITIES:
        raise InvalidError("options.priority", f"there is no priority {options.priority}")
    return PRIORITIES[options.priority]


class Partial(NamedTuple):
    """What has been decoded so far."""

    tokens: list[list[int]]  # of the first parts; the last one may still grow
    complete: bool


class Job:
    """One text. It lives in the event loop; the engine's thread notifies it of changes.

    Args:
        model: the version that decodes.
        parts: the text, divided into sentences.
        options: those of the call.
        deadline: by the engine's clock.
        limits: those of a request.

    Raises:
        InvalidError: an option or the number of tokens is out of range.
    """

    def __init__(
        self,
        model: ServedVersion,
        parts: Parts,
        options: wire.Options,
        deadline: float | None,
        limits: Limits,
    ) -> None:
        self.model = model
        self.parts = parts
        self.requests = model.requests(parts.texts, options.max_output_tokens, priority(options), deadline)
        tokens = sum(len(request.source) for request in self.requests)
        limits.check_tokens(tokens, len(self.requests), model.engine.most_waiting)
        self._max_tokens = options.max_output_tokens or sum(each.max_tokens for each in self.requests)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    @contextmanager
    def submitted(self, each_token: bool = False) -> Iterator[None]:
        """Submit the sentences to the engine; what is unfinished at the end is cancelled."""
        for request in self.requests:
            request.on_end = self._notify
            request.on_token = self._notify if each_token else None
        try:
            self.model.engine.submit(*(request for request in self.requests if request.end is None))
            yield
        finally:
            for request in self.requests:
                if request.end is None:
                    self.model.engine.cancel(request)

    async def result(self) -> Partial:
        """Wait for the complete result."""
        async for result in self.results():
            if result.complete:
                break
        return result

    async def results(self) -> AsyncIterator[Partial]:
        """Yield what there is now, and again whenever there is more, up to the complete result."""
        while True:
            self._changed.clear()
            result = self.partial()
            yield result
            if result.complete:
                return
            await self._changed.wait()

    def partial(self) -> Partial:
        """Return the answers of the parts in their order, as far as they are decoded and within the limit.

        Raises:
            UnansweredError: a sentence failed, expired, or was cancelled.
        """
        decoded: list[list[int]] = []
        left = self._max_tokens
        for request in self.requests:
            end = request.end  # read before the tokens, which do not change after the end
            decoded.append(request.tokens[:left])
            left -= len(decoded[-1])
            if not left:
                break
            if end is None:
                return Partial(decoded, complete=False)
            if end not in (End.STOP, End.LENGTH):
                raise UnansweredError(end)
        return Partial(decoded, complete=True)

    def text(self, result: Partial) -> str:
        """Return as much of the text as will not change any more."""
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

    def _notify(self, request: Request) -> None:
        self._loop.call_soon_threadsafe(self._changed.set)
