"""The decoding thread around a batch, its admission and its statistics."""
