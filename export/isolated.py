"""A runtime in a process of its own: two of them in one process have deadlocked.

As a program it reads a question from standard input and prints the answers, both as JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from export.artifact.layout import TOKENIZER
from export.formats.format import RuntimeName, TextRuntime, VersionFiles
from export.formats.onnx_format import open_text_runtime
from export.formats.registry import open_runtime
from keras_transformer.libraries import LibraryError
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit
from keras_transformer.text.tokenizer import Tokenizer

THREADS = 1
TIMEOUT_SECONDS = 3600.0  # a runtime that takes longer hangs
_LAST_LINES = 5

#: One thread for each library that counts them itself.
_SETTINGS = {
    "OMP_NUM_THREADS": str(THREADS),
    "TF_NUM_INTRAOP_THREADS": str(THREADS),
    "TF_NUM_INTEROP_THREADS": str(THREADS),
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


class ReplyError(RuntimeError):
    """A runtime that gave no answers; the message says why."""


class Reply(NamedTuple):
    """The answers of a runtime."""

    ids: list[list[int]] | None  # the answers, of a runtime that takes ids
    texts: list[str] | None  # the translations from text to text, of one that has its tokenizer inside
    scores: list[float]
    seconds: float  # for these, the runtime being loaded and warm


def ask(
    name: RuntimeName,
    directory: Path,
    max_length: int,
    rows: Sequence[Sequence[int]],
    texts: Sequence[str],
    limit: AnswerLimit = ANSWER_LIMIT,
) -> Reply:
    """Translate in a process of its own, which ends with this call however it ends.

    Args:
        name: the runtime.
        directory: the version directory.
        max_length: the maximum number of tokens of a source and of an answer.
        rows: source ids.
        texts: the same sources as text.
        limit: the longest answer to a source, as far as max_length allows.

    Returns:
        The answers.

    Raises:
        ReplyError: the process failed, took too long, or gave another number of answers.
    """
    question = {
        "name": name,
        "directory": str(directory),
        "max_length": max_length,
        "rows": rows,
        "texts": texts,
        "limit": limit,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(question).encode(),
            capture_output=True,
            env={**os.environ, **_SETTINGS},
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
    if len(reply["scores"]) != len(rows):
        raise ReplyError(f"{name} gave {len(reply['scores'])} answers to {len(rows)} sentences")
    return Reply(**reply)


def main() -> None:
    """Answer the question on stdin. Output of libraries goes to stderr; stdout has the answers alone."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        json.dump(_answered(json.load(sys.stdin)), out)


def _answered(question: dict[str, Any]) -> dict[str, Any]:
    name, directory = RuntimeName(*question["name"]), Path(question["directory"])
    try:
        if not name.takes_ids:
            return _by_text(open_text_runtime(name, directory), question["texts"])
        tokenizer, limit = Tokenizer.load(directory / TOKENIZER), AnswerLimit(*question["limit"])
        runtime = open_runtime(name, VersionFiles(directory, tokenizer, question["max_length"], limit))
    except LibraryError as error:
        return {"error": str(error)}
    answers, seconds = _timed(runtime.translate_ids, question["rows"])
    ids, scores = [answer.ids for answer in answers], [answer.score for answer in answers]
    translate = getattr(runtime, "translate", None)
    texts = None if translate is None else [text for text, _ in translate(question["texts"])]
    return {"ids": ids, "texts": texts, "scores": scores, "seconds": seconds}


def _by_text(runtime: TextRuntime, items: list[str]) -> dict[str, Any]:
    answers, seconds = _timed(runtime.translate, items)
    texts, scores = [text for text, _ in answers], [score for _, score in answers]
    return {"ids": None, "texts": texts, "scores": scores, "seconds": seconds}


def _timed(translate: Callable[[list[Any]], list[Any]], items: list[Any]) -> tuple[list[Any], float]:
    translate(items[:1])  # the first call builds what it needs
    begun = time.monotonic()
    answers = translate(items)
    return answers, time.monotonic() - begun


if __name__ == "__main__":
    main()
