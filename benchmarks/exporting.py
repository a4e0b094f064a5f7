"""Seconds and peak memory of `keras-transformer export`, every format and int8, for an untrained model.

    python benchmarks/exporting.py --json

An untrained model says nothing that ends: each of the 200 golden answers is as long as it may be. Memory is
told beyond that of a process which has loaded the model and does nothing with it: TensorFlow alone takes more
than three times the weights of preset base. *Not* counted: the processes in which the runtimes are asked, and
PyTorch, which CTranslate2's specification would load if it is there. --quick: preset small; --smoke: the
smallest network and 10 golden answers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import smallest

PAIRS = measure.Effort(smoke=200, quick=20_000, whole=20_000)
PIECES = measure.Effort(smoke=700, quick=6_900, whole=6_900)
GOLDEN = measure.Effort(smoke=10, quick=200, whole=200)
MOST_SECONDS, MOST_SIZES = 60.0, 3.0
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\n"
LOAD = """
from pathlib import Path
from keras_transformer.cli._models import load_model
model = load_model(Path(sys.argv[1]))
print(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])
"""
COMMAND = "from keras_transformer.cli import main; sys.exit(main(sys.argv[1:]))"


def main() -> None:
    """Make a model, load it, export it."""
    parser = measure.parser(__doc__)
    parser.add_argument("--preset", help="the network (base; quick small)")
    options = parser.parse_args()
    preset = options.preset or ("small" if options.quick else "base")
    if options.smoke:
        preset = smallest.PRESET
    with tempfile.TemporaryDirectory(prefix="exporting-") as scratch:
        model, golden = Path(scratch) / "model.keras", Path(scratch) / "golden.fr"
        weights = _make(preset, model, golden, options)
        loaded = _loaded(model)
        seconds, peak = _exported(
            model, "--golden", golden, "--golden-count", GOLDEN.of(options), "--quantize", "int8",
            "--output", Path(scratch) / "models/fr-en/1",
        )  # fmt: skip
    sizes = (peak - loaded) / weights
    print(
        f"{preset}: {seconds:.1f} s; {peak:,.0f} MB at the peak, {loaded:,.0f} with the model loaded: "
        f"{sizes:.2f} times its {weights:,.0f} MB more"
    )
    figures = {
        "preset": preset,
        "seconds": seconds,
        "peak MB": peak,
        "loaded MB": loaded,
        "model MB": weights,
    }
    ratios = {
        f"{name}/ours": dict.fromkeys(("median", "low", "high"), round(allowed / ours, 4))
        for name, allowed, ours in (
            (f"{MOST_SECONDS:.0f} s", MOST_SECONDS, seconds),
            (f"{MOST_SIZES:.0f} sizes", MOST_SIZES, sizes),
        )
    }
    measure.report("exporting", ["tensorflow", "tf2onnx", "onnxruntime"], figures, ratios, options.json)


def _make(preset: str, path: Path, golden: Path, options: argparse.Namespace) -> float:
    """-> the megabytes of its weights."""
    from keras_transformer.phrasebook import phrasebook
    from keras_transformer.text.tokenizer import Tokenizer

    pairs = phrasebook("fr-en", "train", PAIRS.of(options))
    tokenizer = Tokenizer.train(pairs, PIECES.of(options), source_lang="fr", target_lang="en")
    model = smallest.untrained(preset, tokenizer)
    model.save(path)
    sentences = phrasebook("fr-en", "test", GOLDEN.of(options))
    golden.write_text("".join(f"{pair.source}\n" for pair in sentences), encoding="utf-8")
    return sum(weight.numpy().nbytes for weight in model.weights) / 1e6


def _loaded(model: Path) -> float:
    """The megabytes of a process that has loaded it."""
    command = [sys.executable, "-c", WITHOUT_TORCH + LOAD, model]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout) / 1e3


def _exported(*arguments: object) -> tuple[float, float]:
    """-> seconds, and the megabytes of the process at the most."""
    start = time.monotonic()
    command = [sys.executable, "-c", WITHOUT_TORCH + COMMAND, "export", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the export ended with status {process.returncode}")
    return round(time.monotonic() - start, 1), usage.ru_maxrss / 1e3


if __name__ == "__main__":
    main()
