"""Division of a line into the parts that are translated one by one, and joining of their translations.

A model translates lines well that are like its corpus. A model trained on single sentences omits most of a
line that has two. A model whose corpus has lines of two sentences, where one explains the other ("La clé ? Je
l'ai perdue."), needs them together. So the lengths of the corpus' lines (`Lengths.learned_from`) decide, in
three cases:

- a line as long as the corpus' lines of several sentences is translated as it is;
- in any other line, each sentence is translated by itself;
- a sentence longer than those of the corpus is divided near its middle, at a clause mark if there is one,
  else at a space. The number of divided sentences is counted.

Measured in docs/how-to/translate.md. White space around and between the parts is kept. A full stop that may
belong to an abbreviation, to initials, to the number of a day or of a list does not end a sentence: a missed
sentence end leaves two sentences together, but a wrong one cuts a sentence in two.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple, Self

Count = Callable[[str], int]  # returns the number of tokens of a text
Span = tuple[int, int]

STOPS = ".!?…‼⁇⁈⁉؟۔।॥։።"  # end a sentence if white space follows
WIDE_STOPS = "。！？｡"  # end a sentence without white space
WIDE_MARKS = (*WIDE_STOPS, *"、，；：")
CLOSERS = "\"'”’“‘»›«‹)]}」』）］｝】〉》"  # with “ and «, which close in „so“ and »so«
WIDE_CLOSERS = "\"'”’)]}」』）］｝】〉》"  # Chinese opens with “
OPENERS = "\"'“”„‟‘‚’«»‹›([{¿¡「『（【〈《•*–—-"

_CLOSE = f"[{re.escape(CLOSERS)}]"
_STOP = re.compile(
    rf"(?P<stop>[{STOPS}{WIDE_STOPS}]++)"
    rf"(?P<close>(?<=[{WIDE_STOPS}])[{re.escape(WIDE_CLOSERS)}]*+|{_CLOSE}*+(?:\s[»›](?!\S))?)"  # « Oui. »
    r"(?P<space>\s*+)"
)
_CLAUSE = re.compile(rf"(?:[,;:،؛–—.!?…]{_CLOSE}*+(?=\s)|[{''.join(WIDE_MARKS)}])(?P<space>\s*+)")
_LINE = re.compile(r"\S(?:.*\S)?")  # without the white space around it
_SPACE = re.compile(r"(?P<space>\s++)")
_START = re.compile(rf"[{re.escape(OPENERS)}]{{0,4}}\s?(?P<first>[^\W_])")
_WORD = re.compile(rf"[^\s{re.escape(OPENERS)}]*\Z")
_LONGEST_WORD = 24  # characters that are searched for an abbreviation
ENOUGH_LINES = 100  # fewer lines do not show the lengths of a corpus

#: Abbreviations in French, English, German, Spanish, Italian; single letters need no entry.
ABBREVIATION = re.compile(
    "mm|mme|mmes|mlle|mlles|mgr|mr|mrs|ms|messrs|dr|drs|prof|pr|st|ste|mt|sr|sra|srta|ud|uds|avda|dott|ing"
    "|dipl|fr|hr|hrn|gen|col|capt|lt|sgt|maj|rev|hon|gov|sen|rep"
    "|bzw|vgl|ca|evtl|ggf|inkl|sog|zzgl|cf|vs|approx|al"
)
#: Abbreviations where a number follows.
BEFORE_A_NUMBER = re.compile(
    "no|nos|nr|num|núm|art|fig|abb|bd|kap|vol|pp|pág|págs|tel|tél|ch|chap|éd|sec"
    "|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|janv|févr|avr|juil|déc|okt|dez"
)


def sentence_gaps(text: str) -> Iterator[Span]:
    """Yield the white space between sentences as (end of one, start of the next)."""
    uncased = text == text.lower()  # then a lowercase letter may begin a sentence
    for match in _STOP.finditer(text):
        if match.end() < len(text) and _ends_sentence(text, match, uncased):
            yield match.span("space")


def _ends_sentence(text: str, match: re.Match[str], uncased: bool) -> bool:
    if not match["space"]:
        return match["stop"][-1] in WIDE_STOPS and not match["close"]  # 「はい。」と言った continues
    following = _START.match(text, match.end())
    if following is None or (following["first"].islower() and not uncased):
        return False
    if match["stop"] != "." or match["close"]:
        return True
    return not _abbreviates(text, match.start(), following["first"])


def _abbreviates(text: str, stop: int, first: str) -> bool:
    """Return whether the full stop belongs to its word: M., J. R. R., z. B., a.m., 3. in a date or list."""
    found = _WORD.search(text, max(0, stop - _LONGEST_WORD), stop)
    word = found[0].casefold() if found else ""
    if word.isdecimal():
        return len(word) <= 2
    letters = word.split(".")
    if max(map(len, letters)) == 1 and letters[-1].isalpha():
        return True
    return bool(ABBREVIATION.fullmatch(word) or (first.isdecimal() and BEFORE_A_NUMBER.fullmatch(word)))


class Lengths(NamedTuple):
    """Lengths of the lines in a model's training corpus, in tokens.

    They decide how a text is divided for translation.

    Attributes:
        whole: Largest length of the lines that have several sentences; 0 if no line has.
        longest: Largest length of any line.
        least: Smallest length of the lines that have several sentences.
    """

    whole: int
    longest: int
    least: int = 0

    @classmethod
    def learned_from(cls, lines: Sequence[str], count: Count) -> Self:
        """Compute the lengths from lines like those of the training corpus.

        The shortest and the longest lines of several sentences are ignored as outliers, one line in two
        hundred each.

        Args:
            lines: A sample of source lines. Fewer than 100 are not enough: the result is then `UNKNOWN`.
            count: Function that returns the number of tokens of a text.

        Returns:
            The lengths.
        """
        if len(lines) < ENOUGH_LINES:
            return cls(*UNKNOWN)
        lengths = [count(line) for line in lines]
        several = sorted(
            length for line, length in zip(lines, lengths, strict=True) if any(sentence_gaps(line.strip()))
        )
        few = len(lines) // 200
        if len(several) <= 2 * few:
            return cls(0, max(lengths))
        return cls(several[-1 - few], max(lengths), several[few])

    def within(self, most: int) -> Self:
        """Return the lengths, each at most `most`.

        Args:
            most: Largest number of tokens that a model can read.

        Returns:
            The lengths.
        """
        return type(self)(*(min(length, most) for length in self))


#: Without a corpus: each sentence by itself, and none longer than the default recipe trains on.
UNKNOWN = Lengths(whole=0, longest=128)


class Parts(NamedTuple):
    """The translated parts of a text, and the white space around them.

    Attributes:
        texts: Parts to translate; none is blank, and a blank text has none.
        gaps: White space before, between and after the parts: one more than texts.
        divided: Number of sentences that were too long and were divided.
    """

    texts: list[str]
    gaps: list[str]
    divided: int

    @classmethod
    def of(cls, text: str, count: Count, lengths: Lengths) -> Self:
        """Divide a text into parts of at most `lengths.longest` tokens; a single character may have more."""
        spans, divided = [], 0
        for start, end in _sentences(text, count, lengths):
            if end - start == 1 or count(text[start:end]) <= lengths.longest:
                spans.append((start, end))
            else:
                spans += _pieces(text, start, end, count, lengths.longest)
                divided += 1
        ends, starts = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
        gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        return cls([text[start:end] for start, end in spans], gaps, divided)

    def joined(self, translations: Sequence[str]) -> str:
        """Join the translations of all parts to a text."""
        inner = [
            _fitting(gap, text, translation)
            for gap, text, translation in zip(self.gaps[1:-1], self.texts, translations, strict=False)
        ]
        gaps = [self.gaps[0], *inner, self.gaps[-1]] if self.texts else self.gaps
        return "".join(chain.from_iterable(zip(gaps, [*translations, ""], strict=True)))

    def begun(self, translations: Sequence[str]) -> str:
        """Join the translations of the first parts; the last of them may be incomplete."""
        some = len(translations)
        return Parts(self.texts[:some], [*self.gaps[:some], ""], 0).joined(translations)


def _sentences(text: str, count: Count, lengths: Lengths) -> Iterator[Span]:
    for line in _LINE.finditer(text):
        begin = start = line.start()
        together = lengths.least <= count(line[0]) <= lengths.whole
        for gap_start, gap_end in () if together else sentence_gaps(line[0]):
            yield start, begin + gap_start
            start = begin + gap_end
        yield start, line.end()


def _pieces(line: str, start: int, end: int, count: Count, longest: int) -> Iterator[Span]:
    """Halve the span, and each half until it has at most `longest` tokens."""
    gap_start, gap_end = _division(line, start, end)
    for begin, stop in ((start, gap_start), (gap_end, end)):
        if stop - begin == 1 or count(line[begin:stop]) <= longest:
            yield begin, stop
        else:
            yield from _pieces(line, begin, stop, count, longest)


def _division(line: str, start: int, end: int) -> Span:
    """Return the gap nearest the middle: after a clause mark in the middle half, or any space."""
    middle = (start + end) // 2
    for pattern, furthest in ((_CLAUSE, (end - start) / 4), (_SPACE, inf)):
        gaps = [match.span("space") for match in pattern.finditer(line, start, end) if match.end() < end]
        nearest = min(gaps, key=lambda gap: abs(gap[0] - middle), default=None)
        if nearest and abs(nearest[0] - middle) <= furthest:
            return nearest
    return middle, middle


def _fitting(gap: str, text: str, translation: str) -> str:
    """Adapt a gap to the translation: Chinese and Japanese write no space after a mark."""
    wide, was_wide = _ends_wide(translation), _ends_wide(text)
    if gap == "" and was_wide and translation and not wide:
        return " "
    return "" if gap == " " and wide and not was_wide else gap


def _ends_wide(text: str) -> bool:
    return text.rstrip(CLOSERS).endswith(WIDE_MARKS)
