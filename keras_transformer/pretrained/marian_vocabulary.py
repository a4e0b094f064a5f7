"""The tokenizer of a MarianMT directory: two SentencePiece models, and vocabularies that decide the ids."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.marian_config import MarianConfig
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.vocabulary import END_ID, PAD_ID, START_ID, UNKNOWN_ID

VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
MODELS = ("source.spm", "target.spm")
MAX_MODEL_BYTES = 64 * 2**20
STARTS = ("<s>", "<start>", "<start of the target>")  # what the start may be called, where a name is free


class Side(NamedTuple):
    """The vocabulary of one side.

    Args:
        pieces: The pieces in the order of the ids here.
        rows: The id that each of them has in the files.
    """

    pieces: tuple[str, ...]
    rows: NDArray[np.int64]


class Vocabularies(NamedTuple):
    """Vocabularies of both sides, and the ids that are never generated, in this project's numbering."""

    source: Side
    target: Side
    forbidden: tuple[int, ...]
    tokenizer: Tokenizer


def read_vocabularies(directory: PretrainedDirectory, config: MarianConfig) -> Vocabularies:
    """Read the vocabularies and the SentencePiece models.

    Args:
        directory: Holds vocab.json, source.spm and target.spm, and target_vocab.json if config names it.
        config: Its configuration.

    Returns:
        The sides, and a tokenizer of them.

    Raises:
        PretrainedError: With everything that is wrong with the files, or contradicts the configuration.
    """
    names = [VOCABULARY, TARGET_VOCABULARY if config.separate_vocabularies else VOCABULARY]
    read = {name: directory.json(name) for name in names}
    models = [directory.bytes(name, MAX_MODEL_BYTES) for name in MODELS]
    return make_vocabularies(directory, config, names, [read[name] for name in names], models)


def make_vocabularies(
    directory: PretrainedDirectory,
    config: MarianConfig,
    names: Sequence[str],
    sides: Sequence[Mapping[str, Any]],
    models: Sequence[bytes],
) -> Vocabularies:
    """Make the vocabularies of ids by piece, which come from files of these names, and SentencePiece models.

    Raises:
        PretrainedError: As `read_vocabularies` does.
    """
    problems: list[str] = []
    sizes = [config.source_vocabulary, config.target_vocabulary]
    for name, (side, size) in dict(zip(names, zip(sides, sizes, strict=True), strict=True)).items():
        problems += [f"{name}: {problem}" for problem in wrong(side, size, config.pieces.values())]
    source, target = sides
    for piece, number in (("pad", config.pad_id), ("eos", config.end_id)):
        if not problems and target[config.pieces[piece]] != number:
            problems.append(
                f"{names[1]}: {config.pieces[piece]!r} is id {target[config.pieces[piece]]}; the "
                f"configuration has {piece}_token_id {number}"
            )
    if config.separate_vocabularies and config.shares_vocabulary:
        problems.append("two vocabularies need two tables, and config.json has one table of both sides")
    if problems:
        raise PretrainedError(directory.path, problems)
    ordered = Side(*_ordered(source, config, None)), Side(*_ordered(target, config, config.start_id))
    inverse = {number: place for place, number in reversed([*enumerate(ordered[1].rows.tolist())])}
    forbidden = {PAD_ID, START_ID, *(inverse[number] for number in config.forbidden)}
    try:
        tokenizer = Tokenizer(
            models, config.source_lang, config.target_lang, [each.pieces for each in ordered]
        )
    except ValueError as error:
        raise PretrainedError(directory.path, [f"{' and '.join(MODELS)}: {error}"]) from error
    return Vocabularies(*ordered, tuple(sorted(forbidden)), tokenizer)


def wrong(pieces: Mapping[str, Any], size: int, special: Iterable[str]) -> list[str]:
    """Return the problems of a vocabulary, which must have this size and these special pieces."""
    ids = [*pieces.values()]
    if not all(type(number) is int for number in ids):
        return ["every id must be a whole number"]
    problems = []
    if len(pieces) != size:
        problems.append(f"it has {len(pieces):,} pieces; the configuration has {size:,}")
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        problems.append(f"the id {twice} is given twice")
    outside = set(range(len(ids))) - set(ids)
    if outside:
        problems.append(f"the ids must be 0 to {len(ids) - 1}; {min(outside)} is missing")
    lacking = [piece for piece in special if piece not in pieces]
    if lacking:
        problems.append(f"it lacks {', '.join(map(repr, lacking))}")
    return problems


def _ordered(
    pieces: Mapping[str, int], config: MarianConfig, start: int | None
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The special pieces first, as they are numbered here, then all others in their order.

    The start has the row of the id that the target starts with; the source never has it.
    """
    by_id = sorted(pieces, key=pieces.__getitem__)
    special = {
        PAD_ID: config.pieces["pad"],
        UNKNOWN_ID: config.pieces["unk"],
        START_ID: next(name for name in STARTS if name not in pieces),
        END_ID: config.pieces["eos"],
    }
    first = [special[number] for number in sorted(special)]
    others = [piece for piece in by_id if piece not in first]
    rows = {**pieces, special[START_ID]: pieces[config.pieces["pad"]] if start is None else start}
    names = (*first, *others)
    return names, np.array([rows[name] for name in names])
