"""The translation model: a plain Keras model whose steps are its call, saved whole and in float32."""

import json
import re
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.dataset import shifted
from keras_transformer.training.data.text_batches import text_batches
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.optimizer import Adam
from keras_transformer.training.schedule import Cosine, InverseSquareRoot
from tests.support import fork_server

ONE_LAYER = Network(1, 1, 16, 24, 2)
TEXTS = ["Je suis étudiant.", "", "Merci beaucoup, où est la gare ?", "日本 ☃", "Non."]


def built(network: Network, *vocabularies: int, seed: int = 7, **settings: object) -> TranslationModel:
    """A model whose weights are drawn from the seed."""
    keras.utils.set_random_seed(seed)
    model = TranslationModel(network, *vocabularies, **settings)
    model.build()
    return model


def speaking(network: Network, tokenizer: Tokenizer, **settings: object) -> TranslationModel:
    return built(network, tokenizer.source_size, tokenizer=tokenizer, **settings)


def ids(rows: int, length: int, vocabulary: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(4, vocabulary, (rows, length)).astype(np.int32)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("vocabularies", [(30,), (40, 30)])
def test_step_by_step_it_says_what_it_says_of_the_whole_target(
    norm_first: bool, vocabularies: tuple[int, ...]
) -> None:
    model = built(Network(2, 2, 16, 24, 2, norm_first=norm_first), *vocabularies)
    source, target = ids(3, 6, vocabularies[0]), ids(3, 5, 30, seed=1)
    source[1, 2:], source[2, 5:] = 0, 0
    whole = ops.convert_to_numpy(model({"source": source, "target": target}))
    assert whole.shape == (3, 5, 30)
    state = model.encode(source, 5)
    for position in range(5):
        logits, state = model.step(
            ops.convert_to_tensor(target[:, position]), ops.full((3,), position, dtype="int32"), state
        )
        np.testing.assert_allclose(logits, whole[:, position], rtol=0, atol=1e-5)


@pytest.mark.parametrize("vocabularies", [(30,), (40, 30)])
def test_adams_first_step_moves_no_weight_by_more_than_its_rate(
    vocabularies: tuple[int, ...],
) -> None:
    model, rate = built(ONE_LAYER, *vocabularies), 1e-3
    before = model.get_weights()
    source, labels = np.tile(ids(1, 3, 30), (16, 2)), ids(16, 6, 30, seed=1)  # each source id 32 times
    model.compile(keras.optimizers.Adam(rate), LabelSmoothedCrossEntropy(), run_eagerly=True)

    model.fit({"source": source, "target": shifted(labels, 2)}, labels, batch_size=16, verbose=0)

    # rate * g / |g|, or less where g is as small as Adam's epsilon
    steps = [np.abs(new - old).max() / rate for new, old in zip(model.get_weights(), before, strict=True)]
    assert max(steps) == pytest.approx(1, abs=1e-2)


def test_padding_and_neighbours_change_no_logit(small: Network) -> None:
    model = built(small, 30)
    source, target = ids(1, 4, 30), ids(1, 3, 30, seed=1)
    alone = model({"source": source, "target": target})
    batch = {"source": np.zeros((3, 9), np.int32), "target": np.zeros((3, 8), np.int32)}
    batch["source"][:] = ids(3, 9, 30, seed=2)
    batch["source"][1] = np.pad(source[0], (0, 5))
    batch["target"][1] = np.pad(target[0], (0, 5))
    np.testing.assert_allclose(model(batch)[1, :3], alone[0], rtol=0, atol=1e-5)


def test_what_comes_later_in_the_target_changes_nothing_before(small: Network) -> None:
    model = built(small, 30)
    source, target = ids(2, 4, 30), ids(2, 6, 30, seed=1)
    changed = target.copy()
    changed[:, 4:] = ids(2, 2, 30, seed=9)
    one, other = (model({"source": source, "target": each}).numpy() for each in (target, changed))
    np.testing.assert_array_equal(one[:, :4], other[:, :4])
    assert (one[:, 4:] != other[:, 4:]).any()


def test_one_vocabulary_has_one_embedding_and_two_have_two(
    small: Network, separate_tokenizer: Tokenizer
) -> None:
    def embeddings(model: TranslationModel) -> list[tuple[int, ...]]:
        return [tuple(weight.shape) for weight in model.weights if weight.path.endswith("/embeddings")]

    assert embeddings(built(small, 30)) == [(30, 16)]
    assert embeddings(built(small, 40, 30)) == [(40, 16), (30, 16)]
    model = TranslationModel.from_preset("tiny", separate_tokenizer, width=8, inner_width=8, num_heads=2)
    assert embeddings(model) == [(350, 8), (350, 8)]
    assert [type(text) for text in model.translate(["Merci."])] == [str]


def test_the_weights_behind_the_logits_sum_to_one_and_look_at_no_padding_and_nothing_later(
    small: Network,
) -> None:
    model = built(small, 30)
    inputs = {"source": ids(2, 6, 30), "target": ids(2, 4, 30, seed=1)}
    inputs["source"][1, 4:] = 0
    logits, attention = model.attend(inputs)
    np.testing.assert_array_equal(logits, model(inputs))
    layers = [small.encoder_layers, small.decoder_layers, small.decoder_layers]
    for weights, count, shape in zip(attention, layers, [(6, 6), (4, 4), (4, 6)], strict=True):
        assert [tuple(layer.shape) for layer in weights] == [(2, small.num_heads, *shape)] * count
        np.testing.assert_allclose(ops.sum(ops.stack(weights), -1), 1.0, rtol=0, atol=1e-5)
    assert not np.stack(attention.encoder)[:, 1, :, :, 4:].any()
    assert not np.stack(attention.cross)[:, 1, :, :, 4:].any()
    assert not np.triu(np.stack(attention.decoder), 1).any()


def test_it_is_trained_by_plain_fit_on_ids(small: Network) -> None:
    keras.utils.set_random_seed(0)
    model = built(Network(1, 1, 16, 24, 2, dropout=0.0), 12)
    source = np.array([[5, 6, 3, 0], [7, 3, 0, 0], [8, 9, 10, 3]], np.int32)
    labels = np.array([[6, 5, 3], [7, 3, 0], [4, 4, 3]], np.int32)
    model.compile("adam", LabelSmoothedCrossEntropy(0.0))
    inputs = {"source": source, "target": shifted(labels, 2)}
    model.optimizer.learning_rate = 0.02
    eighty = {name: np.tile(rows, (80, 1)) for name, rows in inputs.items()}
    losses = [model.evaluate(inputs, labels, verbose=0)]
    model.fit(eighty, np.tile(labels, (80, 1)), batch_size=3, shuffle=False, verbose=0)
    losses.append(model.evaluate(inputs, labels, verbose=0))
    assert losses[0] > 1.5
    assert losses[-1] < 0.05
    said = model.predict(inputs, verbose=0).argmax(-1)
    assert said[labels != 0].tolist() == labels[labels != 0].tolist()


TEXT_GIVEN = (
    'TranslationModel reads {"source": ids, "target": ids}; got text. text_batches(pairs, model.tokenizer) '
    "makes what fit and evaluate read from pairs of texts, and model.translate(texts) translates."
)
SOURCES, TARGETS = ["Merci.", "Non."], ["Thanks.", "No."]


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.fit(np.array(SOURCES), np.array(TARGETS)),
        lambda model: model.fit(np.array(SOURCES, object), np.array(TARGETS, object)),
        lambda model: model.fit(SOURCES, TARGETS),
        lambda model: model.fit(list(zip(SOURCES, TARGETS, strict=True))),
        lambda model: model.fit({"source": np.array(SOURCES), "target": np.array(TARGETS)}),
        lambda model: model.fit(tf.data.Dataset.from_tensor_slices((SOURCES, TARGETS)).batch(2)),
        lambda model: model.evaluate(np.array(SOURCES), np.array(TARGETS)),
        lambda model: model.predict(SOURCES),
        lambda model: model(SOURCES),
        lambda model: model(tf.constant(SOURCES)),
        lambda model: model({"source": SOURCES, "target": TARGETS}),
    ],
)
def test_text_where_ids_are_read_is_told_with_the_remedy(small: Network, use: object) -> None:
    model = built(small, 30)
    model.compile("adam", LabelSmoothedCrossEntropy())
    with pytest.raises(TypeError) as told:
        use(model)
    assert str(told.value) == TEXT_GIVEN


