"""encoder.onnx and decoder.onnx in ONNX Runtime."""

from pathlib import Path

from keras_transformer.inference.scheduler import Scheduler, session

SUFFIXES = {"float32": "", "int8": ".int8"}


class SchedulerOnnx(Scheduler):
    """Those of a version directory."""

    def __init__(
        self,
        directory: Path,
        precision: str = "float32",
        start_id: int = 2,
        end_id: int = 3,
        max_length: int = 1024,
        threads: int = 1,
        workers: int = 1,
    ) -> None:
        """`directory` holds the two graphs; each of the workers computes with so many threads."""
        self.name = f"onnx/scheduler {precision}"
        encoder, decoder = (
            session(directory / f"{name}{SUFFIXES[precision]}.onnx", threads)
            for name in ("encoder", "decoder")
        )
        super().__init__(encoder, decoder, start_id, end_id, max_length, workers)
