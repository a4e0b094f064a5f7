"""An imported MarianMT model beside transformers and CTranslate2: sentences per second, from text to text.

    python benchmarks/imported.py --batch 1 8 32 64 --json

One thread each, the same directory: 6+6 layers, width 512, inner width 2,048, 8 heads, 59,400 pieces,
random weights. Sentences have 10 to 30 source tokens, answers 24 tokens on every side. Ours is the run
(`run`), and an exported version (`onnx_float32`, `onnx_int8`); the peers read the directory through
transformers, and through CTranslate2's own converter. All search greedily, with the best settings of each,
which are printed; batch is the number of texts of a call. Each side runs in a process of its own and takes
turns of a fifth of a second with the others. Timed is a call from texts to texts, the tokenizer included.
*Not* timed: importing, converting and loading; `import`, `export` and the start of a server are measured for
themselves, with the memory at the peak. In float32 all sides have to give the same texts.

`products` are the float32 matrix products of a batch alone, as ONNX Runtime, NumPy and PyTorch compute them.
`limit/NAME` is the time of NAME over that of the fastest products: the most times as fast as NAME that a
float32 search with these libraries can be.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import marian_directory
import measure
from products import LIBRARIES, products
from sides import TURN, Side, serve, take_turns

SOURCE, TARGET = (10, 30), 24
PACKAGES = {
    "run": "tensorflow",
    "onnx_float32": "onnxruntime",
    "onnx_int8": "onnxruntime",
    "transformers": "transformers",
    "ctranslate2_float32": "transformers",  # with which its converter reads the directory
    "ctranslate2_int8": "transformers",
}
PRODUCTS = {f"products {library}": library for library in LIBRARIES}
SETTINGS = {
    "transformers": "generate(num_beams=1) in inference_mode, scaled_dot_product_attention, padded batches",
    "ctranslate2": "translate_batch(beam_size=1), SentencePiece called directly, one thread",
}
RATIOS = [
    ("run", "transformers"),
    ("onnx_float32", "transformers"),
    ("onnx_int8", "transformers"),
    ("run", "ctranslate2_float32"),
    ("onnx_float32", "ctranslate2_float32"),
    ("onnx_int8", "ctranslate2_int8"),
]
NEAR_TIES = 0.05  # the share of random sentences that may differ in float32
REPEATS = measure.Effort(smoke=3, quick=3, whole=15)
COMMAND = [sys.executable, "-m", "keras_transformer"]


def main() -> None:
    """Every batch size."""
    parser = measure.parser(__doc__)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 64])
    parser.add_argument("--serve", choices={**PACKAGES, **PRODUCTS}, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = marian_directory.SMALLEST if options.smoke else marian_directory.BASE
    if options.serve:
        turn, warm_up = (0, 1) if options.smoke else (TURN, 1)
        serve(lambda task: _prepared(options.serve, options.scratch, sizes, int(task)), warm_up, turn)
        return
    if options.smoke:
        options.batch = [2]
    names = measure.installed({**PACKAGES, **PRODUCTS}, options)
    for name, setting in SETTINGS.items():
        print(f"{name}: {setting}")
    with tempfile.TemporaryDirectory(prefix="imported-") as scratch:
        figures = _made(Path(scratch), sizes, quick=options.quick or options.smoke)
        sides = {name: Side(name, scratch, sys.argv[1:]) for name in names}
        try:
            _measure(sides, Path(scratch), options, figures)
        finally:
            for side in sides.values():
                side.close()


def _measure(
    sides: dict[str, Side], scratch: Path, options: argparse.Namespace, figures: dict[str, Any]
) -> None:
    ratios = {}
    for batch in options.batch:
        _, seconds = take_turns(sides, str(batch), REPEATS.of(options))
        translated = [name for name in sides if name in PACKAGES]
        answers = {name: json.loads(_answers(scratch, name, batch).read_bytes()) for name in translated}
        for name, each in seconds.items():
            speed = measure.summary([each_turn / batch for each_turn in each])
            figure = {"ms per sentence": speed, "sentences per second": round(1e3 / speed["median"], 2)}
            if name in translated:
                alike = sum(map(str.__eq__, answers[name], answers["run"]))
                figure["equal to run"] = alike
                if not name.endswith("int8") and batch - alike > max(1, NEAR_TIES * batch):
                    raise SystemExit(f"{name} translates {batch - alike} of {batch} texts in another way")
            figures[f"{name} batch={batch}"] = figure
            print(f"batch={batch} {name}: {figure}", flush=True)
        fastest = min((seconds[name] for name in sides if name in PRODUCTS), key=sum)
        for name in ("onnx_float32", "transformers"):
            if name in sides:
                limit = measure.ratio(fastest, seconds[name])
                figures[f"limit/{name} batch={batch}"] = limit
                print(f"batch={batch} limit/{name}: {limit}", flush=True)
        for ours, peer in RATIOS:
            if peer in sides:
                ratios[f"{ours}/{peer} batch={batch}"] = measure.ratio(seconds[ours], seconds[peer])
    packages = {*PACKAGES.values(), "ctranslate2", "torch"}
    measure.report("imported", sorted(packages), figures, ratios, options.json)


def _made(scratch: Path, sizes: marian_directory.Sizes, quick: bool) -> dict[str, Any]:
    """Make the directory, the run and the version; return seconds and memory of each."""
    directory, run, version = (scratch / name for name in ("marian", "run", "models/marian/1"))
    marian_directory.write(directory, sizes, TARGET)
    golden = scratch / "golden.txt"
    golden.write_text("\n".join(marian_directory.texts(sizes, 16, SOURCE)) + "\n", encoding="utf-8")
    formats = ["--format", "onnx"] if quick else []
    figures = {
        "import": _command("import", directory, "--run", run),
        "export": _command(
            "export", run, "--output", version, "--quantize", "int8", "--golden", golden, *formats
        ),
        "start": _started(scratch / "models"),
    }
    for name, figure in figures.items():
        print(f"{name}: {figure}", flush=True)
    return figures


def _command(*arguments: object) -> dict[str, float]:
    """The seconds of a command, and the megabytes of its process at the peak."""
    start = time.monotonic()
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL, env=environment
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments[0]} ended with status {process.returncode}")
    return {"seconds": round(time.monotonic() - start, 1), "peak MB": round(usage.ru_maxrss / 1e3)}


def _started(models: Path) -> dict[str, float]:
    """The same of a server of one runtime, int8, until it answers."""
    arguments = ["serve", str(models), "--port", "0", "--http-port", "none", "--precision", "int8"]
    start = time.monotonic()
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout  # noqa: S101
        if not any(line.startswith("serving on") for line in process.stdout):
            raise SystemExit("the server did not start")
        seconds = round(time.monotonic() - start, 1)
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.terminate()
    return {"seconds": seconds, "peak MB": round(int(status.partition("VmHWM:")[2].split()[0]) / 1e3)}


def _answers(scratch: Path, name: str, batch: int) -> Path:
    return scratch / f"{name}-{batch}.json"


def _prepared(
    name: str, scratch: Path, sizes: marian_directory.Sizes, batch: int
) -> tuple[Callable[[], Any], int]:
    """What one side does with a batch of texts, and the target tokens of it."""
    if name in PRODUCTS:
        vocabulary = json.loads((scratch / "marian" / "config.json").read_bytes())["vocab_size"]
        tokens = sum(marian_directory.source_tokens(batch, SOURCE))
        return products(PRODUCTS[name], sizes, vocabulary, tokens, batch, TARGET), batch * TARGET
    make = {"run": _run, "transformers": _transformers}.get(name)
    if make is None:
        kind, _, precision = name.partition("_")
        exported = {"onnx": _onnx, "ctranslate2": _ctranslate2}[kind]
        translate = exported(scratch, precision)
    else:
        translate = make(scratch)
    texts = marian_directory.texts(sizes, batch, SOURCE)
    _answers(scratch, name, batch).write_text(json.dumps(translate(texts)))
    return lambda: translate(texts), batch * TARGET


Translate = Callable[[list[str]], list[str]]


def _run(scratch: Path) -> Translate:
    from keras_transformer import TranslationModel

    return partial(TranslationModel.load(scratch / "run").translate, loop_guard=False)


def _onnx(scratch: Path, precision: str) -> Translate:
    from export.artifact.manifest import open_version
    from export.translator import Translator

    version = open_version(scratch / "models" / "marian" / "1")
    (runtime,) = (
        each
        for each in version.manifest.runtimes
        if (each.runtime, each.precision) == ("onnx/scheduler", precision)
    )
    translator = Translator(version, runtime, loop_guard=False)
    return lambda texts: [each.text for each in translator.translate(texts)]


def _transformers(scratch: Path) -> Translate:
    import torch
    from transformers import MarianMTModel, MarianTokenizer

    torch.set_num_threads(1)
    tokenizer = MarianTokenizer.from_pretrained(scratch / "marian")
    model = MarianMTModel.from_pretrained(scratch / "marian").eval()

    def translate(texts: list[str]) -> list[str]:
        with torch.inference_mode():
            answers = model.generate(**tokenizer(texts, return_tensors="pt", padding=True), num_beams=1)
        assert answers.shape == (len(texts), TARGET + 1)  # noqa: S101
        return tokenizer.batch_decode(answers, skip_special_tokens=True)

    return translate


def _ctranslate2(scratch: Path, precision: str) -> Translate:
    import ctranslate2
    import sentencepiece

    directory = scratch / f"ctranslate2-{precision}"
    if not directory.exists():
        quantization = None if precision == "float32" else precision
        converter = ctranslate2.converters.TransformersConverter(str(scratch / "marian"))
        converter.convert(str(directory), quantization=quantization)
    translator = ctranslate2.Translator(
        str(directory), inter_threads=1, intra_threads=1, compute_type=precision
    )
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(scratch / "marian" / f"{side}.spm"))
        for side in ("source", "target")
    )

    def translate(texts: list[str]) -> list[str]:
        rows = [[*row, "</s>"] for row in source.encode(texts, out_type=str)]
        found = translator.translate_batch(rows, beam_size=1, max_decoding_length=TARGET)
        assert all(len(each.hypotheses[0]) == TARGET for each in found)  # noqa: S101
        return [target.decode_pieces(each.hypotheses[0]).replace("▁", " ").strip() for each in found]

    return translate


if __name__ == "__main__":
    main()
