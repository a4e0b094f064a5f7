"""BERT, GPT-2, Llama, T5 and ViT, one inference pass and one training step, beside KerasHub's backbones.

    python benchmarks/families.py --json

Same sizes, same weights, same inputs with the same padding, float32, one thread; before anything is timed,
the outputs are compared. Each side is compiled by tf.function with and without XLA, and counted at its better
time. A training step is the forward pass with dropout and the gradients of all weights as tensors. Not timed:
tracing, the optimizer, the tokenizer. Logits are counted where a model has them, KerasHub's by its own table;
its ViT has a classifier of this script. The sizes are in contests.py.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import measure
import numpy as np
from compiled import Side, best_of_both
from contests import CONTESTS

PACKAGES = {"ours": "tensorflow", "kerashub": "keras-hub"}
REPEATS = measure.Effort(smoke=3, quick=7, whole=31)
TOLERANCE = 1e-3


def main() -> None:
    """Measure, and print the ratios."""
    arguments = measure.parser(__doc__)
    arguments.add_argument("--family", nargs="+", choices=CONTESTS, default=list(CONTESTS))
    options = arguments.parse_args()
    names = measure.installed(PACKAGES, options)

    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    figures, ratios = {}, {}
    for family in options.family:
        sides = CONTESTS[family](options.smoke, names)
        _compare(family, sides)
        for kind in ("inference", "training"):
            seconds = best_of_both(sides, kind, REPEATS.of(options))
            for name, times in seconds.items():
                figures[f"{name} {family} {kind} ms"] = measure.summary(times)
            for peer in sides.keys() - {"ours"}:
                label = f"ours/{peer} {family} {kind}"
                ratios[label] = measure.ratio(seconds["ours"], seconds[peer])
                print(f"{label}: {ratios[label]['median']:.2f}", flush=True)
    measure.report("families", PACKAGES.values(), figures, ratios, options.json)


def _compare(family: str, sides: dict[str, Side]) -> None:
    """Stop where two sides compute different outputs."""
    outputs = {name: np.asarray(one.call(False)) for name, one in sides.items()}
    for name, output in outputs.items():
        difference = float(np.abs(output - outputs["ours"]).max())
        if difference > TOLERANCE:
            raise SystemExit(f"{family}: the outputs of ours and {name} differ by {difference:.2g}")


if __name__ == "__main__":
    main()
