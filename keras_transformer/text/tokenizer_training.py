"""Training of a SentencePiece vocabulary from pairs of sentences."""

import io
import itertools
import logging
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import sentencepiece

from keras_transformer.files import Synced
from keras_transformer.text.cleaning import INVISIBLE
from keras_transformer.text.corpus import Pair

DEFAULT_VOCABULARY_SIZE = 8000
FEWEST_PIECES = 261  # 4 special ids, 256 bytes, 1 piece
MAX_TRAINING_SENTENCES = 1_000_000
KINDS = {1: "unigram", 2: "bpe"}  # as SentencePiece numbers them
WITHOUT_RARE = 0.9995  # the share of a corpus' characters that have a piece where there are too many kinds
_TOO_HIGH, _TOO_SMALL = r"too high .* <= (\d+)", r"required_chars\. \d+ vs (\d+)"  # SentencePiece's words

_logger = logging.getLogger(__name__)


def learn(
    pairs: Iterable[Pair],
    vocabulary_size: int | None,
    kind: str,
    joint: bool,
    character_coverage: float = 1.0,
    temp_directory: Path | None = None,
) -> list[bytes]:
    """Train SentencePiece models.

    Args:
        pairs: The corpus; it is read once, and buffered on disk.
        vocabulary_size: Number of pieces; None for 8,000, or as many as the corpus supports.
        kind: "bpe" or "unigram".
        joint: Whether one model serves both sides.
        character_coverage: Share of the characters that get a piece.
        temp_directory: Directory in which the pairs are buffered; by default the system's directory of
            temporary files, which may be in memory.

    Returns:
        The bytes of the one model, or of the source's and the target's.

    Raises:
        ValueError: If an option is out of range, or the corpus is too small for it.
    """
    _check(vocabulary_size, kind, character_coverage)
    with tempfile.TemporaryDirectory(prefix=".tokenizer-", dir=temp_directory) as scratch:
        files = _spooled(pairs, Path(scratch))
        sides = [files] if joint else [[file] for file in files]
        return [_learned(side, vocabulary_size, kind, character_coverage) for side in sides]


def kind_of(model: bytes) -> str:
    """Return the kind of a SentencePiece model.

    Raises:
        ValueError: it is neither bpe nor unigram.
    """
    from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415 (as in _exactly_summed)

    number = sentencepiece_model_pb2.ModelProto.FromString(model).trainer_spec.model_type
    if number not in KINDS:
        raise ValueError("the model cuts words or characters; bpe and unigram are supported")
    return KINDS[number]


