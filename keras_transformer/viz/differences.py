"""The words in which two texts differ."""

import re
from difflib import SequenceMatcher

# The units that are marked: a run of characters without white space, a punctuation mark, an ideograph.
# A run keeps combining marks and the parts of an emoji together.
_ALONE = r"!-/:-@\[-`{-~¡-¿‐-‧‰-⁞、-〟぀-ヿ㐀-鿿豈-﫿！-／"
_WORD = re.compile(rf"[{_ALONE}]|[^\s{_ALONE}]+")


def differences(one: str, other: str, lowercase: bool = False) -> tuple[list[slice], list[slice]]:
    """Find the words of either text that the other lacks at that position, as slices of its characters."""
    ones, others = list(_WORD.finditer(one)), list(_WORD.finditer(other))
    # autojunk: in texts of 200 words or more, frequent words are not used as anchors: seconds, not minutes
    matcher = SequenceMatcher(
        None,
        [folded(word[0], lowercase) for word in ones],
        [folded(word[0], lowercase) for word in others],
        autojunk=True,
    )
    changed = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    return (
        [slice(ones[i].start(), ones[j - 1].end()) for i, j, _, _ in changed if i < j],
        [slice(others[i].start(), others[j - 1].end()) for _, _, i, j in changed if i < j],
    )


def folded(text: str, lowercase: bool) -> str:
    """Return the text in the form that is compared."""
    return text.lower() if lowercase else text
