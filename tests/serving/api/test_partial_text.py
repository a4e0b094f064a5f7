"""What a stream may tell of an answer that is not whole: it never has to be taken back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.api.partial_text import settled
from tests.support.serving.echo import tokenizer

BYTES = [tokenizer().encode_source([character])[0] for character in "日😀ñ\u0301\u200d"]
LEADS = st.sampled_from([each for row in BYTES for each in row[:-1]])


def told(tokens: list[int]) -> list[str]:
    """What could be told after each token."""
    return [
        tokenizer().decode_target([settled(tokenizer(), tokens[:length])])[0]
        for length in range(len(tokens) + 1)
    ]


@settings(max_examples=300)
@given(st.lists(LEADS | st.integers(0, tokenizer().target_size - 1), max_size=40))
def test_what_was_told_stays_whatever_the_model_says(tokens: list[int]) -> None:
    whole = tokenizer().decode_target([tokens])[0]
    found = told(tokens)
    for before, after in zip(found, [*found[1:], whole], strict=True):
        assert after.startswith(before)


@given(st.text(max_size=30))
def test_of_a_text_whole_characters_are_told(text: str) -> None:
    tokens = tokenizer().encode_target([text])[0]
    whole = tokenizer().decode_target([tokens])[0]
    assert "\ufffd" in text or all("\ufffd" not in each for each in told(tokens))
    assert told(tokens)[-1] == whole


@pytest.mark.parametrize("character", ["ђ", "日", "😀"])  # of 2, 3 and 4 bytes
def test_a_character_of_several_bytes_is_told_with_its_last_one(character: str) -> None:
    tokens = tokenizer().encode_target([f"a{character}b"])[0]
    pieces = tokenizer().pieces_target(tokens)
    last = max(place for place, piece in enumerate(pieces) if piece.startswith("<0x")) + 1
    assert sum(piece.startswith("<0x") for piece in pieces) == len(character.encode())
    found = told(tokens)
    assert found[last - 1 : last + 1] == ["a", f"a{character}"]
