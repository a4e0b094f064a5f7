"""Answers as the wire has them."""

from collections.abc import Sequence

from serving.api.job import Job, Partial
from serving.engine.attention_graph import Attended, Weights
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire


def translation(asked: Job, said: Partial) -> wire.Translation:
    """An answer that is whole, without what has to be asked for."""
    return wire.Translation(
        text=asked.text(said),
        finish_reason=asked.finish_reason(said),
        model=asked.model.name,
        version=asked.model.version,
        usage=wire.Usage(
            source_tokens=sum(len(request.source) for request in asked.requests),
            target_tokens=sum(map(len, said.tokens)),
            parts=len(asked.requests),
        ),
    )


def add_tokens(answer: wire.Translation, asked: Job, said: Partial) -> None:
    """What the model said."""
    answer.tokens.extend(_tokens(asked.model, [each for tokens in said.tokens for each in tokens]))


def add_scores(answer: wire.Translation, asked: Job, said: Partial) -> None:
    """How likely it was; its tokens are there."""
    log_probs = asked.log_probs(said)
    for token, log_prob in zip(answer.tokens, log_probs, strict=True):
        token.log_prob = log_prob
    if log_probs:
        answer.score = sum(log_probs) / len(log_probs)


def add_alignment(answer: wire.Translation, asked: Job, attended: Sequence[Attended]) -> None:
    """Which source token each token looks at; its tokens are there."""
    for part in attended:
        targets, sources = len(answer.alignment), len(answer.source_tokens)
        for target, source in enumerate(part.alignment()):
            answer.alignment.add(target=targets + target, source=sources + source)
        answer.source_tokens.extend(_source_tokens(asked.model, part.source))


def attended_part(model: ServedVersion, part: Attended) -> wire.AttendedPart:
    """All its weights."""
    return wire.AttendedPart(
        source=_source_tokens(model, part.source),
        target=_tokens(model, part.target),
        encoder=_weights(part.encoder),
        decoder=_weights(part.decoder),
        cross=_weights(part.cross),
    )


def listed_model(
    models: Registry, name: str, versions: Sequence[tuple[int, ServedVersion | str]]
) -> wire.Model:
    """A model with those of its versions that answer, and those that were refused."""
    found = wire.Model(name=name)
    if name in models.names:
        found.default_version = models.default(name).version
    for number, version in versions:
        if isinstance(version, str):
            found.versions.add(version=number, state=wire.STATE_UNAVAILABLE, reason=version)
            continue
        alive = version.engine.alive
        found.versions.add(
            version=number,
            state=wire.STATE_SERVING if alive else wire.STATE_UNAVAILABLE,
            reason="" if alive else "its engine has failed: the log says why",
            source_language=version.tokenizer.source_lang,
            target_language=version.tokenizer.target_lang,
            precision=version.precision,
            part_tokens=version.lengths.longest,
        )
    return found


def _tokens(model: ServedVersion, ids: Sequence[int]) -> list[wire.Token]:
    pieces = model.tokenizer.pieces_target(ids)
    return [wire.Token(id=number, piece=piece) for number, piece in zip(ids, pieces, strict=True)]


def _source_tokens(model: ServedVersion, ids: Sequence[int]) -> list[wire.Token]:
    pieces = model.tokenizer.pieces_source(ids)
    return [wire.Token(id=number, piece=piece) for number, piece in zip(ids, pieces, strict=True)]


def _weights(values: Weights) -> wire.Weights:
    # a list: protobuf takes ten times as long over an array, while the event loop waits
    return wire.Weights(shape=values.shape, values=values.ravel().tolist())