def whole(text: str) -> str:
    """Replace lone surrogates, halves of characters that JSON can contain, with U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _check(vocabulary_size: int | None, kind: str, character_coverage: float) -> None:
    problems = []
    if vocabulary_size is not None and vocabulary_size < FEWEST_PIECES:
        problems.append(
            f"vocabulary_size must be at least {FEWEST_PIECES} (4 special ids, 256 bytes, a piece); got "
            f"{vocabulary_size}"
        )
    if kind not in {"bpe", "unigram"}:
        problems.append(f"kind must be 'bpe' or 'unigram'; got {kind!r}")
    if not 0.98 <= character_coverage <= 1:
        problems.append(f"character_coverage must be from 0.98 to 1; got {character_coverage}")
    if problems:
        raise ValueError("; ".join(problems))


def _spooled(pairs: Iterable[Pair], directory: Path) -> list[Path]:
    """Write source and target texts to two files of lines, so that one pass over the pairs is enough."""
    paths = [directory / "source", directory / "target"]
    with Synced(paths[0]) as source, Synced(paths[1]) as target:  # whose errors name the file
        for pair in pairs:
            for file, text in zip((source, target), pair, strict=True):
                file.write(whole(text).encode() + b"\n")
    return paths


def _lines(paths: Sequence[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            yield from file


def _sentences(paths: Sequence[Path]) -> Iterator[bytes]:
    """Yield every line, or MAX_TRAINING_SENTENCES lines at even distances."""
    total = sum(1 for _ in _lines(paths))
    count = min(total, MAX_TRAINING_SENTENCES)
    for number, line in enumerate(_lines(paths)):
        if number * count // total != (number + 1) * count // total:
            yield line.removesuffix(b"\n")


def _learned(
    paths: Sequence[Path], vocabulary_size: int | None, kind: str, character_coverage: float
) -> bytes:
    if not any(map(bytes.strip, _lines(paths))):
        raise ValueError(
            "there is no text to train a tokenizer from: give at least one pair that is not empty"
        )
    size = vocabulary_size or DEFAULT_VOCABULARY_SIZE
    try:
        return _model(paths, size, kind, character_coverage)
    except RuntimeError as error:
        maximum, minimum = (re.search(reason, str(error)) for reason in (_TOO_HIGH, _TOO_SMALL))
        rare = minimum and character_coverage > WITHOUT_RARE
        if vocabulary_size is not None or not (maximum or rare):
            raise ValueError(_explained(str(error), size)) from error
    if maximum:
        _logger.warning(
            "the vocabulary has %s pieces: this corpus supports no more (the default is %d)", maximum[1], size
        )
        return _model(paths, int(maximum[1]), kind, character_coverage)
    _logger.warning("more distinct characters than %d pieces: the rarest are encoded as bytes", size)
    return _learned(paths, vocabulary_size, kind, WITHOUT_RARE)


def _explained(error: str, size: int) -> str:
    """Explain an error of SentencePiece in terms of the options."""
    if maximum := re.search(_TOO_HIGH, error):
        return (
            f"vocabulary_size={size} is more than this corpus supports, which is {maximum[1]}: "
            f"set {maximum[1]} or less, or omit it"
        )
    if minimum := re.search(_TOO_SMALL, error):
        return (
            f"vocabulary_size={size} is too small: special ids, bytes and the corpus' characters "
            f"are {minimum[1]}. Set a larger size, or omit it: rare characters are then encoded as bytes"
        )
    return f"SentencePiece cannot learn from this text: {error}"


def _model(paths: Sequence[Path], size: int, kind: str, character_coverage: float) -> bytes:
    sentencepiece.set_min_log_level(3)  # it logs to stderr; errors are raised anyway
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=_sentences(paths),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        character_coverage=character_coverage,
        byte_fallback=True,
        normalizer=sentencepiece.SentencePieceNormalizer(norm_map=_normalization()),
        num_threads=1,  # the number of threads changes the sums, and so the pieces
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
    )
    return _exactly_summed(model.getvalue()) if kind == "unigram" else model.getvalue()


def _exactly_summed(model: bytes) -> bytes:
    """Round the scores of a model to multiples of 1/64.

    Unigram chooses the pieces with the highest sum of scores. 000 as 0 + 00 or as 00 + 0 is a tie that the
    rounding of float32 decides, and the library rounds differently from tensorflow-text: the ids would
    differ. Multiples of 1/64 are summed without rounding up to 2**24 / 64: 10,000 characters if all are
    unknown, 30,000 of text.
    """
    from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415 (nothing else here needs protobuf)

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    for piece in proto.pieces:
        piece.score = round(piece.score * 64) / 64
    return bytes(proto.SerializeToString(deterministic=True))


@cache
def _normalization() -> list[tuple[str, str]]:
    """Return the table of replacements that the docstring of the tokenizer's module describes."""
    table: dict[str, str] = {}
    for character in map(chr, itertools.chain(range(1, 0xD800), range(0xE000, 0x110000))):
        if not unicodedata.is_normalized("NFD", character):
            table.update(_spellings(character))
        if unicodedata.category(character) == "Cc" or character in INVISIBLE:
            table[character] = ""
        if character == "▁" or (character.isspace() and character not in " \x1c\x1d\x1e\x1f"):
            table[character] = " "
    return list(table.items())


def _spellings(character: str) -> Iterator[tuple[str, str]]:
    """Yield equivalent spellings of a character, each with the composed character."""
    composed = unicodedata.normalize("NFC", character)
    decomposed = unicodedata.normalize("NFD", character)
    for marks in itertools.permutations(decomposed[1:]):
        text = decomposed[0] + "".join(marks)
        for split in range(1, len(text) + 1):
            spelling = unicodedata.normalize("NFC", text[:split]) + text[split:]
            if spelling != composed and unicodedata.normalize("NFC", spelling) == composed:
                yield spelling, composed
    if character != composed:
        yield character, composed
