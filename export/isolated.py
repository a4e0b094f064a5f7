"""A runtime in a separate process, because two of them in one process have deadlocked.

As a program the module reads a question from standard input and prints the answers, both as JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from export.artifact.golden import BEAM
from export.artifact.layout import TOKENIZER
from export.formats.format import RuntimeName, VersionFiles
from export.formats.onnx_format import open_text_runtime
from export.formats.registry import open_runtime
from keras_transformer.cores import ONE_CORE
from keras_transformer.libraries import LibraryError
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit
from keras_transformer.text.tokenizer import Tokenizer

THREADS = 1  # as ONE_CORE has it
TIMEOUT_SECONDS = 3600.0  # after which a runtime is considered hung
_LAST_LINES = 5


class ReplyError(RuntimeError):
    """Error of a runtime that returned no answers, with the reason."""


class Reply(NamedTuple):
    """Result of a runtime.

    Attributes:
        ids: Token ids, from a runtime that takes ids.
        texts: Translations of the texts, from a runtime that contains the tokenizer.
        scores: Score of each answer.
        seconds: Time for the answers, without loading and warm-up.
        beams: The same for the best answers of a beam, if they were asked for.
    """

    ids: list[list[int]] | None
    texts: list[str] | None
    scores: list[float]
    seconds: float
    beams: "Reply | None" = None


def ask(
    name: RuntimeName,
    directory: Path,
    max_length: int,
    rows: Sequence[Sequence[int]],
    texts: Sequence[str],
    limit: AnswerLimit = ANSWER_LIMIT,
    beams: Sequence[int] = (),
) -> Reply:
    """Translate in a separate process, which never outlives this call.

    Args:
        name: The runtime.
        directory: The version directory.
        max_length: Largest number of tokens of a source and of an answer.
        rows: Source ids.
        texts: The same sources as text.
        limit: Largest number of tokens of the answer to a source; max_length applies as well.
        beams: Indices of the sources that are translated with a beam of BEAM as well.

    Returns:
        The answers.

    Raises:
        ReplyError: If the process failed, took too long, or returned another number of answers.
    """
    question = {
        "name": name,
        "directory": str(directory),
        "max_length": max_length,
        "rows": rows,
        "texts": texts,
        "limit": limit,
        "beams": beams,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(question).encode(),
            capture_output=True,
            env={**os.environ, **ONE_CORE, "TF_CPP_MIN_LOG_LEVEL": "3"},
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReplyError(f"{name} gave no answer for {TIMEOUT_SECONDS:,.0f} seconds, and was ended") from None
    if done.returncode:
        last_lines = done.stderr.decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
        raise ReplyError(f"{name} failed with status {done.returncode}: " + " | ".join(last_lines))
    reply = json.loads(done.stdout)
    if "error" in reply:
        raise ReplyError(reply["error"])
    given = reply.pop("beams", None)
    for part, count in ((reply, len(rows)), (given, len(beams))):
        if part is not None and len(part["scores"]) != count:
            raise ReplyError(f"{name} gave {len(part['scores'])} answers to {count} sentences")
    return Reply(**reply, beams=given and Reply(**given))


def main() -> None:
    """Answer the question on stdin. Output of libraries goes to stderr; stdout has only the answers."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        json.dump(_answered(json.load(sys.stdin)), out)


def _answered(question: dict[str, Any]) -> dict[str, Any]:
    name, directory = RuntimeName(*question["name"]), Path(question["directory"])
    try:
        if not name.takes_ids:
            return _by_text(open_text_runtime(name, directory).translate, question["texts"])
        tokenizer, limit = Tokenizer.load(directory / TOKENIZER), AnswerLimit(*question["limit"])
        runtime = open_runtime(name, VersionFiles(directory, tokenizer, question["max_length"], limit))
    except LibraryError as error:
        return {"error": str(error)}
    answers, seconds = _timed(runtime.translate_ids, question["rows"])
    ids, scores = [answer.ids for answer in answers], [answer.score for answer in answers]
    translate = getattr(runtime, "translate", None)
    texts = None if translate is None else [text for text, _ in translate(question["texts"])]
    beams = _with_beam(runtime, question) if question["beams"] else None
    return {"ids": ids, "texts": texts, "scores": scores, "seconds": seconds, "beams": beams}


def _with_beam(runtime: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Return the best answers of a beam: ids, or texts of a runtime whose beam takes texts."""
    if hasattr(runtime, "translate_with_beam"):
        return _by_text(
            runtime.translate_with_beam, [question["texts"][index] for index in question["beams"]]
        )
    rows = [question["rows"][index] for index in question["beams"]]
    answers, seconds = _timed(lambda items: [best for best, *_ in runtime.search(items, BEAM)], rows)
    ids, scores = [answer.ids for answer in answers], [answer.score for answer in answers]
    return {"ids": ids, "texts": None, "scores": scores, "seconds": seconds}


def _by_text(
    translate: Callable[[Sequence[str]], list[tuple[str, float]]], items: list[str]
) -> dict[str, Any]:
    answers, seconds = _timed(translate, items)
    texts, scores = [text for text, _ in answers], [score for _, score in answers]
    return {"ids": None, "texts": texts, "scores": scores, "seconds": seconds}


def _timed(translate: Callable[[list[Any]], list[Any]], items: list[Any]) -> tuple[list[Any], float]:
    translate(items[:1])  # warm up
    begun = time.monotonic()
    answers = translate(items)
    return answers, time.monotonic() - begun


if __name__ == "__main__":
    main()
