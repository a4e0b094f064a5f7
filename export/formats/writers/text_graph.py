"""Tokenization in a TensorFlow graph, with the results of `Tokenizer`.

B batch.
"""

from hashlib import sha256
from typing import Any

import tensorflow as tf
from tensorflow_text import SentencepieceTokenizer

from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.vocabulary import END_ID, SPACE, UNKNOWN_ID

_CODED = r"(?s)(>>.*?<<)(.*)"  # a text that begins with the code of a target language
#: The characters that str.strip removes.
_SPACES = (
    r"[\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+"
)


def source_pieces(tokenizer: Tokenizer) -> Any:
    """Return the tokenizer of the source, with the methods `tokenize`, `detokenize` and `id_to_string`."""
    return _pieces(tokenizer, tokenizer.source_model, 0)


def target_pieces(tokenizer: Tokenizer) -> Any:
    """Return the tokenizer of the target, with the same methods."""
    return _pieces(tokenizer, tokenizer.target_model, 1)


def _pieces(tokenizer: Tokenizer, model: bytes, side: int) -> Any:
    # a name per model, because TensorFlow shares tokenizers of one name across SavedModels
    name = f"pieces_{sha256(model).hexdigest()}"
    if not tokenizer.vocabularies:
        return SentencepieceTokenizer(model=model, name=name)
    cut = SentencepieceTokenizer(model=model, name=f"{name}_text", out_type=tf.string)
    return _VocabularyPieces(cut, tokenizer.vocabularies[side], bool(tokenizer.all_languages))


class _VocabularyPieces(tf.Module):
    """Tokenizer with a SentencePiece model that splits the text, and a vocabulary that numbers the pieces."""

    def __init__(self, cut: SentencepieceTokenizer, vocabulary: tuple[str, ...], languages: bool) -> None:
        super().__init__()
        self.cut = cut
        self.languages = languages
        numbers = tf.range(len(vocabulary), dtype=tf.int32)
        pieces = tf.constant(vocabulary)
        initializer = tf.lookup.KeyValueTensorInitializer
        self.ids = tf.lookup.StaticHashTable(initializer(pieces, numbers), UNKNOWN_ID)
        self.names = tf.lookup.StaticHashTable(initializer(numbers, pieces), "")
        # empty this collection of TensorFlow 1, which the conversion to ONNX would try to write
        tf.compat.v1.get_default_graph().clear_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)

    def tokenize(self, text: Any) -> Any:
        """Encode texts (B,) to ragged ids (B, any)."""
        if not self.languages:
            return self._ids(self.cut.tokenize(text))
        token = tf.where(
            tf.strings.regex_full_match(text, _CODED), tf.strings.regex_replace(text, _CODED, r"\1"), ""
        )
        known = self.ids.lookup(token) != UNKNOWN_ID
        rest = tf.where(known, tf.strings.regex_replace(text, _CODED, r"\2"), text)
        codes = tf.RaggedTensor.from_row_lengths(tf.boolean_mask(token, known), tf.cast(known, tf.int64))
        return self._ids(tf.concat([codes, self.cut.tokenize(rest)], axis=1))

    def _ids(self, pieces: Any) -> Any:
        return tf.ragged.map_flat_values(self.ids.lookup, pieces)

    def detokenize(self, ids: Any) -> Any:
        """Decode ragged ids (B, any) to texts (B,)."""
        said = tf.ragged.boolean_mask(ids, ids > END_ID)
        text = self.cut.detokenize(tf.ragged.map_flat_values(self.names.lookup, said))
        spaced = tf.strings.regex_replace(text, SPACE, " ")
        return tf.strings.regex_replace(
            tf.strings.regex_replace(spaced, f"^{_SPACES}", ""), f"{_SPACES}$", ""
        )

    def id_to_string(self, ids: Any) -> Any:
        """Return the pieces of ids of any shape."""
        return self.names.lookup(tf.cast(ids, tf.int32))
