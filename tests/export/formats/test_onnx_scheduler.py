"""The scheduler's graphs say what the model says, and no row knows of its neighbours."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnxruntime
import pytest

from export.calibration import observed_ranges
from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx, open_backend
from export.formats.writers.onnx_scheduler import write_scheduler_onnx
from keras_transformer import TranslationModel
from keras_transformer.decoding.scoring import Scorer
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.graphs.builder import Graph
from keras_transformer.graphs.int8 import Int8, Range
from keras_transformer.graphs.precision import Float32
from keras_transformer.graphs.transformer import encoder
from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.models.network import Network
from keras_transformer.models.weights import network_weights
from tests.support.versions.random_weights import enliven

START, END = 2, 3
LENGTH = 40


def random_model(vocabulary: int = 100, target: int | None = None, **network: Any) -> TranslationModel:
    """Weights larger than a fresh model's, so that the answers depend on the source."""
    keras.utils.set_random_seed(4)
    settings = {"max_length": LENGTH, **network}
    model = TranslationModel(Network(2, 2, 16, 24, 2, **settings), vocabulary, target)
    model.build()
    enliven(model)
    return model


def sources(count: int, longest: int = 20, vocabulary: int = 100) -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [[*rng.integers(4, vocabulary, rng.integers(1, longest)).tolist(), END] for _ in range(count)]