@pytest.mark.parametrize(
    ("inputs", "got"),
    [
        (ids(2, 3, 30), "got a ndarray."),
        ({"target": ids(2, 3, 30)}, "got a dictionary with the names 'target'."),
        ({"src": ids(2, 3, 30), "tgt": ids(2, 3, 30)}, "got a dictionary with the names 'src', 'tgt'."),
    ],
)
def test_inputs_of_other_names_are_told(small: Network, inputs: object, got: str) -> None:
    model = built(small, 30)
    model.compile("adam", LabelSmoothedCrossEntropy())
    with pytest.raises(TypeError, match=re.escape(got)):
        model(inputs)
    with pytest.raises(TypeError, match=r'reads \{"source": ids, "target": ids\}; got a '):
        model.fit(inputs, ids(2, 3, 30), verbose=0)


def test_a_preset_without_its_tokenizer_is_told_with_the_remedy() -> None:
    with pytest.raises(TypeError) as told:
        TranslationModel.from_preset("tiny", tokenizer=None)
    assert str(told.value) == (
        "tokenizer must be a Tokenizer, which sets the vocabulary's size; got None. Make one with "
        "Tokenizer.train(pairs). For a model of ids alone call "
        "TranslationModel(Network.from_preset('tiny'), source_vocabulary=...)."
    )
    with pytest.raises(
        TypeError, match=r"^network must be a Network; got 'tiny'\. TranslationModel\.from_preset"
    ):
        TranslationModel("tiny", 30)


