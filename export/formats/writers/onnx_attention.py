"""Writer of attention.onnx: a source and an answer in, all attention weights and log-probabilities out.

B batch, S source length, T target length, H heads.
"""

from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from export.formats.tf2onnx_graphs.convert import Value, from_tensorflow, start_and_end
from keras_transformer.models.encoder_decoder import PAD_ID
from keras_transformer.models.translation import TranslationModel


class AttentionOutputs(NamedTuple):
    """Outputs of the file.

    Attributes:
        encoder: Self-attention of the source (layers, B, H, S, S).
        decoder: Self-attention of the target, which is read shifted by one position (layers, B, H, T, T).
        cross: Attention of the target to the source (layers, B, H, T, S).
        log_probs: Log-probability of each token (B, T), 0 for padding.
    """

    encoder: Any
    decoder: Any
    cross: Any
    log_probs: Any


def write_attention_onnx(model: TranslationModel, path: Path) -> None:
    """Write the graph source (B, S), target (B, T) -> AttentionOutputs, padded with 0.

    Row t of decoder and cross belongs to token t of the target: it has the weights with which the model
    predicts it, after reading the start token and the tokens before it.
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
