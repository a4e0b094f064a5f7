"""Text of a file as it may go to a terminal."""

import json

import pytest

from keras_transformer.text.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fr\x1b[2J\x1b]0;title\x07", r"fr\u001b[2J\u001b]0;title\u0007"),
        ("\x9b2J and \x7f", r"\u009b2J and \u007f"),  # 0x9B is an escape sequence's beginning as well
        ("a\rb", r"a\rb"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("caf\udce9", r"caf\udce9"),
        ("\u2028", r"\u2028"),
    ],
)
def test_what_a_terminal_obeys_or_hides_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["Où ?\tÇa va.\nOui.", "日本語", "می\u200cخواهم", "👩\u200d🚀", "\\x1b"])
def test_text_stays(text: str) -> None:
    assert visible(text) == text


def test_json_stays_the_same_json() -> None:
    values = {"languages": "fr\x1b[2J\x9b\x7f\u202e\U000e0041\\"}
    shown = visible(json.dumps(values, ensure_ascii=False))
    assert shown.isascii()
    assert json.loads(shown) == values
