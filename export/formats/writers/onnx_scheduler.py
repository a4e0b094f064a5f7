"""Writer of encoder.onnx, decoder.onnx, and the graphs for scores and candidates."""

from pathlib import Path

from export.artifact.layout import CANDIDATES, SCORES
from keras_transformer.files import write_pieces
from keras_transformer.graphs.choice import candidates, scores
from keras_transformer.graphs.precision import Float32, Products
from keras_transformer.graphs.transformer import decoder, encoder
from keras_transformer.models.hosted import refusal
from keras_transformer.models.translation import TranslationModel
from keras_transformer.models.weights import network_weights


def write_scheduler_onnx(model: TranslationModel, directory: Path, products: Products | None = None) -> None:
    """Write the graphs.

    Args:
        model: Model with float weights.
        directory: Directory of the files.
        products: Precision, whose suffix is part of the file names; by default float32.

    Raises:
        ValueError: If this model has no graphs.
    """
    products = products or Float32()
    refused = refusal(model)
    if refused:
        raise ValueError(refused)
    network = network_weights(model)
    for make in (encoder, decoder):  # one after the other, to hold large weights only once
        graph = make(network, products)
        write_pieces(directory / f"{graph.name}{products.suffix}.onnx", graph.pieces())
        del graph
    for path, make_small in ((SCORES, scores), (CANDIDATES, candidates)):
        write_pieces(directory / Path(path).name, make_small(network.target_vocabulary).pieces())
