"""Preparing a run: the split, the files, and that a kill in the middle stops nobody."""

import os
import random
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.text.cleaning import CleaningRules
from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_training import learn
from keras_transformer.training.data import prepare as preparing
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.data.prepare import SAMPLES, Before, HeldOut, prepare
from keras_transformer.training.data.typed import KINDS
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import Run

ABOUT = {**Corpus(phrasebook="fr-en").as_run(), "recipe": {}}
OVERRIDES = {"vocabulary_size": 400, "steps": 8}


def prepared(run: Run, pairs: list[Pair], valid: list[Pair] | None = None, **overrides: Any) -> list[str]:
    lines: list[str] = []
    prepare(run, ABOUT, iter(pairs), valid, CleaningRules(), {**OVERRIDES, **overrides}, lines.append)
    return lines


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    with run.begin(ABOUT):
        return run


def contents(run: Run) -> dict[str, bytes]:
    return {
        str(path.relative_to(run.path)): path.read_bytes() for path in run.path.rglob("*") if path.is_file()
    }


def test_all_that_training_reads_is_there_and_nothing_else(run: Run, pairs: list[Pair]) -> None:
    lines = prepared(run, pairs)
    tokens = {f"{side}.{part}" for side in ("source", "target") for part in ("ids", "ends.npy")}
    found = set(contents(run)) - {".lock"}
    assert found == {f"tokens/{name}" for name in tokens} | {f"tokens/typed/{name}" for name in tokens} | {
        "tokens/typed/rates.npy", "run.json", "cleaning.json", "recipe.json", "valid.jsonl",
        "tokenizer/shared.model", "tokenizer/about.json",
    }  # fmt: skip
    tokenizer, store = Tokenizer.load(run.tokenizer), TokenStore(run.tokens)
    assert (tokenizer.source_lang, tokenizer.target_lang, tokenizer.target_size) == ("fr", "en", 400)
    held_out = list(run.read_pairs("valid.jsonl"))
    assert len(store) + len(held_out) == len(pairs)
    assert Recipe.from_dict(run.read("recipe.json")).steps == 8
    assert lines[0] == "kept 300 of 300 pairs (100.0%)"
    assert lines[1] == f"{len(store)} pairs to train on, {len(held_out)} held out for scores"
    assert lines[2] == f"400 pieces, {store.lengths()[:, 1].sum():,} target tokens"
    assert re.fullmatch(
        r"variants as people type: upper case \d+, title case \d+, .*, typing errors \d+", lines[3]
    )


def test_variants_are_of_what_is_trained_on_and_split_as_often_as_the_corpus(
    run: Run, pairs: list[Pair]
) -> None:
    shares = dict.fromkeys(KINDS, 0.0) | {"lower_case": 0.4}
    prepared(run, pairs, bpe_dropout=0.2, **shares)
    tokenizer, store = Tokenizer.load(run.tokenizer), TokenStore(run.typed)
    held_out = {pair.source.lower().removesuffix(".") for pair in run.read_pairs("valid.jsonl")}
    length = int(store.lengths()[:, 0].max())
    typed = tokenizer.decode_source(store.rows(0, np.arange(len(store)), length).tolist())
    one = len(store) // SAMPLES
    assert one == len(pairs) - len(held_out)  # 0.4 of the sentences that are drawn: each pair has one
    assert typed[:one] == typed[one : 2 * one]
    assert typed == [source.lower().removesuffix(".") for source in typed]
    assert not held_out & set(typed)
    assert store.rates is not None
    assert store.rates.sum() / len(store) == pytest.approx(0.4 / 0.6)


def test_a_run_without_variants_leaves_none_of_an_earlier_attempt(run: Run, pairs: list[Pair]) -> None:
    prepared(run, pairs)
    assert run.typed.exists()
    prepared(run, pairs, **dict.fromkeys(KINDS, 0.0))
    assert not run.typed.exists()


