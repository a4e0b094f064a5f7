"""Text of a file as it may go to a terminal."""

import json
import re
import unicodedata

_OTHER = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, lone surrogates, line and paragraph separators
_JOINERS = "\u200c\u200d"  # part of how Persian, Hindi and emoji are written


def visible(text: str) -> str:
    """Write out what a terminal would obey or hide: escape sequences, other controls, bidirectional marks.

    A line feed and a tab stay. What is no character, as in the name of a file that is not UTF-8, is written
    out too, so that the result can always be encoded. JSON stays the same JSON.

    >>> print(visible("fr\\x1b[2J"))
    fr\\u001b[2J
    """
    return re.sub(r"[^\n\t -~]", _shown, text)


def visible_line(text: str) -> str:
    """Write out line feeds and tabs as well, so that a log entry stays one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _OTHER or character in _JOINERS:
        return character
    return json.dumps(character)[1:-1]
