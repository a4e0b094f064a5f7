"""encoder.onnx, decoder.onnx and candidates.onnx of a version."""

from pathlib import Path

from export.artifact.layout import CANDIDATES
from keras_transformer.files import write_pieces
from keras_transformer.graphs.precision import Float32, Products
from keras_transformer.graphs.transformer import candidates, decoder, encoder
from keras_transformer.models.hosted import refusal
from keras_transformer.models.translation import TranslationModel
from keras_transformer.models.weights import network_weights


def write_scheduler_onnx(model: TranslationModel, directory: Path, products: Products | None = None) -> None:
    """Write the graphs; that of the candidates is the same in each precision.

    Args:
        model: the model, with float weights.
        directory: where the files go.
        products: the precision, whose suffix stands in the files' names; float32 by default.

    Raises:
        ValueError: there are no graphs of this model.
    """
    products = products or Float32()
    refused = refusal(model)
    if refused:
        raise ValueError(refused)
    network = network_weights(model)
    for make in (encoder, decoder):  # one after the other: large weights are in memory once
        graph = make(network, products)
        write_pieces(directory / f"{graph.name}{products.suffix}.onnx", graph.pieces())
        del graph
    write_pieces(directory / Path(CANDIDATES).name, candidates(network.target_vocabulary).pieces())
