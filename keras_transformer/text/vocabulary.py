"""One side of a tokenizer: text to ids without an end id, and back.

`Pieces` uses the ids of a SentencePiece model. `VocabularyPieces` uses a SentencePiece model that splits the
text, and a vocabulary that numbers the pieces, as in models of Marian.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import sentencepiece

from keras_transformer.text.corpus import SURROGATE
from keras_transformer.text.tokenizer_training import whole

PAD_ID, UNKNOWN_ID, START_ID, END_ID = range(4)  # in every vocabulary that numbers the pieces itself
FEW = 32  # texts; for fewer, starting the library's threads takes longer than encoding
SPACE = "▁"  # SentencePiece's sign for a space
LANGUAGE_BEGINS, LANGUAGE_ENDS = ">>", "<<"  # around the code of a target language, before the text


class Pieces:
    """One side of a tokenizer with the ids of its SentencePiece model.

    Args:
        model: Bytes of the model.

    Raises:
        ValueError: If they are not a model.
    """

    _cuts_into: type = int  # what SentencePiece returns for a text: ids or pieces

    def __init__(self, model: bytes) -> None:
        self.model = model
        try:
            self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(f"these {len(model)} bytes are not a SentencePiece model ({error})") from error
        self.size = self.processor.vocab_size()

    @property
    def unknown_id(self) -> int:
        """Id of all text that has no other."""
        return int(self.processor.unk_id())

    def special_ids(self) -> tuple[int, int, int]:
        """Return the ids of padding, start and end.

        Raises:
            ValueError: If the model lacks one of them.
        """
        ids = (self.processor.pad_id(), self.processor.bos_id(), self.processor.eos_id())
        if min(ids) < 0:
            raise ValueError(
                f"the model has no padding, start or end piece (their ids are {ids}, -1 is none): "
                "train it with pad_id, bos_id and eos_id"
            )
        return ids

    def encode(self, texts: Sequence[str], dropout: float = 0.0, seed: int = 0) -> list[list[int]]:
        """Return the ids of each text, without an end id; dropout skips merges, as in BPE-dropout."""
        sampling: dict[str, Any] = {}
        if dropout:
            sentencepiece.set_random_generator_seed(seed)  # applies to the thread of the next call
            sampling = {"enable_sampling": True, "alpha": dropout, "num_threads": 1}
        asked = [whole(text) if SURROGATE.search(text) else text for text in texts]
        if len(asked) < FEW and not sampling:
            return [self.processor.encode(text, out_type=self._cuts_into) for text in asked]
        return self.processor.encode(asked, out_type=self._cuts_into, **sampling)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a row of ids."""
        return self.processor.decode(ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the pieces of a row of ids."""
        return self.processor.id_to_piece(list(ids))


class VocabularyPieces(Pieces):
    """One side of a tokenizer whose SentencePiece model splits, and whose vocabulary numbers pieces.

    Pieces that the vocabulary lacks are unknown; decoded text omits them.

    Args:
        model: Bytes of the SentencePiece model.
        vocabulary: Pieces in the order of their ids: padding, unknown, start, end, then all others.

    Raises:
        ValueError: If the bytes are not a model, or the vocabulary has a piece twice.
    """

    _cuts_into = str
    unknown_id = UNKNOWN_ID

    def __init__(self, model: bytes, vocabulary: Sequence[str]) -> None:
        super().__init__(model)
        self.vocabulary = tuple(vocabulary)
        self.size = len(self.vocabulary)
        self._ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        if len(self.vocabulary) <= END_ID or len(self._ids) < len(self.vocabulary):
            raise ValueError(
                "a vocabulary must have padding, unknown, start, end, and no piece twice; got "
                f"{len(self.vocabulary)} pieces, of which {len(self._ids)} differ"
            )

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Codes of the target languages with which a text may begin, as in >>fra<<."""
        return tuple(code for piece in self.vocabulary if (code := language_code(piece)) is not None)

    def special_ids(self) -> tuple[int, int, int]:
        """Return the ids of padding, start and end."""
        return PAD_ID, START_ID, END_ID

    def encode(self, texts: Sequence[str], dropout: float = 0.0, seed: int = 0) -> list[list[int]]:
        """Return the ids of each text, the code of its target language first."""
        tokens, rests = zip(*map(self._language, texts), strict=True) if texts else ((), ())
        cut: Sequence[Any] = super().encode(rests, dropout, seed)
        return [
            [*token, *(self._ids.get(piece, UNKNOWN_ID) for piece in pieces)]
            for token, pieces in zip(tokens, cut, strict=True)
        ]

    def _language(self, text: str) -> tuple[list[int], str]:
        """Split a text into the id of the language with which it begins, if there is one, and the rest."""
        if text.startswith(LANGUAGE_BEGINS) and self.languages:
            token, ends, rest = text.partition(LANGUAGE_ENDS)
            if token + ends in self._ids:
                return [self._ids[token + ends]], rest
        return [], text

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a row of ids."""
        pieces = [self.vocabulary[number] for number in ids if number > END_ID]
        return self.processor.decode_pieces(pieces).replace(SPACE, " ").strip()

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the pieces of a row of ids."""
        return [self.vocabulary[number] for number in ids]


def language_code(piece: str) -> str | None:
    """Return fra for >>fra<<, or None for any other piece."""
    code = piece.removeprefix(LANGUAGE_BEGINS).removesuffix(LANGUAGE_ENDS)
    return code if code and piece == f"{LANGUAGE_BEGINS}{code}{LANGUAGE_ENDS}" else None
