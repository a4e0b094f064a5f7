"""A student: a network that is cheap to decode with, beside CTranslate2, and beside its teacher.

    python benchmarks/student.py --json
    python benchmarks/student.py --teacher RUN --student RUN --source F --reference F --json

The first compares speed alone: 6+2 layers, width 256, inner width 1,536, 8 heads, 32,000 pieces, the class of
the students that Marian's authors published (3,600 words a second and core, Xeon Gold 6248, with a short
list), with random weights. Source words a second from text to text, int8, one thread each, 2,000 sentences in
batches of 32; their lengths are log-normal as those of newspapers, 20 words in the mean, and like lengths
share a batch, in which every answer has as many tokens as its source. CTranslate2 has the same weights and
the same batches. Each side runs in a process of its own. Converting and loading are not timed.
With two runs, both are exported in int8, score the file greedily, and take turns in translating it.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import marian_directory
import measure
import smallest
from sides import Side, serve, take_turns

ROWS = 32  # of a batch
SENTENCES = measure.Effort(smoke=64, quick=512, whole=2000)
GOLDEN = measure.Effort(smoke=16, quick=64, whole=64)
REPEATS = measure.Effort(smoke=3, quick=5, whole=9)
PIECES, SPREAD = 27, 0.5  # the mean of a sentence's length, and the deviation of its logarithm
LONGEST = 100
AS_LONG_AS_ITS_SOURCE = (1, 0)  # factor and extra of the limit of an answer
RANDOM = {"student": "onnxruntime", "ctranslate2_int8": "ctranslate2"}
TRAINED = {"student": "onnxruntime", "teacher": "onnxruntime"}
COMMAND = [sys.executable, "-m", "keras_transformer"]


def main() -> None:
    """The random student; or the two runs, where they are given."""
    parser = measure.parser(__doc__)
    parser.add_argument("--teacher", type=Path, help="the run of the teacher")
    parser.add_argument("--student", type=Path, help="the run of the student")
    parser.add_argument("--source", type=Path, help="a test set, a sentence a line")
    parser.add_argument("--reference", type=Path, help="its translations")
    parser.add_argument("--tokenize", default="13a", help="sacreBLEU's tokenizer (13a)")
    parser.add_argument("--serve", choices={**RANDOM, **TRAINED}, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    given = [options.teacher, options.student, options.source, options.reference]
    if any(given) and not all(given):
        parser.error("--teacher, --student, --source and --reference are needed together")
    if options.serve:
        serve(lambda _: _prepared(options), warm_up=1, turn=0)
        return
    figures: dict[str, Any] = {}
    ratios: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="student-") as scratch:
        if not any(given):
            _compare_random(Path(scratch), options, figures, ratios)
        if any(given) or options.smoke:
            _compare_trained(Path(scratch), options, figures, ratios)
    measure.report("student", ["ctranslate2", "onnxruntime", "tensorflow"], figures, ratios, options.json)


def _compare_random(
    scratch: Path, options: argparse.Namespace, figures: dict[str, Any], ratios: dict[str, Any]
) -> None:
    sizes, run = _sizes(options), scratch / "run"
    marian_directory.write(scratch / "marian", sizes, target_tokens=LONGEST)
    golden = scratch / "golden.txt"
    texts = marian_directory.texts(sizes, GOLDEN.of(options), (4, 60))
    golden.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    _command("import", scratch / "marian", "--run", run)
    _export(run, _version(scratch, "student"), "--format", "onnx,ctranslate2", "--golden", golden)
    words = sum(len(text.split()) for batch in _batches(options) for text in batch)
    seconds = _turns(scratch, measure.installed(RANDOM, options), options)
    for name, each in seconds.items():
        figures[f"{name} random"] = {"words per second": round(words / statistics.median(each))}
        print(f"{name}: {figures[f'{name} random']}", flush=True)
    ratios["student/ctranslate2_int8 words"] = measure.ratio(seconds["student"], seconds["ctranslate2_int8"])


def _compare_trained(
    scratch: Path, options: argparse.Namespace, figures: dict[str, Any], ratios: dict[str, Any]
) -> None:
    if options.smoke:
        options.teacher = options.student = scratch / "run"  # the random student, which is exported
        options.source, options.reference = scratch / "test.fr", scratch / "test.en"
        smallest.write_texts(options.source, options.reference)
    test = ["--source", options.source, "--reference", options.reference, "--tokenize", options.tokenize]
    bleu = {}
    for name in dict.fromkeys(_with_version(options, name) for name in TRAINED):
        _export(
            getattr(options, name), _version(scratch, name), "--format", "onnx", "--golden", options.source
        )
        (bleu[name],) = (
            score["value"]
            for score in json.loads(_command("evaluate", _version(scratch, name), *test, "--json"))["scores"]
            if score["name"] == "BLEU"
        )
    bleu = {name: bleu[_with_version(options, name)] for name in TRAINED}
    seconds = _turns(scratch, list(TRAINED), options)
    for name, each in seconds.items():
        figures[name] = {"seconds": measure.summary(each, per_call=1), "BLEU": round(bleu[name], 2)}
        print(f"{name}: {figures[name]}", flush=True)
    ratios["student/teacher speed"] = measure.ratio(seconds["student"], seconds["teacher"])
    share = bleu["student"] / bleu["teacher"] if bleu["teacher"] else 1.0
    ratios["student/teacher bleu"] = {"median": share, "low": share, "high": share}


def _turns(scratch: Path, names: Sequence[str], options: argparse.Namespace) -> dict[str, list[float]]:
    files = ["--source", str(options.source), "--reference", str(options.reference)] if options.source else []
    runs = ["--teacher", str(options.teacher), "--student", str(options.student)] if options.source else []
    effort = [f"--{name}" for name in ("smoke", "quick") if getattr(options, name)]
    sides = {name: Side(name, str(scratch), [*files, *runs, *effort]) for name in names}
    try:
        return take_turns(sides, "all", REPEATS.of(options))[1]
    finally:
        for side in sides.values():
            side.close()


def _sizes(options: argparse.Namespace) -> marian_directory.Sizes:
    return marian_directory.SMALLEST if options.smoke else marian_directory.STUDENT


def _batches(options: argparse.Namespace) -> list[list[str]]:
    """Random sentences; the texts of a batch have as many pieces as one another."""
    count = SENTENCES.of(options) // ROWS
    normal = statistics.NormalDist(math.log(PIECES) - SPREAD**2 / 2, SPREAD)
    lengths = [round(math.exp(normal.inv_cdf((number + 0.5) / count))) for number in range(count)]
    sizes = _sizes(options)
    made = {n: iter(marian_directory.texts(sizes, ROWS * lengths.count(n), (n, n))) for n in set(lengths)}
    return [[next(made[length]) for _ in range(ROWS)] for length in lengths]


def _prepared(options: argparse.Namespace) -> tuple[Callable[[], Any], int]:
    """What one side does with all texts."""
    if options.source:
        translate = _onnx(options.scratch, _with_version(options, options.serve))
        texts = options.source.read_text(encoding="utf-8").splitlines()
        return lambda: translate(texts), 0
    batches = _batches(options)
    if options.serve == "student":
        translate = _onnx(options.scratch, "student", AS_LONG_AS_ITS_SOURCE)
    else:
        translate = _ctranslate2(options.scratch)
    return lambda: [translate(batch) for batch in batches], 0


def _onnx(scratch: Path, name: str, limit: tuple[int, int] | None = None) -> Callable[[list[str]], Any]:
    """Translate texts with an exported version; `limit` stands for its own limit of an answer's length."""
    from export.artifact.manifest import open_version
    from export.formats.format import VersionFiles
    from export.formats.registry import open_runtime
    from keras_transformer.text.lengths import AnswerLimit

    version = open_version(_version(scratch, name))
    tokenizer, limits = version.tokenizer, version.manifest.limits
    (chosen,) = (
        each
        for each in version.manifest.runtimes
        if (each.runtime, each.precision) == ("onnx/scheduler", "int8")
    )
    answer_limit = AnswerLimit(*limit) if limit else limits.answer
    files = VersionFiles(version.directory, tokenizer, limits.source_tokens, answer_limit, scores=False)
    runtime: Any = open_runtime(chosen, files)

    def translate(texts: list[str]) -> list[str]:
        rows = tokenizer.encode_source(texts, limits.source_tokens)
        answers = [answer.ids for answer in runtime.translate_ids(rows)]
        assert not limit or [len(row) for row in rows] == [len(ids) for ids in answers]  # noqa: S101
        return tokenizer.decode_target(answers)

    return translate


