"""Which words of two texts differ."""

import re
from difflib import SequenceMatcher

# What is marked when it differs: a run of characters without white space, a punctuation mark, an ideograph.
# A run keeps combining marks and the parts of an emoji together.
_ALONE = r"!-/:-@\[-`{-~¡-¿‐-‧‰-⁞、-〟぀-ヿ㐀-鿿豈-﫿！-／"
_WORD = re.compile(rf"[{_ALONE}]|[^\s{_ALONE}]+")


def differences(one: str, other: str, lowercase: bool = False) -> tuple[list[slice], list[slice]]:
    """Where either text has words that the other lacks at that place, as slices of its characters."""
    ones, others = list(_WORD.finditer(one)), list(_WORD.finditer(other))
    # autojunk: in 200 words and more, those that come all the time are no anchors. Seconds, not minutes.
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
    """The text as it is compared."""
    return text.lower() if lowercase else text
