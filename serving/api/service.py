"""TranslationService, method by method: a message and the seconds that are left for it -> the answer."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import asdict
from functools import cache, partial

from keras_transformer.text.sentences import divided
from serving.api.context import count_segment, follow
from serving.api.job import Job, Partial, priority
from serving.api.messages import (
    add_alignment,
    add_scores,
    add_tokens,
    attended_part,
    listed_model,
    translation,
)
from serving.engine.attention_graph import Attended, AttentionQueue
from serving.errors import InvalidError, refusal
from serving.limits import Limits
from serving.registry.registry import Registry, listed
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire

SHORT = 500  # characters: to divide a text of so many takes less than a few milliseconds


class TranslationService:
    """Knows nothing of gRPC but its messages."""

    def __init__(self, limits: Limits) -> None:
        """`models` has to be there before the first request is."""
        self.models = Registry([])
        self._limits = limits
        self._attention = AttentionQueue()

    async def translate(
        self, request: wire.TranslateRequest, remaining: float | None
    ) -> wire.TranslateResponse:
        """One text."""
        model = self._found(request.options)
        with model.users:
            translated = await self._translated(model, request.text, request.options, remaining)
        return wire.TranslateResponse(translation=translated)

    async def batch_translate(
        self, request: wire.BatchTranslateRequest, remaining: float | None
    ) -> wire.BatchTranslateResponse:
        """Several texts, all at once."""
        self._limits.check_segments(len(request.texts))
        segments = []
        model = self._found(request.options)  # one for all of them
        with model.users:
            async with asyncio.TaskGroup() as group:
                for text in request.texts:
                    segments.append(group.create_task(self._segment(model, text, request.options, remaining)))
                    await asyncio.sleep(0)  # others are served between two texts
        return wire.BatchTranslateResponse(segments=[each.result() for each in segments])

    async def stream_translate(
        self, request: wire.StreamTranslateRequest, remaining: float | None
    ) -> AsyncGenerator[wire.StreamTranslateResponse, None]:
        """One text, piece by piece."""
        model = self._found(request.options)
        with model.users:
            asked = await self._asked(model, request.text, request.options, remaining)
            told = 0
            with asked.asking(each_token=True):
                async for said in asked.followed():
                    text = asked.text(said)
                    if said.whole:
                        break
                    if len(text) > told:
                        yield wire.StreamTranslateResponse(text=text[told:])
                        told = len(text)
            whole = await self._translation(asked, said, request.options)
        yield wire.StreamTranslateResponse(text=text[told:], translation=whole)

    async def attend(self, request: wire.AttendRequest, remaining: float | None) -> wire.AttendResponse:
        """One text, with all that was looked at."""
        model = self._found(request.options)
        with model.users:
            asked = await self._asked(model, request.text, request.options, remaining)
            with asked.asking():
                said = await asked.answered()
            attended = await self._attended(asked, said)
            self._limits.check_weights(sum(each.bytes for each in attended))
            return wire.AttendResponse(
                translation=await self._translation(asked, said, request.options, attended),
                parts=[attended_part(model, each) for each in attended],
            )

    async def list_models(
        self, request: wire.ListModelsRequest, remaining: float | None
    ) -> wire.ListModelsResponse:
        """What can be asked here."""
        return wire.ListModelsResponse(
            models=[listed_model(self.models, name, versions) for name, versions in listed(self.models)],
            limits=wire.Limits(**asdict(self._limits)),
        )

    async def _asked(
        self, model: ServedVersion, text: str, options: wire.Options, remaining: float | None
    ) -> Job:
        deadline = None if remaining is None else time.monotonic() + remaining
        self._limits.check_text(text)
        short = len(text) <= SHORT
        if model.engine.waiting:  # a refusal costs as little as can be
            check_room = partial(model.engine.check_room, priority(options), deadline)
            check_room(1)
            if short and deadline is not None:
                tokens = model.tokenizer.count_source(text)
                check_room(min(tokens, options.max_output_tokens or model.longest, model.longest))
        count = cache(model.tokenizer.count_source)
        if short:
            parts = divided(text, count, model.lengths)
        else:  # nobody else waits meanwhile
            parts = await asyncio.to_thread(divided, text, count, model.lengths)
        asked = Job(model, parts, options, deadline, self._limits)
        follow(asked)
        return asked

    def _found(self, options: wire.Options) -> ServedVersion:
        return self.models.find(options.model, options.version)

    async def _translated(
        self, model: ServedVersion, text: str, options: wire.Options, remaining: float | None
    ) -> wire.Translation:
        asked = await self._asked(model, text, options, remaining)
        with asked.asking():
            said = await asked.answered()
        return await self._translation(asked, said, options)

    async def _segment(
        self, model: ServedVersion, text: str, options: wire.Options, remaining: float | None
    ) -> wire.Segment:
        try:
            segment = wire.Segment(translation=await self._translated(model, text, options, remaining))
        except Exception as error:
            segment = wire.Segment(error=refusal(error).segment())
        count_segment(segment.error.code)
        return segment

    async def _translation(
        self, asked: Job, said: Partial, options: wire.Options, attended: list[Attended] | None = None
    ) -> wire.Translation:
        found = translation(asked, said)
        if options.scores or options.alignment:
            add_tokens(found, asked, said)
        if options.scores:
            add_scores(found, asked, said)
        if options.alignment:
            add_alignment(found, asked, attended or await self._attended(asked, said))
        return found

    async def _attended(self, asked: Job, said: Partial) -> list[Attended]:
        """Of each part that says something."""
        graph = asked.model.attention
        if graph is None:
            raise InvalidError(
                "options.version", "it was exported without ONNX, which tells what is looked at"
            )
        found: list[Attended] = []
        for request, tokens in zip(asked.requests, said.tokens, strict=False):
            if tokens:
                found.append(await self._attention(graph, request.source, tokens))
        return found
