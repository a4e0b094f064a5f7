"""Target tokens per second of a whole training step, beside PyTorch's nn.Transformer.

    python benchmarks/training.py --json

Same sizes (preset small, 8,000 pieces, 128 sentences of 24 + 24 tokens), same dropout in the same places,
label smoothing 0.1, tied embeddings, clipping; two threads on the same two cores; each side in float32 and in
bfloat16 and counted at its better one. Ours is a step of `train` with its own optimizer; PyTorch is run as
its documentation writes a loop, with its Adam, with autocast for bfloat16, and both eager and with its model
under torch.compile, which needs a C++ compiler. Each side runs in a process of its own, in turns, so that two
thread pools do not fight. Not timed: reading and batching the data, compilation and the first steps.

Also: the highest memory of each process, the padding in an epoch of a corpus (the phrasebook unless --source
and --target name one), and how often model.fit traces its step while it sees all shapes of batches.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import measure
import numpy as np
import smallest

DROPOUT, SMOOTHING = 0.1, 0.1
THREADS = 2
PACKAGES = {"ours": "tensorflow", "pytorch": "torch"}
COMPILED = "pytorch compiled"
PRECISIONS = ("float32", "bfloat16")
ROUNDS = measure.Effort(smoke=1, quick=2, whole=5)
STEPS = measure.Effort(smoke=3, quick=4, whole=8)
PAIRS = measure.Effort(smoke=100, quick=29_000, whole=29_000)


class Sizes(NamedTuple):
    """The network and a batch of it; the network is the preset small."""

    layers: int = 4
    width: int = 256
    inner: int = 1024
    heads: int = 4
    vocabulary: int = 8000
    rows: int = 128
    length: int = 24


WHOLE, SMALLEST = Sizes(), Sizes(1, 16, 16, 2, 50, 4, 8)


def main() -> None:
    """Measure, and print the ratios."""
    parser = measure.parser(__doc__)
    parser.add_argument("--source", type=Path, help="corpus whose padding is counted")
    parser.add_argument("--target", type=Path, help="its other side")
    parser.add_argument("--side", nargs=2, metavar=("SIDE", "PRECISION"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = SMALLEST if options.smoke else WHOLE
    if options.side:
        side, precision = options.side
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
        makers = {"ours": _ours, "pytorch": _pytorch, COMPILED: partial(_pytorch, compiled=True)}
        seconds = _timed(makers[side](precision, sizes), STEPS.of(options))
        print(json.dumps({"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
        return
    sides = measure.installed(PACKAGES, options)
    ways = {side: [side] for side in sides}
    if "pytorch" in sides:
        if any(map(shutil.which, ("g++", "clang++"))):
            ways["pytorch"].append(COMPILED)
        else:
            print(f"left out: {COMPILED} (there is no C++ compiler)")
    contenders = [(way, precision) for side in sides for way in ways[side] for precision in PRECISIONS]
    seconds: dict[tuple[str, str], list[float]] = {contender: [] for contender in contenders}
    peaks: dict[tuple[str, str], float] = dict.fromkeys(contenders, 0)
    for _ in range(ROUNDS.of(options)):
        for contender in contenders:
            found = _child(*contender)
            seconds[contender] += found["seconds"]
            peaks[contender] = max(peaks[contender], found["peak"] / 1e6)
    tokens = sizes.rows * sizes.length
    figures = {
        f"{side} {precision} tokens/s": measure.summary([tokens / s for s in times], per_call=1)
        for (side, precision), times in seconds.items()
    }
    best = {
        side: min((seconds[way, p] for way in ways[side] for p in PRECISIONS), key=np.median)
        for side in sides
    }
    ratios = {f"ours/{peer}": measure.ratio(best["ours"], best[peer]) for peer in sides if peer != "ours"}
    for label, figure in figures.items():
        print(
            f"{label:<32} {figure['median']:8,.0f}  (quartiles {figure['low']:,.0f} to {figure['high']:,.0f})"
        )
    figures |= {f"{side} {precision} peak GB": round(peak, 2) for (side, precision), peak in peaks.items()}
    print("peak GB: " + ", ".join(f"{side} {p} {peak:.2f}" for (side, p), peak in peaks.items()))
    figures.update(_batches(options.source, options.target, PAIRS.of(options)))
    measure.report("training", ["tensorflow", "keras", "torch"], figures, ratios, options.json)


def _child(side: str, precision: str) -> dict[str, Any]:
    command = [sys.executable, __file__, *sys.argv[1:], "--side", side, precision]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout.splitlines()[-1])


def _data(sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    rng, shape = np.random.default_rng(0), (sizes.rows, sizes.length)
    return tuple(rng.integers(4, sizes.vocabulary, shape, dtype=np.int32) for _ in range(2))


def _timed(step: Callable[[], Any], steps: int) -> list[float]:
    for _ in range(3):
        step()
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return seconds


def _ours(precision: str, sizes: Sizes) -> Callable[[], Any]:
    import keras
    import tensorflow as tf

    from keras_transformer import TranslationModel
    from keras_transformer.models.network import Network
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy
    from keras_transformer.training.recipe import Recipe
    from keras_transformer.training.trainer import POLICIES, optimizer

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    keras.utils.set_random_seed(0)
    network = Network(
        sizes.layers, sizes.layers, sizes.width, sizes.inner, sizes.heads, DROPOUT, attention_dropout=DROPOUT
    )
    model = TranslationModel(network, sizes.vocabulary, dtype=POLICIES[precision])
    model.compile(optimizer(Recipe()), LabelSmoothedCrossEntropy(SMOOTHING), jit_compile=False)
    source, target = _data(sizes)
    return lambda: model.train_on_batch({"source": source, "target": target}, target)


def _pytorch(precision: str, sizes: Sizes, compiled: bool = False) -> Callable[[], Any]:
    import torch
    from torch import nn

    torch.set_num_threads(THREADS)
    torch.set_num_interop_threads(THREADS)
    torch.manual_seed(0)
    width = sizes.width

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(sizes.vocabulary, width, padding_idx=0)
            self.positions = nn.Parameter(torch.randn(1, sizes.length, width), requires_grad=False)
            self.dropout = nn.Dropout(DROPOUT)
            self.transformer = nn.Transformer(
                width, sizes.heads, sizes.layers, sizes.layers, sizes.inner, DROPOUT,
                batch_first=True, norm_first=True,
            )  # fmt: skip
            # nn.Transformer drops inner activations too, ours does not: the same places on both sides
            for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
                layer.dropout = nn.Identity()

        def forward(self, source, target):
            source_padding, target_padding = source == 0, target == 0
            causal = nn.Transformer.generate_square_subsequent_mask(sizes.length) != 0
            x, y = (
                self.dropout(self.embedding(ids) * width**0.5 + self.positions) for ids in (source, target)
            )
            decoded = self.transformer(
                x, y, tgt_mask=causal, src_key_padding_mask=source_padding,
                tgt_key_padding_mask=target_padding, memory_key_padding_mask=source_padding,
                tgt_is_causal=True,
            )  # fmt: skip
            return decoded @ self.embedding.weight.T

    model = Model().train()
    forward = torch.compile(model) if compiled else model
    adam = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98), eps=1e-9)
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=SMOOTHING)
    source, target = (torch.from_numpy(ids).long() for ids in _data(sizes))

    def step() -> None:
        adam.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = forward(source, target)
        loss(logits.float().flatten(0, 1), target.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    return step


def _batches(source: Path | None, target: Path | None, count: int) -> dict[str, float]:
    """The padding of an epoch, the shapes of its batches, and the traces of a fit that meets them all."""
    import keras

    from keras_transformer import TranslationModel
    from keras_transformer.phrasebook import phrasebook
    from keras_transformer.text.corpus import read_parallel
    from keras_transformer.text.token_store import TokenStore
    from keras_transformer.text.tokenizer import Tokenizer
    from keras_transformer.training.data.dataset import dataset
    from keras_transformer.training.data.stages import stages
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy
    from keras_transformer.training.recipe import Recipe

    pairs = list(
        read_parallel([source], [target]) if source and target else phrasebook("fr-en", "train", count)
    )
    traces = [0]

    class Counted(TranslationModel):
        def train_step(self, data):
            traces[0] += 1  # Python runs through here once for each trace
            return super().train_step(data)

    recipe = Recipe()
    tokenizer = Tokenizer.train(pairs)
    with tempfile.TemporaryDirectory() as scratch:
        store = TokenStore.write(Path(scratch), pairs, tokenizer, recipe.max_tokens)
        (stage,) = stages(store, recipe)
        plan = stage.plan
        model = Counted.from_preset("tiny", tokenizer, **smallest.NETWORK)
        model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy(), jit_compile=False)
        steps = plan.batches_per_epoch()
        model.fit(dataset([stage], tokenizer.bos_id), steps_per_epoch=steps, shuffle=False, verbose=0)
    buckets = len(plan.buckets)
    print(f"padding {plan.padding:.1%} in an epoch of {steps} batches, {buckets} shapes; {traces[0]} traces")
    return {"padding": plan.padding, "buckets": buckets, "traces": traces[0]}


if __name__ == "__main__":
    main()
