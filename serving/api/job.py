"""A text on its way through a model: divided, asked of the engine, followed, put together again."""

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
    """As the engine has it."""
    if options.priority not in PRIORITIES:
        raise InvalidError("options.priority", f"there is no priority {options.priority}")
    return PRIORITIES[options.priority]


class Partial(NamedTuple):
    """What the model has said so far."""

    tokens: list[list[int]]  # of the first parts; the last of these may go on
    whole: bool


class Job:
    """One text. Made and followed in the event loop; the engine's thread tells it what has changed."""

    def __init__(
        self,
        model: ServedVersion,
        parts: Parts,
        options: wire.Options,
        deadline: float | None,
        limits: Limits,
    ) -> None:
        """`deadline`: by the engine's clock."""
        self.model = model
        self.parts = parts
        self.requests = model.requests(parts.texts, options.max_output_tokens, priority(options), deadline)
        tokens = sum(len(request.source) for request in self.requests)
        limits.check_tokens(tokens, len(self.requests), model.engine.most_waiting)
        self._most_tokens = options.max_output_tokens or sum(each.max_tokens for each in self.requests)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    @contextmanager
    def asking(self, each_token: bool = False) -> Iterator[None]:
        """The engine has it meanwhile; what is not done at the end is cancelled, and its rows are free."""
        for request in self.requests:
            request.on_end = self._tell
            request.on_token = self._tell if each_token else None
        try:
            self.model.engine.submit(*(each for each in self.requests if each.end is None))
            yield
        finally:
            for request in self.requests:
                if request.end is None:
                    self.model.engine.cancel(request)

    async def answered(self) -> Partial:
        """All of it."""
        async for said in self.followed():
            if said.whole:
                break
        return said

    async def followed(self) -> AsyncIterator[Partial]:
        """What there is at first, and whenever there is more."""
        while True:
            self._changed.clear()
            said = self.said()
            yield said
            if said.whole:
                return
            await self._changed.wait()

    def said(self) -> Partial:
        """The answers of the parts in their order, as far as they have come and count."""
        found: list[list[int]] = []
        left = self._most_tokens
        for request in self.requests:
            end = request.end  # before its tokens: they do not change behind it
            found.append(request.tokens[:left])
            left -= len(found[-1])
            if not left:
                break
            if end is None:
                return Partial(found, whole=False)
            if end not in (End.STOP, End.LENGTH):
                raise UnansweredError(end)
        return Partial(found, whole=True)

    def text(self, said: Partial) -> str:
        """What of it will not change any more."""
        tokenizer = self.model.tokenizer
        if said.whole and len(said.tokens) == len(self.requests):
            return self.parts.joined(tokenizer.decode_target(said.tokens))
        *whole, last = said.tokens
        last = last if said.whole else list(settled(tokenizer, last))
        return self.parts.begun(tokenizer.decode_target([*whole, last]))

    def finish_reason(self, said: Partial) -> "wire.FinishReason":
        """Of an answer that is whole."""
        end = self.model.tokenizer.eos_id
        ended = all(
            tokens[-1:] == [end] or not _says_something(request)
            for tokens, request in zip(said.tokens, self.requests, strict=False)
        )
        if ended and len(said.tokens) == len(self.requests):
            return wire.FINISH_REASON_STOP
        return wire.FINISH_REASON_LENGTH

    def log_probs(self, said: Partial) -> list[float]:
        """Of each token of an answer that is whole."""
        pairs = zip(said.tokens, self.requests, strict=False)
        return [each for tokens, request in pairs for each in request.log_probs[: len(tokens)]]

    def _tell(self, request: Request) -> None:
        self._loop.call_soon_threadsafe(self._changed.set)


def _says_something(request: Request) -> bool:
    return len(request.source) > 1
