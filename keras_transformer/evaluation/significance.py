"""Comparison of two systems on the same sentences, with its significance."""

from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.evaluation.scores import (
    MAX_SENTENCES,
    Tokenization,
    check_pairs,
    limited,
    resample,
    resamples,
)


@dataclass(frozen=True)
class Comparison:
    """Values of a metric for both systems, with the p-value of their difference."""

    name: str
    ours: float
    other: float
    p: float
    signature: str


def compare(
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: Tokenization = "13a",
) -> list[Comparison]:
    """Compare two systems by BLEU, chrF and TER, with the p-value of sacreBLEU's seeded paired bootstrap.

    The test is two-sided: exchanging the systems does not change p.

    Args:
        translations: Our translations.
        others: Translations of the other system.
        references: A reference for each.
        lowercase: Whether BLEU and chrF ignore case.
        tokenize: sacreBLEU's tokenization for BLEU.

    Raises:
        ValueError: If the numbers of sentences differ, or there are too many to resample.
    """
    check_pairs(translations, references)
    check_pairs(others, references)
    if not resamples(len(references)):
        raise ValueError(
            f"at most {MAX_SENTENCES:,} sentences can be resampled in memory; got {len(references):,}. "
            "Compare on fewer."
        )
    compared = []
    for name, signature, results in resample([others, translations], references, lowercase, tokenize):
        other, ours = results
        # For equal scores sacreBLEU counts no resample beyond the difference of 0, and returns p = 0.001.
        p = 1.0 if ours.score == other.score or ours.p_value is None else ours.p_value
        our_score, other_score = (limited(name, system.score) for system in (ours, other))
        compared.append(Comparison(name, our_score, other_score, float(p), signature))
    return compared
