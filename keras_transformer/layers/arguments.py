"""Checks of the sizes, flags and rates that layers share, their seeds, and their configuration."""

import inspect
import numbers
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np


def check_sizes(**sizes: Any) -> None:
    """Raise ValueError for a size that is not a whole number of at least 1."""
    check_whole(" of at least 1", **sizes)
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1; got {size}.")


def check_whole(bounds: str = "", /, **values: Any) -> None:
    """Raise ValueError for a value that is not a whole number; `bounds` is part of the error text."""
    for name, value in values.items():
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            remedy = f" Try {name}={int(value)}." if isinstance(value, float) and value.is_integer() else ""
            raise ValueError(f"{name} must be a whole number{bounds}; got {value!r}.{remedy}")


def check_flags(**flags: Any) -> None:
    """Raise ValueError for a flag that is not True or False, such as "False", which is true in Python."""
    for name, flag in flags.items():
        if flag not in (True, False):  # a flag of numpy reaches a call as a tensor
            raise ValueError(f"{name} must be True or False; got {flag!r}.")


def check_rates(**rates: Any) -> None:
    """Raise ValueError for a rate outside [0, 1)."""
    for name, rate in rates.items():
        if not (_is_number(rate) and 0 <= rate < 1):
            raise ValueError(f"{name} must be at least 0 and below 1; got {rate!r}.")


def check_epsilon(epsilon: Any) -> None:
    """Raise ValueError for an epsilon that is not a finite number above 0."""
    if not (_is_number(epsilon) and 0 < epsilon < float("inf")):
        raise ValueError(f"epsilon must be above 0, such as 1e-5; got {epsilon!r}.")


def check_scale(**scales: Any) -> None:
    """Raise ValueError for a scale that is neither None nor a finite number above 0."""
    for name, scale in scales.items():
        if scale is not None and not (_is_number(scale) and 0 < scale < float("inf")):
            raise ValueError(f"{name} must be a finite number above 0; got {scale!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def spawn(seed: int | None, count: int) -> list[int | None]:
    """Derive `count` independent seeds from one seed; without a seed, return None for each."""
    if seed is None:
        return [None] * count
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(count) >> 1]


def arguments_of(layer: Any, kind: type) -> dict[str, Any]:
    """Return the attributes of a layer that are named as the arguments of a class."""
    parameters = inspect.signature(kind.__init__).parameters  # type: ignore[misc]
    return {name: getattr(layer, name) for name in parameters if hasattr(layer, name)}


def serialized(layer: Any, kind: type, later: Sequence[str] = ()) -> dict[str, Any]:
    """Return what `arguments_of` does as a configuration has it.

    Arguments in `later` are left out where they have their default: earlier releases do not know them.
    """
    parameters = inspect.signature(kind.__init__).parameters  # type: ignore[misc]
    config = {
        name: keras.saving.serialize_keras_object(value)
        for name, value in arguments_of(layer, kind).items()
        if name not in later or value != parameters[name].default
    }
    if "activation" in config:
        config["activation"] = keras.activations.serialize(layer.activation)
    return config
