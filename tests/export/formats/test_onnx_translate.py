"""translate.onnx says what the model says, alone and in any batch, with standard operators."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from export.formats.runtimes.onnx_translate_runtime import TranslateOnnx
from export.formats.tf2onnx_graphs.convert import Value, from_tensorflow
from export.formats.writers.onnx_translate import write_translate_onnx
from keras_transformer import TranslationModel
from keras_transformer.files import write_pieces
from keras_transformer.graphs.onnx_file import onnx_pieces
from keras_transformer.inference.answer import Answer
from keras_transformer.models.network import Network
from keras_transformer.text.lengths import longest_answer
from keras_transformer.text.padding import padded, without_padding
from tests.support.versions.random_model import (
    END,
    LONGEST,
    SETTINGS,
    Rows,
    answered,
    assert_same,
    graphs,
    random_model,
    random_rows,
)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def model(request: pytest.FixtureRequest) -> TranslationModel:
    return random_model(**request.param)


plain = pytest.mark.parametrize("model", SETTINGS[:1], indirect=True, ids=str)


@pytest.fixture(scope="module")
def path(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("written") / "translate.onnx"
    write_translate_onnx(model, path)
    return path


@pytest.fixture(scope="module")
def rows(model: TranslationModel) -> Rows:
    rows = random_rows(model.source_vocabulary)
    return [*rows, [END], [], [5], [1, 2], [END, END], [2, END], [END, 7, END]]


@pytest.fixture(scope="module")
def expected(model: TranslationModel, rows: Rows) -> list[Answer]:
    return answered(model, rows)


def test_the_model_is_worth_asking(expected: list[Answer]) -> None:
    assert len({tuple(answer.ids) for answer in expected}) > 20
    assert 20 < sum(END in answer.ids for answer in expected) < 60
    # one stretch of steps is not enough
    assert sum(len(answer.ids) > 8 for answer in expected) > 8


def test_it_gives_the_tokens_of_the_model_and_their_score(
    path: Path, rows: Rows, expected: list[Answer]
) -> None:
    assert_same(TranslateOnnx(path).translate_ids(rows), expected)


def test_a_row_has_the_same_tokens_alone_in_any_batch_and_beside_any_padding(
    path: Path, rows: Rows, expected: list[Answer]
) -> None:
    assert_same(TranslateOnnx(path, batch_tokens=1).translate_ids(rows), expected)
    session = onnxruntime.InferenceSession(path)
    for seed, parts in ((0, 2), (1, 9)):
        order = np.random.default_rng(seed).permutation(len(rows))
        for places in np.array_split(order, parts):
            source = padded([rows[place] for place in places])
            source = np.pad(source, ((0, 0), (0, LONGEST - source.shape[1])))
            target, score = session.run(None, {"source": source})
            found = map(Answer, map(without_padding, target.tolist()), score.tolist())
            assert_same(list(found), [expected[place] for place in places])


def test_an_answer_that_does_not_end_is_cut_at_its_own_limit(
    path: Path, rows: Rows, expected: list[Answer]
) -> None:
    limits = [min(longest_answer(len(row)), LONGEST) for row in rows]
    answers = TranslateOnnx(path).translate_ids(rows)
    whole = [answer.ids for answer in answers if END not in answer.ids and answer.ids]
    assert {len(ids) for ids in whole} <= set(limits)
    assert len(whole) > 3


@plain
@pytest.mark.parametrize("source", [[[END], [0]], [[0, 0]], np.zeros((2, 0)), np.zeros((0, 4))], ids=str)
def test_what_says_nothing_has_no_tokens_and_the_score_0(path: Path, source: Any) -> None:
    source = np.array(source, np.int32)
    target, score = onnxruntime.InferenceSession(path).run(None, {"source": source})
    assert target.shape == (len(source), 0)
    assert score.tolist() == [0.0] * len(source)


@plain
def test_it_is_what_any_runtime_reads(path: Path) -> None:
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    assert [(each.domain, each.version) for each in file.opset_import] == [("", 18)]
    assert {node.domain for graph in graphs(file.graph) for node in graph.node} == {""}
    about = {each.key: each.value for each in file.metadata_props}
    assert about == {"pad_id": "0", "start_id": "2", "end_id": "3", "max_length": str(LONGEST)}
    session = onnxruntime.InferenceSession(path)
    given, got = session.get_inputs(), session.get_outputs()
    assert [(each.name, each.type, each.shape) for each in (*given, *got)] == [
        ("source", "tensor(int32)", ["batch", "source_length"]),
        ("target", "tensor(int32)", ["batch", "target_length"]),
        ("score", "tensor(float)", ["batch"]),
    ]


def test_every_weight_is_in_it_once_and_so_are_the_positions(model: TranslationModel, path: Path) -> None:
    constants = {
        each.name: onnx.numpy_helper.to_array(each)
        for graph in graphs(onnx.load(path).graph)
        for each in graph.initializer
    }
    for weight in model.weights:
        name = weight.path.removeprefix(f"{model.name}/")
        np.testing.assert_array_equal(constants.pop(name), weight.numpy())
    (positions,) = (value for value in constants.values() if value.ndim > 1)
    np.testing.assert_array_equal(positions, model.positions.table)


def test_a_normalisation_is_one_node_and_a_projection_is_one_product(
    model: TranslationModel, path: Path
) -> None:
    outermost, *_, innermost = graphs(onnx.load(path).graph)
    encoder, decoder = ([node.op_type for node in graph.node] for graph in (outermost, innermost))
    network, last = model.network, int(model.network.norm_first)
    assert encoder.count("LayerNormalization") == 2 * network.encoder_layers + last
    assert decoder.count("LayerNormalization") == 3 * network.decoder_layers + last
    # 2 projections and 2 products of attention, 2 of the feed-forward network; the memory's projections
    assert encoder.count("MatMul") == 6 * network.encoder_layers + network.decoder_layers
    # the same with the attention to the memory; the logits
    assert decoder.count("MatMul") == 10 * network.decoder_layers + 1
    # into heads and out of them again; the memory's into heads
    assert encoder.count("Reshape") == 2 * network.encoder_layers + network.decoder_layers
    assert decoder.count("Reshape") == 4 * network.decoder_layers


WITHOUT_FRAMEWORKS = """
import json, sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"tensorflow", "keras", "onnx", "tf2onnx", "sentencepiece"}:
            raise ImportError(f"{name} is refused here")

