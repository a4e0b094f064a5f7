"""Texts through a model: into ids, through a search, into text again, in the order given."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from keras_transformer.decoding.scoring import Scorer
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.inference.alignment import aligned
from keras_transformer.inference.answer import Answer
from keras_transformer.inference.hosted_decoder import Rows
from keras_transformer.models.hosted import HostedModel, refusal
from keras_transformer.models.inputs import check_search, texts_of
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.division import divided_for
from keras_transformer.text.tokenizer import Tokenizer


class Hypothesis(NamedTuple):
    """One answer to a text, with its probability under the model."""

    text: str
    tokens: list[int]  # without the end
    score: float  # the sum of log_probs over (their number ** length penalty)
    log_probs: list[float]  # of each token, and of the end where the answer has one
    alignment: list[int]  # for each of these, the source position with the highest attention


def translate(
    model: TranslationModel,
    texts: Sequence[str],
    beam: int = 1,
    length_penalty: float = 1.0,
    target_language: str | None = None,
) -> list[str]:
    """Translate texts. A text of several sentences is divided, and its translations are joined again."""
    tokenizer = _tokenizer(model)
    whole = [divided_for(tokenizer, text, model.lengths, target_language) for text in texts_of(texts)]
    sentences = [sentence for parts in whole for sentence in parts.texts]
    translations = iter(translate_sentences(model, sentences, beam, length_penalty))
    return [parts.joined(list(islice(translations, len(parts.texts)))) for parts in whole]


def translate_sentences(
    model: TranslationModel, sentences: Sequence[str], beam: int = 1, length_penalty: float = 1.0
) -> list[str]:
    """Translate sentences as they are, without dividing them."""
    return sentence_translator(model, beam, length_penalty)(texts_of(sentences))


def sentence_translator(
    model: TranslationModel, beam: int = 1, length_penalty: float = 1.0
) -> Callable[[list[str]], list[str]]:
    """Return a function that translates sentences as they are, with the weights that the model has now."""
    tokenizer, max_tokens = _tokenizer(model), model.network.max_length
    search = prepared_search(model, Search(tokenizer.bos_id, tokenizer.eos_id, beam, length_penalty))

    def translate_prepared(sentences: list[str]) -> list[str]:
        found = search(tokenizer.encode_source(sentences, max_tokens))
        return tokenizer.decode_target([answers[0].ids if answers else [] for answers in found])

    return translate_prepared


def hypotheses(
    model: TranslationModel,
    texts: Sequence[str],
    beam: int = 1,
    length_penalty: float = 1.0,
    max_tokens: int | None = None,
    prefixes: Sequence[str] | None = None,
    alignment: bool = True,
    target_language: str | None = None,
) -> list[list[Hypothesis]]:
    """Return the answers to each text, best first; a blank text has none.

    Args:
        model: a translation model with a tokenizer.
        texts: sentences, taken as they are.
        beam: the number of answers to each; 1 is greedy.
        length_penalty: scores are divided by the length of the answer to this power.
        max_tokens: the longest answer; by default 2 S + 10 for S source tokens.
        prefixes: for each text, what its answer begins with.
        alignment: whether to compute alignments, which takes a second pass over the answers.
        target_language: one of the tokenizer's target_languages, of a model that has several.

    Raises:
        ValueError: the number of prefixes is not that of the texts, or a target language is missing.
    """
    tokenizer = _tokenizer(model)
    texts = [
        tokenizer.with_language(text, target_language) if text.strip() else text
        for text in texts_of(texts, "hypotheses")
    ]
    rows = tokenizer.encode_source(texts, model.network.max_length)
    search = Search(tokenizer.bos_id, tokenizer.eos_id, beam, length_penalty)
    begins: Rows | None = None
    if prefixes is not None:
        prefixes = texts_of(prefixes, "prefixes")
        if len(prefixes) != len(texts):
            raise ValueError(f"a prefix for each text is needed; got {len(prefixes)} for {len(texts)} texts.")
        begins = [ids[:-1] for ids in tokenizer.encode_target(prefixes)]
    found = _scored(model, rows, search_ids(model, rows, search, max_tokens, begins), search)
    pairs = [(row, answer.ids) for row, answers in zip(rows, found, strict=True) for answer in answers]
    cross = model.derived.get(Scorer).cross_attention(pairs, tokenizer.bos_id) if alignment else []
    alignments = map(aligned, cross)

    def hypothesis(answer: Answer) -> Hypothesis:
        tokens = _without_end(answer.ids, tokenizer.eos_id)
        text = tokenizer.decode_target([tokens])[0]
        return Hypothesis(text, tokens, answer.score, list(answer.log_probs), next(alignments, []))

    return [[hypothesis(answer) for answer in answers] for answers in found]


def translate_ids(model: TranslationModel, rows: Rows, start_id: int, end_id: int) -> list[list[int]]:
    """Translate rows of source ids greedily into target ids, without start and end."""
    found = search_ids(model, rows, Search(start_id, end_id))
    return [_without_end(answers[0].ids, end_id) if answers else [] for answers in found]


def search_ids(
    model: TranslationModel,
    rows: Rows,
    search: Search,
    max_tokens: int | None = None,
    prefixes: Rows | None = None,
) -> list[list[Answer]]:
    """Return the answers to each row of source ids, best first, each with its end if it came to one.

    A row has the answers that it has alone. One of nothing but its end id has none.
    """
    return prepared_search(model, search, max_tokens)(rows, prefixes=prefixes)


def prepared_search(
    model: TranslationModel, search: Search, max_tokens: int | None = None
) -> Callable[..., list[list[Answer]]]:
    """Return a function of rows and `prefixes` that searches as `search_ids` does.

    It uses the weights that the model has now. ONNX Runtime decodes, or the traced loop over the layers where
    there are no ONNX graphs: an unusual network, quantized layers, a subclass. The traced loop returns no
    scores.
    """
    check_search(search.beam, search.length_penalty, max_tokens)
    max_length = min(max_tokens or model.network.max_length, model.network.max_length)
    if refusal(model) is None:
        decoder = model.derived.get(HostedModel).decoder(search, max_length)
        return partial(decoder.search, beam=search.beam, length_penalty=search.length_penalty)

    def search_layers(rows: Rows, prefixes: Rows | None = None) -> list[list[Answer]]:
        found = search_traced(model, rows, search, max_length, prefixes)
        return [[Answer(ids, math.nan) for ids in answers] for answers in found]

    return search_layers


def _scored(
    model: TranslationModel, rows: Rows, found: list[list[Answer]], search: Search
) -> list[list[Answer]]:
    """Return answers with their scores. Those of the traced loop have none: they take a second pass."""
    unscored = [
        (row, answer.ids)
        for row, answers in zip(rows, found, strict=True)
        for answer in answers
        if not answer.log_probs
    ]
    if not unscored:
        return found
    log_probs = iter(model.derived.get(Scorer).log_probs(unscored, search.start_id))

    def scored(answer: Answer) -> Answer:
        own = next(log_probs)
        return Answer(answer.ids, sum(own) / len(answer.ids) ** search.length_penalty, own)

    return [[scored(answer) for answer in answers] for answers in found]


def _tokenizer(model: TranslationModel) -> Tokenizer:
    if model.tokenizer is None:
        raise ValueError("this model has no tokenizer: create it with tokenizer=... to translate text.")
    return model.tokenizer


def _without_end(ids: Sequence[int], end_id: int) -> list[int]:
    """Without the end, and without padding."""
    return [number for number in ids if number not in (0, end_id)]
