"""BLEU, chrF and TER as sacreBLEU computes them, with the signatures that make them comparable."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

Tokenization = Literal["13a", "intl", "zh", "char", "none"]
# Languages without spaces between words: the tokenization 13a would see one or two words in a sentence.
UNSPACED: dict[str, Tokenization] = {
    "zh": "zh", "yue": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"
}  # fmt: skip
# sacreBLEU's default number of resamples, and the smallest number that is useful for 95 %.
RESAMPLES, FEWEST = 1000, 100
# Resamples times sentences: sacreBLEU holds all of them in memory, 72 bytes each for chrF.
MAX_RESAMPLED = 10_000_000
MAX_SENTENCES = MAX_RESAMPLED // FEWEST


@dataclass(frozen=True)
class Score:
    """Value of a metric, with the bounds of its 95 % confidence interval if sentences were resampled.

    chrF is sacreBLEU's chrF2. Higher is better, except for TER, which counts edits.
    """

    name: str
    value: float
    signature: str
    low: float | None = None
    high: float | None = None


def score(
    translations: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: Tokenization = "13a",
    confidence: bool = True,
) -> list[Score]:
    """Compute BLEU, chrF and TER of translations with one reference each.

    Args:
        translations: The translations.
        references: A reference for each.
        lowercase: Whether BLEU and chrF ignore case; TER always does.
        tokenize: sacreBLEU's tokenization for BLEU.
        confidence: Whether to compute 95 % confidence intervals from sacreBLEU's 1,000 seeded bootstrap
            resamples. For more than 10,000 sentences there are fewer resamples, as the signature shows; for
            more than 100,000 none.

    Raises:
        TypeError: If an argument is a single text.
        ValueError: If there are no sentences, or their numbers differ.
    """
    check_pairs(translations, references)
    if confidence and resamples(len(references)):
        resampled = resample([translations], references, lowercase, tokenize)
        return [_bounded(name, signature, result) for name, signature, (result,) in resampled]
    scores = []
    for name, metric in metrics(lowercase, tokenize).items():
        result = metric.corpus_score(list(translations), [list(references)])
        scores.append(Score(name, limited(name, result.score), str(metric.get_signature())))
    return scores


def bleu(translations: Sequence[str], references: Sequence[str], tokenize: Tokenization = "13a") -> float:
    """Compute BLEU alone, which is fast enough for validations during training."""
    check_pairs(translations, references)
    metric = BLEU(tokenize=tokenize, force=True)
    return limited("BLEU", metric.corpus_score(list(translations), [list(references)]).score)


def bleu_signature(tokenize: Tokenization = "13a") -> str:
    """Return sacreBLEU's signature of `bleu`."""
    metric = BLEU(tokenize=tokenize, force=True)
    metric.corpus_score(["a"], [["a"]])  # with it the metric knows the number of references
    return str(metric.get_signature())


def tokenization(language: str) -> Tokenization:
    """Return sacreBLEU's tokenization for a language: zh-TW, ja, de ..."""
    return UNSPACED.get(re.split("[-_]", language)[0].lower(), "13a")


def sentence_chrf(
    translations: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> list[float]:
    """Compute the chrF of each sentence, which suits short text better than BLEU. Empty text has 0."""
    check_pairs(translations, references)
    metric = CHRF(lowercase=lowercase)
    return [
        limited("chrF", metric.sentence_score(translation, [reference]).score)
        for translation, reference in zip(translations, references, strict=True)
    ]


def metrics(lowercase: bool = False, tokenize: Tokenization = "13a") -> dict[str, Metric]:
    """Return the three metrics by name, with sacreBLEU's defaults."""
    return {
        "BLEU": BLEU(lowercase=lowercase, tokenize=tokenize, force=True),  # no advice about tokenized text
        "chrF": CHRF(lowercase=lowercase),
        "TER": TER(),  # ignores case by default, and so in most publications
    }


def resample(
    systems: Sequence[Sequence[str]], references: Sequence[str], lowercase: bool, tokenize: Tokenization
) -> Iterator[tuple[str, str, list[Result]]]:
    """Resample each metric of each system by paired bootstrap; all systems get the same resamples.

    sacreBLEU's PairedTest with one system is also its public interface for a confidence interval:
    `corpus_score` computes the same numbers, but only in private attributes.

    Yields:
        Name and signature of each metric, and its result for each system, with p-values against the first
        system.
    """
    named = metrics(lowercase, tokenize)
    test = PairedTest(
        [(str(number), list(system)) for number, system in enumerate(systems)],
        named,
        [list(references)],
        test_type="bs",
        n_samples=resamples(len(references)),
    )
    signatures, results = test()
    for name, (key, signature) in zip(named, signatures.items(), strict=True):
        yield name, str(signature), [result for result in results[key] if isinstance(result, Result)]


def resamples(sentences: int) -> int:
    """Return the number of resamples for so many sentences; 0 if memory is too small for enough."""
    return min(RESAMPLES, MAX_RESAMPLED // sentences) if sentences <= MAX_SENTENCES else 0


def limited(name: str, value: float) -> float:
    """Limit a value to 0 to 100: sacreBLEU's logarithms round to 100.00000000000004. TER may be more."""
    return float(max(0.0, value) if name == "TER" else min(100.0, max(0.0, value)))


def check_pairs(translations: Sequence[str], references: Sequence[str]) -> None:
    """Check that there are as many translations as references: sacreBLEU would silently use the shorter list.

    Raises:
        TypeError: If an argument is a single text.
        ValueError: If the numbers differ, or are 0.
    """
    if isinstance(translations, str) or isinstance(references, str):
        raise TypeError(
            "translations and references are lists of sentences; got a single text. Put it into a list."
        )
    if len(translations) != len(references):
        raise ValueError(
            f"each translation needs its reference; got {len(translations)} translations and "
            f"{len(references)} references."
        )
    if not references:
        raise ValueError("there is nothing to score; got 0 sentences. Give at least one.")


def _bounded(name: str, signature: str, result: Result) -> Score:
    value, mean, half = result.score, result.mean, result.ci
    if mean is None or half is None:
        return Score(name, limited(name, value), signature)
    # Symmetric around the mean of the resamples, as sacreBLEU prints it: it may pass a metric's own limits.
    return Score(
        name, limited(name, value), signature, limited(name, mean - half), limited(name, mean + half)
    )
