"""A line of text -> the parts that are translated one by one, and their translations -> a line again.

A model translates well what is like its corpus. One that learned single sentences leaves out most of a line
that has two; one whose corpus has lines of two, of which one explains the other ("La clé ? Je l'ai perdue."),
needs them together. So the corpus decides (`Lengths.learned_from`), in three cases:

- a line as long as the corpus' lines of several sentences is translated as it is;
- in any other line, each sentence by itself;
- a sentence longer than those of the corpus is divided near its middle, at a clause mark if there is one,
  else at a space, and that is counted.

Measured in docs/how-to/translate.md. White space around and between the parts stays. A full stop that
may belong to an abbreviation, to initials, to the number of a day or of a list ends no sentence: one that is
overlooked leaves two sentences together, a wrong one tears a sentence apart.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple, Self

Count = Callable[[str], int]  # the tokens of a text
Span = tuple[int, int]

STOPS = ".!?…‼⁇⁈⁉؟۔।॥։።"  # white space follows
WIDE_STOPS = "。！？｡"  # nothing need follow
WIDE_MARKS = (*WIDE_STOPS, *"、，；：")
CLOSERS = "\"'”’“‘»›«‹)]}」』）］｝】〉》"  # “ and « close as well: „so“ and »so«
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
_LONGEST_WORD = 24  # that is looked at for an abbreviation
ENOUGH_LINES = 100  # to tell from them what a model is used to

#: What never ends a sentence, in French, English, German, Spanish, Italian; single letters need no entry.
ABBREVIATION = re.compile(
    "mm|mme|mmes|mlle|mlles|mgr|mr|mrs|ms|messrs|dr|drs|prof|pr|st|ste|mt|sr|sra|srta|ud|uds|avda|dott|ing"
    "|dipl|fr|hr|hrn|gen|col|capt|lt|sgt|maj|rev|hon|gov|sen|rep"
    "|bzw|vgl|ca|evtl|ggf|inkl|sog|zzgl|cf|vs|approx|al"
)
#: What ends none where a number follows.
BEFORE_A_NUMBER = re.compile(
    "no|nos|nr|num|núm|art|fig|abb|bd|kap|vol|pp|pág|págs|tel|tél|ch|chap|éd|sec"
    "|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|janv|févr|avr|juil|déc|okt|dez"
)


def sentence_gaps(text: str) -> Iterator[Span]:
    """The white space between sentences: where one ends, where the next begins."""
    uncased = text == text.lower()  # where all letters are small, a small one says nothing
    for match in _STOP.finditer(text):
        if match.end() < len(text) and _ends_sentence(text, match, uncased):
            yield match.span("space")


def _ends_sentence(text: str, match: re.Match[str], uncased: bool) -> bool:
    if not match["space"]:
        return match["stop"][-1] in WIDE_STOPS and not match["close"]  # 「はい。」と言った goes on
    following = _START.match(text, match.end())
    if following is None or (following["first"].islower() and not uncased):
        return False
    if match["stop"] != "." or match["close"]:
        return True
    return not _abbreviates(text, match.start(), following["first"])


def _abbreviates(text: str, stop: int, first: str) -> bool:
    """Whether the full stop belongs to its word: M., J. R. R., z. B., a.m., the 3. of a date or of a list."""
    found = _WORD.search(text, max(0, stop - _LONGEST_WORD), stop)
    word = found[0].casefold() if found else ""
    if word.isdecimal():
        return len(word) <= 2
    letters = word.split(".")
    if max(map(len, letters)) == 1 and letters[-1].isalpha():
        return True
    return bool(ABBREVIATION.fullmatch(word) or (first.isdecimal() and BEFORE_A_NUMBER.fullmatch(word)))


class Lengths(NamedTuple):
    """What a model is used to, in tokens."""

    whole: int  # lines of several sentences have at most
    longest: int  # single sentences have at most
    least: int = 0  # lines of several sentences have at least

    @classmethod
    def learned_from(cls, lines: Sequence[str], count: Count) -> Self:
        """From lines like those that the model was trained on; fewer than a hundred tell nothing.

        A few lines of several sentences teach nothing: of these lines the shortest and the longest, each one
        line in two hundred, are left out. Where no others have several sentences, `whole` is 0.
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
        """None of them over what a model can read."""
        return type(self)(*(min(length, most) for length in self))


#: Where no corpus tells: each sentence by itself, and none longer than the usual recipe trains on.
UNKNOWN = Lengths(whole=0, longest=128)


class Parts(NamedTuple):
    """What of a text is translated, and what stands before, between and behind: one gap more than texts."""

    texts: list[str]  # none is blank; a blank text has none
    gaps: list[str]
    divided: int  # sentences that were too long

    @classmethod
    def of(cls, text: str, count: Count, lengths: Lengths) -> Self:
        """Divide each line of a text into parts of at most `lengths.longest` tokens.

        A single character may have more tokens.
        """
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
        """The text that the translations of the parts make."""
        inner = [
            _fitting(gap, text, translation)
            for gap, text, translation in zip(self.gaps[1:-1], self.texts, translations, strict=False)
        ]
        gaps = [self.gaps[0], *inner, self.gaps[-1]] if self.texts else self.gaps
        return "".join(chain.from_iterable(zip(gaps, [*translations, ""], strict=True)))

    def begun(self, translations: Sequence[str]) -> str:
        """The line so far, from translations of the first texts; that of the last of these may go on."""
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
    """Halve the span, and each half until it has no more tokens than `longest`."""
    gap_start, gap_end = _division(line, start, end)
    for begin, stop in ((start, gap_start), (gap_end, end)):
        if stop - begin == 1 or count(line[begin:stop]) <= longest:
            yield begin, stop
        else:
            yield from _pieces(line, begin, stop, count, longest)


def _division(line: str, start: int, end: int) -> Span:
    """The gap nearest the middle: behind a clause mark in the middle half, a space anywhere, or none."""
    middle = (start + end) // 2
    for pattern, furthest in ((_CLAUSE, (end - start) / 4), (_SPACE, inf)):
        gaps = [match.span("space") for match in pattern.finditer(line, start, end) if match.end() < end]
        nearest = min(gaps, key=lambda gap: abs(gap[0] - middle), default=None)
        if nearest and abs(nearest[0] - middle) <= furthest:
            return nearest
    return middle, middle


def _fitting(gap: str, text: str, translation: str) -> str:
    """Chinese and Japanese set no space behind their marks: the gap is as the translation has it."""
    wide, was_wide = _ends_wide(translation), _ends_wide(text)
    if gap == "" and was_wide and translation and not wide:
        return " "
    return "" if gap == " " and wide and not was_wide else gap


def _ends_wide(text: str) -> bool:
    return text.rstrip(CLOSERS).endswith(WIDE_MARKS)
