"""Text from files in a form that is safe to print to a terminal."""

import json
import re
import unicodedata

_OTHER = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, lone surrogates, line and paragraph separators
_JOINERS = "\u200c\u200d"  # part of how Persian, Hindi and emoji are written


def visible(text: str) -> str:
    r"""Escape what a terminal would interpret or hide: escape sequences, controls, bidirectional marks.

    Line feeds and tabs stay. Bytes that are not UTF-8, as in the name of a file, are escaped too, so that the
    result can always be encoded. JSON stays the same JSON.

    >>> print(visible("fr\x1b[2J"))
    fr\u001b[2J
    """
    return re.sub(r"[^\n\t -~]", _shown, text)


def visible_line(text: str) -> str:
    """Escape line feeds and tabs too, so that a log entry stays on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def single_line(text: str) -> str:
    """Replace line ends by spaces."""
    return text.replace("\r", " ").replace("\n", " ")


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _OTHER or character in _JOINERS:
        return character
    return json.dumps(character)[1:-1]
