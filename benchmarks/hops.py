"""Functions of the product that one sentence passes, from its arrival to its answer.

    python benchmarks/hops.py --run build/demo/run --models build/demo/models --json

translate   one line of `keras-transformer translate RUN`, from the read of the line; the first line, for
            which graphs are built, is counted beside it
Translate   one call of a server in this process, from the first function that gets the message

Each is counted in two parts: up to the first call of ONNX Runtime, and from there to the answer. Counted are
distinct functions of the three packages, by any thread, comprehensions aside; only those that every repeat
enters, so that what runs now and then is left out. Otherwise the model is warm. Lines of a function are those
of its source, docstring included. Without --run or --models an untrained model is measured.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import asyncio
import inspect
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import measure
import smallest

HERE = Path(__file__).parents[1]
sys.path.remove(str(HERE / "benchmarks"))  # its serving.py is not the package
PRODUCT = tuple(f"{HERE / package}/" for package in ("keras_transformer", "export", "serving"))
RUNS = ("run", "run_with_iobinding")  # of onnxruntime.InferenceSession
PARTS = ("before the first run", "to the answer")
REPEATS = measure.Effort(smoke=2, quick=3, whole=5)
SENTENCE = "Je suis étudiant."

Parts = tuple[set[CodeType], set[CodeType]]
Condition = Callable[[FrameType, str, Any], bool]  # of what sys.setprofile reports


def main() -> None:
    """Count both, and print every function."""
    parser = measure.parser(__doc__)
    parser.add_argument("--run", type=Path, help="a trained run")
    parser.add_argument("--models", type=Path, help="a directory of NAME/VERSION directories")
    options = parser.parse_args()
    repeats = REPEATS.of(options)
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch) / "model.keras"
        if not (options.run and options.models):
            smallest.write_model(own)
        first, *others = _translate(options.run or own, repeats)
        counted = {
            "first translate": _always([first]),
            "translate": _always(others),
            "Translate": _always(_call(options.models or own, repeats)),
        }
    figures = {name: _figures(name, parts) for name, parts in counted.items()}
    measure.report("hops", ["tensorflow", "onnxruntime", "grpcio"], figures, {}, options.json)


class Recorder:
    """A profile function that collects the functions of one sentence, part by part."""

    def __init__(self, begins: Condition, ends: Condition) -> None:
        self._begins = begins
        self._ends = ends
        self._part: int | None = None
        self._armed = False
        self._entered: Parts = (set(), set())

    def arm(self) -> None:
        """Wait for the next sentence."""
        self._entered, self._part, self._armed = (set(), set()), None, True

    def entered(self) -> Parts:
        """Return the functions of the sentence that has been answered.

        Raises:
            RuntimeError: No sentence has passed from its arrival over ONNX Runtime to its answer.
        """
        if self._armed:
            raise RuntimeError(f"the sentence was not answered: it is in part {self._part}")
        return self._entered

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take note of one event, as sys.setprofile calls it."""
        if not self._armed:
            return
        if self._part is None:
            if not self._begins(frame, event, argument):
                return
            self._part = 0
        code = frame.f_code
        if event == "call":
            if code.co_name in RUNS and "onnxruntime" in code.co_filename:
                self._part = 1
            elif _of_product(code):
                self._entered[self._part].add(code)
        elif self._part == 1 and self._ends(frame, event, argument):
            self._armed = False


def _of_product(code: CodeType) -> bool:
    return code.co_filename.startswith(PRODUCT) and (code.co_name[0] != "<" or code.co_name == "<lambda>")


def _translate(run: Path, repeats: int) -> list[Parts]:
    """Of the first line and of others; the command runs in this thread, its user in another."""
    from keras_transformer.cli import _loading, main

    _loading.load("keras_transformer.models.translation")  # not under the profiler
    output = sys.stdout.buffer
    recorder = Recorder(
        begins=lambda frame, event, argument: (
            event == "c_return" and argument.__name__ == "read1" and _of_product(frame.f_code)
        ),
        ends=lambda frame, event, argument: (
            event == "c_call" and argument.__name__ == "write" and argument.__self__ is output
        ),
    )
    counted: list[Parts] = []

    def use(lines: Any, answers: Any) -> None:
        with lines:
            for repeat in range(repeats + 1):
                answers.readline()
                counted.append(recorder.entered())
                if repeat < repeats:
                    recorder.arm()
                    print(SENTENCE, file=lines, flush=True)

    with _terminal() as (lines, answers), _profiled(recorder):
        recorder.arm()
        print(SENTENCE, file=lines, flush=True)  # it is there: the command does not warm up before
        user = threading.Thread(target=use, args=(lines, answers), daemon=True)
        user.start()
        sys.setprofile(recorder)
        try:
            status = main(["translate", str(run)])
        finally:
            sys.setprofile(None)
    if status:
        raise SystemExit(f"translate ended with status {status}")
    user.join()
    return counted


