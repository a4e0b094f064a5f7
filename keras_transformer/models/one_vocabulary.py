"""The check that several models have one vocabulary, as an ensemble of them needs."""

from collections.abc import Mapping

from keras_transformer.text.tokenizer import Tokenizer


def check_one_vocabulary(tokenizers: Mapping[str, Tokenizer]) -> None:
    """Check that all models translate in one direction, with the same ids.

    Args:
        tokenizers: The tokenizer of each model, by the name of the model for messages.

    Raises:
        ValueError: Two models differ; the message names both.
    """
    (first, known), *others = tokenizers.items()
    for name, tokenizer in others:
        if _languages(tokenizer) != _languages(known):
            raise ValueError(
                f"{first} translates {_languages(known)} and {name} {_languages(tokenizer)}: an ensemble is "
                "of models that translate from and into the same languages."
            )
        if tokenizer.get_config() != known.get_config():
            raise ValueError(
                f"{first} and {name} have different vocabularies, and an ensemble averages the probabilities "
                f"of the same tokens: train one of them with the tokenizer of the other, as with "
                f"train --tokenizer {first}/tokenizer."
            )


def _languages(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.source_lang or '?'} to {tokenizer.target_lang or '?'}"
