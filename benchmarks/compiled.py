"""Sides of a comparison as functions of TensorFlow, each with and without XLA."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import measure
import numpy as np


class Side(NamedTuple):
    """A network with fixed inputs.

    Args:
        call: Computes the output, with dropout if its argument is True.
        variables: Its trainable weights.
    """

    call: Callable[[bool], Any]
    variables: list[Any]


def side(call: Callable[[bool], Any], layers: list[Any]) -> Side:
    """Return a side of layers, which are built."""
    call(False)
    return Side(call, [weight.value for layer in layers for weight in layer.trainable_variables])


def best_of_both(sides: Mapping[str, Side], kind: str, repeats: int) -> dict[str, list[float]]:
    """Seconds of each side, compiled with or without XLA, whichever suits it better.

    Args:
        sides: The sides by name.
        kind: "inference", or "training": the forward pass with dropout, and the gradients of all weights.
        repeats: Number of calls that are measured.
    """
    calls = {
        (name, xla): call
        for name, one in sides.items()
        for xla, call in zip((False, True), _compiled(one, kind), strict=True)
    }
    seconds = measure.take_turns(calls, repeats)
    return {name: min((seconds[name, xla] for xla in (False, True)), key=np.median) for name in sides}


def _compiled(one: Side, kind: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the function without XLA and with it, of one trace."""
    import tensorflow as tf

    def train() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(one.call(True)))
        # as tensors: every optimizer of Keras makes one of the rows that TensorFlow gives for a table
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, one.variables)]

    traced = tf.function((lambda: one.call(False)) if kind == "inference" else train).get_concrete_function()

    def waiting(function: Callable[[], Any]) -> Callable[[], None]:
        def call_and_wait() -> None:
            tf.nest.flatten(function())[0].numpy()

        return call_and_wait

    return waiting(traced), waiting(tf.function(traced, jit_compile=True))
