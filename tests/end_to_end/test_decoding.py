"""What decoding promises, on a trained model and in full counts: run by `make soak`."""

from collections.abc import Callable
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import tensorflow as tf

from export.formats.writers.ctranslate2 import write_ctranslate2
from keras_transformer import TranslationModel
from keras_transformer.decoding.greedy import greedy
from keras_transformer.decoding.traced_search import Loop, Search
from keras_transformer.models.translate import search_ids
from keras_transformer.text.lengths import longest_answer
from keras_transformer.text.padding import padded

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

NEAR_TIE = 1e-4
Rows = list[list[int]]


@pytest.fixture(scope="module")
def rows(trained: TranslationModel, held_out: list[str]) -> Rows:
    return trained.tokenizer.encode_source(held_out)


@pytest.fixture(scope="module")
def search(trained: TranslationModel) -> Search:
    return Search(trained.tokenizer.bos_id, trained.tokenizer.eos_id)


@pytest.fixture(scope="module")
def alone(trained: TranslationModel, rows: Rows, search: Search) -> Rows:
    return [search_ids(trained, [row], search)[0][0].ids for row in rows]


@pytest.fixture(scope="module")
def near_ties(trained: TranslationModel, rows: Rows, alone: Rows, search: Search) -> set[int]:
    """The sentences in which the first and the second logit are once less than 1e-4 apart."""
    close = set()
    for places in np.array_split(np.arange(len(rows)), 40):
        source = padded([rows[place] for place in places], max(len(rows[place]) for place in places))
        labels = padded([alone[place] for place in places], max(len(alone[place]) for place in places))
        target = np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=search.start_id)
        first, second = np.moveaxis(tf.math.top_k(trained({"source": source, "target": target}), 2)[0], -1, 0)
        close |= set(places[((first - second < NEAR_TIE) & (labels != 0)).any(axis=1)].tolist())
    print(f"\nnear-ties: {len(close)} of {len(rows)} sentences")
    return close


def differences(found: Rows, expected: Rows, near_ties: set[int], what: str) -> list[int]:
    differ = [place for place, (one, other) in enumerate(zip(found, expected, strict=True)) if one != other]
    print(
        f"\n{what}: {len(differ)} of {len(expected)} differ, {len(near_ties & set(differ))} of them near-ties"
    )
    return [place for place in differ if place not in near_ties]