def test_dropout_acts_in_fit_and_nowhere_else() -> None:
    model = built(Network(1, 1, 16, 24, 2, dropout=0.5), 12)
    inputs, labels = {"source": ids(4, 6, 12), "target": ids(4, 6, 12, seed=1)}, ids(4, 6, 12, seed=2)
    model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy(), run_eagerly=True)
    in_fit = model.fit(inputs, labels, epochs=3, verbose=0).history["loss"]
    assert len(set(in_fit)) == 3
    held_out = [model.evaluate(inputs, labels, verbose=0) for _ in range(2)]
    assert held_out[0] == held_out[1] != in_fit[0]


def test_a_compiled_model_translates(small: Network, tokenizer: Tokenizer) -> None:
    model = speaking(small, tokenizer)
    said = model.translate(TEXTS)
    model.compile("adam", LabelSmoothedCrossEntropy())
    assert model.translate(TEXTS) == said


def test_fit_without_compile_is_told_even_after_a_translation(small: Network, tokenizer: Tokenizer) -> None:
    model = speaking(small, tokenizer)
    model.translate(["Non."])
    with pytest.raises(ValueError, match=r"You must call `compile\(\)` before"):
        model.fit({"source": np.ones((1, 1)), "target": np.ones((1, 1))}, np.ones((1, 1)), verbose=0)


