"""Conversion of results to messages of the protocol."""

from collections.abc import Sequence

from serving.api.job import Job, Partial
from serving.engine.attention_graph import Attended, Weights
from serving.registry.registry import Registry
from serving.registry.served_version import ServedVersion
from serving.v1 import translation_pb2 as wire


def translation(job: Job, result: Partial) -> wire.Translation:
    """Return a complete result, without the fields that options add."""
    return wire.Translation(
        text=job.text(result),
        finish_reason=job.finish_reason(result),
        model=job.model.name,
        version=job.model.version,
        usage=wire.Usage(
            source_tokens=sum(len(request.source) for request in job.requests),
            target_tokens=sum(map(len, result.tokens)),
            parts=len(job.requests),
        ),
    )


def add_tokens(answer: wire.Translation, job: Job, result: Partial) -> None:
    """Add the tokens of the answer."""
    answer.tokens.extend(_tokens(job.model, [token for tokens in result.tokens for token in tokens]))


def add_scores(answer: wire.Translation, result: Partial) -> None:
    """Add log-probabilities to the tokens, and the mean as the score."""
    for token, log_prob in zip(answer.tokens, result.log_probs, strict=True):
        token.log_prob = log_prob
    if result.log_probs:
        answer.score = sum(result.log_probs) / len(result.log_probs)


def add_alternatives(answer: wire.Translation, job: Job, result: Partial, options: wire.Options) -> None:
    """Add further translations, with tokens and scores if these are asked for."""
    for other in job.alternatives(result, options.alternatives):
        alternative = answer.alternatives.add(text=job.text(other), finish_reason=job.finish_reason(other))
        if options.scores:
            tokens = _tokens(job.model, [token for tokens in other.tokens for token in tokens])
            for token, log_prob in zip(tokens, other.log_probs, strict=True):
                token.log_prob = log_prob
            alternative.tokens.extend(tokens)
            if other.log_probs:
                alternative.score = sum(other.log_probs) / len(other.log_probs)


def add_alignment(answer: wire.Translation, job: Job, attended: Sequence[Attended]) -> None:
    """Add the source token with which each token is aligned."""
    for part in attended:
        targets, sources = len(answer.alignment), len(answer.source_tokens)
        for target, source in enumerate(part.alignment()):
            answer.alignment.add(target=targets + target, source=sources + source)
        answer.source_tokens.extend(_source_tokens(job.model, part.source))


def attended_part(model: ServedVersion, part: Attended) -> wire.AttendedPart:
    """Return all attention weights of one part."""
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
    """Return a model with its serving and its refused versions."""
    listed = wire.Model(name=name)
    if name in models.defaults:
        listed.default_version = models.defaults[name].version
    for number, version in versions:
        if isinstance(version, str):
            listed.versions.add(version=number, state=wire.STATE_UNAVAILABLE, reason=version)
            continue
        alive = version.engine.alive
        listed.versions.add(
            version=number,
            state=wire.STATE_SERVING if alive else wire.STATE_UNAVAILABLE,
            reason="" if alive else "its engine has failed; see the log of the server",
            source_language=version.tokenizer.source_lang,
            target_language=version.tokenizer.target_lang,
            target_languages=version.tokenizer.target_languages,
            precision=version.precision,
            part_tokens=version.lengths.longest,
            max_beam=version.engine.max_beam,
        )
    return listed


def _tokens(model: ServedVersion, ids: Sequence[int]) -> list[wire.Token]:
    pieces = model.tokenizer.pieces_target(ids)
    return [wire.Token(id=number, piece=piece) for number, piece in zip(ids, pieces, strict=True)]


def _source_tokens(model: ServedVersion, ids: Sequence[int]) -> list[wire.Token]:
    pieces = model.tokenizer.pieces_source(ids)
    return [wire.Token(id=number, piece=piece) for number, piece in zip(ids, pieces, strict=True)]


def _weights(values: Weights) -> wire.Weights:
    # a list: protobuf takes ten times as long for an array, and blocks the event loop
    return wire.Weights(shape=values.shape, values=values.ravel().tolist())
