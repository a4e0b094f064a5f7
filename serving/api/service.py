"""The methods of TranslationService: from a message and the context of its call to the response."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from functools import cache, partial
from typing import Any

from keras_transformer.text.division import TargetLanguageError, divided_for
from serving.api.context import CallContext
from serving.api.job import Job, Partial
from serving.api.messages import (
    add_alignment,
    add_alternatives,
    add_scores,
    add_tokens,
    attended_part,
    listed_model,
    translation,
)
from serving.api.search import search_of
from serving.engine.attention_graph import Attended, AttentionQueue
from serving.errors import InvalidError, refusal
from serving.limits import Limits, check_size
from serving.registry.registry import Registry, listed
from serving.registry.served_version import ServedVersion
from serving.registry.users import Users
from serving.v1 import translation_pb2 as wire

SHORT = 500  # characters; a text of this length is divided within a few milliseconds
PRIORITIES = {  # values of the engine
    wire.PRIORITY_LOW: -1,
    wire.PRIORITY_UNSPECIFIED: 0,
    wire.PRIORITY_NORMAL: 0,
    wire.PRIORITY_HIGH: 1,
}


class TranslationService:
    """RPCs of the service, independent of the protocol.

    Args:
        limits: Limits of a request.

    Attributes:
        models: The models; must be set before the first call.
    """

    def __init__(self, limits: Limits) -> None:
        self.models = Registry([])
        self._limits = limits
        self._attention = AttentionQueue()

    async def translate(self, request: wire.TranslateRequest, context: CallContext) -> wire.TranslateResponse:
        """Translate one text."""
        model = self.models.find(request.options.model, request.options.version)
        with model.users:
            job = await self._job(model, request.text, request.options, context)
            answer = await self._translation(job, await job.result(), request.options)
        return wire.TranslateResponse(translation=answer)

    async def batch_translate(
        self, request: wire.BatchTranslateRequest, context: CallContext
    ) -> wire.BatchTranslateResponse:
        """Translate several texts at once, by one version."""
        self._limits.check_segments(len(request.texts))
        segments, decoding = [], Users()
        model = self.models.find(request.options.model, request.options.version)
        with model.users:
            async with asyncio.TaskGroup() as group:
                for text in request.texts:
                    segment = self._segment(model, text, request.options, context, decoding)
                    segments.append(group.create_task(segment))
                    await asyncio.sleep(0)  # lets other calls run between two texts
        return wire.BatchTranslateResponse(segments=[segment.result() for segment in segments])

    async def stream_translate(
        self, request: wire.StreamTranslateRequest, context: CallContext
    ) -> AsyncGenerator[wire.StreamTranslateResponse, None]:
        """Translate one text, piece by piece."""
        model = self.models.find(request.options.model, request.options.version)
        with model.users:
            job = await self._job(model, request.text, request.options, context)
            sent = 0
            async with aclosing(job.results()) as results:
                async for result in results:
                    text = job.text(result)
                    if not result.complete and len(text) > sent:
                        yield wire.StreamTranslateResponse(text=text[sent:])
                        sent = len(text)
            answer = await self._translation(job, result, request.options)
        yield wire.StreamTranslateResponse(text=text[sent:], translation=answer)

    async def attend(self, request: wire.AttendRequest, context: CallContext) -> wire.AttendResponse:
        """Translate one text, and return all attention weights of the answer."""
        model = self.models.find(request.options.model, request.options.version)
        with model.users:
            job = await self._job(model, request.text, request.options, context)
            result = await job.result()
            attended = await self._attended(job, result)
            size = sum(part.bytes for part in attended)
            check_size("text", size, "bytes of attention weights", self._limits.message_bytes)
            return wire.AttendResponse(
                translation=await self._translation(job, result, request.options, attended),
                parts=[attended_part(model, part) for part in attended],
            )

    async def list_models(
        self, request: wire.ListModelsRequest, context: CallContext
    ) -> wire.ListModelsResponse:
        """List the models with their versions, and the limits."""
        return wire.ListModelsResponse(
            models=[listed_model(self.models, name, versions) for name, versions in listed(self.models)],
            limits=wire.Limits(**asdict(self._limits)),
        )

    async def _job(self, model: ServedVersion, text: str, options: wire.Options, context: CallContext) -> Job:
        """Check a text and divide it; a call that cannot succeed is refused as early as possible."""
        check_size("text", len(text), "characters", self._limits.characters)
        if options.priority not in PRIORITIES:
            raise InvalidError(
                "options.priority",
                f"options.priority must be {min(PRIORITIES)} to {max(PRIORITIES)}; got {options.priority}",
            )
        priority, deadline = PRIORITIES[options.priority], context.deadline
        count, short = cache(model.tokenizer.count_source), len(text) <= SHORT
        # the texts of a batch wait for one another
        waiting = 0 if context.jobs else model.engine.check_room(priority, deadline)
        if waiting and short and deadline is not None:
            tokens = min(count(text), options.max_output_tokens or model.longest, model.longest)
            model.engine.check_room(priority, deadline, tokens)
        language = options.target_language or None
        divide = partial(divided_for, model.tokenizer, text, model.lengths, language, count)
        try:
            parts = divide() if short else await asyncio.to_thread(divide)  # does not block other calls
        except TargetLanguageError as error:
            remedy = "Name it as target_language, in HTTP target, or begin the text with >>CODE<<."
            raise InvalidError("options.target_language", f"{error} {remedy}") from error
        search: dict[str, Any] = {"scores": options.scores}
        widened = options.beam or options.alternatives or options.HasField("length_penalty")
        if widened or options.prefix or options.no_repeat_ngram:
            search |= search_of(options, model, len(parts.texts))
        loop_guard = options.loop_guard or not options.HasField("loop_guard")
        requests = model.requests(
            parts.texts, options.max_output_tokens, priority, deadline, search, loop_guard
        )
        source_tokens = sum(len(request.source) for request in requests)
        check_size("text", source_tokens, "tokens", self._limits.tokens)
        check_size("text", len(requests), "sentences", model.engine.max_waiting)
        job = Job(model, parts, requests, options.max_output_tokens)
        context.jobs.append(job)
        return job

    async def _segment(
        self, model: ServedVersion, text: str, options: wire.Options, context: CallContext, others: Users
    ) -> wire.Segment:
        try:
            job = await self._job(model, text, options, context)
            result = await job.result_beside(others)
            segment = wire.Segment(translation=await self._translation(job, result, options))
        except Exception as error:
            segment = wire.Segment(error=refusal(error).segment())
        context.segments[segment.error.code] += 1
        return segment

    async def _translation(
        self, job: Job, result: Partial, options: wire.Options, attended: list[Attended] | None = None
    ) -> wire.Translation:
        answer = translation(job, result)
        if options.scores or options.alignment:
            add_tokens(answer, job, result)
        if options.scores:
            add_scores(answer, result)
        if options.alternatives:
            add_alternatives(answer, job, result, options)
        if options.alignment:
            add_alignment(answer, job, attended or await self._attended(job, result))
        return answer

    async def _attended(self, job: Job, result: Partial) -> list[Attended]:
        """Return the attention of the answer of each part that has one."""
        graph = job.model.attention
        if graph is None:
            raise InvalidError(
                "options.version",
                f"version {job.model.version} of {job.model.name} has no attention, because it was exported "
                "without ONNX. Choose another version, or export it with --format onnx.",
            )
        return [
            await self._attention(graph, request.source, tokens)
            for request, tokens in zip(job.requests, result.tokens, strict=False)
            if tokens
        ]
