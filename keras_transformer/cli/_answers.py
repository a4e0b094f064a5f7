"""Output of `translate` for a line: its text, its score before it, or all results of the search as JSON."""

import argparse
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from keras_transformer.bulk.formats import LOOP_MARK
from keras_transformer.cli import at_least_one
from keras_transformer.cli._models import configure_search, search_options
from keras_transformer.inference.answer import Translation
from keras_transformer.text.sentences import Parts

if TYPE_CHECKING:
    from keras_transformer.models.translate import Hypothesis, Model

MAX_TOKENS = 2**16

Translate = Callable[[list[str]], Iterable[Any]]  # returns an answer to each part of lines
Form = Callable[[Parts, list[Any]], Translation]  # formats the answers to the parts of a line


def configure_answers(parser: argparse.ArgumentParser) -> None:
    """Add the options of the search and of the output."""
    configure_search(parser)
    parser.add_argument(
        "--max-tokens",
        type=at_least_one("an answer may have at least 1 token", MAX_TOKENS),
        metavar="N",
        help="maximum tokens of an answer (2 S + 10 for S source tokens)",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--scores",
        action="store_true",
        help="print the score and a tab before each line, and a tab and the word loop after one that "
        "repeats itself",
    )
    forms.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per line: answers of the beam, tokens, alignment",
    )


def answers(model: "Model", arguments: argparse.Namespace) -> tuple[Translate, Form]:
    """Return the function that translates parts of lines, and the one that formats a line."""
    from keras_transformer.models.translate import sentence_translator

    options = search_options(arguments)
    if not (arguments.scores or arguments.json or arguments.max_tokens):
        return sentence_translator(model, **options), Translation.joined
    options |= {"max_tokens": arguments.max_tokens, "alignment": arguments.json}
    translate = partial(model.hypotheses, **options)
    if arguments.json:
        return translate, partial(_object, model, arguments.length_penalty)
    return translate, partial(_scored, arguments.length_penalty) if arguments.scores else _best


def scored_line(score: float | None, translation: Translation) -> Translation:
    """Return a line with its score before it, and with its mark behind it if it is a loop."""
    shown = "" if score is None else f"{score:.4f}"
    mark = LOOP_MARK if translation.looped else ""
    return translation._replace(text=f"{shown}\t{translation.text}{mark}")


def _best(line: Parts, results: "list[list[Hypothesis]]") -> Translation:
    text = line.joined([beam[0].text if beam else "" for beam in results])
    return Translation(text, any(beam and beam[0].finish_reason == "loop" for beam in results))


def _score(penalty: float, results: "list[list[Hypothesis]]") -> float | None:
    """Return the score of the best answers of a line as if they were one answer; None for a blank line."""
    log_probs = [log_prob for beam in results if beam for log_prob in beam[0].log_probs]
    return sum(log_probs) / len(log_probs) ** penalty if log_probs else None


def _scored(penalty: float, line: Parts, results: "list[list[Hypothesis]]") -> Translation:
    return scored_line(_score(penalty, results), _best(line, results))


def _object(model: "Model", penalty: float, line: Parts, results: "list[list[Hypothesis]]") -> Translation:
    parts = [
        {
            "source": text,
            "pieces": _pieces(model, text),
            "answers": [_answer(model, answer) for answer in beam],
        }
        for text, beam in zip(line.texts, results, strict=True)
    ]
    best = _best(line, results)
    content = {"text": best.text, "score": _score(penalty, results), "sentences": parts}
    return best._replace(text=json.dumps(content, ensure_ascii=False))


def _pieces(model: "Model", text: str) -> list[str]:
    tokenizer = model.tokenizer
    return tokenizer.pieces_source(tokenizer.encode_source([text])[0]) if tokenizer else []


def _answer(model: "Model", answer: "Hypothesis") -> dict[str, Any]:
    tokenizer = model.tokenizer
    pieces = tokenizer.pieces_target(answer.tokens) if tokenizer else []
    return {
        "text": answer.text,
        "score": answer.score,
        "pieces": pieces,
        "log_probs": answer.log_probs,
        "alignment": answer.alignment,
        "finish_reason": answer.finish_reason,
    }
