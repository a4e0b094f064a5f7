"""BERT and ViT, one inference pass and one training step, beside KerasHub's backbones.

    python benchmarks/families.py --json

Same sizes, same weights, same inputs with the same padding, float32, one thread; before anything is timed,
the outputs are compared. Each side is compiled by tf.function with and without XLA, and counted at its better
time. A training step is the forward pass with dropout and the gradients of all weights as tensors. Not timed:
tracing, the optimizer, the tokenizer, the heads (KerasHub's ViT has a classifier of this script).
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from collections.abc import Callable
from typing import Any

import measure
import numpy as np
from compiled import Side, best_of_both, side

BERT = {"num_layers": 4, "width": 256, "inner_width": 1024, "num_heads": 4, "vocabulary_size": 8000}
VIT = {"num_layers": 6, "width": 192, "inner_width": 768, "num_heads": 3}
SMALLEST = {"num_layers": 1, "width": 8, "inner_width": 8, "num_heads": 2}
BATCH, LENGTH, IMAGE, PATCH = 8, 64, 96, 16
PACKAGES = {"ours": "tensorflow", "kerashub": "keras-hub"}
REPEATS = measure.Effort(smoke=3, quick=7, whole=31)
TOLERANCE = 1e-3  # of outputs that are normalized

Contest = Callable[[bool, list[str]], dict[str, Side]]


def main() -> None:
    """Measure, and print the ratios."""
    arguments = measure.parser(__doc__)
    arguments.add_argument("--family", nargs="+", choices=CONTESTS, default=list(CONTESTS))
    options = arguments.parse_args()
    names = measure.installed(PACKAGES, options)

    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    figures, ratios = {}, {}
    for family in options.family:
        sides = CONTESTS[family](options.smoke, names)
        _compare(family, sides)
        for kind in ("inference", "training"):
            seconds = best_of_both(sides, kind, REPEATS.of(options))
            for name, times in seconds.items():
                figures[f"{name} {family} {kind} ms"] = measure.summary(times)
            for peer in sides.keys() - {"ours"}:
                label = f"ours/{peer} {family} {kind}"
                ratios[label] = measure.ratio(seconds["ours"], seconds[peer])
                print(f"{label}: {ratios[label]['median']:.2f}", flush=True)
    measure.report("families", PACKAGES.values(), figures, ratios, options.json)


def _compare(family: str, sides: dict[str, Side]) -> None:
    """Stop where two sides compute different outputs."""
    outputs = {name: np.asarray(one.call(False)) for name, one in sides.items()}
    for name, output in outputs.items():
        difference = float(np.abs(output - outputs["ours"]).max())
        if difference > TOLERANCE:
            raise SystemExit(f"{family}: the outputs of ours and {name} differ by {difference:.2g}")


def _bert(smoke: bool, names: list[str]) -> dict[str, Side]:
    import tensorflow as tf

    from keras_transformer.models import Bert

    sizes = {**BERT, **(SMALLEST if smoke else {})}
    bert = Bert.from_preset("tiny", activation="gelu_tanh", **sizes)  # KerasHub's BERT has no other GELU
    rng = np.random.default_rng(0)
    real = np.arange(LENGTH) < rng.integers(LENGTH // 2, LENGTH + 1, (BATCH, 1))
    ids = tf.constant(np.where(real, rng.integers(1, sizes["vocabulary_size"], real.shape), 0), "int32")
    types = tf.constant(rng.integers(0, 2, real.shape), "int32")
    inputs = {"ids": ids, "token_types": types}
    sides = {"ours": side(lambda training: bert(inputs, training=training), [bert])}
    if "kerashub" not in names:
        return sides
    import keras_hub

    peer = keras_hub.models.BertBackbone(
        sizes["vocabulary_size"],
        sizes["num_layers"],
        sizes["num_heads"],
        sizes["width"],
        sizes["inner_width"],
    )
    _copy(bert.embedding, peer.token_embedding)
    _copy(bert.positions, peer.position_embedding)
    _copy(bert.token_types, peer.segment_embedding)
    _copy(bert.embedding_norm, peer.embeddings_layer_norm)
    for ours, theirs in zip(bert.encoder.blocks, peer.transformer_layers, strict=True):
        _copy_attention(ours.self_attention, theirs._self_attention_layer)
        _copy(ours.self_attention_norm, theirs._self_attention_layer_norm)
        _copy(ours.feed_forward.inner, theirs._feedforward_intermediate_dense)
        _copy(ours.feed_forward.outer, theirs._feedforward_output_dense)
        _copy(ours.feed_forward_norm, theirs._feedforward_layer_norm)
    padding = {"token_ids": ids, "segment_ids": types, "padding_mask": tf.cast(real, "int32")}
    layers = [layer for layer in peer.layers if layer is not peer.pooled_dense]
    sides["kerashub"] = side(lambda training: peer(padding, training=training)["sequence_output"], layers)
    return sides


def _vit(smoke: bool, names: list[str]) -> dict[str, Side]:
    import tensorflow as tf

    from keras_transformer.models import ViT

    sizes = {**VIT, **(SMALLEST if smoke else {})}
    vit = ViT.from_preset(
        "tiny", labels=list("abcdefghij"), image_size=(IMAGE, IMAGE), patch_size=(PATCH, PATCH), epsilon=1e-6,
        **sizes,
    )  # fmt: skip
    pixels = tf.constant(np.random.default_rng(0).normal(size=(BATCH, IMAGE, IMAGE, 3)), "float32")
    sides = {"ours": side(lambda training: vit(pixels, training=training), [vit])}
    if "kerashub" not in names:
        return sides
    import keras
    import keras_hub

    peer = keras_hub.models.ViTBackbone(
        (IMAGE, IMAGE, 3),
        PATCH,
        sizes["num_layers"],
        sizes["num_heads"],
        sizes["width"],
        sizes["inner_width"],
    )
    classifier = keras.layers.Dense(10)
    classifier.build((None, sizes["width"]))
    _copy(vit.classifier, classifier)
    embedding, encoder = peer.get_layer("vit_patching_and_embedding"), peer.get_layer("vit_encoder")
    _copy(vit.patches, embedding.patch_embedding)
    embedding.class_token.assign(vit.class_token.vector)
    _copy(vit.positions, embedding.position_embedding)
    for ours, theirs in zip(vit.encoder.blocks, encoder.encoder_layers, strict=True):
        _copy_attention(ours.self_attention, theirs.mha)
        _copy(ours.self_attention_norm, theirs.layer_norm_1)
        _copy(ours.feed_forward.inner, theirs.mlp.dense_1)
        _copy(ours.feed_forward.outer, theirs.mlp.dense_2)
        _copy(ours.feed_forward_norm, theirs.layer_norm_2)
    _copy(vit.encoder.norm, encoder.layer_norm)
    sides["kerashub"] = side(
        lambda training: classifier(peer(pixels, training=training)[:, 0]), [peer, classifier]
    )
    return sides


CONTESTS: dict[str, Contest] = {"bert": _bert, "vit": _vit}


def _copy(ours: Any, theirs: Any) -> None:
    theirs.set_weights(ours.get_weights())


def _copy_attention(ours: Any, theirs: Any) -> None:
    """Copy a fused projection into one for each of queries, keys and values, with an axis for the heads."""
    kernel, bias = ours.query_key_value_projection.get_weights()
    width, heads = kernel.shape[0], ours.num_heads
    parts = (theirs.query_dense, theirs.key_dense, theirs.value_dense)
    for dense, part, shift in zip(parts, np.split(kernel, 3, axis=1), np.split(bias, 3), strict=True):
        dense.set_weights([part.reshape(width, heads, -1), shift.reshape(heads, -1)])
    kernel, bias = ours.output_projection.get_weights()
    theirs.output_dense.set_weights([kernel.reshape(heads, -1, width), bias])


if __name__ == "__main__":
    main()
