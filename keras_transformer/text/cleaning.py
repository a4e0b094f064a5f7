"""Cleaning of a corpus: keep the pairs worth training on, and report what was dropped and why.

The text is normalized first, as the tokenizer does it: white space of every kind becomes a single space,
invisible characters are removed, and letters are composed with their marks. So two spellings are the same
sentence: neither is a duplicate kept, nor a sentence of the training set held out for validation.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from keras_transformer.text.corpus import CorpusError, Pair

INVISIBLE = "\u00ad\u200b\u2060\ufeff"  # soft hyphen, zero-width space, word joiner, byte order mark
_GOES = {
    number: None
    for number in (*range(0x20), *range(0x7F, 0xA0), *map(ord, INVISIBLE))
    if not chr(number).isspace()
}
EXAMPLES = 3  # kept of each reason
EXAMPLE_CHARACTERS = 80


@dataclass(frozen=True)
class CleaningRules:
    """Rules that a pair must pass. The defaults suit sentences in most pairs of languages.

    Attributes:
        max_characters: Largest number of characters of either side.
        max_words: Largest number of words of either side.
        max_ratio: Largest ratio of the longer side to the shorter in characters, after adding 10 to both, so
            that a few letters do not decide: "Oui." and "Yes, of course." have (15 + 10) / (4 + 10) = 1.8.
        drop_copies: Whether to drop a target that equals its source, because it is untranslated text.
        copy_characters: Largest number of characters of a copy that is kept (Taxi, Paris, Charles de Gaulle).
            A copy without letters (12:30) is kept too.
        drop_duplicates: Whether to drop a source with the same target after its first occurrence. A digest of
            8 bytes is kept for each pair, which takes about 75 bytes of memory; the probability that any two
            of 2 million different pairs have the same digest is one to ten million.
    """

    max_characters: int = 1000
    max_words: int = 150
    max_ratio: float = 4.0
    drop_copies: bool = True
    copy_characters: int = 20
    drop_duplicates: bool = True

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {minimum}; got {getattr(self, name)!r}"
            for name, minimum in (
                ("max_characters", 1),
                ("max_words", 1),
                ("max_ratio", 1),
                ("copy_characters", 0),
            )
            if not getattr(self, name) >= minimum  # "not >=" instead of "<" also refuses NaN
        ]
        if problems:
            raise ValueError("cleaning rules: " + "; ".join(problems))


class DroppedPair(NamedTuple):
    """Dropped pair, its texts shortened; number is its index in the corpus, from 1."""

    number: int
    source: str
    target: str


@dataclass
class CleaningReport:
    """Statistics and examples of `clean` so far."""

    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[DroppedPair]] = field(default_factory=dict)

    def drop(self, reason: str, pair: Pair) -> None:
        """Count a dropped pair, and keep it if its reason has few examples."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(DroppedPair(self.read, _shortened(pair.source), _shortened(pair.target)))

    def as_dict(self) -> dict[str, object]:
        """Return the report for JSON."""
        examples = {reason: [list(example) for example in pairs] for reason, pairs in self.examples.items()}
        return {"read": self.read, "kept": self.kept, "dropped": dict(self.dropped), "examples": examples}

    def __str__(self) -> str:
        share = f" ({self.kept / self.read:.1%})" if self.read else ""
        lines = [f"kept {self.kept:,} of {self.read:,} pairs{share}"]
        for reason, count in self.dropped.items():
            lines.append(f"  {count:>9,}  {reason}")
            lines += [
                f"{'':13}pair {n:,}: {source!r} | {target!r}" for n, source, target in self.examples[reason]
            ]
        return "\n".join(lines)


def clean(pairs: Iterable[Pair], rules: CleaningRules, report: CleaningReport) -> Iterator[Pair]:
    """Yield the pairs that pass all rules, with normalized text.

    Args:
        pairs: The corpus.
        rules: The rules.
        report: Report that is filled in the meantime, and complete after the last pair.

    Raises:
        CorpusError: If no pair is left.
    """
    seen: set[bytes] = set()
    for source, target in pairs:
        report.read += 1
        pair = Pair(regular(source), regular(target))
        reason = _reason(pair, rules)
        if reason is None and rules.drop_duplicates and not is_new(pair, seen):
            reason = "duplicate"
        if reason is None:
            report.kept += 1
            yield pair
        else:
            report.drop(reason, pair)
    if not report.kept:
        raise CorpusError(_nothing_left(report))


def regular(text: str) -> str:
    """Normalize a text: composed, without invisible characters, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text.translate(_GOES)).split())


def _reason(pair: Pair, rules: CleaningRules) -> str | None:
    """Return the first rule that drops this pair, or None."""
    shorter, longer = sorted(map(len, pair))
    if shorter == 0:
        return "empty"
    if longer > rules.max_characters:
        return f"more than {rules.max_characters} characters"
    if max(text.count(" ") + 1 for text in pair) > rules.max_words:
        return f"more than {rules.max_words} words"
    if (longer + 10) / (shorter + 10) > rules.max_ratio:
        return f"length ratio above {rules.max_ratio}"
    if (
        rules.drop_copies
        and pair.source == pair.target
        and _is_untranslated(pair.source, rules.copy_characters)
    ):
        return "copy"
    return None


def _is_untranslated(text: str, copy_characters: int) -> bool:
    return len(text) > copy_characters and any(map(str.isalpha, text))


def is_new(texts: Iterable[str], seen: set[bytes]) -> bool:
    """Return whether these texts are not among those whose digests are in `seen`, and add theirs."""
    digest = blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    if digest in seen:
        return False
    seen.add(digest)
    return True


def _shortened(text: str) -> str:
    return text if len(text) <= EXAMPLE_CHARACTERS else text[: EXAMPLE_CHARACTERS - 1] + "…"


def _nothing_left(report: CleaningReport) -> str:
    if not report.read:
        return "there was no pair to clean: the corpus is empty"
    taken = ", ".join(f"{reason} ({count})" for reason, count in report.dropped.items())
    return (
        f"cleaning left nothing of {report.read} pairs: {taken}. "
        f"Look at the examples, then change the rule or the files:\n{report}"
    )
