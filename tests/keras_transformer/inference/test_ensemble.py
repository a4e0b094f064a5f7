"""Several models that decode together: the mean of their probabilities decides each token."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.decoding.scoring import Scorer
from keras_transformer.inference.answer import Answer, DecodingError
from keras_transformer.inference.backends.ensemble import EnsembleBackend, mean_log_probs
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.hosted_decoder import Decoder
from tests.support.small_network import END, LONGEST, VOCABULARY, small_network

START = 2


@pytest.fixture(scope="module")
def other() -> TranslationModel:
    """The same network with other weights."""
    model = small_network()
    for weight in model.trainable_variables:
        weight.assign(weight[::-1])
    return model


@pytest.fixture(scope="module")
def other_sessions(other: TranslationModel) -> list[Any]:
    from keras_transformer.graphs.choice import candidates, scores
    from keras_transformer.graphs.precision import Float32
    from keras_transformer.graphs.transformer import decoder, encoder
    from keras_transformer.inference.backends.session import open_session
    from keras_transformer.models.weights import network_weights

    weights = network_weights(other)
    graphs = [make(weights, Float32()) for make in (encoder, decoder)]
    graphs += [make(VOCABULARY) for make in (scores, candidates)]
    return [open_session(bytes(graph)) for graph in graphs]


def alone(sessions: list[Any], end_id: int) -> Decoder:
    return Decoder(partial(OnnxBackend, *sessions, START), end_id, LONGEST)


def together(*models: list[Any], end_id: int, **options: int) -> Decoder:
    def make_backend(*sizes: int) -> EnsembleBackend:
        return EnsembleBackend([OnnxBackend(*sessions, START, *sizes) for sessions in models], models[0][-1])

    return Decoder(make_backend, end_id, LONGEST, **options)


def test_the_mean_of_probabilities() -> None:
    # 1/2 and 1/4 -> 3/8; 1/2 and 3/4 -> 5/8
    mean = mean_log_probs([np.log(np.float32([[0.5, 0.5]])), np.log(np.float32([[0.25, 0.75]]))])
    assert np.exp(mean) == pytest.approx(np.array([[0.375, 0.625]]))
    # e^-100 is no float32, and neither is the logarithm of what is left of it; -100 is
    assert mean_log_probs([np.float32([[-100.0]])] * 2).tolist() == [[-100.0]]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("guard", [False, True])
def test_one_model_twice_gives_what_it_gives_alone_bit_for_bit(
    sessions: list[Any], rows: list[list[int]], end_id: int, beam: int, guard: bool
) -> None:
    twice = together(sessions, sessions, end_id=end_id)
    expected = alone(sessions, end_id).search(rows, beam=beam, loop_guard=guard)
    assert twice.search(rows, beam=beam, loop_guard=guard) == expected


@pytest.mark.parametrize("beam", [1, 4])
def test_a_source_has_the_answer_it_has_alone_in_any_batch(
    sessions: list[Any], other_sessions: list[Any], rows: list[list[int]], end_id: int, beam: int
) -> None:
    ensemble = together(sessions, other_sessions, end_id=end_id)
    expected = [ensemble.search([row], beam=beam)[0] for row in rows[:40]]
    assert together(sessions, other_sessions, end_id=end_id, slots=7).search(rows[:40], beam=beam) == expected
    batch = together(sessions, other_sessions, end_id=end_id, workers=2).search(rows, beam=beam)
    assert batch[:40] == expected
    one_of_them = alone(sessions, end_id).search(rows, beam=beam)
    assert batch != one_of_them


def test_each_token_has_the_mean_of_what_the_models_give_it(
    model: TranslationModel,
    other: TranslationModel,
    sessions: list[Any],
    other_sessions: list[Any],
    rows: list[list[int]],
    end_id: int,
) -> None:
    found = together(sessions, other_sessions, end_id=end_id).search(rows[:30], beam=3)
    pairs = [(row, answer.ids) for row, answers in zip(rows, found, strict=False) for answer in answers]
    answers: list[Answer] = [answer for answers in found for answer in answers]
    one, two = Scorer(model).log_probs(pairs, START), Scorer(other).log_probs(pairs, START)
    for answer, *scored in zip(answers, one, two, strict=True):
        mean = np.log(np.exp(np.array(scored)).mean(axis=0))
        assert list(answer.log_probs) == pytest.approx(mean, abs=1e-4)


def test_a_prefix_begins_the_answer_of_an_ensemble(
    sessions: list[Any], other_sessions: list[Any], rows: list[list[int]], end_id: int
) -> None:
    ensemble = together(sessions, other_sessions, end_id=end_id)
    for ((answer, *_),) in (ensemble.search([rows[0]], prefixes=[[7, 8]], beam=beam) for beam in (1, 3)):
        assert answer.ids[:2] == [7, 8]


@pytest.mark.parametrize("beam", [1, 3])
def test_where_one_model_fails_the_answer_is_an_error_and_not_that_of_the_others(
    sessions: list[Any], rows: list[list[int]], beam: int
) -> None:
    class Failing(OnnxBackend):
        def step(self) -> Any:
            raise RuntimeError("no memory is left")

    def make_backend(*sizes: int) -> EnsembleBackend:
        return EnsembleBackend(
            [OnnxBackend(*sessions, START, *sizes), Failing(*sessions, START, *sizes)], sessions[-1]
        )

    with pytest.raises(DecodingError, match="no memory is left"):
        Decoder(make_backend, END, LONGEST).search(rows[:3], beam=beam)


def test_a_backend_without_candidates_is_no_member(sessions: list[Any]) -> None:
    greedy = OnnxBackend(*sessions, START, 1, 8, 8)
    greedy.has_candidates = False
    with pytest.raises(ValueError, match="candidates"):
        EnsembleBackend([greedy], sessions[-1])
