"""Rules that mappings share: layers of PyTorch, as transformers names their weights, and the layers here."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from keras_transformer.pretrained.mapping import Fill, Target, Tensor, Values


def linear(
    target: Target, names: Sequence[Sequence[str]], shape: tuple[int, int], use_bias: bool = True
) -> Iterator[Fill]:
    """Yield the rules for a dense layer that stands for linear layers of PyTorch, side by side.

    Args:
        target: The dense layer.
        names: For each of the linear layers, the names that it may have.
        shape: Shape (out, in) of each weight.
        use_bias: Whether they have biases.
    """
    kernels = tuple(Tensor(_ending(each, "weight"), shape) for each in names)
    yield Fill((*target, "kernel"), kernels, lambda *parts: np.concatenate(parts).T)
    if use_bias:
        biases = tuple(Tensor(_ending(each, "bias"), shape[:1]) for each in names)
        yield Fill((*target, "bias"), biases, lambda *parts: np.concatenate(parts))


def norm(target: Target, names: Sequence[str], width: int) -> Iterator[Fill]:
    """Yield the rules for a layer normalization; files of the first years call its weights as Keras does."""
    for own, theirs in (("gamma", "weight"), ("beta", "bias")):
        tensor = Tensor((*_ending(names, theirs), *_ending(names, own)), (width,))
        yield Fill((*target, own), (tensor,), as_it_is)


def table(target: Target, names: Sequence[str], shape: tuple[int, ...]) -> Fill:
    """Return the rule for a weight that a file has as it is here."""
    return Fill(target, (Tensor(tuple(names), shape),), as_it_is)


def as_it_is(values: Values) -> Values:
    """Return the values; for `Fill.combine`."""
    return values


def _ending(names: Iterable[str], kind: str) -> tuple[str, ...]:
    return tuple(f"{name}.{kind}" for name in names)
