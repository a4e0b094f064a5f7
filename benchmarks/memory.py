"""Peak memory of `keras-transformer train` on two million distinct pairs, phase by phase.

    python benchmarks/memory.py --json

The pairs are numbered variants of the phrasebook's sentences. The command is the product's own with its
default recipe for so many pairs, but that it validates every 40 steps; after the second validation, each with
a checkpoint, it is ended. What is printed is the operating system's highest resident size
of the process so far at the end of each phase, and the highest of all. --quick: 200,000 pairs; --smoke: 500,
validated every 2 steps.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import smallest

ALLOWED = 4.0  # GiB
PAIRS = measure.Effort(smoke=500, quick=200_000, whole=2_000_000)
STEPS = measure.Effort(smoke=2, quick=40, whole=40)  # between two validations


def main() -> None:
    """Generate, train, read the process' own figures."""
    parser = measure.parser(__doc__)
    parser.add_argument("--pairs", type=int, help="how many (2,000,000)")
    parser.add_argument("--preset", default="tiny", help="the network (tiny)")
    options = parser.parse_args()
    count = options.pairs or PAIRS.of(options)
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        corpus = Path(scratch) / "corpus.tsv"
        _generate(corpus, count)
        phases, peak = _train(corpus, Path(scratch) / "run", options.preset, STEPS.of(options), options.smoke)
    for phase, gigabytes in phases.items():
        print(f"{phase:<24} {gigabytes:.2f} GiB")
    print(f"{'highest of all':<24} {peak:.2f} GiB with {count:,} pairs, preset {options.preset}")
    figures = {"pairs": count, "preset": options.preset, "GiB at the end of": phases, "peak GiB": peak}
    ratio = round(ALLOWED / peak, 4)
    ratios = {f"{ALLOWED:.0f} GiB/peak": {"median": ratio, "low": ratio, "high": ratio}}
    measure.report("memory", ["tensorflow", "keras", "sentencepiece"], figures, ratios, options.json)


def _generate(path: Path, count: int) -> None:
    from keras_transformer.phrasebook.numbered import numbered_pairs

    with path.open("w", encoding="utf-8") as file:
        for pair in numbered_pairs(count):
            file.write("\t".join(pair) + "\n")


def _train(corpus: Path, run: Path, preset: str, steps: int, smoke: bool) -> tuple[dict[str, float], float]:
    """-> GiB when each phase ended, and GiB at the most."""
    ends = {
        "cleaned": r"^kept [\d,]+ of",
        "tokenized": r"^[\d,]+ pieces, ",
        f"{steps} steps, validated": rf"^step {steps}: loss",
        f"{2 * steps} steps, validated": rf"^step {2 * steps}: loss",
    }
    languages = ["--source-lang", "fr", "--target-lang", "en"]
    recipe = ["--preset", preset, "--validate-every", str(steps)]
    program = smallest.COMMAND if smoke else [sys.executable, "-m", "keras_transformer"]
    command = [*program, "train", "--pairs", corpus, *languages]
    phases: dict[str, float] = {}
    start = time.monotonic()
    with subprocess.Popen(
        [*command, "--run", run, *recipe], stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        lines = []
        for line in process.stderr or ():
            lines.append(line)
            for phase, pattern in ends.items():
                if re.match(pattern, line) and phase not in phases:
                    phases[phase] = _highest(process.pid)
                    print(f"{time.monotonic() - start:6.0f} s  {phase}", file=sys.stderr, flush=True)
            if len(phases) == len(ends):
                process.terminate()
                break
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if len(phases) < len(ends):
        raise SystemExit(f"the training ended with status {process.returncode}:\n{''.join(lines)}")
    return phases, round(usage.ru_maxrss / 2**20, 2)


def _highest(pid: int) -> float:
    """The highest resident size so far, GiB."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return round(int(status.partition("VmHWM:")[2].split()[0]) / 2**20, 2)


if __name__ == "__main__":
    main()
