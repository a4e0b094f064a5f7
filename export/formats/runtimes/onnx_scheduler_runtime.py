"""encoder.onnx and decoder.onnx of a version in ONNX Runtime."""

from functools import partial
from pathlib import Path

from keras_transformer.inference.backends.onnx_runtime import OnnxBackend
from keras_transformer.inference.backends.session import open_session
from keras_transformer.inference.hosted_decoder import Decoder

SUFFIXES = {"float32": "", "int8": ".int8"}


def open_backend(directory: Path, precision: str, start_id: int, threads: int = 1) -> "partial[OnnxBackend]":
    """Open the graphs of a version, and return what creates a backend for them from its sizes.

    Args:
        directory: holds the two graphs.
        precision: float32 or int8.
        start_id: the token that every answer starts after.
        threads: threads of one matrix product.
    """
    encoder, decoder = (
        open_session(directory / f"{name}{SUFFIXES[precision]}.onnx", threads)
        for name in ("encoder", "decoder")
    )
    return partial(OnnxBackend, encoder, decoder, start_id)


class SchedulerOnnx(Decoder):
    """Decodes greedily with the graphs of a version directory."""

    def __init__(
        self, directory: Path, precision: str, start_id: int, end_id: int, max_length: int, workers: int = 1
    ) -> None:
        self.name = f"onnx/scheduler {precision}"
        super().__init__(open_backend(directory, precision, start_id), end_id, max_length, workers)
