"""Training steps whose variables are there before TensorFlow traces them."""

from typing import Any

import keras


class TracedOnce(keras.Model):
    """Base class of a model whose weights need no data: `build()` creates them.

    Keras creates the optimizer's variables in the first step, and TensorFlow traces a step again if its first
    trace created variables. For a small model that doubles the time of the first step. Metrics given to
    `compile` create theirs in the first step all the same, and so does a subclass with layers of its own that
    `build()` does not build.
    """

    train_function: Any

    def make_train_function(self, force: bool = False) -> Any:
        """Create the function that computes a step; its first call creates the variables before it.

        Callbacks that freeze or unfreeze layers before the first step have done so by then.

        Args:
            force: Whether to create another function where there is one.

        Returns:
            The function.
        """
        is_new = force or self.train_function is None
        super().make_train_function(force)
        if is_new and keras.backend.backend() == "tensorflow":
            step = self.train_function

            def complete_step(iterator: Any) -> Any:
                self._create_variables()
                return step(iterator)

            self.train_function = complete_step
        return self.train_function

    def _create_variables(self) -> None:
        """Create the weights and the optimizer's variables, if they are missing and all layers are known."""
        if self.optimizer is None or self.optimizer.built:
            return
        if not self.built:
            self.build(None)
        if all(layer.built for layer in self._flatten_layers()):
            self.optimizer.build(self.trainable_variables)
