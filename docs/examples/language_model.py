"""A decoder-only language model learns to write the letters of a word in order: keras>aekrs."""

import keras
import numpy as np

from keras_transformer import PositionalEncoding, TokenEmbedding, TransformerDecoder

SIGNS, LENGTH = " >.abcdefghijklmnopqrstuvwxyz", 22  # the blank, id 0, is padding


def words(count: int, seed: int) -> list[str]:
    """Four to ten letters, all different."""
    rng = np.random.default_rng(seed)
    return ["".join(rng.permutation(list(SIGNS[3:]))[: rng.integers(4, 11)]) for _ in range(count)]


def in_order(word: str) -> str:
    return f"{word}>{''.join(sorted(word))}."


def encode(lines: list[str]) -> np.ndarray:
    return np.array([[SIGNS.index(sign) for sign in line.ljust(LENGTH)] for line in lines])


def main() -> float:
    keras.utils.set_random_seed(1)
    embedding, positions = TokenEmbedding(len(SIGNS), width=64), PositionalEncoding(LENGTH)
    decoder = TransformerDecoder(num_layers=1, num_heads=4, inner_width=128, dropout=0.0)
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, embedding(decoder(positions(embedding(ids))), reverse=True))
    model.compile(keras.optimizers.Adam(4e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    lines = encode([in_order(word) for word in words(8000, seed=1)])
    model.fit(lines[:, :-1], lines[:, 1:], batch_size=64, epochs=4, verbose=2)
    asked = ["keras", "python", *words(500, seed=2)]  # each continued greedily, step by step over the cache
    lines, cache = encode([f"{word}>" for word in asked]), decoder.start(len(asked), LENGTH)
    for now in np.arange(LENGTH - 1):
        x = positions(embedding(lines[:, [now]]), positions=now[None])
        x, cache = decoder.step(x, np.repeat(now, len(asked)), cache)
        best = np.argmax(embedding(x[:, 0], reverse=True), axis=-1)
        lines[:, now + 1] += (lines[:, now + 1] == 0) * best  # what is asked stays as it is
    said = ["".join(SIGNS[sign] for sign in line) for line in lines]
    accuracy = np.mean([line.startswith(in_order(word)) for word, line in zip(asked, said, strict=True)])
    print(f"{said[0]!r}, {said[1]!r}; held-out words right: {accuracy:.3f}; chance: below {1 / 24:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
