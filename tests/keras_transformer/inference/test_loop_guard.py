"""The loop guard: an answer that repeats itself, or does not end, is cut, marked, and no longer the best."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.batch import Batch
from keras_transformer.inference.hosted_decoder import Decoder
from keras_transformer.inference.loop_guard import EVERY, LoopGuard
from keras_transformer.inference.request import End, Request
from tests.support.fake_backend import END, FakeBackend
from tests.support.small_network import LONGEST

START = 2
SOURCE = [5, 6, 7, END]
LIMIT = 60
GUARD = LoopGuard.of(SOURCE, LIMIT)


def checked(*answers: list[int], guard: LoopGuard = GUARD) -> list[tuple[list[int], bool]]:
    found = guard.checked([Answer(ids, 0.0) for ids in answers], END, 1.0)
    return [(answer.ids, answer.looped) for answer in found]


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        ([1, 9, 9, 9, 9, END], [1, 9]),  # one token four times
        ([1, 9, 9, 9, END], None),  # three times
        ([1, 8, 9, 8, 9, 8, 9, 8, 9, 4, END], [1, 8, 9]),  # two tokens four times; it goes on after them
        ([1, 8, 9, 8, 9, 8, 9, 8, 4, END], None),
        ([2, 8, 9, 10] * 4, [2, 8, 9, 10]),  # from the beginning to the end
        ([7, 7, 7, 8, 8, 8, 9, 9, 9, END], None),
        ([1, 9, 9, 9, 9, 8, 8, 8, 8, END], [1, 9]),  # the first of two
        ([9, 4, 9, 5, 9, 6, 9, END], None),  # often, but not in a row
        ([END], None),
    ],
)
def test_an_ngram_four_times_in_a_row_is_cut_after_its_first_occurrence(
    ids: list[int], kept: list[int] | None
) -> None:
    assert checked(ids) == [(ids, False) if kept is None else (kept, True)]


def test_what_the_source_or_the_prefix_repeats_the_answer_may_repeat() -> None:
    laughter = [9, 9, 9, 9, 9, END]
    for guard in (LoopGuard.of([5, 5, 5, END], LIMIT), LoopGuard.of(SOURCE, LIMIT, [8, 9] * 3)):
        assert checked(laughter, guard=guard) == [(laughter, False)]
    assert checked(laughter, guard=LoopGuard.of([5, 5, END], LIMIT)) == [([9], True)]


def test_an_answer_that_does_not_end_where_the_model_ends_all_answers_is_a_loop() -> None:
    endless = [*range(10, 10 + LIMIT)]
    assert checked(endless) == [(endless, True)]
    assert checked(endless[:-1]) == [(endless[:-1], False)]  # the caller's own limit
    assert checked([*endless[:-1], END]) == [([*endless[:-1], END], False)]


def test_a_prefix_is_never_cut() -> None:
    guard = LoopGuard.of(SOURCE, LIMIT, [9, 9])
    assert checked([9, 9, 9, 9, 9, END], guard=guard) == [([9, 9], True)]
    assert guard.certain([9, 9, 9]) == [9, 9]


def test_branches_that_repeat_what_the_prefix_begins_differ_in_the_token_after_it() -> None:
    guard = LoopGuard.of(SOURCE, LIMIT, [8, 9], branching=True)
    branches = [[8, 9, second, *[8, 9, second] * 4] for second in (5, 6)]
    assert checked(*branches, guard=guard) == [([8, 9, 5], True), ([8, 9, 6], True)]
    started = [[8, 9] * 4, [8, 9, 9, 9, 9, END]]
    assert checked(*started, guard=guard) == [([8, 9, 8], True), ([8, 9, 9], True)]
    (only,) = guard.checked([Answer([9] * 4, -9.0, [-1.0] * 4)], END, 1.0)
    assert only == Answer([9] * 3, -1.0, [-1.0] * 3, looped=True)


def test_what_is_cut_and_what_is_certain_agree_with_the_definition() -> None:
    choice = random.Random(2)
    for _ in range(3_000):
        ids = [choice.randrange(10, 10 + choice.choice([2, 3, 9])) for _ in range(choice.randrange(1, 40))]
        if choice.random() < 0.5:
            ids += ids[-choice.randrange(1, 9) :] * choice.randrange(2, 6)
        kept = first_repeated(ids)
        assert checked(ids) == [(ids[:kept], kept is not None)]
        repeated = [
            next((length for length in range(len(ids) - size) if ids[~length] != ids[~length - size]), None)
            for size in range(1, len(ids))
        ]
        longest = max((len(ids) - size if n is None else n for size, n in enumerate(repeated, 1)), default=0)
        assert GUARD.certain(ids) == ids[: len(ids) - longest if kept is None else kept]


def first_repeated(ids: list[int]) -> int | None:
    """Return the end of the first occurrence of the n-gram that is the first to be four times in a row."""
    for end in range(4, len(ids) + 1):
        for size in range(end // 4, 0, -1):
            if ids[end - 4 * size : end] == ids[end - size : end] * 4:
                return end - 3 * size
    return None


def test_loops_come_after_all_other_answers_and_equal_ones_are_one() -> None:
    assert checked([1, 9, 9, 9, 9, END], [4, END], [1, 9, 9, 9, 9, 9, END], [5, END]) == [
        ([4, END], False),
        ([5, END], False),
        ([1, 9], True),
    ]


def test_a_cut_answer_has_the_score_of_what_is_left() -> None:
    (answer,) = GUARD.checked([Answer([1, *[9] * 5], -9.0, [-0.5, -0.25, *[-1.0] * 4])], END, 2.0)
    assert answer == Answer([1, 9], -0.75 / 4, [-0.5, -0.25], looped=True)
    (answer,) = GUARD.checked(
        [Answer([1, *[9] * 5], -9.0)], END, 2.0
    )  # of a runtime without log-probabilities
    assert answer == Answer([1, 9], -9.0, looped=True)


def test_what_is_certain_while_an_answer_grows_stays_whatever_follows() -> None:
    choice, loops, late = random.Random(1), 0, 0
    for _ in range(3_000):
        ids = [choice.randrange(10, 10 + choice.choice([2, 3, 9])) for _ in range(choice.randrange(1, 40))]
        ((final, looped),) = checked(ids)
        loops += looped
        for length in range(1, len(ids) + 1):
            certain = GUARD.certain(ids[:length])
            assert final[: len(certain)] == certain
            late += len(certain) < min(length, len(final))
    assert loops > 500
    assert late


class Scripted(FakeBackend):
    """A backend that gives each source the answer written for it."""

    def __init__(self, slots: int, answers: dict[int, list[int]]) -> None:
        super().__init__(slots)
        self.answers = answers

    def answer(self, source: Sequence[int]) -> list[int]:
        return self.answers[source[0]]


def test_a_greedy_request_that_loops_ends_early_and_the_others_as_they_would_alone() -> None:
    answers = {5: [10, *[9] * 100], 6: [*range(10, 40), END], 7: [8, 9] * 40}
    backend = Scripted(3, answers)
    requests = [Request([first, 40 + first, END], 80, guard=LoopGuard.of([first], 80)) for first in answers]
    batch = Batch(backend, END)
    batch.admit(requests)
    while batch:
        batch.step(0.0)
    looped, sound, pair = requests
    assert (looped.tokens, looped.end, len(looped.log_probs)) == ([10, 9], End.LOOP, 2)
    assert looped.answers == [Answer(looped.tokens, looped.answers[0].score, looped.log_probs, looped=True)]
    assert (sound.tokens, sound.end, sound.answers[0].looped) == (answers[6], End.STOP, False)
    assert (pair.tokens, pair.end) == ([8, 9], End.LOOP)
    assert backend.steps == len(answers[6])
    alone = Scripted(1, answers)
    request = Request([5, END], 80, guard=GUARD)
    batch = Batch(alone, END)
    batch.admit([request])
    while batch:
        batch.step(0.0)
    assert alone.steps <= 5 + EVERY
    assert request.tokens == looped.tokens


def test_without_a_guard_a_loop_is_returned_as_it_is() -> None:
    request = Request([5, END], 20)
    batch = Batch(Scripted(1, {5: [9] * 30}), END)
    batch.admit([request])
    while batch:
        batch.step(0.0)
    assert (request.tokens, request.end) == ([9] * 20, End.LENGTH)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_guard_changes_loops_and_their_place_and_no_bit_of_another_answer(
    sessions: list[Any], rows: list[list[int]], end_id: int, beam: int
) -> None:
    decoder = Decoder(partial(OnnxBackend, *sessions, START), end_id, LONGEST)
    unguarded = decoder.search(rows, beam, 0.6)
    expected = [
        LoopGuard.of(row, min(decoder.limit(len(row)), LONGEST)).checked(answers, end_id, 0.6)
        for row, answers in zip(rows, unguarded, strict=True)
    ]
    guarded = decoder.search(rows, beam, 0.6, loop_guard=True)
    assert guarded == expected
    looped = [answer.looped for answers in guarded for answer in answers]
    assert len(rows) / 10 < sum(looped)
    assert sum(looped) < len(looped)
    if beam > 1:
        assert any(
            new[0] != old[0] and not new[0].looped for new, old in zip(guarded, unguarded, strict=True)
        )
