"""The files of a directory of Marian itself: its model, its vocabularies, and the pieces in them.

decoder.yml of an OPUS-MT package, or model.npz.decoder.yml, which Marian writes, names them. Without one of
these they are model.npz, and vocab.yml or vocab.spm for both sides, or source.spm and target.spm.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import sentencepiece
import yaml

from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.marian_config import DECODERS, NPZ
from keras_transformer.pretrained.marian_vocabulary import MAX_MODEL_BYTES, MODELS

NPZ_SUFFIX, MODEL_SUFFIX = ".npz", ".spm"
MAX_DECODER_BYTES = 2**20
MAX_NAME_BYTES = 255  # of a file
MAX_DEPTH = 2  # of YAML: lists in an object
SHARED = ("vocab.yml", "vocab.spm")  # vocabularies of both sides
YAML_SUFFIXES = (".yml", ".yaml", ".json")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # all values are texts: `no` is a piece, not false
_DAMAGED = (yaml.YAMLError, RuntimeError, ValueError, TypeError, AttributeError)


class MarianVocabulary(NamedTuple):
    """The vocabulary of a side.

    Args:
        name: Its file.
        pieces: The id of each piece.
        model: The SentencePiece model that cuts texts into these pieces.
    """

    name: str
    pieces: Mapping[str, int]
    model: bytes


def find_model(directory: PretrainedDirectory) -> Path:
    """Return the file of the weights.

    Raises:
        PretrainedError: If it is missing, is one of several, or has another format.
    """
    (name,) = _named(directory, "models", 1) or [NPZ]
    if not name.endswith(NPZ_SUFFIX):
        problem = f"{name!r:.60} is no {NPZ_SUFFIX} file; import the one from which marian-conv made it"
        raise PretrainedError(directory.path, [problem])
    _check_named(directory, [name])
    return directory.file(name)


def read_marian_vocabularies(directory: PretrainedDirectory) -> list[MarianVocabulary]:
    """Read the vocabularies of source and target, which may be one file.

    Raises:
        PretrainedError: If a file is missing, or is not what its name says.
    """
    shared = next(filter(directory.has, SHARED), None)
    names = _named(directory, "vocabs", 2) or ([shared] * 2 if shared else [*MODELS])
    _check_named(directory, names)
    contents = {name: directory.bytes(name, MAX_MODEL_BYTES) for name in names}
    pieces = {name: _pieces(directory.path, name, content) for name, content in contents.items()}
    return [
        MarianVocabulary(
            name,
            pieces[name],
            contents[name] if name.endswith(MODEL_SUFFIX) else directory.bytes(model, MAX_MODEL_BYTES),
        )
        for name, model in zip(names, MODELS, strict=True)
    ]


def _decoder(directory: PretrainedDirectory) -> str | None:
    """Return the name of the file with the options of Marian's decoder, if there is one."""
    return next(filter(directory.has, DECODERS), None)


def _named(directory: PretrainedDirectory, option: str, count: int) -> list[str]:
    """Return the file names that an option of Marian's decoder has; none without a file of its options.

    A path may be that of the machine that trained the model: the file is looked for in the directory.
    """
    decoder = _decoder(directory)
    if decoder is None:
        return []
    content = directory.bytes(decoder, MAX_DECODER_BYTES)
    try:
        paths = _yaml(content)[option]
        names = [PurePosixPath(path).name for path in paths if isinstance(paths, list)]
        if len(names) != count or not all(names):
            raise ValueError(f"it names {len(names)}")
        if max(len(name.encode()) for name in names) > MAX_NAME_BYTES:
            raise ValueError(f"a name has more than {MAX_NAME_BYTES} bytes")
    except (KeyError, *_DAMAGED) as error:
        problem = f"{decoder}: {option} must be a list of {count} file name{'s' * (count > 1)} ({error})"
        raise PretrainedError(directory.path, [problem]) from error
    return names


def _check_named(directory: PretrainedDirectory, names: Sequence[str]) -> None:
    """Refuse a directory that lacks a file, and say which other file names it.

    Raises:
        PretrainedError: If one is missing. Where no file names them, `directory` tells what is missing.
    """
    decoder = _decoder(directory)
    missing = next((name for name in names if not directory.has(name)), None)
    if decoder and missing:
        remedy = f"copy it into the directory, or correct {decoder}"
        raise PretrainedError(directory.path, [f"{missing} is missing, which {decoder} names: {remedy}"])


def _yaml(content: bytes) -> Any:
    """Read a list or an object of values. PyYAML's C loader overflows the stack where many are nested.

    Raises:
        ValueError: If they nest deeper than a list in an object.
        yaml.YAMLError: If it is no YAML.
    """
    depth = 0
    for event in yaml.parse(content, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
    return yaml.load(content, Loader=_LOADER)


def _pieces(path: Path, name: str, content: bytes) -> dict[str, int]:
    """Read the pieces of a vocabulary, whose format follows from its name, as in Marian."""
    kind = "text with a line for each piece"
    try:
        if name.endswith(MODEL_SUFFIX):
            kind = "a SentencePiece model"
            processor = sentencepiece.SentencePieceProcessor(model_proto=content)
            return {processor.id_to_piece(number): number for number in range(processor.vocab_size())}
        if name.endswith(YAML_SUFFIXES):
            kind = "YAML with a line `piece: id` for each piece"
            entries = _yaml(content)
            return {str(piece): int(number) for piece, number in entries.items()}
        return {piece: number for number, piece in enumerate(content.decode().removesuffix("\n").split("\n"))}
    except _DAMAGED as error:
        raise PretrainedError(path, [f"{name} must be {kind} ({error})"]) from error