def said_by(model: TranslationModel, rows: list[list[int]]) -> list[list[int]]:
    """In TensorFlow."""
    return [
        answers[0] if answers else [] for answers in search_traced(model, rows, Search(START, END), LENGTH)
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model in both precisions."""
    directory = tmp_path_factory.mktemp("version")
    model = random_model()
    write_scheduler_onnx(model, directory)
    ranges = observed_ranges(model, sources(20), START, END)
    write_scheduler_onnx(model, directory, Int8(ranges))
    return directory


def opened(directory: Path, precision: str = "float32") -> SchedulerOnnx:
    return SchedulerOnnx(directory, precision, START, END, LENGTH)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm_first": False},
        {"target": 150},
        {"activation": "gelu"},
        {"activation": "silu"},
        {"vocabulary": 128},  # whole blocks of logits
    ],
)
def test_it_gives_the_tokens_and_the_scores_of_the_model(settings: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(**settings)
    write_scheduler_onnx(model, tmp_path)
    rows = sources(80)
    answers = opened(tmp_path).translate_ids(rows)
    assert [answer.ids for answer in answers] == said_by(model, rows)
    pairs = [(row, answer.ids) for row, answer in zip(rows, answers, strict=True)]
    means = [np.mean(log_probs) for log_probs in Scorer(model).log_probs(pairs, START)]
    assert np.allclose([answer.score for answer in answers], means, atol=1e-5)
    assert len({tuple(answer.ids) for answer in answers}) > 3


def test_a_source_of_nothing_but_its_end_has_no_answer(written: Path) -> None:
    rows = [[END], *sources(2), [END]]
    answers = opened(written).translate_ids(rows)
    assert answers[0] == answers[3] == Answer([], 0.0)
    assert answers[1:3] == opened(written).translate_ids(rows[1:3])
    assert opened(written).translate_ids([]) == opened(written).translate_ids([])[:0]


def test_an_answer_is_no_longer_than_the_model_allows(tmp_path: Path) -> None:
    model = random_model()
    model.target_embedding.embeddings.assign(keras.random.normal((100, 16), seed=3) * 5)
    write_scheduler_onnx(model, tmp_path)
    rows = sources(40, longest=30)
    lengths = [len(answer.ids) for answer in opened(tmp_path).translate_ids(rows)]
    assert max(lengths) == LENGTH
    assert [len(ids) for ids in said_by(model, rows)] == lengths


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_memory_is_bit_for_bit_the_same_at_batch_1_7_and_64(written: Path, precision: str) -> None:
    backend = open_backend(written, precision, START)(1, 20, 20)
    source = np.random.default_rng(1).integers(4, 100, (64, 9)).tolist()
    alone = [backend.encode([row]) for row in source]
    for batch in (7, 64):
        together = backend.encode(source[:batch])
        for row in range(batch):
            for memory, own in zip(together, alone[row], strict=True):
                assert memory[:, row].tobytes() == own.tobytes()


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("batch", [7, 64])
def test_a_row_is_bit_for_bit_the_same_among_rows_at_other_positions(
    written: Path, precision: str, batch: int
) -> None:
    make_backend = open_backend(written, precision, START)
    rows = sources(batch)
    encoded = [make_backend(1, 20, 20).encode([row]) for row in rows]

    def steps(backend: OnnxBackend, count: int, heard: list[list[bytes]]) -> None:
        for _ in range(count):
            tokens, logits = backend.step()
            log_probs = backend.log_probs()
            for row, said in enumerate(heard[: backend.rows]):
                said.append(b"".join(values[row].tobytes() for values in (tokens, logits, log_probs)))

    alone: list[list[bytes]] = [[] for _ in rows]
    for memory, heard in zip(encoded, alone, strict=True):
        backend = make_backend(1, 20, 20)
        backend.admit(memory)
        steps(backend, 16, [heard])
    together: list[list[bytes]] = [[] for _ in rows]
    backend = make_backend(batch, 20, 20)
    for memory in encoded[: batch // 2]:
        backend.admit(memory)
    steps(backend, 5, together)
    for memory in encoded[batch // 2 :]:
        backend.admit(memory)
    steps(backend, 11, together)
    for heard, said in zip(alone, together, strict=True):
        assert said == heard[: len(said)]


def test_rows_that_leave_disturb_nobody(written: Path) -> None:
    """Whatever order they come and go in: more sources than there are slots, of all lengths."""
    runtime = opened(written)
    rows = sources(200, longest=15)
    alone = [runtime.translate_ids([row])[0] for row in rows]
    assert runtime.translate_ids(rows) == alone


@pytest.mark.parametrize("vocabulary", [64, 65, 100, 127])
def test_of_equal_logits_the_first_wins(vocabulary: int, tmp_path: Path) -> None:
    model = random_model(vocabulary)
    model.target_embedding.embeddings.assign(np.zeros((vocabulary, 16)))  # every logit is 0
    write_scheduler_onnx(model, tmp_path)
    backend = open_backend(tmp_path, "float32", START)(1, 3, 4)
    backend.admit(backend.encode([[5, 6, END]]))
    tokens, logits = backend.step()
    assert (tokens.tolist(), logits.tolist()) == ([0], [0.0])
    # all are equally likely, and what fills up the last block is none of them
    assert np.allclose(backend.log_probs(), -np.log(vocabulary))
    for count in (5, 64, vocabulary, vocabulary + 1):
        assert backend.candidates(count).tokens.tolist() == [[*range(min(count, vocabulary))]]


def test_int8_is_a_third_of_the_size_at_most(tmp_path: Path) -> None:
    keras.utils.set_random_seed(1)
    model = TranslationModel(Network.from_preset("tiny"), 2000)
    model.build()
    write_scheduler_onnx(model, tmp_path)
    ranges = observed_ranges(model, sources(2, vocabulary=2000), START, END)
    write_scheduler_onnx(model, tmp_path, Int8(ranges))
    size = {
        suffix: sum((tmp_path / f"{name}{suffix}.onnx").stat().st_size for name in ("encoder", "decoder"))
        for suffix in ("", ".int8")
    }
    # the embedding is in each graph once
    parameters = sum(weight.numpy().size for weight in model.weights)
    table = model.source_embedding.embeddings.numpy().size + 2 * model.network.max_length * 128
    assert size[""] < 4 * (parameters + table) * 1.02
    assert size[".int8"] <= 0.3 * size[""]


def test_what_is_quantised_keeps_0_exactly_and_is_off_by_half_a_step_at_most() -> None:
    # from -1 to 3 in 255 steps of 4 / 255; 0 lies at level 63.75, so at 64
    values = Range().with_values(-1.0, 3.0).with_values(-0.5, 0.5)
    assert values == Range(-1.0, 3.0)
    assert values.step() == pytest.approx(4 / 255)
    assert values.zero_point() == 64
    # what is never below 0 has all levels for itself
    assert Range().with_values(0.5, 2.0).zero_point() == 0
    assert Range().step() == 1.0


def test_a_product_in_int8_is_as_near_as_its_steps_allow() -> None:
    """x is off by half its step at most and so is a weight: Σ |x| w/2 + |W| s/2 + sw/4 for steps s and w."""
    rng = np.random.default_rng(3)
    x, kernel = rng.normal(size=(50, 16)).astype(np.float32), rng.normal(size=(16, 24)).astype(np.float32)
    bias = rng.normal(size=24).astype(np.float32)
    graph, within = Graph("product"), Range().with_values(float(x.min()), float(x.max()))
    given = graph.input("x", ["rows", 16])
    graph.output("y", Int8({"it": within}).product(graph, "it", given, kernel, bias), ["rows", 24])
    session = onnxruntime.InferenceSession(bytes(graph), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": x})
    s, w = float(within.step()), np.abs(kernel).max(axis=0) / 127
    bound = (np.abs(x).sum(1)[:, None] * w + np.abs(kernel).sum(0) * s) / 2 + 16 * s * w / 4
    wrong = np.abs(found - (x @ kernel + bias))
    assert (wrong < bound + 1e-5).all()
    assert wrong.mean() > 1e-3  # it is not float32


def test_ranges_are_what_the_products_are_given(tmp_path: Path) -> None:
    """Of the first product of the encoder: its normalised embeddings, worked out here by hand."""
    model = random_model()
    row = [10, 11, 12, END]
    ranges = observed_ranges(model, [row], START, END)
    table, positions = model.source_embedding.embeddings.numpy(), np.asarray(model.positions.table)
    x = table[row] * 4.0 + positions[:4]  # the root of the width, 16
    norm = model.encoder.blocks[0].self_attention_norm
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    entered = normal * norm.gamma.numpy() + norm.beta.numpy()
    assert ranges["encoder.0.query_key_value"] == pytest.approx((entered.min(), entered.max()), abs=1e-5)
    assert ranges["encoder.1.outer"].lowest == 0.0  # behind a ReLU


def test_an_activation_that_has_no_operator_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as told:
        write_scheduler_onnx(random_model(activation="tanh"), tmp_path)
    assert str(told.value) == (
        "the ONNX graphs have the activations relu, gelu, silu; this network has 'tanh'."
    )
    assert list(tmp_path.iterdir()) == []


def test_heads_that_the_attention_operator_cannot_take_are_refused(tmp_path: Path) -> None:
    model = TranslationModel(Network(1, 1, 24, 8, 2), 30)
    model.build()
    with pytest.raises(ValueError) as told:
        write_scheduler_onnx(model, tmp_path)
    assert str(told.value) == (
        "ONNX Runtime's attention takes heads whose width is a multiple of 8; got 24 / 2 = 12. "
        "Train with another number of heads, or export other formats."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_product_s_weights_are_in_the_graph_once() -> None:
    model = onnx.load_from_string(bytes(encoder(network_weights(random_model()), Float32())))
    names = [weight.name for weight in model.graph.initializer]
    assert len(names) == len(set(names))
    assert [tuple(weight.dims) for weight in model.graph.initializer].count((100, 16)) == 1
