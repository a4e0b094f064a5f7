"""The worst translations side by side, on one HTML page that needs no network."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from keras_transformer.evaluation.scores import Score, check_pairs, sentence_chrf
from keras_transformer.evaluation.significance import Comparison
from keras_transformer.viz.differences import differences, folded
from keras_transformer.viz.document import render

LIMIT = 100
MAX_LENGTH = 1000  # shown characters of a sentence


@dataclass(frozen=True)
class ScoredSentence:
    """Line of the files with its translation and its chrF, and those of another system if there is one."""

    line: int
    source: str | None
    reference: str
    translation: str
    chrf: float
    other: str | None = None
    other_chrf: float | None = None

    @property
    def ahead(self) -> float:
        """Difference of the chrF to that of the other system."""
        return 0.0 if self.other_chrf is None else self.chrf - self.other_chrf


def page(
    sources: Sequence[str] | None,
    references: Sequence[str],
    translations: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    names: tuple[str, str] = ("Translation", "Other"),
    scores: Sequence[Score] = (),
    compared: Sequence[Comparison] = (),
    lowercase: bool = False,
    limit: int = LIMIT,
) -> str:
    """Render the page.

    Args:
        sources: Source sentences, or None.
        references: Reference translations, one for each source.
        translations: Translations of the system.
        others: Translations of another system to compare with, or None.
        names: Names of the two systems on the page.
        scores: Scores to show at the top.
        compared: Comparison of the two systems, by score.
        lowercase: Whether to ignore differences of case.
        limit: Number of sentences to show, see `worst`.

    Raises:
        ValueError: If the sequences differ in length.
    """
    sentences = _sentences(sources, references, translations, others, lowercase)
    wrong = [
        sentence
        for sentence in sentences
        if folded(sentence.translation, lowercase) != folded(sentence.reference, lowercase)
    ]
    shown = worst(wrong, limit)
    return render(
        "worst_sentences.html",
        ("web/worst_sentences.css",),
        "web/worst_sentences.js",
        summary=_summary(len(sentences), len(sentences) - len(wrong), len(shown), others is not None),
        names=names if others is not None else names[:1],
        scores=scores,
        compared={comparison.name: comparison for comparison in compared},
        sentences=shown,
        columns=lambda sentence: _columns(sentence, names, lowercase),
    )


def worst(sentences: Sequence[ScoredSentence], limit: int = LIMIT) -> list[ScoredSentence]:
    """Return the `limit` sentences with the lowest chrF and the `limit` furthest behind the other system."""
    lowest = sorted(sentences, key=lambda sentence: sentence.chrf)
    behind = sorted((one for one in sentences if one.ahead < 0), key=lambda sentence: sentence.ahead)
    chosen = {sentence.line for sentence in (*lowest[:limit], *behind[:limit])}
    return [sentence for sentence in lowest if sentence.line in chosen]


def _sentences(
    sources: Sequence[str] | None,
    references: Sequence[str],
    translations: Sequence[str],
    others: Sequence[str] | None,
    lowercase: bool,
) -> list[ScoredSentence]:
    check_pairs(translations, references)
    if sources is not None and len(sources) != len(references):
        raise ValueError(
            f"each source needs its reference; got {len(sources)} sources and {len(references)} references."
        )
    nothing = [None] * len(references)
    columns: tuple[Sequence[Any], ...] = (
        nothing if sources is None else sources,
        references,
        translations,
        sentence_chrf(translations, references, lowercase),
        nothing if others is None else others,
        nothing if others is None else sentence_chrf(others, references, lowercase),
    )
    return [ScoredSentence(line, *row) for line, row in enumerate(zip(*columns, strict=True), start=1)]


def _summary(sentences: int, exact: int, shown: int, compared: bool) -> str:
    if exact == sentences:
        return f"All {sentences:,} sentences are exactly as their references."
    chosen = "with the lowest chrF" + (" or furthest behind the other system" if compared else "")
    which = "all others" if shown == sentences - exact else f"{shown:,} of the others, {chosen}"
    return f"Of {sentences:,} sentences, {exact:,} are exactly as the reference. The page shows {which}."


def _columns(
    sentence: ScoredSentence, names: tuple[str, str], lowercase: bool
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Name each text of a sentence, and divide it into segments of a text and its mark."""
    reference, translation = _cut(sentence.reference), _cut(sentence.translation)
    lost, wrong = differences(reference, translation, lowercase)
    columns = [] if sentence.source is None else [("Source", _segments(_cut(sentence.source), (), ""))]
    columns += [
        ("Reference", _segments(reference, lost, "lost")),
        (names[0], _segments(translation, wrong, "wrong")),
    ]
    if sentence.other is not None:
        other = _cut(sentence.other)
        columns.append((names[1], _segments(other, differences(reference, other, lowercase)[1], "wrong")))
    return columns


def _segments(text: str, marked: Iterable[slice], mark: str) -> list[tuple[str, str]]:
    segments, end = [], 0
    for part in marked:
        segments += [(text[end : part.start], ""), (text[part], mark)]
        end = part.stop
    return [segment for segment in (*segments, (text[end:], "")) if segment[0]]


def _cut(text: str) -> str:
    """Shorten a text: the time to compare two texts is the product of their lengths."""
    return (
        text
        if len(text) <= MAX_LENGTH
        else f"{text[:MAX_LENGTH]} … ({len(text) - MAX_LENGTH:,} more characters)"
    )
