"""Beam search in ONNX Runtime finds what the loop over the layers does, each source as if it were alone."""

import threading
from functools import partial
from typing import Any

import pytest

from keras_transformer import TranslationModel
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.hosted_decoder import Decoder
from tests.support.small_network import END, LONGEST, VOCABULARY

START = 2
Rows = list[list[int]]


def searched(sessions: list[Any], rows: Rows, width: int, penalty: float = 1.0, **options: Any) -> list[Rows]:
    prefixes, most = options.pop("prefixes", None), options.pop("most", LONGEST)
    decoder = Decoder(partial(OnnxBackend, *sessions, START), END, most, **options)
    found = decoder.search(rows, width, penalty, prefixes)
    return [[answer.ids for answer in answers] for answers in found]


@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("width", [2, 5])
def test_it_finds_the_n_best_of_the_loop_over_the_layers(
    model: TranslationModel, sessions: list[Any], rows: Rows, width: int, penalty: float
) -> None:
    found = searched(sessions, rows, width, penalty)
    assert found == search_traced(model, rows, Search(START, END, width, penalty), LONGEST)
    assert len({len(answers[0]) for answers in found}) > 5  # some end early, some late
    assert any(answers[0][-1] != END for answers in found)  # and some at their limit


@pytest.mark.parametrize("width", [64, 70])
def test_a_beam_may_be_wider_than_half_of_the_vocabulary_and_than_the_slots(
    model: TranslationModel, sessions: list[Any], rows: Rows, width: int
) -> None:
    assert 2 * width > VOCABULARY
    found = searched(sessions, rows[:5], width, most=4)
    assert found == search_traced(model, rows[:5], Search(START, END, width), 4)
    assert all(len({tuple(ids) for ids in answers}) == width for answers in found)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("slots", [1, 9, 64])
def test_however_many_are_searched_at_once_a_source_has_the_answers_it_has_alone(
    sessions: list[Any], rows: Rows, workers: int, slots: int
) -> None:
    alone = [searched(sessions, [row], 3)[0] for row in rows[:60]]
    options = {"workers": workers, "slots": slots}
    assert searched(sessions, rows[:60], 3, **options) == alone
    assert searched(sessions, [*rows[:2], [END], []], 3, **options) == [*alone[:2], [], []]
    assert searched(sessions, [], 3, **options) == []


def test_answers_begin_as_they_are_told_and_end_at_their_limit(
    model: TranslationModel, sessions: list[Any], rows: Rows
) -> None:
    begins: Rows = [[], [7], [8, 9, 10, 11], [6] * 9]
    prefixes = [begins[place % len(begins)] for place in range(len(rows))]
    found = searched(sessions, rows, 3, most=6, prefixes=prefixes)
    expected = search_traced(model, rows, Search(START, END, 3), 6, prefixes)
    for begin, answers, others in zip(prefixes, found, expected, strict=True):
        if len(begin) < 6:
            assert answers == others
        else:  # all that may be said is forced: there is one answer
            assert answers == others[:1] == [begin[:6]]


def test_a_beginning_that_is_told_to_end_is_the_one_answer(sessions: list[Any], rows: Rows) -> None:
    assert searched(sessions, rows[:9], 3, prefixes=[[5, END]] * 9) == [[[5, END]]] * 9


def test_one_worker_that_fails_ends_the_others_and_is_told(sessions: list[Any], rows: Rows) -> None:
    before = threading.active_count()
    with pytest.raises(Exception, match="indices element out of data bounds"):
        searched(sessions, [[VOCABULARY, END], *rows], 2, workers=2, slots=2)
    assert threading.active_count() == before
