"""Functions of a model, compiled by the Keras backend, and a cache of objects made from a model."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import keras
import numpy as np
from keras import ops

if TYPE_CHECKING:
    from keras_transformer.models.encoder_decoder import EncoderDecoder

Made = TypeVar("Made")

MAX_DERIVED = 32  # graphs and backends that a model keeps, one for each combination of options of a search


class Derived:
    """Cache of objects made from a model's variables, which is emptied when the model has other variables.

    The objects themselves handle new values of a variable; `enable_lora` and `quantize` replace variables.
    At most MAX_DERIVED objects are kept: those used last.
    """

    def __init__(self, model: "EncoderDecoder") -> None:
        self._model = model
        self._weights: list[Any] = []
        self._made: dict[Any, Any] = {}

    def get(self, make: Callable[..., Made], *arguments: Hashable) -> Made:
        """Return make(model, *arguments), from the cache if it is there."""
        weights = self._model.weights
        if [*map(id, weights)] != [*map(id, self._weights)]:
            self._made.clear()
            self._weights = weights
        key = (make, *arguments)
        made = self._made.pop(key, None)  # without a check before it: other threads may ask, too
        if made is None:
            made = make(self._model, *arguments)
        self._made[key] = made  # the last one is the one used last
        if len(self._made) > MAX_DERIVED:
            self._made.pop(next(iter(self._made)), None)
        return made

    def drop(self, make: Callable[..., Any], *arguments: Hashable) -> None:
        """Free an object that `get` made."""
        self._made.pop((make, *arguments), None)


def traced(model: "EncoderDecoder", function: Callable[..., Any], *ranks: int) -> Callable[..., Any]:
    """Compile a function of int32 tensors of these ranks; it reads the model's weights at every call.

    Rank 0 is a length. On TensorFlow one graph serves all shapes; JAX compiles each combination of shapes and
    lengths; PyTorch runs the function eagerly.

    Args:
        model: Model whose layers the function calls.
        function: Function of one tensor per rank that returns a structure of tensors.
        ranks: Ranks of its arguments.

    Returns:
        The same function of NumPy arrays and integers, which returns NumPy arrays.
    """
    backend = keras.backend.backend()
    compiled = {"tensorflow": _tensorflow, "jax": _jax}.get(backend, _eager)(model, function, ranks)

    def run(*arguments: Any) -> Any:
        with without_gradients():
            return keras.tree.map_structure(ops.convert_to_numpy, compiled(*arguments))

    return run


def without_gradients() -> AbstractContextManager[Any]:
    """Return a context without gradients: PyTorch would record every product of a weight."""
    if keras.backend.backend() != "torch":
        return nullcontext()
    import torch  # noqa: PLC0415

    return torch.no_grad()


def _tensorflow(model: Any, function: Callable[..., Any], ranks: tuple[int, ...]) -> Callable[..., Any]:
    import tensorflow as tf  # noqa: PLC0415

    signature = [tf.TensorSpec((None,) * rank, tf.int32) for rank in ranks]
    graph = tf.function(function, input_signature=signature, autograph=False).get_concrete_function()
    return lambda *arguments: graph(*(tf.constant(argument, tf.int32) for argument in arguments))


def _jax(model: Any, function: Callable[..., Any], ranks: tuple[int, ...]) -> Callable[..., Any]:
    import jax  # noqa: PLC0415

    def with_values(values: list[Any], *arguments: Any) -> Any:
        with keras.StatelessScope(state_mapping=zip(model.variables, values, strict=True)):
            return function(*arguments)

    lengths = [index for index, rank in enumerate(ranks, start=1) if rank == 0]
    compiled = jax.jit(with_values, static_argnums=lengths)
    return lambda *arguments: compiled([variable.value for variable in model.variables], *arguments)


def _eager(model: Any, function: Callable[..., Any], ranks: tuple[int, ...]) -> Callable[..., Any]:
    return lambda *arguments: function(
        *(ops.convert_to_tensor(value, "int32") if np.ndim(value) else value for value in arguments)
    )
