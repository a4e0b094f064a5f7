"""The selection of translations that a student learns from: cleaned, without loops and the lowest scores."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.bulk.formats import LOOP_MARK
from keras_transformer.files import write_pieces
from keras_transformer.text.cleaning import CleaningReport, CleaningRules, clean
from keras_transformer.text.corpus import Pair, read_text
from keras_transformer.training.distillation import BACK
from keras_transformer.training.distillation.folder import Folder

LOOP, LOW_SCORE = "loop", "low score"


class Translated(NamedTuple):
    """Line of a translated text.

    Attributes:
        text: The translation.
        score: Mean of the log-probabilities of its tokens; None for an empty line.
        looped: Whether the loop guard found a loop.
    """

    text: str
    score: float | None
    looped: bool

    @classmethod
    def parsed(cls, line: str) -> "Translated":
        """Read a line as `translate --scores` writes it."""
        score, _, text = line.partition("\t")
        return cls(text.removesuffix(LOOP_MARK), float(score) if score else None, text.endswith(LOOP_MARK))


@dataclass
class Selection:
    """What was kept of the translations of one part, and why the others were dropped.

    Attributes:
        report: Numbers and examples of what was dropped.
        mean_score: Mean score of the translations without loops.
        lowest_score: The lowest score that is kept.
    """

    report: CleaningReport = field(default_factory=CleaningReport)
    mean_score: float = 0.0
    lowest_score: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the selection for JSON."""
        return {**self.report.as_dict(), "mean_score": self.mean_score, "lowest_score": self.lowest_score}


def select(folder: Folder, part: str, rules: CleaningRules, drop_worst: float) -> Selection:
    """Write the pairs of a part that are worth training on.

    Args:
        folder: The folder of the distillation, with the texts and their translations.
        part: The part.
        rules: Cleaning rules for the pairs.
        drop_worst: Share of the translations that are dropped for the lowest scores.

    Raises:
        CorpusError: If no pair is left.
    """
    selection, path = Selection(), folder.translated(part)
    scores = array(
        "d",
        sorted(line.score for line in _lines(path) if line.score is not None and not line.looped),
    )
    if scores:
        selection.mean_score = sum(scores) / len(scores)
        selection.lowest_score = scores[int(drop_worst * len(scores))]
    pairs = clean(_scored(folder, part, selection), rules, selection.report)
    write_pieces(folder.pairs(part), ("\t".join(pair).encode() + b"\n" for pair in pairs))
    return selection


def _scored(folder: Folder, part: str, selection: Selection) -> Iterator[Pair]:
    """Yield the pairs without a loop whose score is high enough; a backward model has made their sources."""
    report = selection.report
    for text, line in zip(read_text([folder.texts(part)]), _lines(folder.translated(part)), strict=True):
        pair = Pair(line.text, text) if part == BACK else Pair(text, line.text)
        low = line.score is None or line.score < selection.lowest_score
        if line.looped or low:
            report.read += 1
            report.drop(LOOP if line.looped else LOW_SCORE, pair)
        else:
            yield pair


def _lines(path: Path) -> Iterator[Translated]:
    return map(Translated.parsed, read_text([path]))
