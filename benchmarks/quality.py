"""The quality that a corpus gives: trained, translated and scored with the product's own commands.

    python benchmarks/quality.py --data DIR --side tokenized --json

DIR has tokenized/ and raw/, each with train, val and test_2016_flickr in .en and .de (Multi30k; it is not
part of this project). `tokenized` is lower-cased and tokenized text, scored as it is: comparable with the
41.02 published for Transformer-tiny with beam 5 (Revisit-MMT, ACL 2021). `raw` is scored cased and
detokenized; no figure is published for the same model. Every choice was made on val; test is translated once.
--quick: 200 steps. --smoke: 2 steps on sentences of the phrasebook, in place of DIR where none is given.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import smallest

PUBLISHED = 41.02
STEPS = measure.Effort(smoke=2, quick=200, whole=0)  # 0: as many as the recipe takes
COMMAND = [sys.executable, "-m", "keras_transformer"]


def main() -> None:
    """Train unless the run is there already, evaluate, print."""
    parser = measure.parser(__doc__)
    parser.add_argument("--data", type=Path, help="directory with tokenized/ and raw/")
    parser.add_argument("--side", choices=("tokenized", "raw"), default="tokenized")
    parser.add_argument(
        "--run", type=Path, help="run directory (build/quality/SIDE); a finished one is scored"
    )
    options = parser.parse_args()
    if not (options.data or options.smoke):
        parser.error("--data is needed")
    with tempfile.TemporaryDirectory() as scratch:
        if options.smoke:
            options.run = Path(scratch) / "run"
            options.data = options.data or _small_corpus(Path(scratch), options.side)
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    data, run = options.data / options.side, options.run or Path("build/quality") / options.side
    program = smallest.COMMAND if options.smoke else COMMAND
    minutes = _train(program, data, run, ["--steps", str(STEPS.of(options))] if STEPS.of(options) else [])
    figures: dict[str, object] = {"training minutes": minutes}
    ratios = {}
    searches = (("greedy", 1), ("beam5", 5))
    for split in ("test_2016_flickr",) if options.smoke else ("val", "test_2016_flickr"):
        for search, beam in searches[:1] if options.smoke else searches:
            result = _evaluate(data, run, split, options.side, beam)
            figures[f"{split} {search}"] = {score["name"]: score for score in result["scores"]}
            print(split, search, {score["name"]: round(score["value"], 2) for score in result["scores"]})
            if options.side == "tokenized" and split != "val":
                bleu = figures[f"{split} {search}"]["BLEU"]
                ratios[f"{search}/published"] = {
                    name: bleu[key] / PUBLISHED
                    for name, key in (("median", "value"), ("low", "low"), ("high", "high"))
                }
    measure.report("quality", ["tensorflow", "keras", "sacrebleu"], figures, ratios, options.json)


def _small_corpus(directory: Path, side: str) -> Path:
    """The files of a side; the languages of the phrasebook stand for English and German."""
    files = directory / side
    files.mkdir()
    for name, split in (("train", "train"), ("val", "test"), ("test_2016_flickr", "test")):
        smallest.write_texts(files / f"{name}.en", files / f"{name}.de", "en-fr", split)
    return directory


def _train(program: list[str], data: Path, run: Path, more: list[str]) -> float | None:
    corpus = [
        option
        for side, language in (("source", "en"), ("target", "de"))
        for option in (
            f"--{side}", data / f"train.{language}", f"--valid-{side}", data / f"val.{language}",
            f"--{side}-lang", language,
        )
    ]  # fmt: skip
    begun = (run / "run.json").exists()
    start = time.monotonic()
    subprocess.run(
        [*program, "train", "--run", run, *(["--resume"] if begun else [*corpus, *more])], check=True
    )
    return None if begun else round((time.monotonic() - start) / 60, 1)


def _evaluate(data: Path, run: Path, split: str, side: str, beam: int) -> dict:
    scoring = ["--tokenize", "none"] if side == "tokenized" else []
    files = ["--source", data / f"{split}.en", "--reference", data / f"{split}.de"]
    done = subprocess.run(
        [*COMMAND, "evaluate", run, *files, *scoring, "--beam", str(beam), "--json"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
