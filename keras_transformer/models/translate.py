"""Texts through a model: into ids, through a search, into text again, in the order given."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from keras_transformer.decoding.scoring import Scorer
from keras_transformer.decoding.traced_search import Rows, Search, looped
from keras_transformer.models.hosted import Packed, refusal
from keras_transformer.models.inputs import check_search, texts_of
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.sentences import divided
from keras_transformer.text.tokenizer import Tokenizer


class Hypothesis(NamedTuple):
    """One answer to a text, with what the model thinks of it."""

    text: str
    tokens: list[int]  # without the end
    score: float  # the sum of log_probs over (their number ** length penalty)
    log_probs: list[float]  # of each token, and of the end where it was said
    alignment: list[int]  # for each of these, the position in the source that it looks at most


def translate(
    model: TranslationModel, texts: Sequence[str], beam: int = 1, length_penalty: float = 1.0
) -> list[str]:
    """The best answer to each text, in the order given; one of several sentences is put together again."""
    texts = texts_of(texts)
    count = _tokenizer(model).count_source
    whole = [divided(text, count, model.lengths) for text in texts]
    sentences = [sentence for parts in whole for sentence in parts.texts]
    found = iter(translate_sentences(model, sentences, beam, length_penalty))
    return [parts.joined(list(islice(found, len(parts.texts)))) for parts in whole]


def translate_sentences(
    model: TranslationModel, sentences: Sequence[str], beam: int = 1, length_penalty: float = 1.0
) -> list[str]:
    """The best answer to each, taken as it is."""
    tokenizer, rows = _encoded(model, sentences)
    search = Search(tokenizer.bos_id, tokenizer.eos_id, beam, length_penalty)
    best = [_best(answers) for answers in search_ids(model, rows, search)]
    return tokenizer.decode_target([_spoken(answer, tokenizer.eos_id) for answer in best])


def hypotheses(
    model: TranslationModel,
    texts: Sequence[str],
    beam: int = 1,
    length_penalty: float = 1.0,
    max_tokens: int | None = None,
    prefixes: Sequence[str] | None = None,
) -> list[list[Hypothesis]]:
    """For each text the answers of its beam, the best first; none for a text that says nothing.

    An answer begins with its text's prefix. It ends after max_tokens, said or 2 S + 10 for S source tokens.
    """
    texts = texts_of(texts, "hypotheses")
    tokenizer, rows = _encoded(model, texts)
    search = Search(tokenizer.bos_id, tokenizer.eos_id, beam, length_penalty)
    begins: Rows | None = None
    if prefixes is not None:
        prefixes = texts_of(prefixes, "prefixes")
        if len(prefixes) != len(texts):
            raise ValueError(f"a prefix for each text is needed; got {len(prefixes)} for {len(texts)} texts.")
        begins = [ids[:-1] for ids in tokenizer.encode_target(prefixes)]
    found = search_ids(model, rows, search, max_tokens, begins)
    pairs = [(row, answer) for row, answers in zip(rows, found, strict=True) for answer in answers]
    scored = iter(model.derived.get(Scorer)(pairs, tokenizer.bos_id))

    def hypothesis(answer: list[int]) -> Hypothesis:
        log_probs, alignment = next(scored)
        tokens = _spoken(answer, tokenizer.eos_id)
        score = sum(log_probs) / len(answer) ** length_penalty
        return Hypothesis(tokenizer.decode_target([tokens])[0], tokens, score, log_probs, alignment)

    return [[hypothesis(answer) for answer in answers] for answers in found]


def translate_ids(model: TranslationModel, rows: Rows, start_id: int, end_id: int) -> list[list[int]]:
    """Each row of source ids translated into target ids, greedily, without start and end."""
    found = search_ids(model, rows, Search(start_id, end_id))
    return [_spoken(_best(answers), end_id) for answers in found]


def search_ids(
    model: TranslationModel,
    rows: Rows,
    search: Search,
    max_tokens: int | None = None,
    prefixes: Rows | None = None,
) -> list[list[list[int]]]:
    """For each row of source ids its answers, the best first, each with its end if it came to one.

    A row may have so many tokens as it would have alone, whatever stands beside it. One that says nothing but
    its end has nothing to translate, and no answer. They come from ONNX Runtime, or from the loop over the
    layers where a model has no graphs there: an unusual network, quantized layers, a subclass.
    """
    check_search(search.beam, search.length_penalty, max_tokens)
    most = min(max_tokens or model.network.max_length, model.network.max_length)
    if refusal(model) is None:
        return model.derived.get(Packed).search(rows, search, most, prefixes)
    return looped(model, rows, search, most, prefixes)


def _best(answers: list[list[int]]) -> list[int]:
    return answers[0] if answers else []


def _encoded(model: TranslationModel, texts: Sequence[str]) -> tuple[Tokenizer, list[list[int]]]:
    tokenizer = _tokenizer(model)
    return tokenizer, tokenizer.encode_source(texts_of(texts), model.network.max_length)


def _tokenizer(model: TranslationModel) -> Tokenizer:
    if model.tokenizer is None:
        raise ValueError("this model has no tokenizer: create it with tokenizer=... to translate text.")
    return model.tokenizer


def _spoken(answer: Sequence[int], end_id: int) -> list[int]:
    """Without the end, and without padding."""
    return [number for number in answer if number not in (0, end_id)]
