"""Two systems on the same sentences: is one better, or was it luck with these sentences?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

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
    """A metric of both systems. A small p says that chance alone would hardly make them differ that much."""

    name: str
    ours: float
    other: float
    p: float
    signature: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: Tokenization = "13a",
) -> list[Comparison]:
    """BLEU, chrF and TER of ours and the other's, with the p-value of sacreBLEU's paired bootstrap, seeded.

    The test has two sides: exchanging the systems leaves p as it is.
    """
    check_pairs(translations, references)
    check_pairs(others, references)
    if not resamples(len(references)):
        raise ValueError(
            f"at most {MAX_SENTENCES:,} sentences can be resampled in memory; got {len(references):,}. "
            "Compare on fewer."
        )
    compared = []
    for resampled in resample([others, translations], references, lowercase, tokenize):
        other, ours = resampled.results
        # Where nothing differs, sacreBLEU counts no resample beyond the difference of 0, and says p = 0.001.
        p = 1.0 if ours.score == other.score or ours.p_value is None else ours.p_value
        compared.append(
            Comparison(
                resampled.name,
                limited(resampled.name, ours.score),
                limited(resampled.name, other.score),
                float(p),
                resampled.signature,
            )
        )
    return compared