def test_with_pieces_left_to_chance_every_pair_is_there_many_times(run: Run, pairs: list[Pair]) -> None:
    lines = prepared(run, pairs, bpe_dropout=0.2)
    store, held_out = TokenStore(run.tokens), list(run.read_pairs("valid.jsonl"))
    assert len(store) == SAMPLES * (len(pairs) - len(held_out))
    # the tokens that are told are those of one time
    assert lines[2] == f"400 pieces, {store.lengths()[:, 1].sum() // SAMPLES:,} target tokens"
    firsts = store.lengths()[:: len(store) // SAMPLES]  # the first pair, each time
    assert len({tuple(each) for each in firsts.tolist()}) > 3


def test_what_is_held_out_is_not_trained_on_not_even_its_source_alone(run: Run, pairs: list[Pair]) -> None:
    twice = [*pairs, *(Pair(pair.source, f"{pair.target} Again.") for pair in pairs)]
    prepared(run, twice)
    held_out = {pair.source for pair in run.read_pairs("valid.jsonl")}
    store, tokenizer = TokenStore(run.tokens), Tokenizer.load(run.tokenizer)
    length = int(store.lengths()[:, 0].max())
    trained = {tuple(store.rows(0, [row], length)[0].tolist()) for row in range(len(store))}
    held = {(*ids, *[0] * (length - len(ids))) for ids in tokenizer.encode_source(sorted(held_out))}
    assert len(held) == len(held_out) > 0
    assert not trained & held


def held_out_of(pairs: list[Pair]) -> list[Pair]:
    held_out = HeldOut()
    assert list(held_out.chosen_from(pairs)) == pairs
    return list(held_out.pairs.values())


def test_what_is_held_out_comes_from_all_parts_of_a_large_corpus() -> None:
    held_out = held_out_of([Pair(f"Phrase {number}.", "") for number in range(200_000)])
    numbers = [int(pair.source[7:-1]) for pair in held_out]
    assert len(numbers) == 1000
    # of each tenth of the corpus a tenth: 100, give or take five standard deviations of 9.5
    assert all(52 < sum(number // 20_000 == tenth for number in numbers) < 148 for tenth in range(10))
    assert numbers == sorted(numbers)  # in the order of the corpus


def test_what_is_held_out_depends_on_the_texts_and_not_on_their_order() -> None:
    pairs = [Pair(f"Phrase {number}.", str(number)) for number in range(60_000)]
    shuffled = random.Random(1).sample(pairs, len(pairs))
    assert set(held_out_of(shuffled)) == set(held_out_of(pairs))


def test_a_source_that_comes_often_is_held_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "HELD_OUT_SHARE", 1)
    assert held_out_of([Pair("Oui.", f"Yes {n}.") for n in range(2000)]) == [Pair("Oui.", "Yes 0.")]


def test_a_pair_that_gives_way_to_another_is_trained_on_in_its_place(
    run: Run, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "HELD_OUT_SHARE", 1)
    monkeypatch.setattr(preparing, "MAX_HELD_OUT", 3)
    prepared(run, pairs)
    held_out = list(run.read_pairs("valid.jsonl"))
    assert len(held_out) == 3
    tokenizer, store = Tokenizer.load(run.tokenizer), TokenStore(run.tokens)
    length = int(store.lengths()[:, 0].max())
    trained = tokenizer.decode_source(store.rows(0, range(len(store)), length).tolist())
    assert trained == [pair.source for pair in pairs if pair not in held_out]


def test_pairs_of_the_users_own_are_validated_on_and_all_others_trained_on(
    run: Run, pairs: list[Pair]
) -> None:
    prepared(run, pairs[:280], valid=pairs[280:])
    assert list(run.read_pairs("valid.jsonl")) == pairs[280:]
    assert len(TokenStore(run.tokens)) == 280


def test_held_out_text_that_is_trained_on_too_is_told_and_not_refused(run: Run, pairs: list[Pair]) -> None:
    other = [Pair(f"  {pairs[0].source} ", "Otherwise."), Pair("Ailleurs.", "Elsewhere.")]
    lines = prepared(run, pairs[:280], valid=[*pairs[277:], *other])
    assert lines[1] == ("4 of 25 held-out sources are also in the training text: scores will be too high")
    assert list(run.read_pairs("valid.jsonl")) == [*pairs[277:], *other]


def test_what_the_run_before_held_out_is_found_however_it_was_written() -> None:
    before = Before([Pair("  Le  the\u0301 est\N{NO-BREAK SPACE}froid. ", "The tea is cold.")])
    cleaned = [Pair("Le thé est froid.", "The tea is cold."), Pair("Oui.", "Yes.")]
    assert list(before.left_out_of(cleaned)) == cleaned[1:]
    assert before.found == 1


def test_too_few_pairs_to_hold_any_out_are_told_with_the_counts(run: Run) -> None:
    with pytest.raises(CorpusError) as told:
        prepared(run, [Pair("Oui.", "Yes.")])
    assert str(told.value) == (
        "of 1 pairs 1 are left to train on and 0 to validate on: both are needed. "
        "Give more pairs, or files of your own with --valid-source and --valid-target."
    )


def test_all_that_training_reads_is_on_the_disk_before_the_recipe_says_that_it_is(
    run: Run, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(number: int, really: Any = os.fsync) -> None:
        synced.append(Path(f"/proc/self/fd/{number}").readlink().name)
        really(number)

    monkeypatch.setattr(os, "fsync", sync)
    prepared(run, pairs)
    assert synced[-2:] == [".partial-recipe.json", run.path.name]  # what it holds, then its name
    read = {"source.ids", "source.ends.npy", "target.ids", "target.ends.npy", "valid.jsonl", "shared.model"}
    assert read <= set(synced)


@pytest.mark.parametrize("left", ["all but the recipe", "half of the ids", "the spool"])
def test_what_a_kill_left_is_prepared_as_if_nothing_had_happened(
    run: Run, pairs: list[Pair], left: str
) -> None:
    prepared(run, pairs)
    wanted = contents(run)
    (run.path / "recipe.json").unlink()
    if left != "all but the recipe":
        (run.tokens / "target.ends.npy").unlink()
        (run.tokens / "target.ids").write_bytes(b"\x07" * 999)
    if left == "the spool":
        (run.path / "corpus.jsonl").write_bytes(b'["cut o')
    prepared(run, pairs)
    assert contents(run) == wanted


def test_a_full_disk_is_told_and_the_run_prepared_once_there_is_room(
    run: Run, pairs: list[Pair], disk_of: Any
) -> None:
    with disk_of(10_000), pytest.raises(OSError, match=rf"File too large: '{run.path}/corpus\.jsonl'"):
        prepared(run, pairs)
    assert not (run.path / "recipe.json").exists()
    prepared(run, pairs)
    assert (run.path / "recipe.json").exists()


def test_the_tokenizer_learns_on_the_disk_of_the_run(
    run: Run, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(run.path / "nowhere"))
    prepared(run, pairs)
    assert not list(run.path.glob(".tokenizer-*"))


def test_a_full_disk_is_told_with_the_file_that_the_tokenizer_learns_from(
    tmp_path: Path, pairs: list[Pair], disk_of: Any
) -> None:
    told = rf"File too large: '{tmp_path}/\.tokenizer-\w+/(source|target)'"
    with disk_of(1000), pytest.raises(OSError, match=told):
        learn(pairs, 400, "bpe", True, temp_directory=tmp_path)
