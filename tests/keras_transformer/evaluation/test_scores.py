"""The scores: worked out by hand, and the same as sacreBLEU's own command."""

import json
import math
import random
import subprocess
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import BLEU, CHRF, TER

from keras_transformer.evaluation import scores
from keras_transformer.evaluation.scores import bleu, resamples, score, sentence_chrf, tokenization
from keras_transformer.phrasebook import phrasebook

REFERENCES = [pair.target for pair in islice(phrasebook("fr-en", "test", 60), 60)]
WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "Mat", "."]), max_size=8).map(" ".join)
CORPORA = st.lists(st.tuples(WORDS, WORDS.filter(bool)), min_size=1, max_size=5)


def corrupted(sentences: list[str], share: float, seed: int = 0) -> list[str]:
    """The sentences with a share of their words exchanged for another one of theirs."""
    chance = random.Random(seed)

    def sentence(words: list[str]) -> str:
        return " ".join(chance.choice(words) if chance.random() < share else word for word in words)

    return [sentence(text.split()) for text in sentences]


def values(translations: list[str], references: list[str], **settings: object) -> dict[str, float]:
    found = score(translations, references, confidence=False, **settings)  # type: ignore[arg-type]
    return {each.name: each.value for each in found}


def test_a_text_against_itself_is_perfect() -> None:
    for each in score(REFERENCES, REFERENCES):
        perfect = 0 if each.name == "TER" else 100
        assert (each.value, each.low, each.high) == (perfect, perfect, perfect)


def test_nothing_in_common_scores_nothing() -> None:
    # Four words, and all four have to be exchanged.
    assert values(["x x x x"], ["a b c d"]) == {"BLEU": 0, "chrF": 0, "TER": 100}


def test_bleu_is_the_geometric_mean_of_the_precisions() -> None:
    # 4 of 5 words are right, 3 of 4 pairs, 2 of 3 triples, 1 of 2 quadruples; 4/5 · 3/4 · 2/3 · 1/2 = 1/5
    assert bleu(["a b c d e"], ["a b c d f"]) == pytest.approx(100 * (1 / 5) ** (1 / 4))


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("zh", "zh"),
        ("zh-TW", "zh"),
        ("ZH_cn", "zh"),
        ("ja", "char"),
        ("th", "char"),
        ("ko", "13a"),
        ("", "13a"),
    ],
)
def test_languages_without_spaces_between_words_are_divided_otherwise(language: str, expected: str) -> None:
    assert tokenization(language) == expected


def test_a_chinese_text_against_itself_is_perfect_where_13a_sees_single_words() -> None:
    lines = ["我喜欢喝茶。", "请问火车站在哪里？"]
    assert bleu(lines, lines) == 0.0
    assert bleu(lines, lines, tokenization("zh")) == pytest.approx(100.0)


def test_bleu_punishes_what_is_too_short() -> None:
    # All that is said is right, but 4 words stand for 5: exp(1 - 5/4)
    assert bleu(["a b c d"], ["a b c d e"]) == pytest.approx(100 * math.exp(-1 / 4))


def test_bleu_is_of_the_corpus_and_not_a_mean_over_sentences() -> None:
    # Alone, the second sentence has no quadruple and scores 0. Together: 4+1 of 4+1 words, 3 of 3 pairs,
    # 2 of 2 triples, 1 of 1 quadruples.
    assert bleu(["a b c d", "e"], ["a b c d", "e"]) == 100
    assert bleu(["e"], ["e"]) == 0


def test_chrf_counts_recall_twice() -> None:
    # ab in abcd: both letters and the pair are right, precision 1; found are 2 of 4 letters and 1 of 3 pairs,
    # recall (1/2 + 1/3) / 2 = 5/12. F2 = 5 · 1 · 5/12 / (4 · 1 + 5/12) = 25/53
    assert sentence_chrf(["ab"], ["abcd"]) == [pytest.approx(100 * 25 / 53)]
    assert values(["ab"], ["abcd"])["chrF"] == pytest.approx(100 * 25 / 53)


def test_ter_is_edits_per_word_of_the_reference() -> None:
    # One word exchanged of four; one phrase moved of four; five words too many for one.
    assert values(["a b x d"], ["a b c d"])["TER"] == 25
    assert values(["c d a b"], ["a b c d"])["TER"] == 25
    assert values(["a b c d e f"], ["a"])["TER"] == 500


def test_case_counts_unless_it_is_said_not_to_and_never_for_ter() -> None:
    upper, lower = ["A DOG RUNS FAST"], ["a dog runs fast"]
    assert values(upper, lower) == {"BLEU": 0, "chrF": 0, "TER": 0}
    assert values(upper, lower, lowercase=True) == {"BLEU": 100, "chrF": 100, "TER": 0}
    assert sentence_chrf(upper, lower) == [0]
    assert sentence_chrf(upper, lower, lowercase=True) == [100]


def test_text_that_is_tokenised_is_taken_as_it_is() -> None:
    # 13a parts the full stop from fast, none does not: then 3 of 4 words are right.
    assert values(["a dog runs fast ."], ["a dog runs fast."])["BLEU"] == 100
    assert values(["a dog runs fast ."], ["a dog runs fast."], tokenize="none")["BLEU"] < 100


