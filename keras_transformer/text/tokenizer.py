"""Tokenizer on SentencePiece: text to token ids and back, with one model for both languages or one for each.

**The SentencePiece model contains all processing of the text.** Its normalization table is part of the .model
file, so that the sentencepiece library, tensorflow-text in a graph and any other runtime compute the same ids
from the same bytes. No step comes before or after it: an exported graph needs no regular expression. The
table

- composes characters: e + U+0301 becomes é (NFC; not NFKC, which turns m² into m2);
- replaces white space of every kind, line ends and U+2581 (▁, SentencePiece's sign for a space) with one
  space between words;
- removes invisible characters: controls, soft hyphen, zero-width space, word joiner, byte order mark. Joiners
  (U+200C, U+200D: emoji, Persian) and the marks of right-to-left text stay; so does NUL, which a table cannot
  contain.

Byte fallback encodes all other text exactly, so no token is unknown. Combining marks in an order that
composes to no character stay as they are. Decoded text equals the encoded text after this normalization.

Tokenizers of imported models keep their own SentencePiece models. Their vocabularies number the pieces, and
have unknown tokens.
"""

import base64
import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import index
from pathlib import Path
from typing import Any, Self, SupportsIndex

from keras_transformer.files import making, read_json
from keras_transformer.text.corpus import Pair
from keras_transformer.text.division import TargetLanguageError
from keras_transformer.text.tokenizer_training import learn
from keras_transformer.text.vocabulary import LANGUAGE_BEGINS, LANGUAGE_ENDS, Pieces, VocabularyPieces

SHARED, SOURCE, TARGET, ABOUT = "shared.model", "source.model", "target.model", "about.json"
VOCABULARY = "vocabulary.json"  # for a tokenizer whose ids are not those of its SentencePiece models


