"""Text -> token ids and back: SentencePiece, one model for both languages or one for each.

**All that is done to text is inside the model.** Its normalisation table is part of the .model file, so that
the sentencepiece library, tensorflow-text in a graph and any other runtime give the same ids from the same
bytes. Nothing is left to do before or after it: an exported graph needs no regular expression. The table:

- spellings of a character become the composed one: e + U+0301 is é (NFC; not NFKC, which makes m² into m2);
- white space of every kind, line ends and U+2581 (▁, SentencePiece's own sign for a space) become one space
  between words;
- what nobody sees goes: controls, soft hyphen, zero-width space, word joiner, byte order mark. Joiners
  (U+200C, U+200D: emoji, Persian) and the marks of right-to-left text stay; so does NUL, which a table
  cannot hold.

Byte fallback writes all other text exactly, so that nothing is unknown. Marks in an order that is no
character's spelling stay as they are. Decoded text is the encoded text, up to this.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import index
from pathlib import Path
from typing import Any, Self, SupportsIndex

import sentencepiece

from keras_transformer.files import making, read_json
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer_training import learn, whole

SHARED, SOURCE, TARGET, ABOUT = "shared.model", "source.model", "target.model", "about.json"
FEW = 32  # texts: the threads that the library starts for several cost more than so many take


class Tokenizer:
    """Text to token ids and back. Ids: 0 padding, 1 unknown (never occurs), 2 start, 3 end, then pieces.

    Args:
        models: the bytes of SentencePiece models: one for both sides, or the source's and the target's.
        source_lang: the language of the source, such as fr.
        target_lang: the language of the target.

    Raises:
        ValueError: a model is not one of SentencePiece, or the two differ in their special ids.
    """

    def __init__(self, models: Sequence[bytes], source_lang: str = "", target_lang: str = "") -> None:
        self.source_lang = source_lang
        self.target_lang = target_lang
        self._models = list(models)
        self._source, self._target = _processor(models[0]), _processor(models[-1])
        if _special_ids(self._source) != _special_ids(self._target):
            raise ValueError(
                "source and target model must agree on the ids of padding, start and end; got "
                f"{_special_ids(self._source)} and {_special_ids(self._target)}"
            )
        self.pad_id, self.bos_id, self.eos_id = _special_ids(self._source)

    @classmethod
    def train(
        cls,
        pairs: Iterable[Pair],
        vocabulary_size: int | None = None,
        kind: str = "bpe",
        joint: bool = True,
        source_lang: str = "",
        target_lang: str = "",
        character_coverage: float = 1.0,
    ) -> Self:
        """Learn a tokenizer from one pass over the pairs, which are spooled to disk meanwhile.

        The same pairs give the same bytes: one thread learns, and of a corpus of more than a million
        sentences a million are taken at even distances. Sentences of more than 4,192 bytes are skipped.

        Args:
            pairs: the corpus.
            vocabulary_size: the number of pieces; None is 8,000, or as many as the corpus supports.
            kind: bpe or unigram.
            joint: whether one vocabulary serves both sides.
            source_lang: the language of the source.
            target_lang: the language of the target.
            character_coverage: the share of the characters that get a piece.

        Raises:
            ValueError: an option is out of range, or the corpus does not support it.
        """
        models = learn(pairs, vocabulary_size, kind, joint, character_coverage)
        return cls(models, source_lang, target_lang)

    @property
    def joint(self) -> bool:
        return len(self._models) == 1

    @property
    def source_model(self) -> bytes:
        """The bytes that tensorflow_text.SentencepieceTokenizer(model=..., add_eos=True) takes."""
        return self._models[0]

    @property
    def target_model(self) -> bytes:
        return self._models[-1]

    @property
    def source_size(self) -> int:
        return self._source.vocab_size()

    @property
    def target_size(self) -> int:
        return self._target.vocab_size()

    def encode_source(
        self, texts: Sequence[str], max_tokens: int | None = None, dropout: float = 0.0, seed: int = 0
    ) -> list[list[int]]:
        """Encode source texts.

        Args:
            texts: the texts.
            max_tokens: longer texts are cut to so many ids, the end included.
            dropout: for training, the share of BPE's merges that is skipped (BPE-dropout).
            seed: decides the dropout.

        Returns:
            The ids of each text, which end with eos_id.
        """
        return _encode(self._source, texts, max_tokens, dropout, seed)

    def count_source(self, text: str) -> int:
        """Return the number of ids of a source text, the end included."""
        return len(self.encode_source([text])[0])

    def encode_target(
        self, texts: Sequence[str], max_tokens: int | None = None, dropout: float = 0.0, seed: int = 0
    ) -> list[list[int]]:
        """Encode target texts, as encode_source does. The model adds bos_id itself."""
        return _encode(self._target, texts, max_tokens, dropout, seed)

    def decode_source(self, ids: Iterable[Iterable[SupportsIndex]]) -> list[str]:
        """Decode rows of source ids. Padding, start and end have no text; invalid UTF-8 becomes U+FFFD."""
        return [self._source.decode(_checked(self._source, one, row)) for row, one in enumerate(ids)]

    def decode_target(self, ids: Iterable[Iterable[SupportsIndex]]) -> list[str]:
        """Decode rows of target ids, as decode_source does."""
        return [self._target.decode(_checked(self._target, one, row)) for row, one in enumerate(ids)]

    def pieces_source(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Return the pieces of a row of source ids; ▁ is a space, <0x0A> a byte."""
        return self._source.id_to_piece(_checked(self._source, ids, row=0))

    def pieces_target(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Return the pieces of a row of target ids."""
        return self._target.id_to_piece(_checked(self._target, ids, row=0))

    def save(self, directory: Path) -> None:
        """Write shared.model, or source.model and target.model, and about.json: all of them, or none."""
        if directory.exists():
            raise FileExistsError(
                f"{directory} exists: a tokenizer is never overwritten. Remove it or choose another"
            )
        models = dict(zip([SHARED] if self.joint else [SOURCE, TARGET], self._models, strict=True))
        about = {
            "source_lang": self.source_lang,
            "target_lang": self.target_lang,
            "sha256": {name: sha256(model).hexdigest() for name, model in models.items()},
        }
        files = {**models, ABOUT: json.dumps(about, indent=2).encode() + b"\n"}
        with making(directory) as complete:
            for name, content in files.items():
                (complete / name).write_bytes(content)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Load the files of `save`, or SentencePiece models of those names, which no checksum protects."""
        names, about = _model_names(directory), _about(directory)
        models = [_checked_model(directory / name, about["sha256"].get(name)) for name in names]
        return cls(models, about["source_lang"], about["target_lang"])

    def get_config(self) -> dict[str, Any]:
        """Return the configuration for JSON and .keras files, the models as base64."""
        models = [base64.b64encode(model).decode("ascii") for model in self._models]
        return {"models": models, "source_lang": self.source_lang, "target_lang": self.target_lang}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        models = [base64.b64decode(model) for model in config["models"]]
        return cls(models, config["source_lang"], config["target_lang"])


# Ids


def _encode(
    processor: sentencepiece.SentencePieceProcessor,
    texts: Sequence[str],
    limit: int | None,
    dropout: float,
    seed: int,
) -> list[list[int]]:
    if isinstance(texts, str):
        raise TypeError(f"a sequence of texts is expected; got the text {texts[:40]!r}. Put it into a list")
    if limit is not None and limit < 1:
        raise ValueError(f"max_tokens must be at least 1, which is the end of sentence alone; got {limit}")
    max_pieces = None if limit is None else limit - 1
    end = [processor.eos_id()]
    sampling: dict[str, Any] = {}
    if dropout:
        sentencepiece.set_random_generator_seed(seed)  # each call starts from it, in a thread of its own
        sampling = {"enable_sampling": True, "alpha": dropout, "num_threads": 1}
    valid_texts = [whole(text) for text in texts]
    if len(valid_texts) < FEW and not sampling:
        rows = map(processor.encode, valid_texts)
    else:
        rows = processor.encode(valid_texts, **sampling)
    return [ids[:max_pieces] + end for ids in rows]


def _checked(
    processor: sentencepiece.SentencePieceProcessor, ids: Iterable[SupportsIndex], row: int
) -> list[int]:
    numbers = [index(number) for number in ids]
    size = processor.vocab_size()
    for number in numbers:
        if not 0 <= number < size:
            raise ValueError(
                f"row {row} has the id {number}, but this vocabulary has the ids 0 to {size - 1}"
            )
    return numbers


def _processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        raise ValueError(f"these {len(model)} bytes are not a SentencePiece model ({error})") from error


def _special_ids(processor: sentencepiece.SentencePieceProcessor) -> tuple[int, int, int]:
    ids = (processor.pad_id(), processor.bos_id(), processor.eos_id())
    if min(ids) < 0:
        raise ValueError(
            f"the model has no padding, start or end piece (their ids are {ids}, -1 is none): "
            "train it with pad_id, bos_id and eos_id"
        )
    return ids


# Files


_REMEDY = "copy it again from where it came, or train the tokenizer again"


def _model_names(directory: Path) -> list[str]:
    present = [name for name in (SHARED, SOURCE, TARGET) if (directory / name).is_file()]
    if present not in ([SHARED], [SOURCE, TARGET]):
        raise FileNotFoundError(
            f"{directory} must hold either {SHARED}, or {SOURCE} and {TARGET}; "
            f"found {' and '.join(present) or 'none of them'}"
        )
    return present


def _about(directory: Path) -> dict[str, Any]:
    path = directory / ABOUT
    about: dict[str, Any] = {"source_lang": "", "target_lang": "", "sha256": {}}
    try:
        about.update(read_json(path.read_bytes()))
    except FileNotFoundError:
        return about  # bare models
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}): {_REMEDY}") from error
    return about


def _checked_model(path: Path, digest: str | None) -> bytes:
    model = path.read_bytes()
    if digest is not None and sha256(model).hexdigest() != digest:
        raise ValueError(f"{path} is damaged (its sha256 is not the one in {ABOUT}): {_REMEDY}")
    try:
        _special_ids(_processor(model))
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}. If it is damaged, {_REMEDY}") from error
    return model