def in_random_batches(loop: Callable[..., np.ndarray], rows: Rows, end_id: int, seed: int) -> Rows:
    """Rows of any length beside each other, each batch padded further than it needs."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    found: Rows = [[] for _ in rows]
    for places in np.array_split(order, len(rows) // 20):
        width = max(len(rows[place]) for place in places) + int(rng.integers(0, 12))
        limits = np.array([longest_answer(len(rows[place])) for place in places], np.int32)
        source = padded([rows[place] for place in places], width)
        answers = loop(source, limits, np.zeros((len(places), 0), np.int32))
        for place, ids in zip(places, answers[:, 0].tolist(), strict=True):
            said = ids[: limits[places.tolist().index(place)]]
            found[place] = said[: said.index(end_id) + 1] if end_id in said else said
    return found


def test_2000_sentences_have_the_same_tokens_alone_in_any_batch_and_beside_any_padding(
    trained: TranslationModel, rows: Rows, alone: Rows, search: Search, near_ties: set[int]
) -> None:
    together = [answers[0].ids for answers in search_ids(trained, rows, search)]
    assert differences(together, alone, near_ties, "batches of like length") == []
    for seed in range(3):
        mixed = in_random_batches(Loop(trained, search), rows, search.end_id, seed)
        assert differences(mixed, alone, near_ties, "random batches, more padding") == []


def test_compiled_by_xla_they_are_the_same_tokens(
    trained: TranslationModel, rows: Rows, alone: Rows, search: Search, near_ties: set[int]
) -> None:
    width = max(map(len, rows))
    longest = longest_answer(width)

    @tf.function(jit_compile=True)
    def compiled(source: tf.Tensor, limits: tf.Tensor) -> tf.Tensor:
        state = trained.encode(source, longest)
        return greedy(trained.step, state, 100, longest, search.start_id, search.end_id, limits)

    found: Rows = []
    for first in range(0, len(rows), 100):
        chosen = rows[first : first + 100]
        limits = np.array([longest_answer(len(row)) for row in chosen], np.int32)
        ids = compiled(padded(chosen, width), limits).numpy()
        found += [[number for number in row if number] for row in ids.tolist()]
    assert differences(found, alone, near_ties, "XLA") == []


def test_the_cached_loop_says_what_the_whole_prefix_says_each_time(
    trained: TranslationModel, rows: Rows, alone: Rows, search: Search, near_ties: set[int]
) -> None:
    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[ids, ids])
    def following(source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        logits = trained({"source": source, "target": target}, training=False)
        return tf.argmax(logits[:, -1], -1, tf.int32)

    naive: Rows = []
    for first in range(0, len(rows), 100):
        chosen = rows[first : first + 100]
        source = padded(chosen)
        said = np.full((len(chosen), 1), search.start_id, np.int32)
        ended = np.zeros(len(chosen), bool)
        while not ended.all() and said.shape[1] <= longest_answer(source.shape[1]):
            token = np.where(ended, 0, following(source, said).numpy())
            said = np.concatenate([said, token[:, None].astype(np.int32)], axis=1)
            ended |= token == search.end_id
        naive += [
            [number for number in row[1 : longest_answer(len(ids)) + 1] if number]
            for ids, row in zip(chosen, said.tolist(), strict=True)
        ]
    assert differences(naive, alone, near_ties, "the naive loop") == []


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_beam_search_finds_the_n_best_and_the_scores_of_ctranslate2(
    trained: TranslationModel,
    held_out: list[str],
    uncertain: list[str],
    tmp_path: Path,
    length_penalty: float,
) -> None:
    tokenizer, beam = trained.tokenizer, 5
    write_ctranslate2(trained, tmp_path / "ctranslate2")
    translator = ctranslate2.Translator(str(tmp_path / "ctranslate2"), compute_type="float32")
    texts = [*held_out[:500], *uncertain]
    ours = trained.hypotheses(texts, beam=beam, length_penalty=length_penalty, loop_guard=False)
    worst = 0.0
    for row, found in zip(tokenizer.encode_source(texts), ours, strict=True):
        (theirs,) = translator.translate_batch(
            [tokenizer.pieces_source(row)],
            beam_size=beam,
            num_hypotheses=beam,
            # anything but 0 keeps it from stopping early
            length_penalty=length_penalty or 1e-9,
            min_decoding_length=0,  # an answer may be empty, as here
            max_decoding_length=longest_answer(len(row)),
            return_scores=True,
        )
        assert [tokenizer.pieces_target(answer.tokens) for answer in found] == theirs.hypotheses
        scores = np.array([answer.score for answer in found])
        worst = max(worst, float(np.abs(scores - theirs.scores).max()))
    print(
        f"\nlength penalty {length_penalty}: {len(texts)} times the same {beam} best, "
        f"scores {worst:.1e} apart at most"
    )
    assert worst < 1e-3


def test_beam_search_finds_the_same_alone_and_among_64(
    trained: TranslationModel, held_out: list[str], uncertain: list[str]
) -> None:
    texts = [*held_out[:256], *uncertain]
    together = trained.hypotheses(texts, beam=5)
    for text, found in zip(texts, together, strict=True):
        (single,) = trained.hypotheses([text], beam=5)
        assert [answer.tokens for answer in single] == [answer.tokens for answer in found]
        np.testing.assert_allclose(
            [answer.score for answer in single], [answer.score for answer in found], rtol=0, atol=1e-4
        )
