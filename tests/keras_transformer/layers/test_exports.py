"""What Keras exports of a masked model runs in its own runtime with its numbers for any batch and length."""

from collections.abc import Callable

import keras
import numpy as np
import pytest

import keras_transformer as kt

pytestmark = [
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Keras exports through TensorFlow"),
    # Keras asks NumPy for a type that NumPy no longer has.
    pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning"),
    # TensorFlow moves its interpreter into a package of its own.
    pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning"),
]

SHAPES = [(3, 4, 6), (1, 7, 2), (2, 1, 1)]  # batch, target length, source length
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def model() -> keras.Model:
    """An encoder and a decoder that share an embedding, with padding and a mask of each pair of positions."""
    keras.utils.set_random_seed(1)
    target, source = (keras.Input((None,), dtype="int32", name=name) for name in ("target", "source"))
    allowed = keras.Input((None, None), dtype="bool", name="allowed")
    embedding, positions = kt.TokenEmbedding(30, 16), kt.PositionalEncoding(16, kind="learned")
    settings = {"num_layers": 2, "num_heads": 2, "inner_width": 24}
    memory = kt.TransformerEncoder(**settings)(positions(embedding(source)), attention_mask=allowed)
    decoded = kt.TransformerDecoder(**settings)(positions(embedding(target)), memory)
    logits = embedding(decoded, reverse=True)
    return keras.Model({"target": target, "source": source, "allowed": allowed}, logits)


def batch(rows: int, target: int, source: int) -> Arrays:
    """Ids with padding at their end, and a random mask of the source."""
    rng = np.random.default_rng(rows)

    def ids(length: int) -> np.ndarray:
        real = np.arange(length) < rng.integers(1, length + 1, (rows, 1))
        return np.where(real, rng.integers(1, 30, (rows, length)), 0).astype("int32")

    allowed = rng.random((rows, source, source)) < 0.7
    return {"target": ids(target), "source": ids(source), "allowed": allowed}


def saved_model(model: keras.Model, folder: str) -> Callable[[Arrays], np.ndarray]:
    import tensorflow as tf

    model.export(folder, verbose=False)
    loaded = tf.saved_model.load(folder)
    return lambda arrays: loaded.serve(arrays).numpy()


def onnx(model: keras.Model, folder: str) -> Callable[[Arrays], np.ndarray]:
    import onnxruntime

    model.export(f"{folder}.onnx", format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(f"{folder}.onnx", providers=["CPUExecutionProvider"])
    return lambda arrays: session.run(None, arrays)[0]


def litert(model: keras.Model, folder: str) -> Callable[[Arrays], np.ndarray]:
    import tensorflow as tf

    model.export(f"{folder}.tflite", format="litert", verbose=False)
    interpreter = tf.lite.Interpreter(f"{folder}.tflite")

    def run(arrays: Arrays) -> np.ndarray:
        inputs = {
            name: detail["index"]
            for detail in interpreter.get_input_details()
            for name in arrays
            if name in detail["name"]
        }
        for name, index in inputs.items():
            interpreter.resize_tensor_input(index, arrays[name].shape)
        interpreter.allocate_tensors()
        for name, index in inputs.items():
            interpreter.set_tensor(index, arrays[name])
        interpreter.invoke()
        return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

    return run


@pytest.mark.parametrize("export", [saved_model, onnx, litert], ids=lambda export: export.__name__)
def test_an_export_gives_the_numbers_of_the_model_at_any_batch_and_length(model, export, tmp_path, capfd):
    run = export(model, str(tmp_path / "exported"))
    assert "Traceback" not in "".join(capfd.readouterr())  # a converter prints what it cannot read

    for shape in SHAPES:
        arrays = batch(*shape)
        np.testing.assert_allclose(run(arrays), model(arrays), rtol=0, atol=1e-5)
