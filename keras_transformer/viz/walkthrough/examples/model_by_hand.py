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
from keras_transformer.viz.walkthrough.content import ExampleStep, Picture, WorkedExample, features, table

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
    total = sum(count for _, count in counts)
    steps = (
        ExampleStep(
            "The sizes of the paper's base model. The heads share the width: each one has its own slice, "
            "and their outputs side by side are as wide as the input again.",
            "d_k = d_model / heads,  scale = √d_k",
            table(
                [[WIDTH], [HEADS], [head], [head * HEADS], [head**0.5], [INNER], [LAYERS], [LAYERS]],
                [
                    "d_model",
                    "heads",
                    "width of a head, d_k",
                    "heads side by side",
                    "scale √d_k",
                    "inner width",
                    "encoder blocks",
                    "decoder blocks",
                ],
                ["size"],
            ),
            by_hand=f"{WIDTH} / {HEADS} = {head};  {HEADS} · {head} = {head * HEADS}",
        ),
        ExampleStep(
            f"One sentence of {source.shape[1]} tokens on its way to one of {target.shape[1]}. A block gives "
            "back the shape it was given, which is why blocks can be stacked.",
            table=table(
                [(letters, " × ".join(map(str, tensor.shape))) for _, tensor, letters in trail],
                [name for name, _, _ in trail],
                ["dimensions", "shape"],
            ),
        ),
        ExampleStep(
            f"Between the two matrices of the feed-forward network each position is {INNER} wide.",
            "FFN(x) = max(0, x W_1 + b_1) W_2 + b_2",
            table(
                [
                    [" × ".join(map(str, kernel.shape))]
                    for kernel in (encoder.feed_forward.inner.kernel, encoder.feed_forward.outer.kernel)
                ],
                ["W_1", "W_2"],
                ["shape"],
            ),
        ),
        ExampleStep(
            f"The weights, counted. The logits are as wide as the vocabulary, here {VOCABULARY} as in the "
            "paper, and the largest one (argmax) names the next word.",
            table=table(
                [[f"{count:,}"] for _, count in [*counts, ("", total)]],
                [*(name for name, _ in counts), "together"],
                ["weights"],
            ),
        ),
    )
    return WorkedExample(
        "The shapes of the paper's model",
        "All that attention needs is in the examples before. The model of “Attention Is All You Need” is the "
        "same thing, wider and stacked.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import TransformerEncoderBlock\n\n"
        f"block = TransformerEncoderBlock(num_heads={HEADS}, inner_width={INNER})\n"
        f'output, weights = block(np.ones((1, 10, {WIDTH}), "float32"), return_attention_scores=True)',
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
    steps = (
        ExampleStep(
            "A vocabulary of six words, each with a number. As a target, a word is one-hot: here “am”.",
            table=table(
                np.stack([np.arange(6), ops.convert_to_numpy(ops.one_hot(am, 6)).astype(int)]),
                ["id", "one-hot of am"],
                vocabulary,
            ),
        ),
        ExampleStep(
            "The decoder has read the source and the words so far, and hands over one vector for each step "
            "(chosen by hand here, to be easy on the eye).",
            table=table(outputs, numbered, features(width)),
        ),
        ExampleStep(
            "The last layer has a vector for each word of the vocabulary: the embedding, used backwards.",
            "E",
            table(vectors, vocabulary, features(width)),
        ),
        ExampleStep(
            "Their dot products are the logits: one for each word, as many as the vocabulary has.",
            "logits = output E^T",
            table(logits, numbered, vocabulary),
        ),
        ExampleStep(
            "The softmax makes probabilities of them; each row sums to 1.",
            "p = softmax(logits)",
            table(probabilities, numbered, vocabulary),
            by_hand=f"I in step 1: e^{logits[0, 2]:g} / ({powers}) = {probabilities[0, 2]:.6f}",
            picture=Picture(
                "next-word", "probabilities", "The next word", table(probabilities, numbered, vocabulary)
            ),
        ),
        ExampleStep(
            "The largest one is the next word (argmax): it names the sentence, word after word, until <eos>, "
            "the end of the sentence.",
            "word = argmax(p)",
            table([[int(index), vocabulary[index]] for index in chosen], numbered, ["argmax", "word"]),
        ),
        ExampleStep(
            "While training, the right word is known. The loss of a step is −log of the probability that "
            "the model gave to it: 0 if it was sure, and large if it was sure of another word.",
            "loss = −log p(right word)",
            table(np.stack([right, losses], 1), numbered, ["p", "−log p"]),
            remark="A model that knows nothing gives each of the six words 1/6, and has the loss log 6 = "
            f"{np.log(6):.6f}. Compare your first training steps with log V.",
        ),
    )
    return WorkedExample(
        "From vectors to words",
        "At the top of the decoder a vector has to become a word. Linear layer, softmax, argmax: five times, "
        "and “I am a student <eos>” is written.",
        steps,
        "import numpy as np\n"
        "from keras_transformer import TokenEmbedding\n\n"
        f"layer = TokenEmbedding(vocabulary_size={len(vocabulary)}, width={width})\n"
        f'logits = layer(np.zeros((1, 5, {width}), "float32"), reverse=True)',
    )
