"""Tokenizer of a pretrained family: text to token ids and back, by the `tokenizers` library.

B batch, T length.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from keras_transformer.libraries import check_installed
from keras_transformer.text.padding import padded

if TYPE_CHECKING:
    from tokenizers import Encoding

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # of a WordPiece vocabulary, from id 0


class TokenBatch(NamedTuple):
    """A batch of encoded texts.

    Attributes:
        ids: Token ids (B, T), padded at the end.
        token_types: (B, T), 1 for the tokens of the second text of a pair, otherwise 0.
    """

    ids: NDArray[np.int32]
    token_types: NDArray[np.int32]


class SubwordTokenizer:
    """Text to token ids and back, as a file tokenizer.json of the `tokenizers` library defines it.

    Args:
        definition: The content of tokenizer.json. Its settings of truncation and padding are ignored.
        pad_id: Id of padding.

    Raises:
        ValueError: If the definition is not one of the library.

    Example:
        ```python
        tokenizer = SubwordTokenizer.train(texts, vocabulary_size=8000)
        tokenizer.encode(["I am a student."])
        ```
    """

    def __init__(self, definition: str, pad_id: int = 0) -> None:
        check_installed(["tokenizers"], "a tokenizer.json", "layers")
        from tokenizers import Tokenizer  # noqa: PLC0415  (it takes a tenth of a second)

        try:
            self._tokenizer = Tokenizer.from_str(definition)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the library is no Exception
            raise ValueError(f"it is no tokenizer of the library `tokenizers` ({error})") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.definition = definition
        self.pad_id = pad_id

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int = 8000, lowercase: bool = True) -> Self:
        """Train a WordPiece vocabulary, as BERT has it: "[CLS] text [SEP]", id 0 is padding.

        Args:
            texts: The corpus.
            vocabulary_size: Largest number of ids.
            lowercase: Whether text is lower-cased and its accents are removed.

        Returns:
            The tokenizer.
        """
        check_installed(["tokenizers"], "training a vocabulary", "layers")
        from tokenizers.trainers import WordPieceTrainer  # noqa: PLC0415

        tokenizer = word_piece({token: index for index, token in enumerate(SPECIAL)}, lowercase)
        trainer = WordPieceTrainer(
            vocab_size=vocabulary_size, special_tokens=SPECIAL, show_progress=False, min_frequency=1
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer.to_str())

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, from 0 to the largest."""
        return max(self._tokenizer.get_vocab().values(), default=-1) + 1

    def encode(self, texts: Sequence[str], special_tokens: bool = True) -> list[list[int]]:
        """Encode texts.

        Args:
            texts: The texts.
            special_tokens: Whether the tokens that begin and end a text are added.

        Returns:
            The token ids of each text.

        Raises:
            TypeError: If texts is a single text.
        """
        return [one.ids for one in self._encode(texts, None, special_tokens)]

    def batch(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, max_length: int | None = None
    ) -> TokenBatch:
        """Encode texts, or pairs of texts, as a padded batch.

        Args:
            texts: The texts.
            pairs: The second text of each pair, or None.
            max_length: Texts of more tokens lose their end, of a pair the longer text first; None keeps all.

        Returns:
            The ids and the token types.

        Raises:
            ValueError: If texts and pairs differ in number.
            TypeError: If texts or pairs is a single text.
        """
        rows = self._encode(texts, pairs, True, max_length)
        ids = padded([row.ids for row in rows], pad_id=self.pad_id)
        return TokenBatch(ids, padded([row.type_ids for row in rows]))

    def decode(self, rows: Iterable[Sequence[int]]) -> list[str]:
        """Decode rows of token ids; special tokens have no text.

        Args:
            rows: Token ids.

        Returns:
            The text of each row.
        """
        return list(self._tokenizer.decode_batch([[int(token) for token in row] for row in rows]))

    def id_of(self, token: str) -> int:
        """Return the id of a token.

        Args:
            token: A token of the vocabulary, such as "[MASK]".

        Returns:
            Its id.

        Raises:
            KeyError: If the vocabulary has no such token.
        """
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise KeyError(f"the vocabulary has no token {token!r}")
        return int(found)

    def token_of(self, token_id: int) -> str:
        """Return the token of an id.

        Args:
            token_id: An id of the vocabulary.

        Returns:
            The token, as the vocabulary has it.

        Raises:
            KeyError: If the vocabulary has no such id.
        """
        found = self._tokenizer.id_to_token(int(token_id))
        if found is None:
            raise KeyError(f"the vocabulary has no id {token_id}")
        return str(found)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor for JSON."""
        return {"definition": self.definition, "pad_id": self.pad_id}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create a tokenizer from the result of `get_config`.

        Args:
            config: The configuration.
        """
        return cls(**config)

    def _encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        special_tokens: bool,
        max_length: int | None = None,
    ) -> "list[Encoding]":
        for given in (texts, pairs):
            if isinstance(given, str | bytes):
                raise TypeError(f"texts must be a list of texts; got {given!r:.40}.")
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"every text needs its pair; got {len(texts)} texts and {len(pairs)} pairs.")
        inputs = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        if max_length is None:
            self._tokenizer.no_truncation()
        else:
            self._tokenizer.enable_truncation(max_length)
        return list(self._tokenizer.encode_batch(inputs, add_special_tokens=special_tokens))


def word_piece(
    vocabulary: dict[str, int],
    lowercase: bool,
    strip_accents: bool | None = None,
    chinese: bool = True,
) -> Any:
    """Return a tokenizer of the library with a WordPiece vocabulary, as BERT's.

    Args:
        vocabulary: Ids by token, those of SPECIAL included.
        lowercase: Whether text is lower-cased.
        strip_accents: Whether accents are removed; None for the same as lowercase.
        chinese: Whether every Chinese character is a word.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415

    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=chinese
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"])
    )
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens([token for token in SPECIAL if token in vocabulary])
    return tokenizer
