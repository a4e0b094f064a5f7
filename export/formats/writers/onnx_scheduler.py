"""encoder.onnx and decoder.onnx of a version."""

from pathlib import Path

from keras_transformer.graphs.precision import Float32, Products
from keras_transformer.graphs.transformer import decoder, encoder
from keras_transformer.models.hosted import refusal
from keras_transformer.models.translation import TranslationModel


def write_scheduler_onnx(model: TranslationModel, directory: Path, products: Products | None = None) -> None:
    """Both, or what a precision other than float32 calls them."""
    products = products or Float32()
    refused = refusal(model)
    if refused:
        raise ValueError(refused)
    for make in (encoder, decoder):  # one after the other: large weights are in memory once
        make(model, products).write(directory, products.suffix)