sys.meta_path.insert(0, Refused())
from pathlib import Path
from export.formats.runtimes.onnx_translate_runtime import TranslateOnnx
print(json.dumps(TranslateOnnx(Path(sys.argv[1])).translate_ids(json.loads(sys.argv[2]))))
"""


@plain
def test_the_runtime_needs_neither_tensorflow_nor_keras(
    path: Path, rows: Rows, expected: list[Answer]
) -> None:
    command = [sys.executable, "-c", WITHOUT_FRAMEWORKS, str(path), json.dumps(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert_same([Answer(*answer) for answer in json.loads(done.stdout)], expected)


@plain
def test_a_source_that_is_too_long_is_told(path: Path) -> None:
    with pytest.raises(ValueError) as told:
        TranslateOnnx(path).translate_ids([[5, END], [5] * (LONGEST + 1)])
    assert str(told.value) == (
        "a source has at most 60 tokens, its end included; row 1 has 61. Cut it: encode_source(texts, 60)."
    )


def test_on_a_full_disk_nothing_is_left(
    tmp_path: Path, disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    weight = onnx.TensorProto(name="weight", data_type=onnx.TensorProto.FLOAT, dims=[100, 100])
    graph = onnx.GraphProto(name="small", initializer=[weight])
    with disk_of(20_000), pytest.raises(OSError, match="File too large"):
        weights = {"weight": np.ones((100, 100), np.float32)}
        write_pieces(tmp_path / "file.onnx", onnx_pieces(onnx.ModelProto(graph=graph), weights))
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_tokenizer_is_written_with_the_ids_that_all_have(tmp_path: Path) -> None:
    keras.utils.set_random_seed(1)
    model = TranslationModel(Network(1, 1, 8, 8, 2, max_length=20), 30)
    model.build()
    write_translate_onnx(model, tmp_path / "translate.onnx")
    rows = [[7, 8, 9, END], [20, END]]
    assert_same(TranslateOnnx(tmp_path / "translate.onnx").translate_ids(rows), answered(model, rows))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: [tf.einsum("ab,bc->ac", x, x)], "ab,bc->ac"),
        (lambda x: [tf.linalg.inv(x)], "MatrixInverse"),
    ],
)
def test_what_cannot_be_written_is_an_error(function: Callable[[Any], Any], message: str) -> None:
    model = TranslationModel(Network(1, 1, 8, 8, 2), 30)
    model.build()
    given, got = (Value(name, tf.float32, ("size", "size")) for name in ("given", "got"))
    with pytest.raises((ValueError, onnx.checker.ValidationError), match=message):
        from_tensorflow(model, "name", function, [given], [got])
