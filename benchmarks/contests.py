"""A network of each family and KerasHub's backbone, with the same sizes, weights and inputs.

The encoders read padded rows, the language models full ones, T5 a padded source and a full target.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from compiled import Side, side

BERT_SIZES = {"num_layers": 4, "width": 256, "inner_width": 1024, "num_heads": 4, "vocabulary_size": 8000}
GPT2_SIZES = {**BERT_SIZES, "max_length": 128}
LLAMA_SIZES = {**BERT_SIZES, "inner_width": 704, "num_key_value_heads": 2}
T5_SIZES = {"width": 256, "inner_width": 704, "num_heads": 4, "head_width": 64, "vocabulary_size": 8000}
T5_LAYERS = 2  # of the encoder, and of the decoder
VIT_SIZES = {"num_layers": 6, "width": 192, "inner_width": 768, "num_heads": 3}
SMALLEST = {"num_layers": 1, "width": 8, "inner_width": 8, "num_heads": 2}
FEW_PIECES = {"vocabulary_size": 100}  # with SMALLEST: the logits would cost more than the network
BATCH, LENGTH, IMAGE, PATCH = 8, 64, 96, 16

Contest = Callable[[bool, list[str]], dict[str, Side]]


def _bert(smoke: bool, names: list[str]) -> dict[str, Side]:
    import tensorflow as tf

    from keras_transformer.models import Bert

    sizes = {**BERT_SIZES, **(SMALLEST | FEW_PIECES if smoke else {})}
    bert = Bert.from_preset("tiny", activation="gelu_tanh", **sizes)  # KerasHub's BERT has no other GELU
    ids = _padded_rows(sizes)
    types = tf.constant(np.random.default_rng(0).integers(0, 2, ids.shape), "int32")
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
        _copy_block(ours, theirs)
    padding = {"token_ids": ids, "segment_ids": types, "padding_mask": tf.cast(ids != 0, "int32")}
    layers = [layer for layer in peer.layers if layer is not peer.pooled_dense]
    sides["kerashub"] = side(lambda training: peer(padding, training=training)["sequence_output"], layers)
    return sides


def _gpt2(smoke: bool, names: list[str]) -> dict[str, Side]:
    from keras_transformer.models import GPT2

    sizes = {**GPT2_SIZES, **(SMALLEST | FEW_PIECES if smoke else {})}
    model = GPT2.from_preset("tiny", attention_dropout=0.1, **sizes)
    ids = _full_rows(sizes)
    sides = {"ours": side(lambda training: model(ids, training=training), [model])}
    if "kerashub" not in names:
        return sides
    import keras_hub

    peer = keras_hub.models.GPT2Backbone(
        sizes["vocabulary_size"],
        sizes["num_layers"],
        sizes["num_heads"],
        sizes["width"],
        sizes["inner_width"],
        max_sequence_length=sizes["max_length"],
    )
    _copy(model.embedding, peer.token_embedding)
    _copy(model.positions, peer.position_embedding)
    for ours, theirs in zip(model.decoder.blocks, peer.transformer_layers, strict=True):
        _copy_block(ours, theirs)
    _copy(model.decoder.norm, peer.layer_norm)
    sides["kerashub"] = side(_language_model(peer, ids), [peer])
    return sides


def _llama(smoke: bool, names: list[str]) -> dict[str, Side]:
    from keras_transformer.models import Llama

    sizes = {**LLAMA_SIZES, **(SMALLEST | FEW_PIECES if smoke else {})}
    model = Llama.from_preset("tiny", **sizes)
    ids = _full_rows(sizes)
    sides = {"ours": side(lambda training: model(ids, training=training), [model])}
    if "kerashub" not in names:
        return sides
    import keras_hub

    peer = keras_hub.models.LlamaBackbone(
        sizes["vocabulary_size"],
        sizes["num_layers"],
        sizes["num_heads"],
        sizes["width"],
        sizes["inner_width"],
        sizes["num_key_value_heads"],
    )
    peer.token_embedding.set_weights([*model.embedding.get_weights(), model.untied_output.get_weights()[0].T])
    for ours, theirs in zip(model.decoder.blocks, peer.transformer_layers, strict=True):
        _copy_attention(ours.self_attention, theirs._self_attention_layer, "_{}_dense")
        _copy(ours.self_attention_norm, theirs._self_attention_layernorm)
        _copy(ours.feed_forward.inner, theirs._feedforward_gate_dense)
        _copy(ours.feed_forward.linear, theirs._feedforward_intermediate_dense)
        _copy(ours.feed_forward.outer, theirs._feedforward_output_dense)
        _copy(ours.feed_forward_norm, theirs._feedforward_layernorm)
    _copy(model.decoder.norm, peer.layer_norm)
    sides["kerashub"] = side(_language_model(peer, ids), [peer])
    return sides


def _t5(smoke: bool, names: list[str]) -> dict[str, Side]:
    import tensorflow as tf

    from keras_transformer.models import T5

    smallest = {"width": 8, "inner_width": 8, "num_heads": 2, "head_width": 4, **FEW_PIECES}
    sizes = {**T5_SIZES, **(smallest if smoke else {})}
    layers = 1 if smoke else T5_LAYERS
    # the scores as in T5's own weights, which KerasHub's network expects
    model = T5.from_preset("tiny", encoder_layers=layers, decoder_layers=layers, score_scale=1.0, **sizes)
    source, target = _padded_rows(sizes), _full_rows(sizes)
    inputs = {"source": source, "target": target}
    sides = {"ours": side(lambda training: model(inputs, training=training), [model])}
    if "kerashub" not in names:
        return sides
    import keras
    import keras_hub

    peer = keras_hub.models.T5Backbone(
        sizes["vocabulary_size"],
        layers,
        sizes["num_heads"],
        sizes["width"],
        sizes["inner_width"],
        key_value_dim=sizes["head_width"],
        activation=lambda x: keras.activations.gelu(x, approximate=True),
        tie_embedding_weights=False,
    )
    peer.token_embedding.set_weights([*model.embedding.get_weights(), model.untied_output.get_weights()[0].T])
    stacks = (
        (model.encoder, peer.encoder_transformer_layers, peer.encoder_layer_norm),
        (model.decoder, peer.decoder_transformer_layers, peer.decoder_layer_norm),
    )
    for stack, their_layers, norm in stacks:
        their_layers[0].self_attention.relative_attention_bias.assign(stack.position_bias.table)
        _copy(stack.norm, norm)
        for ours, theirs in zip(stack.blocks, their_layers, strict=True):
            _copy_t5_block(ours, theirs)
    rows = {
        "encoder_token_ids": source,
        "encoder_padding_mask": tf.cast(source != 0, "int32"),
        "decoder_token_ids": target,
        "decoder_padding_mask": tf.ones_like(target),
    }
    table = peer.token_embedding
    sides["kerashub"] = side(
        lambda training: table(peer(rows, training=training)["decoder_sequence_output"], reverse=True), [peer]
    )
    return sides


def _copy_t5_block(ours: Any, theirs: Any) -> None:
    _copy_attention(ours.self_attention, theirs.self_attention, "{}_projector")
    _copy(ours.self_attention_norm, theirs.self_attention_layer_norm)
    _copy(ours.feed_forward.inner, theirs.input_projector)
    _copy(ours.feed_forward.linear, theirs.gate_projector)
    _copy(ours.feed_forward.outer, theirs.output_projector)
    _copy(ours.feed_forward_norm, theirs.layer_norm)
    if theirs.is_decoder:
        attention = theirs.cross_attention
        _copy(ours.cross_attention.query_projection, attention.query_projector)
        keys, values = np.split(ours.cross_attention.key_value_projection.get_weights()[0], 2, axis=1)
        attention.key_projector.set_weights([keys])
        attention.value_projector.set_weights([values])
        _copy(ours.cross_attention.output_projection, attention.output_projector)
        _copy(ours.cross_attention_norm, theirs.cross_attention_layer_norm)


def _vit(smoke: bool, names: list[str]) -> dict[str, Side]:
    import tensorflow as tf

    from keras_transformer.models import ViT

    sizes = {**VIT_SIZES, **(SMALLEST if smoke else {})}
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


CONTESTS: dict[str, Contest] = {"bert": _bert, "gpt2": _gpt2, "llama": _llama, "t5": _t5, "vit": _vit}


def _full_rows(sizes: dict[str, int]) -> Any:
    import tensorflow as tf

    return tf.constant(
        np.random.default_rng(1).integers(1, sizes["vocabulary_size"], (BATCH, LENGTH)), "int32"
    )


def _padded_rows(sizes: dict[str, int]) -> Any:
    import tensorflow as tf

    real = np.arange(LENGTH) < np.random.default_rng(0).integers(LENGTH // 2, LENGTH + 1, (BATCH, 1))
    return tf.where(real, _full_rows(sizes), 0)


def _language_model(peer: Any, ids: Any) -> Callable[[bool], Any]:
    import tensorflow as tf

    rows = {"token_ids": ids, "padding_mask": tf.ones_like(ids)}
    return lambda training: peer.token_embedding(peer(rows, training=training), reverse=True)


def _copy(ours: Any, theirs: Any) -> None:
    theirs.set_weights(ours.get_weights())


def _copy_block(ours: Any, theirs: Any) -> None:
    """Copy a block to KerasHub's TransformerEncoder or TransformerDecoder, which have the same names."""
    _copy_attention(ours.self_attention, theirs._self_attention_layer)
    _copy(ours.self_attention_norm, theirs._self_attention_layer_norm)
    _copy(ours.feed_forward.inner, theirs._feedforward_intermediate_dense)
    _copy(ours.feed_forward.outer, theirs._feedforward_output_dense)
    _copy(ours.feed_forward_norm, theirs._feedforward_layer_norm)


def _copy_attention(ours: Any, theirs: Any, names: str = "{}_dense") -> None:
    """Copy a fused projection into one for each of queries, keys and values, with an axis for the heads."""
    query, key, value, output = (
        getattr(theirs, names.format(name)) for name in ("query", "key", "value", "output")
    )
    places = np.cumsum([part.heads * part.width for part in ours.parts])[:-1]
    fused = [np.split(weight, places, axis=-1) for weight in ours.query_key_value_projection.get_weights()]
    for dense, weights in zip((query, key, value), zip(*fused, strict=True), strict=True):
        _set_reshaped(dense, weights)
    _set_reshaped(output, ours.output_projection.get_weights())


def _set_reshaped(layer: Any, weights: Iterable[np.ndarray[Any, Any]]) -> None:
    pairs = zip(weights, layer.weights, strict=True)
    layer.set_weights([weight.reshape(same.shape) for weight, same in pairs])
