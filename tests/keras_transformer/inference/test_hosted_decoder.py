"""Many sources through the graphs of a model: each gets the answer that it would get alone."""

import math
import threading
from functools import partial
from typing import Any

import pytest

from keras_transformer import TranslationModel
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.hosted_decoder import Decoder
from keras_transformer.text.lengths import AnswerLimit
from tests.support.small_network import END, LONGEST

START = 2


def decoder(sessions: list[Any], max_length: int = LONGEST, **options: int) -> Decoder:
    return Decoder(partial(OnnxBackend, *sessions, START), END, max_length, **options)


def test_an_answer_without_an_end_is_a_loop_at_the_length_of_the_model_and_not_at_that_of_the_caller(
    sessions: list[Any],
) -> None:
    limit, repeated = AnswerLimit(2, LONGEST), [7, 8] * 3  # an answer may repeat itself
    for most, looped in ((LONGEST, True), (LONGEST - 1, False)):
        endless = Decoder(partial(OnnxBackend, *sessions, START), -1, most, limit=limit, longest=LONGEST)
        ((answer,),) = endless.search([repeated], loop_guard=True)
        assert (len(answer.ids), answer.looped) == (most, looped)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("slots", [1, 5, 64])
def test_however_many_work_at_once_a_source_has_the_answer_it_has_alone(
    sessions: list[Any], rows: list[list[int]], workers: int, slots: int
) -> None:
    alone = [decoder(sessions).translate_ids([row])[0] for row in rows]
    together = decoder(sessions, workers=workers, slots=slots)
    assert together.translate_ids(rows) == alone  # the scores too, bit for bit
    assert together.translate_ids(rows[:3]) == alone[:3]
    assert together.translate_ids([]) == []


def test_without_scores_the_tokens_are_the_same_and_a_beam_has_its_scores_all_the_same(
    sessions: list[Any], rows: list[list[int]]
) -> None:
    unscored = decoder(sessions, scores=False)
    expected = [Answer(answer.ids, math.nan, []) for answer in decoder(sessions).translate_ids(rows[:40])]
    assert unscored.translate_ids(rows[:40]) == expected
    assert unscored.search(rows[:8], beam=3) == decoder(sessions).search(rows[:8], beam=3)


def test_an_answer_begins_as_it_is_told_and_ends_at_its_limit_as_in_the_loop_over_the_layers(
    model: TranslationModel, sessions: list[Any], rows: list[list[int]]
) -> None:
    begins = [[], [7], [8, 9, 10, 11], [5, END], [6] * 9]
    prefixes = [begins[place % len(begins)] for place in range(len(rows))]
    expected = search_traced(model, rows, Search(START, END), 6, prefixes)
    found = decoder(sessions, 6, workers=2).search(rows, prefixes=prefixes)
    assert [[answer.ids for answer in answers] for answers in found] == expected
    assert all(
        answer.ids[: len(begin)] == begin[:6] for (answer,), begin in zip(found, prefixes, strict=True)
    )


def test_one_worker_that_fails_ends_the_others_and_is_told(
    sessions: list[Any], rows: list[list[int]]
) -> None:
    before = threading.active_count()
    two = decoder(sessions, workers=2, slots=1)
    with pytest.raises(Exception, match="indices element out of data bounds"):
        two.translate_ids([[100, END], *rows])
    assert threading.active_count() == before
    alone = [decoder(sessions).translate_ids([row])[0] for row in rows]
    assert two.translate_ids(rows) == alone  # nothing is left of what was stopped


def test_a_decoder_that_has_answered_answers_again_with_the_backends_that_it_has(
    sessions: list[Any], rows: list[list[int]]
) -> None:
    made: list[tuple[int, ...]] = []

    def make_backend(*sizes: int) -> OnnxBackend:
        made.append(sizes)
        return OnnxBackend(*sessions, START, *sizes)

    alone = [decoder(sessions).translate_ids([row])[0] for row in rows]
    beams = [decoder(sessions).search([row], beam=3)[0] for row in rows[:4]]
    one = Decoder(make_backend, END, LONGEST)
    assert one.translate_ids(rows) == alone
    assert len(made) == 1
    for begin in (0, 3, 7):
        assert one.translate_ids(rows[begin : begin + 3]) == alone[begin : begin + 3]
    assert len(made) == 1
    assert one.search(rows[:4], beam=3) == beams
    assert len(made) == 1
    with pytest.raises(Exception, match="indices element out of data bounds"):
        one.translate_ids([[5, END], [100, END]])
    assert one.translate_ids(rows) == alone  # nothing is left of what failed
    longer = [[5] * (LONGEST - 1) + [END], *rows]
    assert one.translate_ids(longer)[1:] == alone
    assert made[-1][1] == LONGEST
