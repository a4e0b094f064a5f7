"""From the tensors of a file to the weights of a model: each tensor is used, and each weight is set, once."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_transformer.pretrained.directory import PretrainedError
from keras_transformer.pretrained.weights import FLOATS, Weights

Values = NDArray[np.float32]
Target = tuple[str | int, ...]  # of a weight in a model: attributes and indices on the way to it


class Tensor(NamedTuple):
    """A tensor that a family has.

    Args:
        names: Its name; a file may have it under several of them, and then they must be equal.
        shape: Its shape.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]


class Fill(NamedTuple):
    """Rule by which one weight of a model is filled."""

    target: Target
    tensors: tuple[Tensor, ...]
    combine: Callable[..., Values]


class Constant(NamedTuple):
    """A tensor that a file may have, and that is not trained.

    Args:
        name: Its name.
        values: What it must hold.
    """

    name: str
    values: Values


TOLERANCE = 5e-3  # of a constant: what rounding to bfloat16 makes of values below 1


def check_names(
    weights: Weights,
    fills: Sequence[Fill],
    constants: Sequence[Constant] = (),
    unused: Sequence[Tensor] = (),
) -> None:
    """Check that a file has all the tensors of a family, no others, and each in its shape.

    Args:
        weights: The file.
        fills: Everything that the model needs.
        constants: What the file may have besides.
        unused: What the file may have, and what its own program does not read either.

    Raises:
        PretrainedError: With every name that is missing, surplus, of another shape, or not of floats.
    """
    problems = []
    computed = {constant.name for constant in constants}
    shapes = {constant.name: constant.values.shape for constant in constants}
    shapes.update({name: tensor.shape for tensor in unused for name in tensor.names})
    for tensor in _tensors(fills):
        if not any(name in weights for name in tensor.names):
            problems.append(f"{tensor.names[0]} is missing; its shape is {tensor.shape}")
        shapes.update(dict.fromkeys(tensor.names, tensor.shape))
    for name in weights:
        if name not in computed and weights.dtype(name) not in FLOATS:
            problems.append(
                f"{name} holds {weights.dtype(name)}; the weights must be of {', '.join(sorted(FLOATS))}"
            )
        elif name not in shapes:
            problems.append(f"{name} is surplus: a model of this configuration has no such tensor")
        elif weights.shape(name) != shapes[name]:
            problems.append(f"{name} has the shape {weights.shape(name)}; it must have {shapes[name]}")
    if problems:
        raise PretrainedError(weights.path, problems)


def fill(
    model: Any,
    weights: Weights,
    fills: Sequence[Fill],
    constants: Sequence[Constant] = (),
    fresh: Iterable[Any] = (),
) -> None:
    """Set every weight of a model. Call `check_names` before.

    Args:
        model: Is built.
        weights: The file.
        fills: Everything that the model needs.
        constants: What the file may have besides.
        fresh: Weights of the model that keep their initial values, such as those of a new classifier.

    Raises:
        PretrainedError: If a value is not finite, two names of one tensor differ, or a constant is another.
        RuntimeError: If a weight of the model is not set exactly once, or a tensor is used twice.
    """
    problems = []
    targets = [id(variable) for variable in fresh]
    for each in fills:
        values = []
        for tensor in each.tensors:
            value, wrong = _read(weights, tensor.names)
            problems += wrong
            values.append(value)
        variable = _resolved(model, each.target)
        variable.assign(each.combine(*values))
        targets.append(id(variable))
    for constant in constants:
        if constant.name in weights:
            difference = float(np.abs(weights[constant.name] - constant.values).max(initial=0.0))
            if not difference <= TOLERANCE:
                problems.append(f"{constant.name} is not what it is computed as; it is {difference:.3g} off")
    if problems:
        raise PretrainedError(weights.path, problems)
    uses = Counter(name for tensor in _tensors(fills) for name in tensor.names)
    if sorted(targets) != sorted(map(id, model.weights)) or max(uses.values(), default=1) > 1:
        raise RuntimeError(
            "the mapping does not use every tensor, and set every weight, once; report this as a bug."
        )


def _tensors(fills: Iterable[Fill]) -> Iterable[Tensor]:
    return (tensor for each in fills for tensor in each.tensors)


def _read(weights: Weights, names: Sequence[str]) -> tuple[Values, list[str]]:
    """Return the values of the first of these names that exists, and the problems of the others."""
    first, *others = (name for name in names if name in weights)
    values, problems = weights[first], []
    if not np.isfinite(values).all():
        problems.append(f"{first} has values that are not finite: the file is damaged")
    problems += [
        f"{other} differs from {first}; by the configuration they are one table"
        for other in others
        if not np.array_equal(weights[other], values)
    ]
    return values, problems


def _resolved(model: Any, target: Sequence[str | int]) -> Any:
    for step in target:
        model = model[step] if isinstance(step, int) else getattr(model, step)
    return model