def _call(models: Path, repeats: int) -> list[Parts]:
    """Of a call after others; the caller is in this thread, which is not profiled."""
    import grpc

    from serving.grpc.handlers import SERVICE
    from serving.v1 import translation_pb2 as wire

    message = wire.TranslateRequest(text=SENTENCE).SerializeToString()

    def arrived(frame: FrameType, event: str, argument: Any) -> bool:
        values = frame.f_locals.values() if event == "call" and _of_product(frame.f_code) else ()
        return any(isinstance(value, bytes) and value == message for value in values)

    recorder = Recorder(
        begins=arrived,
        ends=lambda frame, event, argument: (
            event == "return" and isinstance(argument, bytes) and _of_product(frame.f_code)
        ),
    )
    counted = []
    with _profiled(recorder), _served(models) as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        translate = channel.unary_unary(f"/{SERVICE}/Translate")
        translate(message, timeout=60)
        for _ in range(repeats):
            recorder.arm()
            translate(message, timeout=60)
            counted.append(recorder.entered())
    return counted


@contextmanager
def _profiled(recorder: Recorder) -> Iterator[None]:
    """Threads that begin inside are profiled."""
    threading.setprofile(recorder)
    try:
        yield
    finally:
        threading.setprofile(None)


@contextmanager
def _terminal() -> Iterator[tuple[Any, Any]]:
    """Replace standard input and output by pipes; yield the other end of each."""
    before = [os.dup(0), os.dup(1)]
    (read, lines), (answers, write) = os.pipe(), os.pipe()
    os.dup2(read, 0)
    os.dup2(write, 1)
    try:
        with os.fdopen(answers, encoding="utf-8") as reader:
            yield os.fdopen(lines, "w", encoding="utf-8"), reader
    finally:
        for descriptor, kept in enumerate(before):
            os.dup2(kept, descriptor)
        for descriptor in (*before, read, write):
            os.close(descriptor)


@contextmanager
def _served(models: Path) -> Iterator[int]:
    """Yield the port of a server in a thread of its own."""
    from serving.limits import Limits
    from serving.server import Server

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def done(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def made() -> Server:
        return Server(Limits())

    try:
        server = done(made())
        port = done(server.start("127.0.0.1", 0))
        done(server.open(_models(models)))
        yield port
        done(server.drain(1))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _models(path: Path) -> Any:
    """Open a directory of versions, or a model that has not been exported."""
    from serving.registry.discovery import find_versions, open_models
    from serving.registry.registry import Registry
    from serving.registry.served_version import EngineSettings, ServedVersion

    if path.is_dir():
        return open_models(find_versions(path), EngineSettings())
    from export.formats.runtimes.onnx_scheduler_runtime import open_backend
    from export.formats.writers.onnx_scheduler import write_scheduler_onnx
    from keras_transformer import TranslationModel
    from keras_transformer.text.lengths import longest_answer
    from serving.engine.engine import Engine

    model = TranslationModel.load(path)
    write_scheduler_onnx(model, path.parent)
    tokenizer, longest = model.tokenizer, model.network.max_length
    make_backend = open_backend(path.parent, "float32", tokenizer.bos_id)
    backend = make_backend(4, longest, min(longest_answer(longest), longest))
    engine = Engine(backend, tokenizer.eos_id).start()
    return Registry([ServedVersion("model", 1, tokenizer, model.lengths, longest, "float32", engine, None)])


def _always(counted: Sequence[Parts]) -> list[set[CodeType]]:
    """Return what every repeat entered, part by part."""
    return [set.intersection(*parts) for parts in zip(*counted, strict=True)]


def _figures(name: str, parts: Sequence[set[CodeType]]) -> dict[str, Any]:
    """Count the functions of each part and of both, and print them."""
    named = [*zip(PARTS, parts, strict=True), ("in all", set.union(*parts))]
    figures = {}
    for part, codes in named:
        folders = sorted({str(_place(code).parent) for code in codes})
        figures[part] = {
            "functions": len(codes),
            "folders": folders,
            "median lines": statistics.median(len(inspect.getsourcelines(code)[0]) for code in codes),
        }
        print(f"{name} {part}: {len(codes)} functions in {len(folders)} folders: {', '.join(folders)}")
        if part in PARTS:
            for code in sorted(codes, key=lambda code: (code.co_filename, code.co_firstlineno)):
                print(f"    {_place(code)}:{code.co_firstlineno} {code.co_qualname}")
    print(f"{name}: the median function has {figures['in all']['median lines']} lines")
    return figures


def _place(code: CodeType) -> Path:
    return Path(code.co_filename).relative_to(HERE)


if __name__ == "__main__":
    main()
