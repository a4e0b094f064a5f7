"""The exported graphs in ONNX Runtime beside CTranslate2 and our SavedModel: target tokens per second.

    python benchmarks/runtimes.py --preset small --preset base --batch 1 8 32 64 --json

One thread each, the same random weights, 21 source tokens, 24 target tokens that no side may cut short, a
vocabulary of 8,000; in float32 and in int8. Each side runs in a process of its own and takes turns of a fifth
of a second with the others. Timed is a call from ids to ids, the encoder included. *Not* timed: loading, and
text. The SavedModel ends by itself and is counted by the tokens that it gives.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import measure
import numpy as np
import smallest
from sides import TURN, Side, serve, speeds, take_turns

VOCABULARY, SOURCE, TARGET = 8000, 21, 24
START, END = 2, 3
PAIRS = {"onnx_float32": "ctranslate2_float32", "onnx_int8": "ctranslate2_int8"}
PACKAGES = {
    "onnx_float32": "onnxruntime",
    "onnx_int8": "onnxruntime",
    "ctranslate2_float32": "ctranslate2",
    "ctranslate2_int8": "ctranslate2",
    "saved_model": "tensorflow-text",
}
REPEATS = measure.Effort(smoke=3, quick=5, whole=15)


def main() -> None:
    """Every preset at every batch size."""
    parser = measure.parser(__doc__)
    parser.add_argument("--preset", choices=("tiny", "small", "base"), action="append")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 64])
    parser.add_argument("--serve", choices=PACKAGES, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        turn, warm_up = (0, 1) if options.smoke else (TURN, 3)
        serve(lambda task: _prepared(options.serve, options.scratch, *task.split()), warm_up, turn)
        return
    if options.smoke:
        options.preset, options.batch = [smallest.PRESET], [2]
    presets = options.preset or ["small", "base"]
    names = measure.installed(PACKAGES, options)
    with tempfile.TemporaryDirectory() as scratch:
        for preset in presets:
            _export(preset, Path(scratch) / preset, names)
        sides = {name: Side(name, scratch, sys.argv[1:]) for name in names}
        try:
            _measure(sides, presets, options)
        finally:
            for side in sides.values():
                side.close()


def _measure(sides: dict[str, Side], presets: list[str], options: argparse.Namespace) -> None:
    figures: dict[str, Any] = {}
    ratios = {}
    for preset, batch in ((preset, batch) for preset in presets for batch in options.batch):
        task = f"{preset} batch={batch}"
        tokens, seconds = take_turns(sides, task, REPEATS.of(options))
        figures |= speeds(task, tokens, seconds)
        for ours, peer in PAIRS.items():
            if peer not in sides:
                continue
            ratios[f"{ours}/{peer} {task}"] = measure.ratio(seconds[ours], seconds[peer])
        ratios[f"onnx_float32/saved_model {task}"] = measure.ratio(
            [each / tokens["onnx_float32"] for each in seconds["onnx_float32"]],
            [each / tokens["saved_model"] for each in seconds["saved_model"]],
        )
    measure.report("runtimes", sorted(set(PACKAGES.values())), figures, ratios, options.json)


def _export(preset: str, directory: Path, names: list[str]) -> None:
    """The same random weights for every side."""
    from export.calibration import observed_ranges
    from export.formats.writers.ctranslate2 import write_ctranslate2
    from export.formats.writers.onnx_scheduler import write_scheduler_onnx
    from export.formats.writers.saved_model import write_saved_model
    from keras_transformer.graphs.int8 import Int8

    model = smallest.untrained(preset, _tokenizer())
    directory.mkdir()
    if "ctranslate2_float32" in names:
        write_ctranslate2(model, directory / "ctranslate2")
    write_scheduler_onnx(model, directory)
    ranges = observed_ranges(model, _source(8).tolist(), START, END)
    write_scheduler_onnx(model, directory, Int8(ranges))
    (directory / "saved_model").mkdir()
    write_saved_model(model, directory / "saved_model")


def _prepared(name: str, scratch: Path, preset: str, batch: str) -> tuple[Callable[[], Any], int]:
    """What one side does with a batch of ids, and the target tokens of it."""
    directory, source = scratch / preset, _source(int(batch.removeprefix("batch=")))
    if name == "saved_model":
        return _saved_model(directory, source)
    kind, _, precision = name.partition("_")
    make = _onnx if kind == "onnx" else _ctranslate2
    return make(directory, source, precision), source.shape[0] * TARGET


def _onnx(directory: Path, source: Any, precision: str) -> Callable[[], Any]:
    from export.formats.runtimes.onnx_scheduler_runtime import open_backend

    backend = open_backend(directory, precision, START)(len(source), SOURCE, TARGET)

    def call() -> Any:
        backend.admit(backend.encode(source))
        said = [backend.step().tokens.tolist() for _ in range(TARGET)]
        for row in reversed(range(len(source))):
            backend.retire(row)
        return said

    return call


def _ctranslate2(directory: Path, source: Any, precision: str) -> Callable[[], Any]:
    import ctranslate2

    translator = ctranslate2.Translator(
        str(directory / "ctranslate2"), inter_threads=1, intra_threads=1, compute_type=precision
    )
    names = json.loads((directory / "ctranslate2" / "shared_vocabulary.json").read_text(encoding="utf-8"))
    rows = [[names[number] for number in row] for row in source]

    def call() -> None:
        found = translator.translate_batch(
            rows, beam_size=1, min_decoding_length=TARGET, max_decoding_length=TARGET
        )
        assert all(len(each.hypotheses[0]) == TARGET for each in found)  # noqa: S101

    return call


def _saved_model(directory: Path, source: Any) -> tuple[Callable[[], Any], int]:
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (the graph's operators)

    loaded = tf.saved_model.load(directory / "saved_model")
    tokens, ids = loaded.signatures["tokens"], tf.constant(source)
    return lambda: tokens(source=ids), int(np.count_nonzero(tokens(source=ids)["target"]))


def _source(batch: int) -> Any:
    rng = np.random.default_rng(batch)
    ids = rng.integers(4, VOCABULARY, (batch, SOURCE - 1))
    return np.concatenate([ids, np.full((batch, 1), END)], axis=1).astype(np.int32)


@cache
def _tokenizer() -> Any:
    """Of words that nobody says, enough of them for the vocabulary."""
    from keras_transformer import Tokenizer
    from keras_transformer.text.corpus import Pair

    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(20_000)]
    return Tokenizer.train([Pair(word, word) for word in words], VOCABULARY)


if __name__ == "__main__":
    main()
