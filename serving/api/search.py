"""The search for the answers of a request: what its options ask for, and the n-best of a text."""

from collections.abc import Sequence
from heapq import nlargest
from typing import Any

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.request import Request
from serving.errors import InvalidError
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire

MAX_PENALTY = 10.0
NEEDS_CANDIDATES: dict[str, Any] = {"prefix": "", "no_repeat_ngram": 0, "beam": 1, "alternatives": 0}


def search_of(options: wire.Options, model: ServedVersion, parts: int) -> dict[str, Any]:
    """Return the fields of inference.Request that these options ask for.

    Args:
        options: The options of a request.
        model: The version that decodes.
        parts: The number of parts of the text.

    Raises:
        InvalidError: An option is invalid, or the version does not have it.
    """
    beam = options.beam or options.alternatives + 1
    max_beam = model.engine.max_beam
    if not model.engine.has_candidates and (beam > 1 or options.prefix or options.no_repeat_ngram):
        field = next(name for name in NEEDS_CANDIDATES if getattr(options, name) > NEEDS_CANDIDATES[name])
        raise InvalidError(
            f"options.{field}",
            f"version {model.version} of {model.name} decodes greedily: an earlier release exported it, or "
            "the server does not run it in ONNX Runtime. Export it again with --format onnx, or leave out "
            f"options.{field}.",
        )
    if beam > max_beam:
        field, limit = ("beam", max_beam) if options.beam else ("alternatives", max_beam - 1)
        got = options.beam or options.alternatives
        raise InvalidError(f"options.{field}", f"options.{field} must be at most {limit}; got {got:,}")
    if options.alternatives >= beam:
        raise InvalidError(
            "options.alternatives",
            f"options.alternatives must be less than options.beam; got {options.alternatives:,} and {beam}. "
            "Leave out options.beam, and it is wide enough.",
        )
    penalty = options.length_penalty if options.HasField("length_penalty") else 1.0
    if not 0 <= penalty <= MAX_PENALTY:
        raise InvalidError(
            "options.length_penalty", f"options.length_penalty must be 0 to {MAX_PENALTY:g}; got {penalty:g}"
        )
    return {
        "beam": beam,
        "length_penalty": penalty,
        "prefix": _prefix(options, model, parts) if options.prefix else (),
        "no_repeat_ngram": options.no_repeat_ngram,
        "branching": options.alternatives_at_prefix,
    }


def _prefix(options: wire.Options, model: ServedVersion, parts: int) -> list[int]:
    if parts != 1:
        raise InvalidError(
            "options.prefix",
            f"options.prefix needs a text of one part; this one has {parts}. Send its sentences one by one.",
        )
    try:
        ids = model.tokenizer.encode_prefix(options.prefix, model.forbidden)
    except ValueError as error:
        raise InvalidError("options.prefix", f"options.prefix: {error}") from error
    longest = min(options.max_output_tokens or model.longest_answer, model.longest_answer)
    if len(ids) > longest:
        raise InvalidError(
            "options.prefix",
            f"options.prefix has {len(ids):,} tokens; an answer has at most {longest:,}. Shorten it"
            f"{', or raise options.max_output_tokens' if longest < model.longest_answer else ''}.",
        )
    return ids


def n_best(requests: Sequence[Request], count: int) -> list[tuple[Answer, ...]]:
    """Return the `count` best combinations of the answers to the parts of a text, the best first.

    A combination is as good as the sum of its scores; those with fewer loops come first.
    """
    best: list[tuple[int, float, tuple[Answer, ...]]] = [(0, 0.0, ())]
    for request in requests:
        answers = request.answers or [Answer([], 0.0)]
        longer = [
            (sound - answer.looped, total + answer.score, (*parts, answer))
            for sound, total, parts in best
            for answer in answers
        ]
        best = nlargest(count, longer, key=lambda combination: combination[:2])
    return [parts for _, _, parts in best]
