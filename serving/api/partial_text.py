"""Text of an incomplete answer that further tokens cannot change."""

import re
from codecs import getincrementaldecoder
from collections.abc import Sequence
from itertools import takewhile

from keras_transformer.text.tokenizer import Tokenizer

LONGEST_CHARACTER = 4  # bytes
Utf8Decoder = getincrementaldecoder("utf-8")

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def settled(tokenizer: Tokenizer, tokens: Sequence[int]) -> Sequence[int]:
    """Return the tokens without an incomplete character at their end, so that their text is final.

    Byte pieces are decoded as UTF-8 from left to right, so further tokens can change nothing else.
    """
    last = reversed(tokenizer.pieces_target(tokens[1 - LONGEST_CHARACTER :]))
    run = bytes(int(piece[3:5], 16) for piece in takewhile(_BYTE.fullmatch, last))
    decoder = Utf8Decoder(errors="replace")
    decoder.decode(run[::-1])
    incomplete, _ = decoder.getstate()
    return tokens[: len(tokens) - len(incomplete)]
