"""Target tokens per second of two workers that train together, beside two processes that exchange nothing.

    python benchmarks/multihost.py --json

Both run the step of `train` in the same two processes, one core and one thread each, in turns: a step
together, a step apart, so that a noisy moment of the machine meets both. The ratio is that of two workers to
one that has its core while the other core is as busy: 2 is perfect. Random ids, 8,000 pieces, 24 tokens a
sentence; 2,048 target tokens a worker and step, and 8,192, the recipe's own batch for a large corpus.
Not timed: starting, joining, tracing, compilation, reading the data, validation. --quick leaves out the two
slowest cases.

From the figures follows a model of more machines: a step takes as long as apart, the work of the exchange as
measured here for each byte, and the bytes of a ring over half of the line. Nothing is overlapped.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import measure
import numpy as np
import smallest

from keras_transformer.cores import ONE_CORE

VOCABULARY, LENGTH, WORKERS = 8000, 24, 2
USABLE = 0.5  # share of a line that a ring over TCP gets
ROUNDS = measure.Effort(smoke=3, quick=3, whole=9)
LINES, MACHINES = (10, 100), (8, 64)  # Gbit/s; number of machines


class Case(NamedTuple):
    """What is measured: a network, a precision, and the target tokens of a worker in a step."""

    preset: str
    precision: str
    tokens: int

    def __str__(self) -> str:
        return f"{self.preset} {self.precision}{' recipe' if self.tokens > 2048 else ''}"


QUICK = [
    Case("small", "float32", 2048),
    Case("small", "bfloat16", 2048),
    Case("small", "bfloat16", 8192),
    Case("base", "bfloat16", 2048),
]
WHOLE = [*QUICK, Case("small", "float32", 8192), Case("base", "float32", 2048)]
SMALLEST = [Case(smallest.PRESET, "float32", 48)]


def main() -> None:
    """Measure, and print the ratios."""
    parser = measure.parser(__doc__)
    parser.add_argument("--worker", nargs=2, metavar=("CLUSTER", "RANK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = SMALLEST if options.smoke else QUICK if options.quick else WHOLE
    rounds = ROUNDS.of(options)
    if options.worker:
        cluster, rank = options.worker
        work(cluster.split(","), int(rank), cases, rounds)
        return
    figures, ratios = {}, {}
    for case, result in zip(cases, _children(), strict=True):
        apart, together, count = result["apart"], result["together"], 4 * result["parameters"]
        tokens = case.tokens // LENGTH * LENGTH
        figures |= {
            f"{case} apart tokens/s": measure.summary([WORKERS * tokens / s for s in apart], per_call=1),
            f"{case} together tokens/s": measure.summary(
                [WORKERS * tokens / s for s in together], per_call=1
            ),
            f"{case} bytes a step": count,
            **_model(case, float(np.median(apart)), float(np.median(together)), count),
        }
        paired = zip(apart, together, strict=True)
        ratios[f"{WORKERS} workers/1 worker {case}"] = measure.summary(
            [WORKERS * alone / exchanged for alone, exchanged in paired], per_call=1
        )
    for label, figure in figures.items():
        print(f"{label:<52} {figure['median'] if isinstance(figure, dict) else figure:10,.2f}")
    measure.report("multihost", ["tensorflow", "keras"], figures, ratios, options.json)


def _model(case: Case, apart: float, together: float, count: int) -> dict[str, float]:
    """Return how many machines' worth of work that many machines do."""
    figures = {}
    work_of_a_byte = max(0.0, together - apart) / count  # two workers send each byte once: 2 (N - 1) / N = 1
    for machines in MACHINES:
        sent = 2 * (machines - 1) / machines * count
        for line in LINES:
            step = apart + sent * work_of_a_byte + sent / (USABLE * line * 1e9 / 8)
            figures[f"{case} model: {machines} machines, {line} Gbit/s"] = round(machines * apart / step, 2)
    return figures


def _children() -> list[dict[str, Any]]:
    """Run the workers, and return what worker 0 measured."""
    ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(WORKERS)]
    cluster = ",".join(f"127.0.0.1:{port.getsockname()[1]}" for port in ports)
    for port in ports:
        port.close()
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", cluster]
    environment = {**os.environ, **ONE_CORE}
    children = [
        subprocess.Popen([*command, str(rank)], env=environment, stdout=subprocess.PIPE, text=True)
        for rank in range(WORKERS)
    ]
    try:
        output, *_ = [child.communicate(timeout=1500)[0] for child in children]
    finally:
        for child in children:
            child.kill()
    if any(child.returncode for child in children):
        raise SystemExit("a worker has failed")
    return json.loads(output.splitlines()[-1])


def work(addresses: list[str], rank: int, cases: list[Case], rounds: int) -> None:
    """Measure all cases as one of the workers; worker 0 prints the seconds of a step."""
    from keras_transformer.training.cluster.exchange import start_tensorflow
    from keras_transformer.training.cluster.workers import Workers

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    results = []
    with Workers(addresses, rank) as workers:
        workers.join()
        cluster = start_tensorflow(workers)
        for case in cases:
            together, parameters = _step(case, WORKERS, rank)
            apart, _ = _step(case, 1, rank)
            seconds: dict[str, list[float]] = {"apart": [], "together": []}
            for turn in range(rounds + 1):
                for name, step in (("apart", apart), ("together", together)):
                    workers.gather(None)
                    workers.broadcast()
                    began = time.perf_counter()
                    step()
                    taken = workers.gather(time.perf_counter() - began)
                    if turn:  # the first one warms up
                        seconds[name].append(statistics.harmonic_mean(taken))  # the mean of their speeds
            results.append({**seconds, "parameters": parameters})
        del cluster
    if rank == 0:
        print(json.dumps(results), flush=True)
    os._exit(0)  # as the command does: TensorFlow's threads go on


def _step(case: Case, workers: int, rank: int) -> tuple[Callable[[], Any], int]:
    """Return a call that trains for a step, and the number of parameters."""
    import keras

    from keras_transformer import TranslationModel
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy
    from keras_transformer.training.recipe import Recipe
    from keras_transformer.training.trainer import POLICIES, optimizer

    keras.utils.set_random_seed(0)
    model = TranslationModel(smallest.network(case.preset), VOCABULARY, dtype=POLICIES[case.precision])
    recipe = Recipe(gradient_accumulation_steps=workers)
    model.compile(
        optimizer(recipe, workers), LabelSmoothedCrossEntropy(0.1, reduction="sum"), jit_compile=False
    )
    shape = (case.tokens // LENGTH, LENGTH)
    rng = np.random.default_rng(rank)
    source, target = (rng.integers(4, VOCABULARY, shape, dtype=np.int32) for _ in range(2))
    weights = np.full(shape, 1 / source.size, np.float32)
    inputs = {"source": source, "target": target}
    model.train_on_batch(inputs, target, weights)  # trace and compile
    return lambda: model.train_on_batch(inputs, target, weights), model.count_params()


if __name__ == "__main__":
    main()