def test_a_new_process_loads_it_and_says_the_same(
    small: Network, tokenizer: Tokenizer, pairs: list[Pair], tmp_path: Path
) -> None:
    model = speaking(small, tokenizer)
    texts = [*TEXTS, *(pair.source for pair in pairs[:5])]
    said = model.translate(texts)
    model.save(tmp_path / "model.keras")
    # only the file and the package: nothing of this process
    code = (
        "import json, sys, keras, keras_transformer\n"
        "keras_transformer.TranslationModel\n"
        "model = keras.models.load_model(sys.argv[1])\n"
        "print(json.dumps([model.translate(json.loads(sys.argv[2])), model.network.as_dict()]))"
    )
    ran = fork_server.run(
        [sys.executable, "-c", code, str(tmp_path / "model.keras"), json.dumps(texts)],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    assert json.loads(ran.stdout) == [said, small.as_dict()]
    assert len(set(said)) > 1


LOAD = (
    "import sys, json; from keras_transformer import TranslationModel; "
    "model = TranslationModel.load(sys.argv[1])"
)
LOAD_MODEL = (
    "import sys, json, keras, keras_transformer.models.translation; "
    "model = keras.models.load_model(sys.argv[1])"
)
TRANSLATE = "print(json.dumps([model.translate(json.loads(sys.argv[2])), int(model.optimizer.iterations)]))"


@pytest.mark.parametrize(
    ("load", "optimizer"),
    [(LOAD, Adam(Cosine(1e-3, 1, 9))), (LOAD_MODEL, keras.optimizers.Adam(InverseSquareRoot(1e-3, 1)))],
    ids=["TranslationModel.load", "keras.models.load_model"],
)
def test_a_new_process_loads_a_model_that_was_trained(
    tokenizer: Tokenizer,
    pairs: list[Pair],
    tmp_path: Path,
    load: str,
    optimizer: keras.optimizers.Optimizer,
) -> None:
    model = speaking(ONE_LAYER, tokenizer)
    model.compile(
        keras.optimizers.deserialize(keras.optimizers.serialize(optimizer)),
        LabelSmoothedCrossEntropy(),
        run_eagerly=True,
    )
    model.fit(text_batches(pairs[:8], tokenizer, batch_tokens=512), shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    ran = fork_server.run(
        [sys.executable, "-c", f"{load}; {TRANSLATE}", str(tmp_path / "model.keras"), json.dumps(TEXTS)],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    assert json.loads(ran.stdout) == [model.translate(TEXTS), int(model.optimizer.iterations)]


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_the_commands_take_a_model_that_was_trained_in_python(
    small: Network, tokenizer: Tokenizer, tmp_path: Path, verb: str
) -> None:
    model = speaking(small, tokenizer)
    model.compile("adam", LabelSmoothedCrossEntropy())
    model.save(tmp_path / "model.keras")
    text, reference = tmp_path / "text", tmp_path / "reference"
    text.write_text("Merci.\nNon.\n", "utf-8")
    reference.write_text("Thank you.\nNo.\n", "utf-8")
    files = ["--input", text] if verb == "translate" else ["--source", text, "--reference", reference]
    ran = fork_server.run(
        [sys.executable, "-m", "keras_transformer", verb, tmp_path / "model.keras", *files],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]


def test_trained_in_bfloat16_it_is_kept_in_float32(
    small: Network, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    trained = speaking(small, tokenizer, dtype="mixed_bfloat16")
    kept = trained.with_policy("float32")
    kept.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        assert b"bfloat16" not in archive.read("config.json")
    loaded = TranslationModel.load(tmp_path / "model.keras")
    assert {layer.dtype_policy.name for layer in loaded._flatten_layers()} == {"float32"}
    for one, other in zip(loaded.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    inputs = {"source": ids(2, 4, 30), "target": ids(2, 3, 30, seed=1)}
    assert loaded(inputs).dtype == tf.float32
    assert trained(inputs).dtype == tf.bfloat16
    assert loaded.translate(TEXTS) == kept.translate(TEXTS)


def test_it_loads_from_a_run_directory_and_says_where_there_is_no_model(
    small: Network, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError) as told:
        TranslationModel.load(tmp_path)
    assert str(told.value) == f"there is no model in {tmp_path}: {tmp_path}/model.keras does not exist."
    model = speaking(small, tokenizer)
    model.save(tmp_path / "model.keras")
    loaded = TranslationModel.load(tmp_path)
    assert (loaded.tokenizer.source_lang, loaded.tokenizer.target_lang) == ("fr", "en")
    assert loaded.translate(TEXTS) == model.translate(TEXTS)


def test_another_kind_of_model_is_told(tmp_path: Path) -> None:
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(tmp_path / "other.keras")
    with pytest.raises(TypeError, match=r"other\.keras holds a Sequential, not a TranslationModel\.$"):
        TranslationModel.load(tmp_path / "other.keras")


def test_half_a_file_is_told(small: Network, tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    built(small, 30).save(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"model\.keras"):
        TranslationModel.load(path)


def test_the_seed_of_keras_decides_the_weights(small: Network) -> None:
    one, same, other = (built(small, 30, seed=seed).get_weights() for seed in (1, 1, 2))
    for a, b in zip(one, same, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(one, other, strict=True))