class Tokenizer:
    """Text to token ids and back. Ids: 0 padding, 1 unknown (never occurs), 2 start, 3 end, then pieces.

    Args:
        models: Bytes of the SentencePiece models: one for both sides, or one for the source and one for the
            target.
        source_lang: Code of the source language, such as fr.
        target_lang: Code of the target language.
        vocabularies: Pieces of the source and of the target by id, if the models do not number them.

    Attributes:
        all_languages: Codes of the target languages with which a text may begin, as in ">>fra<< Hello.".
        target_languages: The same for a model of several target languages; else empty.

    Raises:
        ValueError: If a vocabulary has a piece twice, a model is not one of SentencePiece, or the two models
            have different special ids.

    Example:
        ```python
        tokenizer = Tokenizer.train(pairs, vocabulary_size=8000, source_lang="fr", target_lang="en")
        rows = tokenizer.encode_source(["Merci."])
        tokenizer.decode_source(rows)  # ["Merci."]
        ```
    """

    def __init__(
        self,
        models: Sequence[bytes],
        source_lang: str = "",
        target_lang: str = "",
        vocabularies: Sequence[Sequence[str]] = (),
    ) -> None:
        self.source_lang = source_lang
        self.target_lang = target_lang
        self._models = list(models)
        self._vocabularies = [tuple(pieces) for pieces in vocabularies]
        self._source, self._target = _sides(models[0], models[-1], self._vocabularies)
        if self._source.special_ids() != self._target.special_ids():
            raise ValueError(
                "source and target model must agree on the ids of padding, start and end; got "
                f"{self._source.special_ids()} and {self._target.special_ids()}"
            )
        self.pad_id, self.bos_id, self.eos_id = self._source.special_ids()
        self.all_languages = self._source.languages if isinstance(self._source, VocabularyPieces) else ()
        self.target_languages = self.all_languages if len(self.all_languages) > 1 else ()

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
        """Train a tokenizer in one pass over the pairs, which are buffered on disk.

        The same pairs give the same bytes: training uses one thread, and a corpus of more than a million
        sentences is sampled at even distances. Sentences of more than 4,192 bytes are skipped.

        Args:
            pairs: The corpus, pairs of source and target text.
            vocabulary_size: Number of pieces; None for 8,000, or as many as the corpus supports.
            kind: "bpe" or "unigram".
            joint: Whether one vocabulary serves both sides.
            source_lang: Code of the source language.
            target_lang: Code of the target language.
            character_coverage: Share of the characters that get a piece; the others are encoded as bytes.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If an option is out of range, or the corpus is too small for it.
        """
        models = learn(pairs, vocabulary_size, kind, joint, character_coverage)
        return cls(models, source_lang, target_lang)

    @property
    def joint(self) -> bool:
        """Whether one vocabulary serves both sides."""
        return len(self._models) == 1

    @property
    def source_model(self) -> bytes:
        """Bytes of the source model, for tensorflow_text.SentencepieceTokenizer(model=..., add_eos=True)."""
        return self._models[0]

    @property
    def target_model(self) -> bytes:
        """Bytes of the target model; with one vocabulary, those of the source model."""
        return self._models[-1]

    @property
    def vocabularies(self) -> list[tuple[str, ...]]:
        """Pieces of the source and of the target by id; empty if the models number them."""
        return self._vocabularies

    def with_language(self, text: str, target_language: str | None = None) -> str:
        """Put the code of a target language before a text, as in ">>fra<< Hello.".

        Args:
            text: The text. A code at its beginning is replaced by target_language.
            target_language: One of `target_languages`; None for a text that begins with its code, and for a
                model of one target language.

        Returns:
            The text with its code; the text itself for a model of one target language.

        Raises:
            TargetLanguageError: If the model has no such language, or needs one and none is given.
        """
        known = self.all_languages
        if target_language is None:
            if len(known) < 2 or self.language_of(text)[0]:
                return text
            raise TargetLanguageError(f"this model needs a target language: one of {', '.join(known)}.")
        if target_language not in known:
            others = f"it has {', '.join(known)}" if known else "it translates into one language alone"
            raise TargetLanguageError(f"this model has no target language {target_language!r:.60}; {others}.")
        return f"{LANGUAGE_BEGINS}{target_language}{LANGUAGE_ENDS} {self.language_of(text)[1]}"

    def language_of(self, text: str) -> tuple[str | None, str]:
        """Split a text into the code of its target language and the rest.

        Args:
            text: A source text.

        Returns:
            The code, or None if the text begins with none; and the rest of the text.
        """
        if self.all_languages and text.startswith(LANGUAGE_BEGINS):
            code, _, rest = text.removeprefix(LANGUAGE_BEGINS).partition(LANGUAGE_ENDS)
            if code in self.all_languages:
                return code, rest.lstrip()
        return None, text

    @property
    def source_size(self) -> int:
        """Number of source ids."""
        return self._source.size

    @property
    def target_size(self) -> int:
        """Number of target ids."""
        return self._target.size

    def encode_source(
        self, texts: Sequence[str], max_tokens: int | None = None, dropout: float = 0.0, seed: int = 0
    ) -> list[list[int]]:
        """Encode source texts.

        Args:
            texts: The texts.
            max_tokens: Largest number of ids, the end id included; longer texts are cut.
            dropout: For training, the share of BPE's merges that is skipped (BPE-dropout).
            seed: Seed of the dropout.

        Returns:
            The ids of each text, which end with eos_id.

        Raises:
            TypeError: If texts is a single text.
            ValueError: If max_tokens is below 1.
        """
        return _encode(self._source, self.eos_id, texts, max_tokens, dropout, seed)

    def count_source(self, text: str) -> int:
        """Count the ids of a source text, the end id included.

        Args:
            text: A source text.

        Returns:
            The number of ids.
        """
        return len(self.encode_source([text])[0])

    def encode_target(
        self, texts: Sequence[str], max_tokens: int | None = None, dropout: float = 0.0, seed: int = 0
    ) -> list[list[int]]:
        """Encode target texts. The model adds bos_id itself.

        Args:
            texts: The texts.
            max_tokens: Largest number of ids, the end id included; longer texts are cut.
            dropout: For training, the share of BPE's merges that is skipped (BPE-dropout).
            seed: Seed of the dropout.

        Returns:
            The ids of each text, which end with eos_id.

        Raises:
            TypeError: If texts is a single text.
            ValueError: If max_tokens is below 1.
        """
        return _encode(self._target, self.eos_id, texts, max_tokens, dropout, seed)

    def encode_prefix(self, text: str, forbidden: Iterable[int] = ()) -> list[int]:
        """Encode the beginning of a target text, with which an answer is made to begin.

        Args:
            text: The beginning of the text.
            forbidden: Ids that no answer contains.

        Returns:
            The ids of the text, without an end id.

        Raises:
            ValueError: If no answer can begin so, because it would have an unknown or a forbidden id.
        """
        (ids,) = self._target.encode([text])
        if not {self._target.unknown_id, *self._target.special_ids(), *forbidden}.isdisjoint(ids):
            raise ValueError(
                f"no answer can begin with {text!r:.60}: it has characters that the vocabulary of the target "
                "lacks, or tokens that the model never says. Leave them out."
            )
        return ids

    def decode_source(self, ids: Iterable[Iterable[SupportsIndex]]) -> list[str]:
        """Decode rows of source ids.

        Args:
            ids: Rows of ids. Padding, start and end have no text.

        Returns:
            The text of each row; invalid UTF-8 becomes U+FFFD.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        return [self._source.decode(_checked(self._source, one, row)) for row, one in enumerate(ids)]

    def decode_target(self, ids: Iterable[Iterable[SupportsIndex]]) -> list[str]:
        """Decode rows of target ids.

        Args:
            ids: Rows of ids. Padding, start and end have no text.

        Returns:
            The text of each row; invalid UTF-8 becomes U+FFFD.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        return [self._target.decode(_checked(self._target, one, row)) for row, one in enumerate(ids)]

    def pieces_source(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Return the pieces of a row of source ids.

        Args:
            ids: One row of ids.

        Returns:
            The pieces; in them ▁ is a space, and <0x0A> a byte.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        return self._source.pieces(_checked(self._source, ids, row=0))

    def pieces_target(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Return the pieces of a row of target ids.

        Args:
            ids: One row of ids.

        Returns:
            The pieces; in them ▁ is a space, and <0x0A> a byte.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        return self._target.pieces(_checked(self._target, ids, row=0))

    def save(self, directory: Path) -> None:
        """Write the tokenizer to a new directory: all its files, or none.

        The files are shared.model, or source.model and target.model, and about.json. Tokenizers of imported
        models also have vocabulary.json, the pieces of both sides by id.

        Args:
            directory: The directory, which must not exist.

        Raises:
            FileExistsError: If it exists.
        """
        if directory.exists():
            raise FileExistsError(
                f"{directory} exists: a tokenizer is never overwritten. Remove it or choose another"
            )
        models = dict(zip([SHARED] if self.joint else [SOURCE, TARGET], self._models, strict=True))
        if self._vocabularies:
            pieces = dict(zip(("source", "target"), self._vocabularies, strict=True))
            models[VOCABULARY] = json.dumps(pieces, ensure_ascii=False, indent=0).encode() + b"\n"
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
        """Load a tokenizer that `save` wrote, or SentencePiece models with the names of its files.

        Args:
            directory: The directory. Files without about.json are loaded without a check of their checksums.

        Returns:
            The tokenizer.

        Raises:
            FileNotFoundError: If there are no models.
            ValueError: If a file is damaged, or cannot be used.
        """
        names, about = _model_names(directory), _about(directory)
        vocabularies = _vocabularies(directory, about["sha256"].get(VOCABULARY))
        numbers = not vocabularies
        models = [_checked_model(directory / name, about["sha256"].get(name), numbers) for name in names]
        return cls(models, about["source_lang"], about["target_lang"], vocabularies)

    def get_config(self) -> dict[str, Any]:
        """Return the configuration for JSON and .keras files, the models as base64.

        Returns:
            The argument of `from_config`.
        """
        models = [base64.b64encode(model).decode("ascii") for model in self._models]
        config: dict[str, Any] = {
            "models": models,
            "source_lang": self.source_lang,
            "target_lang": self.target_lang,
        }
        if self._vocabularies:
            config["vocabularies"] = [list(pieces) for pieces in self._vocabularies]
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a tokenizer from the result of `get_config`.

        Args:
            config: The configuration.

        Returns:
            The tokenizer.
        """
        models = [base64.b64decode(model) for model in config["models"]]
        return cls(models, config["source_lang"], config["target_lang"], config.get("vocabularies", ()))


# Ids


def _sides(source: bytes, target: bytes, vocabularies: Sequence[Sequence[str]]) -> tuple[Pieces, Pieces]:
    if not vocabularies:
        return Pieces(source), Pieces(target)
    return VocabularyPieces(source, vocabularies[0]), VocabularyPieces(target, vocabularies[-1])


def _encode(
    side: Pieces, end_id: int, texts: Sequence[str], limit: int | None, dropout: float, seed: int
) -> list[list[int]]:
    if isinstance(texts, str):
        raise TypeError(f"a sequence of texts is expected; got the text {texts[:40]!r}. Put it into a list")
    if limit is not None and limit < 1:
        raise ValueError(f"max_tokens must be at least 1, which is the end of sentence alone; got {limit}")
    max_pieces = None if limit is None else limit - 1
    return [[*ids[:max_pieces], end_id] for ids in side.encode(texts, dropout, seed)]


def _checked(side: Pieces, ids: Iterable[SupportsIndex], row: int) -> list[int]:
    numbers = [index(number) for number in ids]
    for number in numbers:
        if not 0 <= number < side.size:
            raise ValueError(
                f"row {row} has the id {number}, but this vocabulary has the ids 0 to {side.size - 1}"
            )
    return numbers


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


def _whole_file(path: Path, digest: str | None) -> bytes:
    """Read a file, and check it where its checksum is known."""
    content = path.read_bytes()
    if digest is not None and sha256(content).hexdigest() != digest:
        raise ValueError(f"{path} is damaged (its sha256 is not the one in {ABOUT}): {_REMEDY}")
    return content


def _vocabularies(directory: Path, digest: str | None) -> list[list[str]]:
    """Read the pieces of both sides of a tokenizer that stores them separately."""
    path = directory / VOCABULARY
    if digest is None and not path.exists():
        return []
    content = _whole_file(path, digest)
    try:
        values = read_json(content)
        sides = [values["source"], values["target"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error!r}): {_REMEDY}") from error
    if not all(isinstance(side, list) and all(isinstance(piece, str) for piece in side) for side in sides):
        raise ValueError(f"{path} is damaged (it must have lists of texts): {_REMEDY}")
    return sides


def _checked_model(path: Path, digest: str | None, numbers: bool) -> bytes:
    """Read a model; `numbers` is whether it numbers the pieces, the special ones among them."""
    model = _whole_file(path, digest)
    try:
        pieces = Pieces(model)
        if numbers:
            pieces.special_ids()
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}. If it is damaged, {_REMEDY}") from error
    return model
