"""The run directory: everything that a training run reads and writes, and the lock against a second process.

run.json        languages, corpus, recipe: as requested, and the versions of the libraries
cleaning.json   what was dropped from the corpus, and why
tokenizer/      the SentencePiece models
tokens/         the corpus as ids, and in typed/ the variants of its sentences
valid.jsonl     the held-out pairs for validation
checkpoints/    the newest states of the run
history.json    the scores of each validation
curves.png      the same as a picture
tensorboard/    the same for TensorBoard
model.keras     the best model so far: float32, tokenizer inside

The run of a student also has:

distilled/      the translations of its teachers, and what else it learns from

A run that starts from another one also has:

initial.keras        the model that it starts from
initial-valid.jsonl  the pairs that the other run held out
"""

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keras_transformer.files import Synced, digest, read_json, write_whole
from keras_transformer.libraries import versions_of
from keras_transformer.settings import current_names
from keras_transformer.text.corpus import Pair
from keras_transformer.training.data.corpus_options import CORPUS_FIELDS, wrong_types

FORMAT = 1
VALID, INITIAL_VALID = "valid.jsonl", "initial-valid.jsonl"
DISTILLED = "distilled"
BEFORE_A_RUN = {DISTILLED, ".lock", ".partial-run.json"}  # what there may be without a run.json
REQUEST_TYPES = {
    "source_lang": str,
    "target_lang": str,
    "corpus": dict,
    "recipe": dict,
}  # fields of run.json that `begin` writes
MADE_WITH = ("keras", "tensorflow", "numpy", "sentencepiece")
BEGIN_AGAIN = "restore it from an intact copy, or begin a new run"
PREPARE_AGAIN = "remove recipe.json beside it, and `train --resume` prepares the run again from its corpus"


class RunError(ValueError):
    """Error of a run directory that cannot be used as requested; the message has the remedy."""


