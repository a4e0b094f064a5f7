"""How models are compiled by tests that are about something else: without XLA, where it is not needed.

On TensorFlow, XLA takes seconds to compile a training step that runs for milliseconds; JAX needs it.
`tests/keras_transformer/layers/test_calls.py` compiles every layer, and `models/test_translate.py` a training
step. Keras compiles no TranslationModel with XLA unless it is asked to.
"""

import keras

JIT = keras.backend.backend() == "jax"
