"""The loss: cross-entropy with label smoothing, averaged over real tokens.

B batch, T length, V vocabulary.
"""

from collections.abc import Callable
from typing import Any, Self

import keras
from keras import ops

from keras_transformer.layers.arguments import check_rates
from keras_transformer.layers.tensor import Tensor, fits, whole
from keras_transformer.settings import current_names


@keras.saving.register_keras_serializable(package="keras_transformer")
class LabelSmoothedCrossEntropy(keras.losses.Loss):
    """-sum over v of q(v) log p(v), where q gives 1 - label_smoothing to the label
    and spreads the rest over all V.

    Labels (B, T), logits (B, T, V). Label 0 is padding and counts for nothing: neither in the sum nor, as
    the model's output carries the mask that Keras looks for, in the number of tokens of the mean. A label
    outside the vocabulary is refused where its value is known; in a graph, as in `fit`, the loss is NaN.
    """

    def __init__(self, label_smoothing: float = 0.1, name: str = "cross_entropy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        check_rates(label_smoothing=label_smoothing)
        self.label_smoothing = label_smoothing

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        if not fits(y_true.shape, y_pred.shape[:-1]):
            raise ValueError(
                f"labels must be ids of shape (batch, time) = {tuple(y_pred.shape[:-1])}, as the logits "
                f"{tuple(y_pred.shape)} are; got {tuple(y_true.shape)}."
            )
        labels = whole("labels", y_true, y_pred.shape[-1], " The logits have that many ids.", floats=True)
        return smoothed_cross_entropy(
            labels, y_pred, ops.convert_to_tensor(self.label_smoothing, dtype="float32")
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "label_smoothing": self.label_smoothing}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create the loss from what `get_config` gave, in this version or an earlier one."""
        return cls(**current_names(config))


def smoothed_cross_entropy(labels: Tensor, logits: Tensor, label_smoothing: Tensor) -> Tensor:
    """Return the loss of each token (B, T) of labels (B, T) and logits (B, T, V), 0 where a label is padding.

    Its gradient is written by hand: it keeps the logits and a number a token, and computes the
    probabilities again, where a backend's own keeps them all, as large as the logits.
    """
    labels = ops.cast(labels, "int32")

    @ops.custom_gradient
    def of(logits: Tensor) -> Any:
        loss, normaliser = _loss(labels, logits, label_smoothing)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> Tensor:
            # PyTorch passes upstream by name, behind what `of` was called with; the others pass it alone
            return _gradient(
                labels, logits, label_smoothing, normaliser, args[0] if upstream is None else upstream
            )

        return loss, gradient

    return of(logits)


def _under_xla(function: Callable[..., Any]) -> Callable[..., Any]:
    """On TensorFlow, XLA for these lines alone. JAX compiles the whole step.

    Fused, the passes over the (tokens, V) logits, forward and back, take an eighth of the time that
    TensorFlow's kernels take one after the other (docs/decisions/loss-under-xla.md).
    """
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf  # noqa: PLC0415

    return tf.function(function, jit_compile=True, reduce_retracing=True)


@_under_xla
def _loss(labels: Tensor, logits: Tensor, label_smoothing: Tensor) -> tuple[Tensor, Tensor]:
    """-> loss (B, T), log of the sum of exp(logits) (B, T, 1)."""
    logits = ops.cast(logits, "float32")
    normaliser = ops.logsumexp(logits, axis=-1, keepdims=True)
    loss = ops.sum(_expected(labels, logits, label_smoothing) * (normaliser - logits), axis=-1)
    return ops.where(labels == 0, 0.0, loss), normaliser


@_under_xla
def _gradient(
    labels: Tensor, logits: Tensor, label_smoothing: Tensor, normaliser: Tensor, upstream: Tensor
) -> Tensor:
    """Return the gradient of the logits: (probability - expected) x upstream (B, T)."""
    probability = ops.exp(ops.cast(logits, "float32") - normaliser)
    upstream = ops.where(labels == 0, 0.0, upstream)[..., None]
    return ops.cast((probability - _expected(labels, logits, label_smoothing)) * upstream, logits.dtype)


def _expected(labels: Tensor, logits: Tensor, label_smoothing: Tensor) -> Tensor:
    """q, (B, T, V), NaN for a label outside the vocabulary; under XLA it never exists in memory."""
    vocabulary = ops.shape(logits)[-1]
    spread = label_smoothing / ops.cast(vocabulary, "float32")
    inside = ops.logical_and(labels >= 0, labels < vocabulary)
    spread = ops.where(inside, spread, float("nan"))[..., None]
    return ops.where(labels[..., None] == ops.arange(vocabulary), 1.0 - label_smoothing + spread, spread)
