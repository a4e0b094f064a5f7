"""Division of a text of any length into parts that a model translates, each with its target language."""

from typing import TYPE_CHECKING

from keras_transformer.text.sentences import Count, Lengths, Parts

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import Tokenizer


class TargetLanguageError(ValueError):
    """Error of a target language that is missing, or that the model does not have."""


def divided_for(
    tokenizer: "Tokenizer",
    text: str,
    lengths: Lengths,
    target_language: str | None = None,
    count: Count | None = None,
) -> Parts:
    """Divide a text, and begin each part with the target language if the model has several.

    Args:
        tokenizer: Tokenizer of the model.
        text: Any text; it may begin with the code of a target language, as in ">>fra<< Hello.".
        lengths: Lengths of the model's corpus, which decide how the text is divided.
        target_language: One of tokenizer.target_languages, which replaces the code of the text.
        count: Function that counts the tokens of a text; by default tokenizer.count_source.

    Returns:
        The parts; a blank text has none.

    Raises:
        TargetLanguageError: If the model has no such language, or needs one and none is given.
    """
    count = count or tokenizer.count_source
    if target_language is None and not tokenizer.target_languages:
        return Parts.of(text, count, lengths)
    code, rest = tokenizer.language_of(text)
    parts = Parts.of(rest, count, lengths)
    language = target_language or code
    return parts._replace(texts=[tokenizer.with_language(part, language) for part in parts.texts])
