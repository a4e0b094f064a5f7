"""Encoder and decoder, one inference pass and one training step, beside KerasHub's and Keras' own layers.

    python benchmarks/layers.py --json

Same shapes, same dropout in the same places, same padding masks, float32, one thread, post-norm (the one
that KerasHub's blocks and ours both close without a further normalization), each side compiled by
tf.function with and without XLA and counted at its better time. A training step is the forward pass with
dropout and the gradients of all weights. Not timed: tracing, the optimizer, the embedding, the input.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import measure
import numpy as np
import smallest
from compiled import best_of_both, side

PRESETS = {"tiny": (4, 128, 256, 4), "small": (4, 256, 1024, 4), "base": (6, 512, 2048, 8)}
SMALLEST = {smallest.PRESET: (1, 16, 16, 2)}
BATCH, LENGTH, DROPOUT = 32, 24, 0.1
PACKAGES = {"ours": "tensorflow", "keras": "keras", "kerashub": "keras-hub"}
REPEATS = measure.Effort(smoke=3, quick=5, whole=21)


def main() -> None:
    """Measure, and print the ratios."""
    arguments = measure.parser(__doc__)
    arguments.add_argument("--preset", nargs="+", choices=PRESETS, default=list(PRESETS))
    options = arguments.parse_args()
    names = measure.installed(PACKAGES, options)
    presets = SMALLEST if options.smoke else {preset: PRESETS[preset] for preset in options.preset}

    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    figures, ratios = {}, {}
    for preset, sizes in presets.items():
        for part, sides in _contests(names, *sizes).items():
            for kind in ("inference", "training"):
                seconds = best_of_both(sides, kind, REPEATS.of(options))
                for name, times in seconds.items():
                    figures[f"{name} {part} {kind} {preset} ms"] = measure.summary(times)
                for peer in set(sides) - {"ours"}:
                    label = f"ours/{peer} {kind} {part} {preset}"
                    ratios[label] = measure.ratio(seconds["ours"], seconds[peer])
                    print(f"{label}: {ratios[label]['median']:.2f}", flush=True)
    for peer, kind in (
        ("kerashub", "inference"),
        ("kerashub", "training"),
        ("keras", "inference"),
        ("keras", "training"),
    ):
        over = [spread for label, spread in ratios.items() if label.startswith(f"ours/{peer} {kind}")]
        if not over:
            continue
        ratios[f"ours/{peer} {kind}"] = {
            key: float(np.exp(np.mean([np.log(spread[key]) for spread in over])))
            for key in ("median", "low", "high")
        }
    measure.report("layers", PACKAGES.values(), figures, ratios, options.json)


def _contests(names: list[str], layers: int, width: int, inner: int, heads: int) -> dict:
    """part -> side -> (a function of the training flag, its trainable variables)."""
    import keras
    import tensorflow as tf

    import keras_transformer

    rng = np.random.default_rng(0)
    x, memory = (tf.constant(rng.normal(size=(BATCH, LENGTH, width)).astype("float32")) for _ in range(2))
    real = tf.constant(np.arange(LENGTH) < rng.integers(LENGTH // 2, LENGTH + 1, (BATCH, 1)))

    settings = {"num_heads": heads, "inner_width": inner, "dropout": DROPOUT, "attention_dropout": DROPOUT}
    encoder = keras_transformer.TransformerEncoder(layers, norm_first=False, **settings)
    decoder = keras_transformer.TransformerDecoder(layers, norm_first=False, **settings)
    attention = keras_transformer.MultiHeadSelfAttention(heads, dropout=DROPOUT)
    keras_attention = keras.layers.MultiHeadAttention(heads, width // heads, dropout=DROPOUT)

    contests = {
        "encoder": {
            "ours": side(lambda training: encoder(x, mask=real, training=training), [encoder]),
        },
        "decoder": {
            "ours": side(
                lambda training: decoder(x, memory, inputs_mask=real, memory_mask=real, training=training),
                [decoder],
            ),
        },
        "attention": {
            "ours": side(lambda training: attention(x, mask=real, training=training), [attention]),
            "keras": side(
                lambda training: keras_attention(x, x, value_mask=real, training=training), [keras_attention]
            ),
        },
    }
    if "kerashub" in names:
        for part, theirs in _kerashub(layers, inner, heads, x, memory, real).items():
            contests[part]["kerashub"] = theirs
    return contests


def _kerashub(layers: int, inner: int, heads: int, x, memory, real) -> dict:
    import keras_hub

    settings = {"intermediate_dim": inner, "num_heads": heads, "dropout": DROPOUT, "activation": "relu"}
    encoder = [keras_hub.layers.TransformerEncoder(**settings) for _ in range(layers)]
    decoder = [keras_hub.layers.TransformerDecoder(**settings) for _ in range(layers)]

    def encode(training: bool):
        y = x
        for layer in encoder:
            y = layer(y, padding_mask=real, training=training)
        return y

    def decode(training: bool):
        y = x
        for layer in decoder:
            y = layer(y, memory, decoder_padding_mask=real, encoder_padding_mask=real, training=training)
        return y

    return {"encoder": side(encode, encoder), "decoder": side(decode, decoder)}


if __name__ == "__main__":
    main()
