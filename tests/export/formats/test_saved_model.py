"""The SavedModel says what the model says, text to text, with nothing but TensorFlow and tensorflow-text."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow.python.eager import context

from export.artifact.golden import BEAM
from export.formats.runtimes.saved_model_runtime import SavedModelRuntime
from export.formats.writers.saved_model import write_saved_model
from keras_transformer import TranslationModel
from keras_transformer.inference.answer import Answer
from keras_transformer.models.network import Network
from keras_transformer.models.translate import translate_sentences
from keras_transformer.text.padding import padded, without_padding
from tests.support import fork_server
from tests.support.versions.random_model import (
    END,
    LONGEST,
    SETTINGS,
    TEXTS,
    Rows,
    answered,
    assert_same,
    random_model,
    random_rows,
)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def model(request: pytest.FixtureRequest) -> TranslationModel:
    return random_model(**request.param)


plain = pytest.mark.parametrize("model", SETTINGS[:1], indirect=True, ids=str)


@pytest.fixture(scope="module")
def directory(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("saved")
    write_saved_model(model, directory)
    return directory


@pytest.fixture(scope="module")
def runtime(directory: Path) -> SavedModelRuntime:
    return SavedModelRuntime(directory)


@pytest.fixture(scope="module")
def signatures(directory: Path) -> Any:
    return tf.saved_model.load(str(directory)).signatures


@pytest.fixture(scope="module")
def rows(model: TranslationModel) -> Rows:
    return [*random_rows(model.source_vocabulary), [END], [], [5], [1, 2], [2, END]]


@pytest.fixture(scope="module")
def expected(model: TranslationModel, rows: Rows) -> list[Answer]:
    return answered(model, rows)


# Text


def test_any_text_has_the_translation_of_the_model_and_its_score(
    model: TranslationModel, runtime: SavedModelRuntime
) -> None:
    found = runtime.translate(TEXTS)
    assert [text for text, _ in found] == translate_sentences(model, TEXTS, loop_guard=False)
    for (_, score), answers in zip(found, model.hypotheses(TEXTS, loop_guard=False), strict=True):
        assert score == pytest.approx(answers[0].score if answers else 0.0, abs=1e-5)
    assert len({text for text, _ in found}) >= 10


def test_a_text_has_the_same_translation_alone_and_in_any_batch(
    model: TranslationModel, signatures: Any
) -> None:
    together = signatures["serving_default"](text=tf.constant(TEXTS))
    for place, text in enumerate(TEXTS):
        alone = signatures["serving_default"](text=tf.constant([text]))
        assert alone["translation"][0] == together["translation"][place]
        assert float(alone["score"][0]) == pytest.approx(float(together["score"][place]), abs=1e-5)
    assert [text.decode() for text in together["translation"].numpy()] == translate_sentences(
        model, TEXTS, loop_guard=False
    )


@plain
def test_half_a_character_is_the_replacement_character(
    model: TranslationModel, runtime: SavedModelRuntime
) -> None:
    assert [text for text, _ in runtime.translate(["a\ud83db"])] == translate_sentences(
        model, ["a\ud83db"], loop_guard=False
    )


@plain
def test_no_text_has_no_translation(signatures: Any, runtime: SavedModelRuntime) -> None:
    nothing = signatures["serving_default"](text=tf.constant([], tf.string))
    assert {name: value.shape for name, value in nothing.items()} == {"translation": (0,), "score": (0,)}
    assert runtime.translate([]) == []


# Beams


def test_the_signature_beam_gives_the_best_answers_of_the_models_beam_and_their_scores(
    model: TranslationModel, signatures: Any
) -> None:
    found = signatures["beam"](text=tf.constant(TEXTS))
    expected = model.hypotheses(TEXTS, beam=BEAM, alignment=False, loop_guard=False)
    translations, scores = found["translation"].numpy(), found["score"].numpy()
    assert translations.shape == scores.shape == (len(TEXTS), BEAM)
    for place, answers in enumerate(expected):
        texts = [text.decode() for text in translations[place]]
        assert texts == [answer.text for answer in answers] + [""] * (BEAM - len(answers))
        assert scores[place] == pytest.approx(
            [*(each.score for each in answers), *[0] * BEAM][:BEAM], abs=1e-5
        )
    alone = signatures["beam"](text=tf.constant(TEXTS[3:4]))
    assert alone["translation"].numpy().tolist() == translations[3:4].tolist()
    nothing = signatures["beam"](text=tf.constant([], tf.string))
    assert {value.shape for value in nothing.values()} == {(0, BEAM)}


# Tokens


def test_any_row_has_the_tokens_of_the_model_and_their_score(
    runtime: SavedModelRuntime, rows: Rows, expected: list[Answer]
) -> None:
    assert_same(runtime.translate_ids(rows), expected)


def test_a_row_has_the_same_tokens_in_any_batch_and_beside_any_padding(
    signatures: Any, rows: Rows, expected: list[Answer]
) -> None:
    for seed, parts in ((0, 2), (1, 9), (2, 20)):
        order = np.random.default_rng(seed).permutation(len(rows))
        for places in np.array_split(order, parts):
            source = padded([rows[place] for place in places])
            source = np.pad(source, ((0, 0), (0, LONGEST - source.shape[1])))
            assert_same(asked(signatures, source), [expected[place] for place in places])


def test_what_tensorflow_serving_puts_behind_an_end_changes_nothing(
    signatures: Any, rows: Rows, expected: list[Answer]
) -> None:
    places = [place for place, row in enumerate(rows) if END in row]
    source = padded([rows[place] for place in places])
    source = np.where(source == 0, source[0, 0], source)  # the first value, as it does
    assert_same(asked(signatures, source), [expected[place] for place in places])


def asked(signatures: Any, source: Any) -> list[Answer]:
    found = signatures["tokens"](source=tf.constant(source, tf.int32))
    target, score = found["target"].numpy().tolist(), found["score"].numpy().tolist()
    return list(map(Answer, map(without_padding, target), score))


@plain
def test_a_source_that_is_too_long_is_told(runtime: SavedModelRuntime) -> None:
    with pytest.raises(ValueError) as told:
        runtime.translate_ids([[5] * (LONGEST + 1)])
    assert str(told.value) == (
        "a source has at most 60 tokens, its end included; row 0 has 61. Cut it: encode_source(texts, 60)."
    )


# Alignment


def test_align_gives_the_pieces_and_what_each_looked_at(model: TranslationModel, signatures: Any) -> None:
    found = {name: value.numpy() for name, value in signatures["align"](text=tf.constant(TEXTS)).items()}
    assert [text.decode() for text in found["translation"]] == translate_sentences(
        model, TEXTS, loop_guard=False
    )
    tokenizer = model.tokenizer
    for place, answers in enumerate(model.hypotheses(TEXTS, loop_guard=False)):
        (source,) = tokenizer.encode_source([TEXTS[place]], LONGEST)
        target = [*answers[0].tokens, END][: len(answers[0].log_probs)] if answers else []
        assert real(found["source_pieces"][place]) == tokenizer.pieces_source(source)
        assert real(found["target_pieces"][place]) == tokenizer.pieces_target(target)
        looks = found["alignment"][place]
        assert looks[: len(target)].argmax(axis=-1).tolist() == (answers[0].alignment if answers else [])
        np.testing.assert_allclose(looks[: len(target), : len(source)].sum(axis=-1), 1.0, rtol=1e-5)
        assert not looks[len(target) :].any()
        assert not looks[:, len(source) :].any()


def real(pieces: Any) -> list[str]:
    """Without what fills the row up."""
    said = [piece.decode() for piece in pieces]
    assert said == [piece for piece in said if piece] + [""] * said.count("")
    return [piece for piece in said if piece]


# As a file


@plain
def test_every_signature_is_one_graph_for_any_batch_and_any_length(signatures: Any) -> None:
    given = {name: signature.structured_input_signature[1] for name, signature in signatures.items()}
    shapes = {
        name: {spec.name: spec.shape.as_list() for spec in specs.values()} for name, specs in given.items()
    }
    caches = [4, None, 2, None, 8]  # the keys and the values of two layers
    rows = {name: [None] for name in ("token", "position", "memory_length")}
    assert shapes == {
        "serving_default": {"text": [None]},
        "beam": {"text": [None]},
        "tokens": {"source": [None, None]},
        "align": {"text": [None]},
        "encode": {"source": [None, None]},
        "step": {**rows, "memory": caches, "cache": caches},
    }
    signatures["serving_default"](text=tf.constant(["Oui."]))
    known = context.context().list_function_names()
    for rows in range(1, 12):
        signatures["serving_default"](text=tf.constant(["Oui. " * rows] * rows))
    assert context.context().list_function_names() == known


@plain
def test_nothing_in_it_is_of_keras_or_of_python_or_compiled_for_each_shape(directory: Path) -> None:
    (graph,) = SavedModel.FromString((directory / "saved_model.pb").read_bytes()).meta_graphs
    functions = graph.graph_def.library.function
    operators = {node.op for function in functions for node in function.node_def}
    assert {"SentencepieceTokenizeOp", "SentencepieceDetokenizeOp", "While"} <= operators
    assert not [name for name in operators if name.startswith("Xla") or "PyFunc" in name]
    objects = {node.user_object.identifier for node in graph.object_graph_def.nodes}
    assert not [name for name in objects if "keras" in name]


@plain
def test_no_table_is_repeated_in_its_graphs_and_the_model_keeps_its_own(
    directory: Path, model: TranslationModel
) -> None:
    (graph,) = SavedModel.FromString((directory / "saved_model.pb").read_bytes()).meta_graphs
    nodes = [node for function in graph.graph_def.library.function for node in function.node_def]
    constants = [tf.make_ndarray(node.attr["value"].tensor) for node in nodes if node.op == "Const"]
    assert len(constants) > 100
    assert max(constant.size for constant in constants) < model.positions.table.size
    assert isinstance(model.positions.table, np.ndarray)


WITHOUT_THIS_PACKAGE = """
import json, sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"keras_transformer", "export", "sentencepiece"}:
            raise ImportError(f"{name} is refused here")

