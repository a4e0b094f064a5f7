"""Runtime for encoder.onnx and decoder.onnx of a version, on ONNX Runtime."""

from functools import partial
from pathlib import Path

from export.artifact.layout import CANDIDATES, SCORES
from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.backends.session import open_session
from keras_transformer.inference.hosted_decoder import Decoder
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit

SUFFIXES = {"float32": "", "int8": ".int8"}


def open_backend(directory: Path, precision: str, start_id: int, threads: int = 1) -> "partial[OnnxBackend]":
    """Open the graphs of a version, and return the constructor of a backend for them.

    Args:
        directory: Directory with the graphs.
        precision: "float32" or "int8".
        start_id: Id of the token before every answer.
        threads: Number of threads of one matrix product.
    """
    encoder, decoder = (
        open_session(directory / f"{name}{SUFFIXES[precision]}.onnx", threads)
        for name in ("encoder", "decoder")
    )
    optional = [directory / Path(name).name for name in (SCORES, CANDIDATES)]
    scores, candidates = (open_session(graph) if graph.exists() else None for graph in optional)
    return partial(OnnxBackend, encoder, decoder, scores, candidates, start_id)


class SchedulerOnnx(Decoder):
    """Decoding with the graphs of a version directory."""

    def __init__(
        self,
        directory: Path,
        precision: str,
        start_id: int,
        end_id: int,
        max_length: int,
        workers: int = 1,
        limit: AnswerLimit = ANSWER_LIMIT,
        scores: bool = True,
    ) -> None:
        make_backend = open_backend(directory, precision, start_id)
        super().__init__(make_backend, end_id, max_length, workers, limit=limit, scores=scores)
