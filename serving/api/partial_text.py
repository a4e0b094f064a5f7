"""Text of an incomplete answer that further tokens cannot change."""

from collections.abc import Sequence

from keras_transformer.text.tokenizer import Tokenizer

LONGEST_CHARACTER = 4  # bytes


def settled(tokenizer: Tokenizer, tokens: Sequence[int]) -> Sequence[int]:
    """Return the tokens without an incomplete character at their end, so that their text is final.

    Byte pieces are decoded as UTF-8 from left to right, so further tokens can change nothing else.
    """
    last = tokens[-LONGEST_CHARACTER + 1 :]
    for back, piece in enumerate(reversed(tokenizer.pieces_target(last)), start=1):
        byte = _byte(piece)
        if byte is None or byte < 0x80:
            return tokens
        if byte >= 0xC0:
            return tokens if back >= _length(byte) else tokens[:-back]
    return tokens


def _byte(piece: str) -> int | None:
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return int(piece[3:5], 16)
    return None


def _length(lead: int) -> int:
    """Return the bytes of the character that begins with this byte."""
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else LONGEST_CHARACTER
