"""Corpora that are mixed by weight: how often the sentences of each are drawn."""

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.text.cleaning import CleaningRules
from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.data.mixture import Weighted
from keras_transformer.training.data.prepare import SAMPLES, prepare
from keras_transformer.training.data.stages import stages
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run


@pytest.mark.parametrize(
    ("name", "file", "weight"),
    [
        ("a.tsv", "a.tsv", None),
        ("a.tsv=3", "a.tsv", 3.0),
        ("a.tsv=0.5", "a.tsv", 0.5),
        ("-=2", "-", 2.0),
        ("lr=3.tsv", "lr=3.tsv", None),
        ("runs/lr=3/a.tsv.gz=2", "runs/lr=3/a.tsv.gz", 2.0),
        ("x=y.tsv=z", "x=y.tsv=z", None),
        ("a.tsv=", "a.tsv=", None),
    ],
)
def test_a_weight_stands_behind_the_last_equals_sign(name: str, file: str, weight: float | None) -> None:
    assert Weighted.parsed(name) == (file, weight)


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf", "2e6"])
def test_a_weight_that_is_none_is_refused_with_its_file(weight: str) -> None:
    with pytest.raises(ValueError, match=r"the weight of a\.tsv must be above 0 and at most 1,000,000; got"):
        Corpus("fr", "en", pairs=[f"a.tsv={weight}", "b.tsv"])


def files(folder: Path, **pairs: list[Pair]) -> dict[str, Path]:
    paths = {name: folder / f"{name}=1.tsv" for name in pairs}  # names with = in them
    for name, path in paths.items():
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs[name]), "utf-8")
    return paths


def prepared(folder: Path, names: list[str], **recipe: Any) -> tuple[Run, list[str]]:
    """A run of these corpora; the first pair of a.tsv is the held-out text."""
    corpus = Corpus("fr", "en", pairs=names)
    run, lines = Run(folder / "run"), list[str]()
    options = {"vocabulary_size": 400, "batch_tokens": 512, "max_tokens": 64, "steps": 64, **recipe}
    about = {**corpus.as_run(), "recipe": options}
    with run.begin(about):
        training, _ = Corpus.from_run(json.loads(json.dumps(about))).read()
        prepare(run, about, training, None, CleaningRules(), options, lines.append)
    return run, lines


def drawn(run: Run, stage: int = -1) -> tuple[Counter[int], int]:
    """How often each pair is in the first 300 batches, and the number of pairs."""
    recipe = Recipe.from_run(run.read("recipe.json"))
    store, plan, _ = stages(TokenStore(run.tokens), recipe)[stage]
    batches = islice(plan.batches(), 300)
    return Counter(int(index) for _, indices in batches for index in indices), len(store.lengths())


def test_three_to_one_draws_three_sentences_of_the_small_corpus_for_one_of_the_large(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    paths = files(tmp_path, a=pairs[:50], b=pairs[50:])
    run, lines = prepared(tmp_path, [f"{paths['a']}=3", f"{paths['b']}=1"])
    small, large = (line for line in lines if "of the sentences that are drawn" in line)
    assert small.endswith("75.0% of the sentences that are drawn")
    count = int(small.removeprefix(f"{paths['a']}: ").split()[0])
    times, total = drawn(run)
    assert large.startswith(f"{paths['b']}: {total - count:,} pairs, ")
    of_small = sum(number for index, number in times.items() if index < count)
    # a pair is drawn as often as its rate says, give or take one, and may wait for a full batch
    assert of_small / times.total() == pytest.approx(0.75, abs=0.01)
    assert len(times) == total
    for part in (range(count), range(count, total)):
        numbers = [times[index] for index in part]
        assert max(numbers) - min(numbers) <= 0.2 * max(numbers) + 2


def test_the_batches_from_a_step_on_are_those_of_a_run_that_was_not_interrupted(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    paths = files(tmp_path, a=pairs[:50], b=pairs[50:])
    run, _ = prepared(tmp_path, [f"{paths['a']}=3", f"{paths['b']}=1"])
    recipe = Recipe.from_run(run.read("recipe.json"))
    whole = list(islice(stages(TokenStore(run.tokens), recipe)[-1].plan.batches(), 90))
    for start in (0, 1, 37, 89):
        rest = islice(stages(TokenStore(run.tokens), recipe)[-1].plan.batches(start), 90 - start)
        for (bucket, indices), (same, others) in zip(rest, whole[start:], strict=True):
            assert bucket == same
            np.testing.assert_array_equal(indices, others)


def test_weights_hold_where_pairs_come_again_and_in_both_directions(
    tmp_path: Path, pairs: list[Pair]
) -> None:
    paths = files(tmp_path, a=pairs[:50], b=pairs[50:])
    names = [f"{paths['a']}=3", f"{paths['b']}"]  # 1 where none is said
    run, lines = prepared(tmp_path, names, bpe_dropout=0.1, both_ways=0.5)
    count = int(next(line for line in lines if "75.0%" in line).removeprefix(f"{paths['a']}: ").split()[0])
    times, total = drawn(run, stage=0)
    one = total // SAMPLES // 2
    of_small = sum(number for index, number in times.items() if index % one < count)
    assert of_small / times.total() == pytest.approx(0.75, abs=0.02)


def test_without_weights_every_pair_is_drawn_once(tmp_path: Path, pairs: list[Pair]) -> None:
    paths = files(tmp_path, a=pairs[:50], b=pairs[50:])
    (tmp_path / "run" / "tokens").mkdir(parents=True)
    np.save(tmp_path / "run" / "tokens" / "rates.npy", np.ones(3))  # of a preparation that was given weights
    (tmp_path / "run" / "run.json").write_text(
        json.dumps({"format": 1, **Corpus(phrasebook="fr-en").as_run(), "recipe": {}})
    )
    run, lines = prepared(tmp_path, [str(path) for path in paths.values()])
    assert TokenStore(run.tokens).rates is None
    assert not any("drawn" in line for line in lines)
    times, total = drawn(run)
    assert len(times) == total
    assert max(times.values()) - min(times.values()) <= 3


def test_a_corpus_of_which_nothing_is_left_is_told(tmp_path: Path, pairs: list[Pair]) -> None:
    paths = files(tmp_path, a=pairs, b=pairs[:10])  # all of b is in a: duplicates
    with pytest.raises(CorpusError, match=r"no pair of .*b=1\.tsv is left to draw"):
        prepared(tmp_path, [f"{paths['a']}=3", f"{paths['b']}=1"])


def test_a_piped_corpus_with_a_weight_is_seen_to_be_piped() -> None:
    corpus = Corpus("fr", "en", pairs=["-=3", "b.tsv=1"])
    assert corpus.is_piped
    again = Corpus.from_run(corpus.as_run())
    assert again.pairs == ["-=3", str(Path.cwd() / "b.tsv=1")]
