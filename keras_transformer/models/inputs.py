"""Checks of the inputs of a translation model: ids by name, and texts to translate."""

from collections.abc import Iterable, Mapping
from math import isfinite
from numbers import Real
from typing import Any

from keras_transformer.layers.arguments import check_sizes


def holds_text(data: Any) -> bool:
    """Return whether data for `fit` holds text: an array, a Dataset, or any nesting of them."""
    if isinstance(data, str | bytes):
        return True
    if isinstance(data, Mapping):
        return any(map(holds_text, data.values()))
    if isinstance(data, list | tuple):
        return any(map(holds_text, data))
    if hasattr(data, "element_spec"):  # a tf.data.Dataset
        return holds_text(data.element_spec)
    dtype = getattr(data, "dtype", None)
    if getattr(dtype, "kind", None) == "O":
        return any(isinstance(value, str | bytes) for value in data.flat)
    return getattr(dtype, "kind", None) in ("U", "S") or getattr(dtype, "name", None) == "string"


def without_text(data: Any) -> Any:
    """Return the data of `fit`, `evaluate` or `predict`.

    Raises:
        TypeError: If it holds text.
    """
    if holds_text(data):
        raise TypeError(wrong_inputs(data))
    return data


def wrong_inputs(data: Any) -> str:
    """Return an error text for inputs that are not ids by name."""
    if holds_text(data):
        got = "text"
    elif isinstance(data, Mapping):
        got = f"a dictionary with the names {', '.join(map(repr, data)) or '(none)'}"
    else:
        got = f"a {type(data).__name__}"
    return (
        f'TranslationModel reads {{"source": ids, "target": ids}}; got {got}. '
        "text_batches(pairs, model.tokenizer) makes what fit and evaluate read from pairs of texts, and "
        "model.translate(texts) translates."
    )


def texts_of(texts: Iterable[str], name: str = "translate") -> list[str]:
    """Return the texts as a list.

    Raises:
        TypeError: If it is a single text, not iterable, or holds something else than texts.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(f"{name} takes a list of texts; got the text {texts[:40]!r}. Put it into a list.")
    if not isinstance(texts, Iterable):
        raise TypeError(f"{name} takes a list of texts; got {texts!r}.")
    checked = list(texts)
    for number, text in enumerate(checked, start=1):
        if not isinstance(text, str):
            raise TypeError(f"{name} takes a list of texts; number {number} is {text!r}.")
    return checked


def check_search(beam: int, length_penalty: float, max_tokens: int | None) -> None:
    """Check the options of a search.

    Raises:
        ValueError: If an option is not a number, or is out of range.
    """
    check_sizes(beam=beam, max_tokens=1 if max_tokens is None else max_tokens)
    if not isinstance(length_penalty, Real) or not isfinite(length_penalty):
        raise ValueError(f"length_penalty must be a finite number; got {length_penalty!r}.")
