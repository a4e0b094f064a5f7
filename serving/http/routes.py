"""The HTTP routes: read the fields, call the service, write its response as JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from serving.api.context import CallContext
from serving.api.gate import Gate
from serving.api.intake import Intake
from serving.api.service import TranslationService
from serving.errors import Refusal, RefusedError
from serving.http import serializers
from serving.http.languages import choose, languages
from serving.http.parsing import FORM, JSON, TextRequest, parse, read_body
from serving.http.sse import Events
from serving.limits import Limits
from serving.observability.metrics import CONTENT_TYPE, Metrics
from serving.v1 import translation_pb2 as wire

SECONDS = 60.0  # time limit of a request after its body has arrived
OPENAPI = (Path(__file__).parent / "openapi.json").read_text("utf-8")


@dataclass(frozen=True)
class ServerParts:
    """Parts of the server that the routes use.

    Attributes:
        service: The service.
        gate: The gate that every call passes first.
        metrics: The metrics for /metrics.
        limits: Limits of a request.
        intake: Limits of the bodies that arrive at the same time.
        healthy: Returns whether the server is healthy.
    """

    service: TranslationService
    gate: Gate
    metrics: Metrics
    limits: Limits
    intake: Intake
    healthy: Callable[[], bool]


class Routes:
    """Handlers of the routes. Health, metrics and openapi.json skip the gate: they must not wait."""

    def __init__(self, parts: ServerParts) -> None:
        self._server = parts

    def table(self) -> list[web.RouteDef]:
        """Return the routes; those of the page are in serving.http.static_page."""
        return [
            web.get("/languages", self.languages),
            web.get("/models", self.models),
            web.get("/healthz", self.health),
            web.get("/metrics", self.metrics),
            web.get("/openapi.json", self.openapi),
            web.post("/translate", self.translate),
            web.post("/translate/stream", self.stream),
            web.post("/attention", self.attention),
        ]

    async def languages(self, request: web.Request) -> web.Response:
        """Answer GET /languages, as LibreTranslate does."""
        async with self._call(request, "ListModels"):
            return _json(languages(self._server.service.models))

    async def models(self, request: web.Request) -> web.Response:
        """Answer GET /models: ListModels, with corpus and examples of each version."""
        async with self._call(request, "ListModels") as context:
            found = await self._server.service.list_models(wire.ListModelsRequest(), context)
            return _json(serializers.models(found, self._server.service.models))

    async def health(self, request: web.Request) -> web.Response:
        """Answer GET /healthz, as grpc.health.v1 does."""
        if self._server.healthy():
            return _json({"status": "serving"})
        return _json({"status": "not serving"}, status=503)

    async def metrics(self, request: web.Request) -> web.Response:
        """Answer GET /metrics, in the text format of Prometheus."""
        return web.Response(body=self._server.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def openapi(self, request: web.Request) -> web.Response:
        """Answer GET /openapi.json: the description of all routes."""
        return web.Response(text=OPENAPI, content_type=JSON)

    async def translate(self, request: web.Request) -> web.Response:
        """Answer POST /translate, as LibreTranslate does: all texts, or the first error."""
        content = await read_body(request, (JSON, FORM), self._server.intake)
        async with self._call(request, "Translate") as context:
            parsed = await parse(content, request.content_type, self._server.limits)
            options = self._options(parsed)
            if not parsed.several:
                message = wire.TranslateRequest(text=parsed.text, options=options)
                answer = await self._server.service.translate(message, context)
                return _json(serializers.translated(answer.translation, options))
            context.method = "BatchTranslate"
            batch = wire.BatchTranslateRequest(texts=parsed.texts, options=options)
            found = await self._server.service.batch_translate(batch, context)
            answers = [_answer(place, segment) for place, segment in enumerate(found.segments)]
            return _json(serializers.several(answers, options))

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Answer POST /translate/stream with server-sent events; an error before the first is a status."""
        content = await read_body(request, (JSON,), self._server.intake)
        events = Events(request)
        try:
            async with self._call(request, "StreamTranslate") as context:
                parsed = await parse(content, request.content_type, self._server.limits)
                options = self._options(parsed)
                message = wire.StreamTranslateRequest(text=parsed.text, options=options)
                async with aclosing(self._server.service.stream_translate(message, context)) as answers:
                    async for each in answers:
                        if each.text:
                            await events.send("piece", {"text": each.text})
                        if each.HasField("translation"):
                            await events.send("done", serializers.translated(each.translation, options))
        except RefusedError as error:
            if not events.begun:
                raise
            await events.fail(error.refusal)
        return events.response

    async def attention(self, request: web.Request) -> web.Response:
        """Answer POST /attention: all attention weights behind one translation."""
        content = await read_body(request, (JSON,), self._server.intake)
        async with self._call(request, "Attend") as context:
            parsed = await parse(content, request.content_type, self._server.limits)
            options = self._options(parsed)
            message = wire.AttendRequest(text=parsed.text, options=options)
            found = await self._server.service.attend(message, context)
            text = await asyncio.to_thread(serializers.attended, found, options)
            return web.Response(text=text, content_type=JSON)

    @asynccontextmanager
    async def _call(self, request: web.Request, method: str) -> AsyncIterator[CallContext]:
        with self._server.gate.call(method, "http", SECONDS, request.headers.items()) as context:
            async with asyncio.timeout(SECONDS):
                yield context

    def _options(self, parsed: TextRequest) -> wire.Options:
        model = choose(
            self._server.service.models, parsed.source, parsed.target, parsed.model, parsed.version
        )
        language = parsed.target if model.tokenizer.target_languages else ""
        return wire.Options(
            model=model.name, version=model.version, target_language=language, **parsed.search
        )


def _json(content: Any, status: int = 200) -> web.Response:
    text = json.dumps(content, ensure_ascii=False)
    return web.Response(text=text, status=status, content_type=JSON)


def _answer(place: int, segment: wire.Segment) -> wire.Translation:
    if segment.HasField("translation"):
        return segment.translation
    error = segment.error
    retry_after = error.retry_after if error.HasField("retry_after") else None
    raise RefusedError(Refusal(error.code, f"q[{place}]: {error.message}", error.field, retry_after))
