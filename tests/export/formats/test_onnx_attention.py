"""attention.onnx gives the weights and the probabilities that the model has."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from export.formats.writers.onnx_attention import write_attention_onnx
from keras_transformer import TranslationModel
from keras_transformer.decoding.scoring import Scorer
from keras_transformer.inference.answer import Answer
from keras_transformer.text.padding import padded
from tests.support.versions.random_model import (
    END,
    SETTINGS,
    START,
    Rows,
    answered,
    graphs,
    random_model,
    random_rows,
)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def model(request: pytest.FixtureRequest) -> TranslationModel:
    return random_model(**request.param)


@pytest.fixture(scope="module")
def path(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("written") / "attention.onnx"
    write_attention_onnx(model, path)
    return path


@pytest.fixture(scope="module")
def rows(model: TranslationModel) -> Rows:
    return [*random_rows(model.source_vocabulary)[::8], [5, END], [5]]


@pytest.fixture(scope="module")
def answers(model: TranslationModel, rows: Rows) -> list[Answer]:
    return answered(model, rows)


def test_it_gives_every_weight_of_the_model(
    model: TranslationModel, path: Path, rows: Rows, answers: list[Answer]
) -> None:
    source, target = padded(rows), padded([answer.ids for answer in answers])
    read = np.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
    _, weights = model.attend({"source": source, "target": read})
    found = onnxruntime.InferenceSession(path).run(
        ["encoder", "decoder", "cross"], {"source": source, "target": target}
    )
    for ours, theirs in zip(found, weights, strict=True):
        np.testing.assert_allclose(ours, np.stack(theirs), rtol=0, atol=1e-5)


def test_a_weight_is_that_of_the_token_that_is_said(
    path: Path, rows: Rows, model: TranslationModel, answers: list[Answer]
) -> None:
    # the third token of an answer is said by who has read the start and two tokens
    session = onnxruntime.InferenceSession(path)
    row, answer = max(zip(rows, answers, strict=True), key=lambda pair: len(pair[1].ids))
    (decoder,) = session.run(["decoder"], {"source": [row], "target": [answer.ids]})
    seen = (decoder[0, 0].mean(axis=0) > 0).sum(axis=-1)
    assert seen.tolist() == list(range(1, len(answer.ids) + 1))
    # what comes later changes nothing
    (shorter,) = session.run(["decoder"], {"source": [row], "target": [answer.ids[:3]]})
    np.testing.assert_allclose(shorter, decoder[..., :3, :3], rtol=0, atol=1e-5)


def test_it_gives_each_tokens_log_probability_and_0_where_there_is_none(
    model: TranslationModel, path: Path, rows: Rows, answers: list[Answer]
) -> None:
    pairs = [(row, answer.ids) for row, answer in zip(rows, answers, strict=True)]
    session = onnxruntime.InferenceSession(path)
    given = {"source": padded(rows), "target": padded([answer.ids for answer in answers])}
    (found,) = session.run(["log_probs"], given)
    scores = Scorer(model).log_probs(pairs, START)
    for ours, log_probs, answer in zip(found, scores, answers, strict=True):
        np.testing.assert_allclose(ours[: len(log_probs)], log_probs, rtol=0, atol=1e-5)
        assert not ours[len(log_probs) :].any()
        assert ours.sum() / len(log_probs) == pytest.approx(answer.score, abs=1e-5)


def test_a_row_has_the_same_weights_alone_and_beside_longer_ones(
    path: Path, rows: Rows, answers: list[Answer]
) -> None:
    session = onnxruntime.InferenceSession(path)
    given = {"source": padded(rows), "target": padded([answer.ids for answer in answers])}
    together = dict(zip(("encoder", "decoder", "cross", "log_probs"), session.run(None, given), strict=True))
    for place, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        alone = session.run(None, {"source": [row], "target": [answer.ids]})
        source, target = len(row), len(answer.ids)
        sizes = ((source, source), (target, target), (target, source))
        for (to, of), kind, weights in zip(sizes, together, alone, strict=False):
            np.testing.assert_allclose(together[kind][:, place, :, :to, :of], weights[:, 0], atol=1e-5)
            np.testing.assert_array_equal(together[kind][:, place, :, :to, of:], 0.0)


def test_it_is_what_any_runtime_reads(model: TranslationModel, path: Path) -> None:
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    assert [(each.domain, each.version) for each in file.opset_import] == [("", 18)]
    assert {node.domain for graph in graphs(file.graph) for node in graph.node} == {""}
    session = onnxruntime.InferenceSession(path)
    source, target = "source_length", "target_length"
    encoder, decoder = model.network.encoder_layers, model.network.decoder_layers
    assert {each.name: each.shape for each in (*session.get_inputs(), *session.get_outputs())} == {
        "source": ["batch", source],
        "target": ["batch", target],
        "encoder": [encoder, "batch", 2, source, source],
        "decoder": [decoder, "batch", 2, target, target],
        "cross": [decoder, "batch", 2, target, source],
        "log_probs": ["batch", target],
    }
    weights = sum(int(np.prod(each.dims)) for each in file.graph.initializer)
    table = model.positions.table.size
    assert weights < model.count_params() + table + 100  # each once
