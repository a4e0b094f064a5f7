"""Cross-entropy with label smoothing, averaged over real tokens.

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
    """Cross-entropy of logits (B, T, V) and labels (B, T) with label smoothing.

    The loss of a token is -sum over v of q(v) log p(v), where q gives 1 - label_smoothing to the label and
    spreads the rest evenly over all V ids. Label 0 is padding: it counts neither in the sum nor in the number
    of tokens of the mean, because the model's output carries the mask that Keras uses for the mean.

    Args:
        label_smoothing: Share of the probability that is spread over all ids, in [0, 1).
        name: Name of the loss.
        **kwargs: Arguments of keras.losses.Loss.

    Raises:
        ValueError: If label_smoothing is out of range.

    Example:
        ```python
        model.compile("adam", LabelSmoothedCrossEntropy(0.1))
        ```
    """

    def __init__(self, label_smoothing: float = 0.1, name: str = "cross_entropy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        check_rates(label_smoothing=label_smoothing)
        self.label_smoothing = label_smoothing

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Compute the loss of each token.

        Args:
            y_true: Labels (B, T).
            y_pred: Logits (B, T, V).

        Returns:
            Losses (B, T), 0 where the label is padding.

        Raises:
            ValueError: If the labels have another shape than the logits, or are known not to be ids.
        """
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
        """Return the arguments of the constructor."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Create the loss from the result of `get_config` of this version or an earlier one.

        Args:
            config: The configuration.
        """
        return cls(**current_names(config))


def smoothed_cross_entropy(labels: Tensor, logits: Tensor, label_smoothing: Tensor) -> Tensor:
    """Compute the loss (B, T) of labels (B, T) and logits (B, T, V), 0 where a label is padding.

    A custom gradient saves memory: it keeps the logits and one number for each token, and computes the
    probabilities again. A backend's own gradient keeps all probabilities, which are as large as the logits.
    """
    labels = ops.cast(labels, "int32")

    @ops.custom_gradient
    def of(logits: Tensor) -> Any:
        loss, normalizer = _loss(labels, logits, label_smoothing)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> Tensor:
            # PyTorch passes upstream by name, after the arguments of `of`; the others pass it alone
            return _gradient(
                labels, logits, label_smoothing, normalizer, args[0] if upstream is None else upstream
            )

        return loss, gradient

    return of(logits)


def _under_xla(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with XLA on TensorFlow. JAX compiles the whole step anyway.

    The fused passes over the (tokens, V) logits, forward and backward, take an eighth of the time of
    TensorFlow's separate kernels (docs/decisions/loss-under-xla.md).
    """
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf  # noqa: PLC0415

    return tf.function(function, jit_compile=True, reduce_retracing=True)


@_under_xla
def _loss(labels: Tensor, logits: Tensor, label_smoothing: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the loss (B, T), and the log of the sum of exp(logits) (B, T, 1)."""
    logits = ops.cast(logits, "float32")
    normalizer = ops.logsumexp(logits, axis=-1, keepdims=True)
    loss = ops.sum(_expected(labels, logits, label_smoothing) * (normalizer - logits), axis=-1)
    return ops.where(labels == 0, 0.0, loss), normalizer


@_under_xla
def _gradient(
    labels: Tensor, logits: Tensor, label_smoothing: Tensor, normalizer: Tensor, upstream: Tensor
) -> Tensor:
    """Compute the gradient of the logits: (probability - expected) x upstream (B, T)."""
    probability = ops.exp(ops.cast(logits, "float32") - normalizer)
    upstream = ops.where(labels == 0, 0.0, upstream)[..., None]
    return ops.cast((probability - _expected(labels, logits, label_smoothing)) * upstream, logits.dtype)


def _expected(labels: Tensor, logits: Tensor, label_smoothing: Tensor) -> Tensor:
    """Return the smoothed labels q (B, T, V); under XLA they never exist in memory."""
    vocabulary = ops.shape(logits)[-1]
    spread = label_smoothing / ops.cast(vocabulary, "float32")
    inside = ops.logical_and(labels >= 0, labels < vocabulary)
    spread = ops.where(inside, spread, float("nan"))[..., None]
    return ops.where(labels[..., None] == ops.arange(vocabulary), 1.0 - label_smoothing + spread, spread)
