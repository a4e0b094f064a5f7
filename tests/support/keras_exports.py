"""Keras' own exports, each as a function of arrays in its own runtime."""

from collections.abc import Callable

import keras
import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Keras exports through TensorFlow"),
    # Keras asks NumPy for a type that NumPy no longer has.
    pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning"),
    # TensorFlow moves its interpreter into a package of its own.
    pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning"),
]

SHAPES = [(3, 4, 6), (1, 7, 2), (2, 1, 1)]  # batch, target length, source length
Arrays = dict[str, np.ndarray]


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
