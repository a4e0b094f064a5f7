"""Conversion of the service's messages to JSON."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict

from serving.registry.registry import Registry
from serving.v1 import translation_pb2 as wire

FINISH_REASONS = {
    wire.FINISH_REASON_STOP: "stop",
    wire.FINISH_REASON_LENGTH: "length",
    wire.FINISH_REASON_LOOP: "loop",
}
STATES = {wire.STATE_SERVING: "serving", wire.STATE_UNAVAILABLE: "unavailable"}
SLICE = 4096  # numbers that are written at a time, so that other threads can run in between


def several(found: Sequence[wire.Translation], options: wire.Options) -> dict[str, Any]:
    """Return the JSON of a list of translations."""
    content = {
        "translatedText": [each.text for each in found],
        "model": options.model,
        "version": options.version,
        "finishReason": [FINISH_REASONS[each.finish_reason] for each in found],
    }
    if options.alternatives:
        content["alternatives"] = [_alternatives(each) for each in found]
    if options.scores:
        content["scores"] = [_scores(each) for each in found]
    return content


def translated(found: wire.Translation, options: wire.Options) -> dict[str, Any]:
    """Return the JSON of one translation."""
    content = {
        "translatedText": found.text,
        "model": found.model,
        "version": found.version,
        "finishReason": FINISH_REASONS[found.finish_reason],
    }
    if options.alternatives:
        content["alternatives"] = _alternatives(found)
    if options.scores:
        content["scores"] = _scores(found)
    return content


def _alternatives(found: wire.Translation) -> list[str]:
    return [each.text for each in found.alternatives]


def _scores(found: wire.Translation) -> list[float]:
    """Return the score of a translation and of its alternatives; a blank text has none."""
    answers: list[wire.Translation | wire.Alternative] = [found, *found.alternatives]
    return [each.score for each in answers if each.HasField("score")]


def attended(found: wire.AttendResponse, options: wire.Options) -> str:
    """Return the JSON of all attention weights, with six digits.

    It may have megabytes, so it must not run in the event loop.
    """
    head = json.dumps(translated(found.translation, options), ensure_ascii=False)
    return f'{head[:-1]}, "parts": [{", ".join(map(_part, found.parts))}]}}'


def models(found: wire.ListModelsResponse, there: Registry) -> dict[str, Any]:
    """Return the JSON of all models, with corpus and example sentences of each version."""
    cards = {(each.name, each.version): (each.corpus, list(each.examples)) for each in there.serving}
    return {
        "models": [
            {
                "name": model.name,
                "default": model.default_version,
                "versions": [
                    _version(each, *cards.get((model.name, each.version), ("", [])))
                    for each in model.versions
                ],
            }
            for model in found.models
        ],
        "limits": MessageToDict(found.limits),
    }


def _version(each: wire.ModelVersion, corpus: str, examples: list[str]) -> dict[str, Any]:
    return {
        "version": each.version,
        "state": STATES[each.state],
        "reason": each.reason,
        "source": each.source_language,
        "target": each.target_language,
        "targets": list(each.target_languages),
        "precision": each.precision,
        "maxBeam": each.max_beam,
        "corpus": corpus,
        "examples": examples,
    }


def _part(part: wire.AttendedPart) -> str:
    pieces = {
        "source": [token.piece for token in part.source],
        "target": [token.piece for token in part.target],
    }
    head = json.dumps(pieces, ensure_ascii=False)
    encoder, decoder, cross = map(_weights, (part.encoder, part.decoder, part.cross))
    return f'{head[:-1]}, "encoder": {encoder}, "decoder": {decoder}, "cross": {cross}}}'


def _weights(found: wire.Weights) -> str:
    return f'{{"shape": {list(found.shape)}, "values": [{", ".join(_numbers(found.values))}]}}'


def _numbers(values: Any) -> Iterator[str]:
    for begin in range(0, len(values), SLICE):
        yield ", ".join(map("%.6g".__mod__, values[begin : begin + SLICE]))
