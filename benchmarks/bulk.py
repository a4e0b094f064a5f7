"""A corpus that several workers translate: 2 workers beside 1, by Ray Data and by a pool of processes.

    python benchmarks/bulk.py --json
    python benchmarks/bulk.py --engine ray --model build/demo/models/fr-en/1 --json

The corpus is four gzipped files of random words and takes one worker a minute; the version is of preset small
with random weights, whose answers end, on ONNX Runtime in float32. Each worker is a process with one thread.
The ratio is that of lines per second from the moment at which the first shard is begun, the opening of the
model included, until the last file is joined. *Not* in that ratio, but told for itself: the start, which is
that of Python's processes, or of Ray with its own ones. Both engines and every number of workers have to give
the same bytes. --quick: a third of the lines. --smoke: the processes alone unless --engine names Ray, whose
start takes ten seconds of processor time, and a model that answers in capitals.
"""

import argparse
import gzip
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import measure
import numpy as np

LINES = measure.Effort(smoke=40, quick=5_000, whole=15_000)
FILES = 4
WORDS = (2, 20)  # of a line
WORKERS = (1, 2)
LABELS = {"ray": "actor", "processes": "process"}
PACKAGES = {"ray": "ray", "processes": "onnxruntime"}


def main() -> None:
    """Every engine with every number of workers."""
    parser = measure.parser(__doc__)
    parser.add_argument("--engine", choices=LABELS, nargs="+")
    parser.add_argument("--model", type=Path, help="an exported version (preset small with random weights)")
    options = parser.parse_args()
    wanted = options.engine or (["processes"] if options.smoke else list(LABELS))
    engines = measure.installed({engine: PACKAGES[engine] for engine in wanted}, options)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="bulk-") as scratch:
        task = _task(Path(scratch) / "1", options)
        _write_corpus(Path(scratch) / "in", LINES.of(options))
        for engine in engines:
            for workers in WORKERS:
                output = Path(scratch) / f"{engine}-{workers}"
                figures[f"{engine} {workers}"] = found = _translated(task, engine, workers, output)
                print(f"{engine}, {workers}: {found}", flush=True)
    if len({found.pop("sha256") for found in figures.values()}) > 1:
        raise SystemExit("the engines give different bytes")
    ratios = {}
    for engine in engines:
        one, two = (figures[f"{engine} {workers}"] for workers in WORKERS)
        for timed, name in (("seconds", ""), ("seconds with the start", " with the start")):
            label = f"2 {LABELS[engine]}{'s' if engine == 'ray' else 'es'}/1 {LABELS[engine]}{name}"
            ratios[label] = dict.fromkeys(("median", "low", "high"), round(one[timed] / two[timed], 4))
    measure.report("bulk", ["onnxruntime", "ray", "pyarrow"], figures, ratios, options.json)


def _task(path: Path, options: argparse.Namespace) -> Any:
    """Return what workers have to know: how they open a version, which is exported here if none is named."""
    from keras_transformer.bulk.worker import Task
    from keras_transformer.cli._bulk import SEARCH, open_in_worker

    if options.smoke:
        return Task(partial(partial, map, str.upper))  # which every process can import
    if options.model is None:
        from served.untrained import export_untrained

        export_untrained("small", path, ("onnx",))
    model = (options.model or path).absolute()
    return Task(partial(open_in_worker, argparse.Namespace(model=model, **SEARCH)))


def _write_corpus(directory: Path, lines: int) -> None:
    directory.mkdir()
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(20_000)]
    for index in range(FILES):
        texts = (" ".join(rng.choice(words, rng.integers(*WORDS))) for _ in range(lines // FILES))
        content = "".join(f"{text}\n" for text in texts).encode()
        (directory / f"{index}.txt.gz").write_bytes(gzip.compress(content, mtime=0))


def _translated(task: Any, engine: str, workers: int, output: Path) -> dict[str, Any]:
    """Translate the corpus once; return the seconds, the memory of a worker and the sum of all bytes."""
    from keras_transformer.bulk.corpus_files import matching
    from keras_transformer.bulk.corpus_job import Job

    job = Job(matching(f"{output.parent}/in/*", output), output, task, {})
    start = time.monotonic()
    first, lines, memory = float("inf"), 0, 0
    with job.begun():
        for done in _results(job, engine, workers):
            if done.seconds:
                first = min(first, time.monotonic() - done.seconds)
                lines, memory = lines + done.count, max(memory, done.memory)
            job.add(done)
    end = time.monotonic()
    whole = hashlib.sha256(b"".join((output / source.name).read_bytes() for source in job.inputs))
    return {
        "lines": lines,
        "seconds": round(end - first, 2),
        "lines a second": round(lines / (end - first), 1),
        "start, seconds": round(first - start, 2),
        "seconds with the start": round(end - start, 2),
        "worker, MiB": round(memory / 2**20),
        "sha256": whole.hexdigest(),
    }


def _results(job: Any, engine: str, workers: int) -> Iterator[Any]:
    from keras_transformer.bulk import processes, ray_data
    from keras_transformer.bulk.shards import Failed

    shards = chain.from_iterable(map(job.cut, job.unfinished()))
    results = (
        ray_data.translated(job, workers)
        if engine == "ray"
        else processes.translated(job.task, shards, workers)
    )
    for result in results:
        if isinstance(result, Failed):
            sys.exit(result.message)
        yield result


if __name__ == "__main__":
    main()
