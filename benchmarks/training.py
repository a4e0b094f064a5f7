"""Target tokens per second of a whole training step, beside PyTorch's nn.Transformer.

    python benchmarks/training.py --json

Same sizes (preset small, 8,000 pieces, 128 sentences of 24 + 24 tokens), same dropout in the same places,
label smoothing 0.1, tied embeddings, clipping, Adam; two threads; each side in float32 and in bfloat16 and
counted at its better one. PyTorch is run as its documentation writes a loop, eager, with autocast for
bfloat16. Each side runs in a process of its own, in turns, so that two thread pools do not fight. Not timed:
reading and batching the data, compilation and the first steps.

Also: the padding in an epoch of a corpus (the phrasebook unless --source and --target name one), and how
often model.fit traces its step while it sees all shapes of batches.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import numpy as np

LAYERS, WIDTH, INNER, HEADS, VOCABULARY = 4, 256, 1024, 4, 8000
ROWS, LENGTH, DROPOUT, SMOOTHING = 128, 24, 0.1, 0.1
SIDES = ("ours", "pytorch")
PRECISIONS = ("float32", "bfloat16")


def main() -> None:
    """Measure, and print the ratios."""
    parser = measure.parser(__doc__)
    parser.add_argument("--source", type=Path, help="corpus whose padding is counted")
    parser.add_argument("--target", type=Path, help="its other side")
    parser.add_argument("--side", nargs=3, help="side, precision, steps: what a child process is told")
    options = parser.parse_args()
    if options.side:
        side, precision, steps = options.side
        print(json.dumps({"ours": _ours, "pytorch": _pytorch}[side](precision, int(steps))))
        return
    rounds, steps = (2, 4) if options.quick else (5, 8)
    contenders = [(side, precision) for side in SIDES for precision in PRECISIONS]
    seconds: dict[tuple[str, str], list[float]] = {contender: [] for contender in contenders}
    for _ in range(rounds):
        for contender in contenders:
            seconds[contender] += _child(*contender, steps)
    figures = {
        f"{side} {precision} tokens/s": measure.summary([ROWS * LENGTH / s for s in times], per_call=1)
        for (side, precision), times in seconds.items()
    }
    best = {side: min((seconds[side, p] for p in PRECISIONS), key=np.median) for side in SIDES}
    ratios = {"ours/pytorch": measure.ratio(best["ours"], best["pytorch"])}
    for label, figure in figures.items():
        print(
            f"{label:<32} {figure['median']:8,.0f}  (quartiles {figure['low']:,.0f} to {figure['high']:,.0f})"
        )
    figures.update(_batches(options.source, options.target))
    measure.report("training", ["tensorflow", "keras", "torch"], figures, ratios, options.json)


def _child(side: str, precision: str, steps: int) -> list[float]:
    command = [sys.executable, __file__, "--side", side, precision, str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return tuple(rng.integers(4, VOCABULARY, (ROWS, LENGTH), dtype=np.int32) for _ in range(2))


def _timed(step, steps: int) -> list[float]:
    for _ in range(3):
        step()
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return seconds


def _ours(precision: str, steps: int) -> list[float]:
    import keras

    from keras_transformer import TranslationModel
    from keras_transformer.models.network import Network
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy
    from keras_transformer.training.trainer import POLICIES

    keras.utils.set_random_seed(0)
    network = Network(LAYERS, LAYERS, WIDTH, INNER, HEADS, DROPOUT, attention_dropout=DROPOUT)
    model = TranslationModel(network, VOCABULARY, dtype=POLICIES[precision])
    adam = keras.optimizers.Adam(1e-4, beta_2=0.98, epsilon=1e-9, global_clipnorm=1.0)
    model.compile(adam, LabelSmoothedCrossEntropy(SMOOTHING), jit_compile=False)
    source, target = _data()
    return _timed(lambda: model.train_on_batch({"source": source, "target": target}, target), steps)


def _pytorch(precision: str, steps: int) -> list[float]:
    import torch
    from torch import nn

    torch.set_num_threads(2)
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
            self.positions = nn.Parameter(torch.randn(1, LENGTH, WIDTH), requires_grad=False)
            self.dropout = nn.Dropout(DROPOUT)
            self.transformer = nn.Transformer(
                WIDTH, HEADS, LAYERS, LAYERS, INNER, DROPOUT, batch_first=True, norm_first=True
            )
            # nn.Transformer drops inner activations too, ours does not: the same places on both sides
            for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
                layer.dropout = nn.Identity()

        def forward(self, source, target):
            source_padding, target_padding = source == 0, target == 0
            causal = nn.Transformer.generate_square_subsequent_mask(LENGTH) != 0
            x, y = (
                self.dropout(self.embedding(ids) * WIDTH**0.5 + self.positions) for ids in (source, target)
            )
            decoded = self.transformer(
                x, y, tgt_mask=causal, src_key_padding_mask=source_padding,
                tgt_key_padding_mask=target_padding, memory_key_padding_mask=source_padding,
                tgt_is_causal=True,
            )  # fmt: skip
            return decoded @ self.embedding.weight.T

    model = Model().train()
    adam = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98), eps=1e-9)
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=SMOOTHING)
    source, target = (torch.from_numpy(ids).long() for ids in _data())

    def step() -> None:
        adam.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = model(source, target)
        loss(logits.float().flatten(0, 1), target.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    return _timed(step, steps)


def _batches(source: Path | None, target: Path | None) -> dict[str, float]:
    """The padding of an epoch, the shapes of its batches, and the traces of a fit that meets them all."""
    import keras

    from keras_transformer import TranslationModel
    from keras_transformer.text.batches import BatchPlan
    from keras_transformer.text.corpus import read_parallel
    from keras_transformer.text.phrasebook import phrasebook
    from keras_transformer.text.token_store import TokenStore
    from keras_transformer.text.tokenizer import Tokenizer
    from keras_transformer.training.feed import feed
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy
    from keras_transformer.training.recipe import Recipe
    from keras_transformer.training.trainer import shapes

    pairs = list(
        read_parallel([source], [target]) if source and target else phrasebook("fr-en", "train", 29_000)
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
        plan = BatchPlan(store.lengths(), recipe.tokens, recipe.seed, shapes(recipe))
        model = Counted.from_preset("tiny", tokenizer, width=8, inner_width=8, num_heads=1)
        model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy(), jit_compile=False)
        steps = plan.batches_per_epoch()
        model.fit(feed(store, plan, tokenizer.bos_id), steps_per_epoch=steps, shuffle=False, verbose=0)
    buckets = len(plan.buckets)
    print(f"padding {plan.padding:.1%} in an epoch of {steps} batches, {buckets} shapes; {traces[0]} traces")
    return {"padding": plan.padding, "buckets": buckets, "traces": traces[0]}


if __name__ == "__main__":
    main()
