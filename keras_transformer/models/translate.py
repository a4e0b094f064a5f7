"""Translation of texts with a model: encode, search, decode."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple

from keras_transformer.decoding.scoring import Scorer
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.inference.alignment import aligned
from keras_transformer.inference.answer import Answer, Translation
from keras_transformer.inference.hosted_decoder import Rows
from keras_transformer.inference.loop_guard import LoopGuard
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.ensemble import TranslationEnsemble, ensemble_decoder
from keras_transformer.models.hosted import HostedModel, refusal
from keras_transformer.models.inputs import check_search, texts_of
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.division import divided_for
from keras_transformer.text.tokenizer import Tokenizer

Model = EncoderDecoder | TranslationEnsemble


class Hypothesis(NamedTuple):
    """One answer to a text, with its probability under the model.

    Attributes:
        text: The answer.
        tokens: Its ids, without the end id.
        score: Sum of log_probs / (number of log_probs ** length penalty).
        log_probs: Natural log-probability of each token, and of the end id if the answer has one.
        alignment: For each of log_probs, the source position with the highest attention weight; [] without
            attention to the source.
        finish_reason: "stop" after the end id; "loop" if the loop guard found that it repeats itself or does
            not end; "length" at its largest length.
    """

    text: str
    tokens: list[int]
    score: float
    log_probs: list[float]
    alignment: list[int]
    finish_reason: Literal["stop", "loop", "length"]


def translate(
    model: Model,
    texts: Sequence[str],
    beam: int = 1,
    length_penalty: float = 1.0,
    target_language: str | None = None,
    loop_guard: bool = True,
) -> list[Translation]:
    """Translate texts: divide each into sentences, translate them, and join the translations."""
    tokenizer = _tokenizer(model)
    whole = [divided_for(tokenizer, text, model.lengths, target_language) for text in texts_of(texts)]
    sentences = [sentence for parts in whole for sentence in parts.texts]
    translations = iter(sentence_translator(model, beam, length_penalty, loop_guard)(sentences))
    return [Translation.joined(parts, islice(translations, len(parts.texts))) for parts in whole]


def translate_sentences(
    model: Model,
    sentences: Sequence[str],
    beam: int = 1,
    length_penalty: float = 1.0,
    loop_guard: bool = True,
) -> list[str]:
    """Translate sentences without dividing them."""
    translate_prepared = sentence_translator(model, beam, length_penalty, loop_guard)
    return [translation.text for translation in translate_prepared(texts_of(sentences))]


def sentence_translator(
    model: Model, beam: int = 1, length_penalty: float = 1.0, loop_guard: bool = True
) -> Callable[[list[str]], list[Translation]]:
    """Return a function that translates undivided sentences with the current weights of the model."""
    tokenizer, max_tokens = _tokenizer(model), model.network.max_length
    options = Search(tokenizer.bos_id, tokenizer.eos_id, beam, length_penalty)
    search = prepared_search(model, options, loop_guard=loop_guard, scores=False)

    def translate_prepared(sentences: list[str]) -> list[Translation]:
        found = search(tokenizer.encode_source(sentences, max_tokens))
        best = [answers[0] if answers else Answer([], 0.0) for answers in found]
        texts = tokenizer.decode_target([answer.ids for answer in best])
        return [Translation(text, answer.looped) for text, answer in zip(texts, best, strict=True)]

    return translate_prepared


def hypotheses(
    model: Model,
    texts: Sequence[str],
    beam: int = 1,
    length_penalty: float = 1.0,
    max_tokens: int | None = None,
    prefixes: Sequence[str] | None = None,
    alignment: bool = True,
    target_language: str | None = None,
    loop_guard: bool = True,
) -> list[list[Hypothesis]]:
    """Return the answers to each text, best first; a blank text has none.

    Args:
        model: Translation model with a tokenizer.
        texts: Sentences; they are not divided.
        beam: Number of answers to each sentence; 1 is greedy decoding.
        length_penalty: Exponent of the length by which scores are divided.
        max_tokens: Largest number of tokens of an answer; by default 2 S + 10 for S source tokens.
        prefixes: For each text, the text with which its answer begins.
        alignment: Whether to compute alignments, which takes a second pass over the answers.
        target_language: One of the tokenizer's target_languages, for a model that has several.
        loop_guard: Whether answers that repeat themselves are cut, marked, and put behind the others.

    Returns:
        For each text a list of up to `beam` answers.

    Raises:
        ValueError: If the number of prefixes is not that of the texts, no answer can begin with a prefix, an
            option is out of range, the model has no tokenizer, or a target language is missing.
        TypeError: If the texts are not a list of texts.
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
        begins = [tokenizer.encode_prefix(prefix, model.network.forbidden) for prefix in prefixes]
    found = prepared_search(model, search, max_tokens, loop_guard)(rows, prefixes=begins)
    first = model.models[0] if isinstance(model, TranslationEnsemble) else model
    found = _scored(first, rows, found, search)
    pairs = [(row, answer.ids) for row, answers in zip(rows, found, strict=True) for answer in answers]
    aligns = alignment and first.network.attention
    cross = first.derived.get(Scorer).cross_attention(pairs, tokenizer.bos_id) if aligns else []
    alignments = map(aligned, cross)

    def hypothesis(answer: Answer) -> Hypothesis:
        tokens = _without_end(answer.ids, tokenizer.eos_id)
        text = tokenizer.decode_target([tokens])[0]
        reason: Literal["stop", "loop", "length"] = "length"
        if answer.looped:
            reason = "loop"
        elif answer.ids[-1] == tokenizer.eos_id:
            reason = "stop"
        return Hypothesis(text, tokens, answer.score, list(answer.log_probs), next(alignments, []), reason)

    return [[hypothesis(answer) for answer in answers] for answers in found]