class Run:
    """Paths of a run directory, and access to its small files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tokenizer = path / "tokenizer"
        self.tokens = path / "tokens"
        self.typed = self.tokens / "typed"
        self.checkpoints = path / "checkpoints"
        self.model = path / "model.keras"
        self.initial = path / "initial.keras"
        self.curves = path / "curves.png"
        self.tensorboard = path / "tensorboard"

    @contextmanager
    def begin(self, about: dict[str, Any]) -> Iterator[None]:
        """Create a new run, or begin again one that was never prepared; it is locked inside the context.

        A prepared run is never overwritten.

        Raises:
            RunError: If the directory holds a prepared run, or something else than a run.
        """
        with self.lock_unprepared():
            for left in (self.initial, self.path / INITIAL_VALID):
                left.unlink(missing_ok=True)  # of an earlier attempt with --from
            self.write_about(about)
            yield

    @contextmanager
    def lock_unprepared(self) -> Iterator[None]:
        """Hold the lock of a directory in which a run can begin, which is created.

        Raises:
            RunError: If the directory holds a prepared run, or something else than a run.
        """
        self.check_unprepared()
        self.path.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self.check_unprepared()  # another process may have prepared it meanwhile
            yield

    def write_about(self, about: dict[str, Any]) -> None:
        """Write run.json: the request, and the versions of the libraries."""
        self.write("run.json", {"format": FORMAT, "versions": versions_of(MADE_WITH), **about})

    @property
    def is_prepared(self) -> bool:
        """Whether the corpus is prepared: recipe.json is written last."""
        return (self.path / "recipe.json").exists()

    def check_unprepared(self) -> None:
        """Check that a run can begin here.

        Raises:
            RunError: If the directory holds a prepared run, or something else than a run.
        """
        if self.is_prepared:
            raise RunError(
                f"{self.path} holds a run already: continue it with `train --run {self.path} --resume`, or "
                "name another."
            )
        if self.path.exists() and not self._may_begin():
            raise RunError(f"{self.path} exists and is not a run: name a new or an empty directory.")

    def _may_begin(self) -> bool:
        if not self.path.is_dir():
            return False
        if (self.path / "run.json").exists():
            self._check_trained(self.about())  # raises if it is not one of ours
            return True
        return {path.name for path in self.path.iterdir()} <= BEFORE_A_RUN

    def check_resumable(self) -> None:
        """Check that a run can be continued here.

        Raises:
            RunError: If there is none, or it is damaged, or an imported model.
        """
        self._check_trained(self.about())

    def _check_trained(self, about: dict[str, Any]) -> None:
        if "imported" in about:
            raise RunError(
                f"{self.path} holds an imported model, no training to begin or resume: name another run."
            )

    def about(self) -> dict[str, Any]:
        """Return the checked content of run.json.

        Raises:
            RunError: If there is no run, it is damaged, or its format is not supported.
        """
        try:
            about = self.read("run.json")
        except FileNotFoundError:
            raise RunError(f"{self.path} holds no run: there is no run.json in it.") from None
        except ValueError as error:
            raise self._damaged("run.json", str(error), BEGIN_AGAIN) from None
        if not isinstance(about, dict):
            raise self._damaged("run.json", f"it holds {about!r:.40}, not an object", BEGIN_AGAIN)
        if about.get("format") != FORMAT:
            raise RunError(
                f"{self.path} was written in format {about.get('format')}; this program supports {FORMAT}: "
                "use the version that made it."
            )
        lacking = [name for name, kind in REQUEST_TYPES.items() if not isinstance(about.get(name), kind)]
        if lacking:
            raise self._damaged("run.json", f"it does not say {', '.join(lacking)}", BEGIN_AGAIN)
        names = list(about["corpus"])
        if sorted(names) != sorted(CORPUS_FIELDS):
            why = f"its corpus must say {', '.join(CORPUS_FIELDS)}; it says {', '.join(names) or 'nothing'}"
            raise self._damaged("run.json", why, BEGIN_AGAIN)
        wrong = wrong_types(about["corpus"])
        start = about.get("from", {"path": ""})
        if not isinstance(start, dict) or not isinstance(start.get("path"), str):
            wrong.append(f"from must be an object with a path; got {start!r:.40}")
        if not isinstance(about.get("distilled", ""), str):
            wrong.append(f"distilled must be what a student learns from; got {about['distilled']!r:.40}")
        if not isinstance(about.get("tokenizer", ""), str):
            wrong.append(f"tokenizer must be the name of a directory; got {about['tokenizer']!r:.40}")
        versions = about.get("versions", {})
        if not isinstance(versions, dict) or not all(isinstance(value, str) for value in versions.values()):
            wrong.append(f"versions must be texts by their names; got {versions!r:.40}")
        if wrong:
            raise self._damaged("run.json", "; ".join(wrong), BEGIN_AGAIN)
        return {**about, "recipe": current_names(about["recipe"])}

    def digests(self) -> dict[str, str]:
        """Return a digest of each part of the run that training reads."""
        parts = {
            "recipe": "recipe.json",
            "tokenizer": "tokenizer",
            "corpus": "tokens",
            "held-out pairs": VALID,
        }
        return {part: digest(self.path / name) for part, name in parts.items()}

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the run; the system releases it however the process ends."""
        self.check_resumable()  # before a lock file is created
        with self._locked():
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(
                    f"another process is at work on {self.path}: wait for it, or end it."
                ) from None
            yield

    def write(self, name: str, content: Any) -> None:
        """Write a small JSON file atomically."""
        write_whole(self.path / name, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")

    def read(self, name: str) -> Any:
        """Read a JSON file of the run."""
        path = self.path / name
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ValueError("it is no regular file")
        return read_json(path.read_bytes())

    def write_pairs(self, name: str, pairs: Iterable[Pair]) -> int:
        """Write one pair per line as they arrive, and return their number."""
        count = 0
        with Synced(self.path / name) as file:
            for pair in pairs:
                file.write(json.dumps(pair, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count

    def read_pairs(self, name: str) -> Iterator[Pair]:
        """Yield the pairs that write_pairs wrote.

        Raises:
            RunError: If a line is not a pair of texts.
        """
        # bytes: only \n ends a line, not the U+2028 in a sentence
        with (self.path / name).open("rb") as file:
            for number, line in enumerate(file, 1):
                pair = _pair(line)
                if pair is None:
                    raise self._damaged(name, f"line {number} is not two texts", PREPARE_AGAIN)
                yield pair

    def _damaged(self, name: str, why: str, remedy: str) -> RunError:
        return RunError(f"{self.path / name} is damaged ({why}): {remedy}.")


def _pair(line: bytes) -> Pair | None:
    try:
        texts = read_json(line)
    except ValueError:
        return None
    if not isinstance(texts, list) or [type(text) for text in texts] != [str, str]:
        return None
    return Pair(*texts)
