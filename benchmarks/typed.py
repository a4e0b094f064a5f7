"""How many sentences of the phrasebook are translated exactly right, as the book and as people type them.

    python benchmarks/typed.py --run build/demo/run --json

`make demo` leaves the run. An answer is right if it equals the reference with its own case and punctuation;
to a source in capitals, the reference in capitals. The sentences are held out from the training. --quick is
the same. --smoke: an untrained model and 20 sentences.
"""

import argparse
import tempfile
from pathlib import Path
from random import Random

import measure
import smallest

SENTENCES = measure.Effort(smoke=20, quick=1000, whole=1000)
REQUIRED = 0.96  # of the sentences in lower case without the full stop
SEED = 1


def main() -> None:
    """Translate and count."""
    parser = measure.parser(__doc__)
    parser.add_argument("--run", type=Path, help="run directory of the phrasebook fr-en, or its model.keras")
    options = parser.parse_args()
    if not (options.run or options.smoke):
        parser.error("--run is needed")
    with tempfile.TemporaryDirectory() as scratch:
        if options.smoke:
            options.run = Path(scratch) / "model.keras"
            smallest.write_model(options.run)
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    from keras_transformer import TranslationModel
    from keras_transformer.phrasebook import phrasebook
    from keras_transformer.training.data.typed import KINDS, varied

    model = TranslationModel.load(options.run)
    book = list(phrasebook("fr-en", "test", SENTENCES.of(options)))
    texts = {"as the book": book}
    for kind in KINDS:
        random = Random(SEED)
        texts[kind.replace("_", " ")] = [varied(pair, kind, random) for pair in book]
    right = {}
    for kind, pairs in texts.items():
        answers = model.translate([pair.source for pair in pairs])
        right[kind] = sum(answer == pair.target for answer, pair in zip(answers, pairs, strict=True))
        print(f"{kind:<16} {right[kind]:>5,} of {len(pairs):,} exactly right")
    share = right["lower case"] / len(book) / REQUIRED
    ratios = {"lower case/required": {"median": share, "low": share, "high": share}}
    measure.report("typed", ["tensorflow", "keras"], {"right": right}, ratios, options.json)


if __name__ == "__main__":
    main()
