"""The whole model by its shapes, and its last layer by hand.

B batch, T target length, S source length, D width, V vocabulary.
"""

import keras
import numpy as np
from keras import ops

from keras_transformer.layers import (
    PositionalEncoding,
    TokenEmbedding,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from keras_transformer.viz.walkthrough.content import WorkedExample, features, table, told

# The paper's base model; the vocabulary is that of its English and German.
LAYERS, HEADS, WIDTH, INNER, VOCABULARY = 6, 8, 512, 2048, 37_000


def shapes() -> WorkedExample:
    """Compute example 7: one block of each kind at the paper's sizes, on sentences of 10 and 7 tokens."""
    source, target = np.ones((1, 10), "int32"), np.ones((1, 7), "int32")
    embedding = TokenEmbedding(VOCABULARY, WIDTH)
    positions = PositionalEncoding()
    encoder = TransformerEncoderBlock(num_heads=HEADS, inner_width=INNER)
    decoder = TransformerDecoderBlock(num_heads=HEADS, inner_width=INNER)
    x = positions(embedding(source))
    memory, looks = encoder(x, return_attention_scores=True)
    y = decoder(positions(embedding(target)), memory)
    logits = embedding(y, reverse=True)
    head = WIDTH // HEADS
    trail = [
        ("source ids", source, "B, S"),
        ("embedded, position added", x, "B, S, D"),
        ("attention weights of a block", looks, "B, heads, S, S"),
        ("out of an encoder block", memory, "B, S, D"),
        ("out of a decoder block", y, "B, T, D"),
        ("logits", logits, "B, T, V"),
    ]
    counts = [
        (f"{LAYERS} encoder blocks", LAYERS * encoder.count_params()),
        (f"{LAYERS} decoder blocks", LAYERS * decoder.count_params()),
        ("embedding, also the last layer", embedding.count_params()),
    ]
    counts.append(("together", sum(count for _, count in counts)))
    sizes = {
        "d_model": WIDTH,
        "heads": HEADS,
        "width of a head, d_k": head,
        "heads side by side": head * HEADS,
        "scale √d_k": head**0.5,
        "inner width": INNER,
        "encoder blocks": LAYERS,
        "decoder blocks": LAYERS,
    }
    shapes = [(letters, " × ".join(map(str, tensor.shape))) for _, tensor, letters in trail]
    kernels = (encoder.feed_forward.inner.kernel, encoder.feed_forward.outer.kernel)
    kernel_shapes = [[" × ".join(map(str, kernel.shape))] for kernel in kernels]
    tables = {
        "sizes": table([[size] for size in sizes.values()], [*sizes], ["size"]),
        "trail": table(shapes, [name for name, _, _ in trail], ["dimensions", "shape"]),
        "kernels": table(kernel_shapes, ["W_1", "W_2"], ["shape"]),
        "counts": table([[f"{count:,}"] for _, count in counts], [name for name, _ in counts], ["weights"]),
    }
    return told(
        "shapes",
        tables,
        width=WIDTH,
        heads=HEADS,
        head=head,
        inner=INNER,
        vocabulary=VOCABULARY,
        source_length=source.shape[1],
        target_length=target.shape[1],
    )


def last_layer() -> WorkedExample:
    """Compute example 9: five outputs of a decoder become the five words of "I am a student <eos>"."""
    vocabulary = ["a", "am", "I", "thanks", "student", "<eos>"]
    sentence = [2, 1, 0, 4, 5]
    words = [vocabulary[index] for index in sentence]
    outputs = np.array([[0, 1, 2, 0], [1, 2, 0, 0], [2, 0, 0, 1], [1, 0, 0, 2], [-1, -1, -1, -1]], "float32")
    vectors = np.array(
        [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 1, 1], [0, 0, 0, 2], [-1, -1, -1, -1]], "float32"
    )
    width = vectors.shape[1]
    layer = TokenEmbedding(len(vocabulary), width)
    layer.build((None, None))
    layer.set_weights([vectors])
    logits = layer(outputs, reverse=True)
    probabilities = ops.convert_to_numpy(ops.softmax(logits))
    chosen = ops.convert_to_numpy(ops.argmax(logits, axis=-1))
    entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    losses = ops.convert_to_numpy(entropy(np.array(sentence), logits))
    logits = ops.convert_to_numpy(logits)
    numbered = [f"{number}. {word}" for number, word in enumerate(words, 1)]
    am = vocabulary.index("am")
    right = probabilities[np.arange(len(sentence)), sentence]
    powers = " + ".join(f"e^{logit:g}" for logit in logits[0])
    ids_and_one_hot = np.stack([np.arange(6), ops.convert_to_numpy(ops.one_hot(am, 6)).astype(int)])
    tables = {
        "vocabulary": table(ids_and_one_hot, ["id", "one-hot of am"], vocabulary),
        "outputs": table(outputs, numbered, features(width)),
        "vectors": table(vectors, vocabulary, features(width)),
        "logits": table(logits, numbered, vocabulary),
        "probabilities": table(probabilities, numbered, vocabulary),
        "chosen": table([[int(index), vocabulary[index]] for index in chosen], numbered, ["argmax", "word"]),
        "losses": table(np.stack([right, losses], 1), numbered, ["p", "−log p"]),
    }
    first = f"e^{logits[0, 2]:g} / ({powers}) = {probabilities[0, 2]:.6f}"
    size = len(vocabulary)
    return told("last_layer", tables, size=size, width=width, first=first, log_of_six=np.log(size))
