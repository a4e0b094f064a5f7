"""An encoder-only model reads reviews and says whether most of their clauses praise."""

import keras
import numpy as np

from keras_transformer import PositionalEncoding, TokenEmbedding, TransformerEncoder

TOPICS, PRAISE, BLAME = ["plot", "cast", "music"], ["good", "great", "moving"], ["bad", "dull", "silly"]
WORDS = ["<pad>", "the", *TOPICS, "was", "not", *PRAISE, *BLAME, "and"]


def reviews(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Such as "the plot was not bad and the cast was dull and ...": only the order tells what "not" turns."""
    rng, texts, labels = np.random.default_rng(seed), [], []
    for _ in range(count):
        clauses, balance = [], 0
        for _ in range(rng.choice([3, 5])):
            praise, negated = rng.integers(2, size=2)
            opinion = rng.choice(PRAISE if praise else BLAME)
            clauses.append(f"the {rng.choice(TOPICS)} was {'not ' * negated}{opinion}")
            balance += 1 if praise != negated else -1
        texts.append([WORDS.index(word) for word in " and ".join(clauses).split()])
        labels.append(balance > 0)
    return keras.utils.pad_sequences(texts, maxlen=29, padding="post"), np.array(labels)


def main() -> float:
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    x = PositionalEncoding()(TokenEmbedding(len(WORDS), width=32)(ids))
    x = TransformerEncoder(num_layers=1, num_heads=4, inner_width=64, dropout=0.0)(x)
    x = keras.layers.GlobalAveragePooling1D()(x)  # over the words: the mask of the embedding hides padding
    model = keras.Model(ids, keras.layers.Dense(1, activation="sigmoid")(x))
    model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy", metrics=["accuracy"])
    model.fit(*reviews(8000, seed=1), batch_size=64, epochs=6, verbose=2)
    _, accuracy = model.evaluate(*reviews(1000, seed=2), verbose=0)
    print(f"held-out reviews right: {accuracy:.3f}; chance: 0.500")
    return accuracy


if __name__ == "__main__":
    main()
