"""attention.onnx: a source and an answer in, every attention weight and each token's log-probability out.

B batch, S source length, T target length, H heads.
"""

from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from export.formats.tf2onnx_graphs.convert import Value, from_tensorflow, start_and_end
from keras_transformer.models.translation import PAD_ID, TranslationModel


class AttentionOutputs(NamedTuple):
    """The outputs of the file."""

    encoder: Any  # (layers, B, H, S, S): how much each source position takes from each other one
    decoder: Any  # (layers, B, H, T, T): the same in the target, which is read shifted by one
    cross: Any  # (layers, B, H, T, S): and from the target to the source
    log_probs: Any  # (B, T), 0 where the target is padding


def write_attention_onnx(model: TranslationModel, path: Path) -> None:
    """Write source (B, S) and target (B, T), both padded with 0 -> AttentionOutputs; a target has its end.

    Row t of decoder and cross belongs to the t-th token of the target: it is what the model looked at to say
    it, having read the start and the tokens before it.
    """
    start_id, _ = start_and_end(model)

    def attended(source: Any, target: Any) -> AttentionOutputs:
        start = tf.fill([tf.shape(target)[0], 1], start_id)
        read = tf.concat([start, target], axis=1)[:, :-1]
        logits, attention = model.attend({"source": source, "target": read})
        log_probs = tf.gather(tf.nn.log_softmax(logits), target, batch_dims=2)
        encoder, decoder, cross = (tf.stack(kind) for kind in attention)
        return AttentionOutputs(encoder, decoder, cross, tf.where(target == PAD_ID, 0.0, log_probs))

    network, source, target = model.network, "source_length", "target_length"
    inputs = [Value("source", tf.int32, ("batch", source)), Value("target", tf.int32, ("batch", target))]
    encoder = (network.encoder_layers, "batch", network.num_heads)
    decoder = (network.decoder_layers, "batch", network.decoder_heads)
    outputs = [
        Value("encoder", tf.float32, (*encoder, source, source)),
        Value("decoder", tf.float32, (*decoder, target, target)),
        Value("cross", tf.float32, (*decoder, target, source)),
        Value("log_probs", tf.float32, ("batch", target)),
    ]
    from_tensorflow(model, "attention", attended, inputs, outputs).write(path)