def test_signatures_say_what_was_measured_and_how() -> None:
    assert [each.signature for each in score(["a"], ["a"], lowercase=True, tokenize="none")] == [
        "nrefs:1|bs:1000|seed:12345|case:lc|eff:no|tok:none|smooth:exp|version:2.6.0",
        "nrefs:1|bs:1000|seed:12345|case:lc|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
        "nrefs:1|bs:1000|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0",
    ]
    assert [each.signature for each in score(["a"], ["a"], confidence=False)] == [
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
        "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0",
    ]


def test_value_interval_and_signature_are_those_of_sacrebleus_command(tmp_path: Path) -> None:
    translations = corrupted(REFERENCES, 0.3)
    for name, lines in (("ours", translations), ("reference", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    options = ["-i", "ours", "-m", "bleu", "chrf", "ter", "--confidence", "-w", "6", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", "reference", *options],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    theirs = json.loads(done.stdout)
    assert len(theirs) == 3
    for each, their in zip(score(translations, REFERENCES), theirs, strict=True):
        mean, half = their["confidence_mean"], their["confidence_var"]
        assert each.value == pytest.approx(their["score"], abs=1e-5)
        # The resampled scores behind ours are float32, the command's are not: two roundings at most.
        assert (each.low, each.high) == pytest.approx((mean - half, mean + half), rel=2**-22, abs=1e-5)
        assert each.signature == their["signature"]
        assert each.low < each.value < each.high


@settings(max_examples=30, deadline=None)
@given(CORPORA)
def test_without_confidence_they_are_what_sacrebleu_says(corpus: list[tuple[str, str]]) -> None:
    translations, references = (list(side) for side in zip(*corpus, strict=True))
    found = values(translations, references)
    for name, metric in {"BLEU": BLEU(force=True), "chrF": CHRF(), "TER": TER()}.items():
        assert found[name] == pytest.approx(metric.corpus_score(translations, [references]).score)
    assert found["BLEU"] == bleu(translations, references)


@settings(max_examples=30, deadline=None)
@given(CORPORA)
def test_the_order_of_the_sentences_changes_nothing(corpus: list[tuple[str, str]]) -> None:
    translations, references = (list(side) for side in zip(*corpus, strict=True))
    assert values(translations, references) == values(translations[::-1], references[::-1])


@settings(max_examples=30, deadline=None)
@given(CORPORA)
def test_scores_and_bounds_stay_within_their_limits(corpus: list[tuple[str, str]]) -> None:
    translations, references = (list(side) for side in zip(*corpus, strict=True))
    for each in score(translations, references):
        assert each.low is not None
        assert each.high is not None
        assert 0 <= each.low <= each.high
        if each.name != "TER":
            assert max(each.high, each.value) <= 100


def test_the_interval_is_the_same_every_time_and_narrower_with_more_sentences() -> None:
    translations = corrupted(REFERENCES, 0.3)
    few, again = score(translations, REFERENCES), score(translations, REFERENCES)
    assert few == again
    # Sixteen times the sentences: a quarter of the width.
    for narrow, wide in zip(score(translations * 16, REFERENCES * 16), few, strict=True):
        assert narrow.value == pytest.approx(wide.value)
        assert (narrow.high - narrow.low) / (wide.high - wide.low) == pytest.approx(1 / 4, rel=0.2)  # type: ignore[operator]


def test_of_a_single_sentence_the_interval_is_a_point() -> None:
    for each in score(["a b c d e"], ["a b c d f"]):
        assert (each.low, each.high) == pytest.approx((each.value, each.value), rel=1e-6)


def test_resamples_become_fewer_before_they_fill_the_memory() -> None:
    assert [resamples(count) for count in (1, 10_000, 40_000, 100_000, 100_001)] == [1000, 1000, 250, 100, 0]


def test_the_signature_says_how_many_resamples_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MAX_RESAMPLED", 60 * 200)
    assert "|bs:200|" in score(REFERENCES, REFERENCES)[0].signature
    monkeypatch.setattr(scores, "MAX_SENTENCES", 59)
    assert all(each.low is None and "bs:" not in each.signature for each in score(REFERENCES, REFERENCES))


def test_empty_sentences_are_scored_too() -> None:
    assert values(["", "a b c d"], ["a b c d", "a b c d"])["TER"] == 50
    assert sentence_chrf(["", "a", ""], ["a", "", ""]) == [0, 0, 0]


@pytest.mark.parametrize("function", [score, bleu, sentence_chrf])
def test_what_does_not_pair_up_is_refused(function) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="got 2 translations and 1 references"):
        function(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="got 0 sentences"):
        function([], [])
    with pytest.raises(TypeError, match="got a single text"):
        function("a", ["a"])


def test_a_score_is_plain_json() -> None:
    first = json.loads(json.dumps(asdict(score(["a b c d e"], ["a b c d f"])[0])))
    assert list(first) == ["name", "value", "signature", "low", "high"]