def translate_ids(model: Model, rows: Rows, start_id: int, end_id: int) -> list[list[int]]:
    """Translate rows of source ids greedily into target ids, without start and end ids."""
    found = search_ids(model, rows, Search(start_id, end_id))
    return [_without_end(answers[0].ids, end_id) if answers else [] for answers in found]


def search_ids(
    model: Model,
    rows: Rows,
    search: Search,
    max_tokens: int | None = None,
    prefixes: Rows | None = None,
) -> list[list[Answer]]:
    """Return the answers to each row of source ids, best first, including the end id if an answer has one.

    The answers to a row do not depend on the other rows. A row that holds only its end id has none.
    """
    return prepared_search(model, search, max_tokens)(rows, prefixes=prefixes)


def prepared_search(
    model: Model,
    search: Search,
    max_tokens: int | None = None,
    loop_guard: bool = False,
    scores: bool = True,
) -> Callable[..., list[list[Answer]]]:
    """Return a function of rows and `prefixes` that searches as `search_ids` does.

    It uses the current weights of the model. ONNX Runtime decodes; without `scores`, greedy answers have
    none, which saves time. Where a Transformer has no ONNX graphs (an unusual network, quantized layers, a
    subclass), the traced loop over the layers decodes; it returns no scores.
    """
    check_search(search.beam, search.length_penalty, max_tokens)
    max_length = min(max_tokens or model.network.max_length, model.network.max_length)
    if isinstance(model, TranslationEnsemble):
        decoder = ensemble_decoder(model, search, max_length, scores)
    elif (refused := refusal(model)) is None:
        decoder = model.derived.get(HostedModel).decoder(search, max_length, scores)
    elif not isinstance(model, TranslationModel):
        raise ValueError(f"a {type(model).__name__} is decoded with ONNX graphs alone; {refused}")
    else:
        return partial(_search_layers, model, search, max_length, loop_guard)
    return partial(
        decoder.search, beam=search.beam, length_penalty=search.length_penalty, loop_guard=loop_guard
    )


def _search_layers(
    model: TranslationModel,
    search: Search,
    max_length: int,
    loop_guard: bool,
    rows: Rows,
    prefixes: Rows | None = None,
) -> list[list[Answer]]:
    traced = search_traced(model, rows, search, max_length, prefixes)
    found = [[Answer(ids, math.nan) for ids in answers] for answers in traced]
    if not loop_guard:
        return found
    limit, longest = model.network.answer_limit, model.network.max_length
    return [
        LoopGuard.of(row, min(limit(len(row)), longest), begin).checked(
            answers, search.end_id, search.length_penalty
        )
        for row, answers, begin in zip(rows, found, prefixes or [()] * len(rows), strict=True)
    ]


def _scored(
    model: EncoderDecoder, rows: Rows, found: list[list[Answer]], search: Search
) -> list[list[Answer]]:
    """Return answers with their scores; answers of the traced loop are scored in a second pass."""
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
        score = sum(own) / len(answer.ids) ** search.length_penalty
        return answer._replace(score=score, log_probs=own)

    return [[scored(answer) for answer in answers] for answers in found]


def _tokenizer(model: Model) -> Tokenizer:
    if model.tokenizer is None:
        raise ValueError("this model has no tokenizer: create it with tokenizer=... to translate text.")
    return model.tokenizer


def _without_end(ids: Sequence[int], end_id: int) -> list[int]:
    """Return the ids without the end id and padding."""
    return [number for number in ids if number not in (0, end_id)]