def _ctranslate2(scratch: Path) -> Callable[[list[str]], Any]:
    import ctranslate2
    import sentencepiece

    directory = _version(scratch, "student") / "ctranslate2"
    translator = ctranslate2.Translator(str(directory), inter_threads=1, intra_threads=1, compute_type="int8")
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(scratch / "marian" / f"{side}.spm"))
        for side in ("source", "target")
    )

    def translate(texts: list[str]) -> list[str]:
        rows = [[*row, "</s>"] for row in source.encode(texts, out_type=str)]
        found = translator.translate_batch(
            rows, beam_size=1, max_batch_size=ROWS, max_decoding_length=len(rows[0])
        )
        assert all(len(each.hypotheses[0]) == len(rows[0]) for each in found)  # noqa: S101
        return [target.decode_pieces(each.hypotheses[0]).replace("▁", " ").strip() for each in found]

    return translate


def _with_version(options: argparse.Namespace, name: str) -> str:
    """Return the first side with the same run: a smoke test has one for both."""
    return next(side for side in TRAINED if getattr(options, side) == getattr(options, name))


def _version(scratch: Path, name: str) -> Path:
    return scratch / "models" / name / "1"


def _export(run: Path, version: Path, *more: object) -> None:
    """Export a run unless that has been done."""
    if not version.exists():
        _command("export", run, "--output", version, "--quantize", "int8", *more)


def _command(*arguments: object) -> str:
    done = subprocess.run([*COMMAND, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
