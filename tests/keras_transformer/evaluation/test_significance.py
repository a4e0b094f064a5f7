"""Two systems: the p-values that follow by hand, and the same as sacreBLEU's own command."""

import json
import random
import re
import subprocess
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer.evaluation.scores import score
from keras_transformer.evaluation.significance import compare
from keras_transformer.phrasebook import phrasebook

REFERENCES = [pair.target for pair in islice(phrasebook("fr-en", "test", 80), 80)]


def damaged(share: float, seed: int) -> list[str]:
    """The references, a share of them without their first half."""
    chance = random.Random(seed)
    return [text[len(text) // 2 :] if chance.random() < share else text for text in REFERENCES]


def test_a_system_is_not_better_than_itself() -> None:
    ours = damaged(0.5, 1)
    assert [each.p for each in compare(ours, ours, REFERENCES)] == [1, 1, 1]


def test_a_difference_that_case_alone_makes_is_none_without_case() -> None:
    upper = [text.upper() for text in REFERENCES]
    assert {each.p for each in compare(REFERENCES, upper, REFERENCES, lowercase=True)} == {1.0}
    cased = compare(REFERENCES, upper, REFERENCES)
    assert [each.p < 0.05 for each in cased] == [True, True, False]  # to TER, case is never a difference


def test_all_against_nothing_is_the_smallest_p_there_is() -> None:
    # The difference is 100 in each of the 1,000 resamples, none is beyond it: (0 + 1) / (1,000 + 1)
    for each in compare(REFERENCES, ["%"] * 80, REFERENCES):
        assert each.p == 1 / 1001
        assert each.ours == (0 if each.name == "TER" else 100)


def test_a_large_difference_is_told_from_a_small_one() -> None:
    large = compare(damaged(0.1, 1), damaged(0.8, 2), REFERENCES)
    # Each fails in every second sentence, the one where the other does not.
    odd, even = (
        [text[len(text) // 2 :] if number % 2 == rest else text for number, text in enumerate(REFERENCES)]
        for rest in (1, 0)
    )
    small = compare(odd, even, REFERENCES)
    assert all(each.p < 0.01 for each in large)
    assert all(each.p > 0.05 for each in small)


def test_exchanging_the_systems_exchanges_the_scores_and_leaves_p() -> None:
    one, two = damaged(0.4, 1), damaged(0.5, 2)
    for forth, back in zip(compare(one, two, REFERENCES), compare(two, one, REFERENCES), strict=True):
        assert (forth.ours, forth.other, forth.p) == (back.other, back.ours, back.p)


def test_it_says_the_same_every_time_and_the_scores_are_those_of_score() -> None:
    one, two = damaged(0.4, 1), damaged(0.5, 2)
    compared = compare(one, two, REFERENCES, tokenize="none")
    assert compared == compare(one, two, REFERENCES, tokenize="none")
    for each, ours, other in zip(
        compared,
        score(one, REFERENCES, tokenize="none"),
        score(two, REFERENCES, tokenize="none"),
        strict=True,
    ):
        assert (each.name, each.ours, each.other) == (ours.name, ours.value, other.value)
        assert each.signature == ours.signature


def test_p_is_that_of_sacrebleus_command(tmp_path: Path) -> None:
    one, two = damaged(0.4, 1), damaged(0.5, 2)
    for name, lines in (("one", one), ("two", two), ("reference", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    options = ["-m", "bleu", "chrf", "ter", "--paired-bs", "--format", "text"]
    # As text: with --format json sacreBLEU 2.6.0 ends in a traceback here.
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", "reference", "-i", "two", "one", *options],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    theirs = [float(p) for p in re.findall(r"p = ([0-9.]+)", done.stdout)]
    ours = [each.p for each in compare(one, two, REFERENCES)]
    assert ours == pytest.approx(theirs, abs=5e-5)


def test_what_does_not_pair_up_is_refused() -> None:
    with pytest.raises(ValueError, match="got 2 translations and 1 references"):
        compare(["a"], ["a", "b"], ["a"])
    with pytest.raises(ValueError, match="got 2 translations and 1 references"):
        compare(["a", "b"], ["a"], ["a"])
    many = ["a"] * 100_001
    with pytest.raises(ValueError, match=r"at most 100,000 sentences .*; got 100,001"):
        compare(many, many, many)


def test_a_comparison_is_plain_json() -> None:
    first = json.loads(json.dumps(asdict(compare(["a b"], ["a c"], ["a b"])[0])))
    assert list(first) == ["name", "ours", "other", "p", "signature"]
