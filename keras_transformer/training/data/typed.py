"""Text as people type it: in capitals, in lower case, without the full stop, with typing errors.

A variant of a pair has another source and the same target. Only a source in capitals has its target in
capitals: they are a style, which a translation keeps. Title case is a habit of some languages, and the rest
is haste; their translation is written as usual.

Some text has no variants: that of languages without upper and lower case has none of case and no typing
errors, and sentences without a capital, as in a corpus in lower case, have none of case. A sentence in
capitals has no variant in lower or title case: its translation, which is in capitals too, would not fit.
"""

import re
import unicodedata
from array import array
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, islice, repeat
from random import Random

from keras_transformer.text.corpus import Pair
from keras_transformer.text.vocabulary import LANGUAGE_BEGINS, LANGUAGE_ENDS

SPREAD = 4  # written variants for each one that an epoch draws
WORDS_PER_ERROR = 8
LANGUAGE_CODE = re.compile(rf"{LANGUAGE_BEGINS}\S+{LANGUAGE_ENDS}\s*")
_FINAL_MARKS = re.compile(r"\s*[.!?…。！？]+$")
_LETTER = r"[^\W\d_]"
_PROSE = re.compile(  # words with their punctuation, but no address, number or code
    rf"""(?<!\S)[«"'“‘(\[¿¡]*{_LETTER}+(?:['’-]{_LETTER}+)*[»"'”’)\].,;:!?…]*(?!\S)"""
)
_WORD = re.compile(rf"{_LETTER}{{4,}}")
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # rows of letters, in which most layouts have these neighbours


class Typed:
    """Variants of the pairs of a corpus, which are drawn beside the pairs themselves.

    Args:
        shares: Share of each kind in the sentences that are drawn; the names are those of `KINDS`.
        seed: Seed of the selection, and of the typing errors.
        rates: Number of times that each pair is drawn in an epoch; None means once.

    Attributes:
        rates: Number of times that each variant is drawn in an epoch, in the order of `variants`.
        counts: Number of variants of each kind.
    """

    def __init__(self, shares: Mapping[str, float], seed: int, rates: Iterable[float] | None = None) -> None:
        self.rates = array("d")
        self.counts: Counter[str] = Counter()
        self._seed = seed
        self._rates = rates
        total = sum(shares.values())
        self._spread = min(SPREAD, (1 - total) / total) if total else SPREAD
        self._kinds = list(KINDS)
        self._limits = list(accumulate(shares[kind] / (1 - total) * self._spread for kind in KINDS))

    def variants(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the variants, the same ones for the same pairs; then `rates` and `counts` are complete."""
        del self.rates[:]
        self.counts.clear()
        random = Random(self._seed)
        for pair, rate in zip(pairs, repeat(1.0) if self._rates is None else self._rates, strict=False):
            chance = random.random()
            if chance >= self._limits[-1]:
                continue
            kind = self._kinds[bisect(self._limits, chance)]
            variant = varied(pair, kind, random)
            if variant.source != pair.source:
                self.rates.append(rate / self._spread)
                self.counts[kind] += 1
                yield variant

    def drawn(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield as many of the variants as an epoch draws."""
        return islice(self.variants(pairs), 0, None, max(1, round(self._spread)))

    def __str__(self) -> str:
        kinds = (f"{kind.replace('_', ' ')} {self.counts[kind]:,}" for kind in KINDS if self.counts[kind])
        return f"variants as people type: {', '.join(kinds) or 'none'}"


def varied(pair: Pair, kind: str, random: Random) -> Pair:
    """Return the pair as people type it, or as it is if its text has no variant of this kind.

    Args:
        pair: The pair. The code of a target language before its source stays.
        kind: One of `KINDS`.
        random: Source of the typing errors.
    """
    code = LANGUAGE_CODE.match(pair.source)
    text = pair.source[code.end() if code else 0 :]
    typed = KINDS[kind](text, random)
    if typed == text or not typed:
        return pair
    target = pair.target.upper() if kind == "upper_case" else pair.target
    return Pair(pair.source.removesuffix(text) + typed, target)


def _upper_case(source: str, _: Random) -> str:
    return source.upper() if _has_capital(source) else source


def _title_case(source: str, _: Random) -> str:
    if not _has_capital(source) or _is_in_capitals(source):
        return source
    return " ".join(word[:1].title() + word[1:] for word in source.split(" "))


def _lower_case(source: str, _: Random) -> str:
    if not _has_capital(source) or _is_in_capitals(source):
        return source
    return source.lower() if source.endswith("..") else source.lower().removesuffix(".")


def _no_punctuation(source: str, _: Random) -> str:
    return _FINAL_MARKS.sub("", source)


def _typing_errors(source: str, random: Random) -> str:
    words = [
        (prose.start() + word.start(), word[0])
        for prose in _PROSE.finditer(source)
        for word in _WORD.finditer(prose[0])
        if word[0].lower() != word[0].upper()
    ]
    errors = -(-len(words) // WORDS_PER_ERROR)
    words = sorted(words, key=lambda _: random.random())[:errors]
    for start, word in sorted(words, reverse=True):
        source = source[:start] + _mistyped(word, random) + source[start + len(word) :]
    return source


def _mistyped(word: str, random: Random) -> str:
    """Make an error behind the first letter of a word: another key, a letter twice, none, two exchanged."""
    place = 1 + int(random.random() * (len(word) - 1))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    exchanged = max(2, place)
    errors = [
        before + after,
        before + letter + letter + after,
        word[: exchanged - 1] + word[exchanged] + word[exchanged - 1] + word[exchanged + 1 :],
        *(before + row[row.index(letter) - 1] + after for row in _KEYS if letter in row),
    ]
    bare = "".join(mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark))
    if bare != word:
        errors.append(bare)
    return errors[int(random.random() * len(errors))]


def _has_capital(text: str) -> bool:
    return text != text.lower()


def _is_in_capitals(text: str) -> bool:
    return text == text.upper() and sum(map(str.isalpha, text)) > 1


KINDS: dict[str, Callable[[str, Random], str]] = {
    "upper_case": _upper_case,
    "title_case": _title_case,
    "lower_case": _lower_case,
    "no_punctuation": _no_punctuation,
    "typing_errors": _typing_errors,
}
