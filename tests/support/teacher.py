"""Teachers that have learned to count a few things, in seconds."""

from itertools import product
from pathlib import Path

from keras_transformer.text.corpus import Pair

NUMBERS = {"deux": "two", "trois": "three", "cinq": "five", "six": "six", "sept": "seven", "dix": "ten"}
NOUNS = {
    "chats": "cats", "chiens": "dogs", "livres": "books", "arbres": "trees", "lits": "beds",
    "verres": "glasses",
    "trains": "trains", "hommes": "men", "ponts": "bridges", "roses": "roses", "rues": "streets",
    "soupes": "soups", "tables": "tables", "villes": "towns", "vins": "wines", "lettres": "letters",
}  # fmt: skip
PAIRS = [
    Pair(f"{number} {noun}", f"{NUMBERS[number]} {NOUNS[noun]}") for number, noun in product(NUMBERS, NOUNS)
]


def write_teachers(forward: Path, backward: Path) -> None:
    """Train a model on all pairs in both directions; write it as .keras files that translate one of them."""
    import keras

    from keras_transformer import LabelSmoothedCrossEntropy, Tokenizer, TranslationModel, text_batches
    from keras_transformer.models.network import Network

    pairs = [*PAIRS, *(Pair(target, source) for source, target in PAIRS)]
    tokenizer = Tokenizer.train(PAIRS, 300, source_lang="fr", target_lang="en")
    keras.utils.set_random_seed(1)
    network = Network(1, 1, 32, 64, 2, dropout=0.0)
    model = TranslationModel(network, tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    model.compile(keras.optimizers.Adam(1e-2), LabelSmoothedCrossEntropy(), jit_compile=False)
    model.fit(text_batches(pairs, tokenizer, batch_tokens=2048), epochs=40, shuffle=False, verbose=0)
    model.save(forward)
    model.tokenizer = Tokenizer.from_config(
        {**tokenizer.get_config(), "source_lang": "en", "target_lang": "fr"}
    )
    model.save(backward)
