"""Training steps that TensorFlow traces once."""

from typing import Any

import keras


class TracedOnce(keras.Model):
    """Base class of a model whose weights need no data: `build()` creates them.

    TensorFlow traces a step that creates variables twice, and the variables of an optimizer are created in
    the first step unless they are there: the first step of a small model takes twice as long.
    """

    def make_train_function(self, force: bool = False) -> Any:
        """Create the weights and the optimizer's variables, then the function that computes a step.

        Args:
            force: Whether to create another function where there is one.

        Returns:
            What keras.Model.make_train_function returns.
        """
        if not self.built:
            self.build()
        if self.optimizer is not None and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)
