"""Translation of texts with one runtime of a version."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, NamedTuple

from export.artifact.layout import CANDIDATES, ONNX
from export.artifact.manifest import Version
from export.formats.format import RuntimeName, VersionFiles
from export.formats.registry import open_runtime
from keras_transformer.cores import usable_cores
from keras_transformer.inference.answer import Answer, Translation
from keras_transformer.inference.loop_guard import LoopGuard
from keras_transformer.libraries import installed
from keras_transformer.text.division import divided_for
from keras_transformer.text.sentences import Lengths


class Translated(NamedTuple):
    """Translation of one text.

    Attributes:
        text: The translation.
        tokens: Number of its tokens, with the end id.
        score: Mean log-probability of these tokens; of a loop, if the runtime has no log-probabilities of
            single tokens, of those before the cut too; NaN if it was not computed.
        looped: Whether the loop guard found that it repeats itself or does not end.
    """

    text: str
    tokens: int
    score: float
    looped: bool


def lightest(version: Version, beam: int = 1) -> RuntimeName:
    """Return the first of the version's runtimes whose library is installed; if none is, the first.

    Args:
        version: The version.
        beam: Width of the search. Above 1, runtimes that can search come first.

    Returns:
        The name of the runtime, for `Translator`.
    """
    runtimes = [runtime for runtime in version.manifest.runtimes if runtime.takes_ids]
    if beam > 1:
        runtimes = [runtime for runtime in runtimes if runtime.format == ONNX] or runtimes
    return next((runtime for runtime in runtimes if installed(runtime.library)), runtimes[0])


class BeamError(ValueError):
    """Error of a beam that a version cannot search, with the reason and the remedy."""


class Translator:
    """Translator with one runtime of a version, which gives the answers of the exported model.

    Args:
        version: The version, as `open_version` returns it.
        name: The runtime, as `lightest` returns it.
        beam: Width of the beam search; 1 is greedy.
        length_penalty: Power of the length by which the score of an answer is divided in a beam search.
        loop_guard: Whether answers that repeat themselves are cut.
        scores: Whether the answers need scores, if the runtime is faster without.

    Raises:
        BeamError: If the runtime cannot search with a beam.
        LibraryError: If the library of the runtime is not installed.
    """

    def __init__(
        self,
        version: Version,
        name: RuntimeName,
        beam: int = 1,
        length_penalty: float = 1.0,
        loop_guard: bool = True,
        scores: bool = True,
    ) -> None:
        if beam > 1:
            _check_beam(version, name)
        self._beam, self._length_penalty, self._loop_guard = beam, length_penalty, loop_guard
        self._lengths = Lengths(**asdict(version.manifest.lengths))
        self._tokenizer = version.tokenizer
        limits = version.manifest.limits
        self._longest, self._limit = limits.source_tokens, limits.answer
        files = (version.directory, version.tokenizer, self._longest, self._limit, usable_cores(), scores)
        self._runtime: Any = open_runtime(name, VersionFiles(*files))

    def translate(self, texts: Sequence[str]) -> list[Translated]:
        """Translate texts, each as one sentence.

        Args:
            texts: The texts. Those that are longer than the limit of the version are cut.

        Returns:
            The translations, in order. A text without tokens has an answer without tokens.
        """
        answers = self._answers(self._tokenizer.encode_source(texts, self._longest))
        translations = self._tokenizer.decode_target([answer.ids for answer in answers])
        return [
            Translated(text, len(answer.ids), answer.score, answer.looped)
            for text, answer in zip(translations, answers, strict=True)
        ]

    def translate_divided(
        self, texts: Sequence[str], target_language: str | None = None
    ) -> list[Translation]:
        """Translate texts of any length: each is divided, and its translations are joined again.

        Args:
            texts: The texts.
            target_language: Code of the target language, for a model of several.

        Returns:
            The translations, in order.
        """
        whole = [divided_for(self._tokenizer, text, self._lengths, target_language) for text in texts]
        translations = (
            (part.text, part.looped)
            for part in self.translate([part for parts in whole for part in parts.texts])
        )
        return [Translation.joined(parts, islice(translations, len(parts.texts))) for parts in whole]

    def _answers(self, rows: list[list[int]]) -> list[Answer]:
        """Return the best answer to each row; its score is the mean of its log-probabilities."""
        if self._beam == 1:
            found = [[answer] if answer.ids else [] for answer in self._runtime.translate_ids(rows)]
        else:
            found = self._runtime.search(rows, self._beam, self._length_penalty)
        if self._loop_guard:
            found = [
                LoopGuard.of(row, min(self._limit(len(row)), self._longest)).checked(
                    answers, self._tokenizer.eos_id, self._length_penalty
                )
                for row, answers in zip(rows, found, strict=True)
            ]
        return [_with_mean(answers[0]) if answers else Answer([], 0.0) for answers in found]


def _with_mean(answer: Answer) -> Answer:
    if not answer.log_probs:  # of a runtime that returns the mean alone
        return answer
    return answer._replace(score=sum(answer.log_probs) / len(answer.ids))


def _check_beam(version: Version, name: RuntimeName) -> None:
    if name.format != ONNX:
        reason = f"{name} decodes greedily: export it with --format onnx as well"
    elif CANDIDATES not in version.manifest.files:
        reason = f"it has no {CANDIDATES}, as an earlier release exported it: export it again"
    else:
        return
    raise BeamError(f"{version.directory} searches no beam. {reason}, or leave out --beam.")