sys.meta_path.insert(0, Refused())
import tensorflow as tf
import tensorflow_text
texts = json.loads(sys.argv[2])
signatures = tf.saved_model.load(sys.argv[1]).signatures
found = signatures["serving_default"](text=tf.constant(texts))["translation"].numpy()
print(json.dumps([text.decode() for text in found]))
found = signatures["beam"](text=tf.constant(texts))["translation"].numpy()
print(json.dumps([[text.decode() for text in texts] for texts in found]))
"""


@plain
def test_a_fresh_process_without_this_package_translates(
    model: TranslationModel, directory: Path, tmp_path: Path
) -> None:
    texts = TEXTS[:12]
    command = [sys.executable, "-P", "-c", WITHOUT_THIS_PACKAGE, str(directory), json.dumps(texts)]
    done = fork_server.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    greedy, beams = map(json.loads, done.stdout.splitlines()[-2:])
    assert greedy == translate_sentences(model, texts, loop_guard=False)
    expected = model.hypotheses(texts, beam=BEAM, alignment=False, loop_guard=False)
    assert beams == [[answer.text for answer in answers] for answers in expected]


@plain
def test_saved_model_cli_lists_the_signatures_under_the_tag_that_serving_looks_for(directory: Path) -> None:
    command = [Path(sys.executable).with_name("saved_model_cli"), "show", "--dir", directory, "--all"]
    done = fork_server.run([sys.executable, *command], check=True, capture_output=True, text=True)
    assert "MetaGraphDef with tag-set: 'serve'" in done.stdout
    for signature in ("serving_default", "beam", "tokens", "align", "encode", "step"):
        assert f"signature_def['{signature}']" in done.stdout
    assert "inputs['text'] tensor_info:\n        dtype: DT_STRING\n        shape: (-1)" in done.stdout


@plain
def test_the_variables_are_the_weights_each_once(model: TranslationModel, directory: Path) -> None:
    data = directory / "variables" / "variables.data-00000-of-00001"
    weights = 4 * model.count_params()
    assert weights < data.stat().st_size < weights + 16_384


def test_a_model_without_a_tokenizer_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    bare = TranslationModel(Network(1, 1, 8, 8, 2), 30)
    bare.build()
    with pytest.raises(ValueError) as told:
        write_saved_model(bare, tmp_path)
    assert str(told.value) == "this model has no tokenizer: a SavedModel translates text."
    assert list(tmp_path.iterdir()) == []
