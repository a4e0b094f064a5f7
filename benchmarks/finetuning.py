"""What fine-tuning gains on a new domain, and what it costs on the old one, beside training from nothing.

    python benchmarks/finetuning.py --json

The new domain is what the phrasebook says of rooms, tables, tickets and nights; the old one is all else, and
has no sentence with one of these words. A model is trained on the old text. `train --from` goes on from it
with the new text alone, and with both (`--pairs new.tsv=1 old.tsv=4`); another model learns the new text
from nothing, in five times the steps. The new text has 1,000 pairs. All are scored on sentences of both
domains that none has seen. The whole takes 5 minutes on two cores of a Zen 5.
--quick: a fifth of all steps. --smoke: two steps of the smallest network.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure
import smallest

from keras_transformer.phrasebook import phrasebook

NEW = re.compile(r"\b(rooms?|tables?|tickets?|nights?|book(ed)?)\b")
PAIRS = measure.Effort(smoke=1000, quick=80_000, whole=80_000)
HELD_OUT = measure.Effort(smoke=300, quick=6000, whole=6000)  # of the phrasebook, both domains
STEPS = measure.Effort(smoke=2, quick=20, whole=100)  # of the fine-tuning
BASE_STEPS = measure.Effort(smoke=2, quick=64, whole=320)
NEW_PAIRS = 1000  # of the new domain: a domain that is fine-tuned for has little text
SCORED = measure.Effort(smoke=20, quick=400, whole=400)  # sentences of each domain at most
VALIDATIONS = measure.Effort(smoke=1, quick=5, whole=5)  # of a training
TIMES = 5  # as many steps from nothing
COMMAND = [sys.executable, "-m", "keras_transformer"]
PHRASEBOOK = ["--dropout", "0", "--both-ways", "0", "--ema-decay", "0.99", "--batch-tokens", "4096"]
PEAK = ["--peak-learning-rate", "0.002"]  # four times the default, which suits more steps than these
LANGUAGES = ["--source-lang", "fr", "--target-lang", "en"]


def main() -> None:
    """Train, score and print."""
    parser = measure.parser(__doc__)
    parser.add_argument("--work", type=Path, help="directory for corpora and runs, to keep them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        _measure(options, options.work or Path(scratch))


def _measure(options: argparse.Namespace, work: Path) -> None:
    from keras_transformer import TranslationModel

    work.mkdir(exist_ok=True)
    _write_corpora(options, work)
    program = smallest.COMMAND if options.smoke else COMMAND
    steps = STEPS.of(options)
    pieces = ["--vocabulary-size", "600" if options.smoke else "3400"]
    new, old = work / "new.tsv", work / "old.tsv"
    runs: dict[str, tuple[list[Any], int]] = {
        "old": ([old, *LANGUAGES, *PHRASEBOOK, *pieces], BASE_STEPS.of(options)),
        "mixed": ([f"{new}=1", f"{old}=4", "--from", work / "old", *PEAK], steps),
        "new alone": ([new, "--from", work / "old", *PEAK], steps),
        "from nothing": ([new, *LANGUAGES, *PHRASEBOOK], TIMES * steps),
    }
    bleu = {}
    for name, (corpus, count) in runs.items():
        valid = "old" if name == "old" else "new"
        validation = ["--validate-every", count // VALIDATIONS.of(options)]
        _train(program, work / name, [*corpus, "--steps", count, *validation], work / valid)
        model = TranslationModel.load(work / name)
        bleu[name] = {domain: _bleu(model, work / domain) for domain in ("new", "old")}
        print(f"{name:<14} {count:>4} steps: BLEU {bleu[name]['new']:6.2f} new, {bleu[name]['old']:6.2f} old")
    history = json.loads((work / "from nothing" / "history.json").read_bytes())
    figures = {
        "bleu": bleu,
        "steps": {name: count for name, (_, count) in runs.items()},
        "lost on the old domain": round(bleu["old"]["old"] - bleu["mixed"]["old"], 2),
        "held-out bleu from nothing": {scores["step"]: round(scores["bleu"], 2) for scores in history},
    }
    print(f"lost on the old domain with the mix: {figures['lost on the old domain']} BLEU")
    ratios = {
        f"mixed/from nothing bleu, {TIMES} times the steps": (
            bleu["mixed"]["new"],
            bleu["from nothing"]["new"],
        ),
        "after/before bleu of the old domain": (bleu["mixed"]["old"], bleu["old"]["old"]),
    }
    spread = {name: _ratio(*values) for name, values in ratios.items()}
    measure.report("finetuning", ["tensorflow", "keras", "sacrebleu"], figures, spread, options.json)


def _ratio(ours: float, other: float) -> dict[str, float]:
    value = round(ours / max(other, 0.01), 4)
    return {"median": value, "low": value, "high": value}


def _write_corpora(options: argparse.Namespace, work: Path) -> None:
    for split, count in (("train", PAIRS), ("valid", HELD_OUT), ("test", HELD_OUT)):
        pairs = list(phrasebook("fr-en", split, count.of(options)))
        for domain in ("new", "old"):
            part = [pair for pair in pairs if bool(NEW.search(pair.target)) == (domain == "new")]
            if split == "train":
                part = part[:NEW_PAIRS] if domain == "new" else part
                (work / f"{domain}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in part), "utf-8")
                continue
            for language, side in zip(
                ("fr", "en"), zip(*part[: SCORED.of(options)], strict=True), strict=True
            ):
                (work / f"{domain}.{split}.{language}").write_text(
                    "".join(f"{text}\n" for text in side), "utf-8"
                )


def _train(program: list[str], run: Path, corpus: list[Any], domain: Path) -> None:
    valid = ["--valid-source", f"{domain}.valid.fr", "--valid-target", f"{domain}.valid.en"]
    words = ["--pairs", *corpus, *valid, "--run", run]
    subprocess.run([*program, "train", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def _bleu(model: Any, domain: Path) -> float:
    from keras_transformer.evaluation.scores import bleu

    sources, references = (
        Path(f"{domain}.test.{language}").read_text("utf-8").splitlines() for language in ("fr", "en")
    )
    return round(bleu(model.translate(sources), references), 2)


if __name__ == "__main__":
    main()
