"""Texts in, texts out, through one runtime of a version."""

from collections.abc import Sequence
from typing import NamedTuple

from export.artifact.manifest import Version
from export.formats.format import RuntimeName, VersionFiles
from export.formats.registry import open_runtime
from keras_transformer.cores import usable_cores
from keras_transformer.libraries import installed


class Translated(NamedTuple):
    """The translation of one text."""

    text: str
    tokens: int  # the end included
    score: float  # the mean log-probability of these


def lightest(version: Version) -> RuntimeName:
    """Return the first of the version's runtimes whose library is installed; if none is, the first."""
    runtimes = [runtime for runtime in version.manifest.runtimes if runtime.takes_ids]
    return next((runtime for runtime in runtimes if installed(runtime.library)), runtimes[0])


class Translator:
    """Translates greedily, as the exported model does."""

    def __init__(self, version: Version, name: RuntimeName) -> None:
        self._tokenizer = version.tokenizer
        limits = version.manifest.limits
        self._longest = limits.source_tokens
        files = (version.directory, version.tokenizer, self._longest, limits.answer, usable_cores())
        self._runtime = open_runtime(name, VersionFiles(*files))

    def translate(self, texts: Sequence[str]) -> list[Translated]:
        """Translate texts, in the order given. A text of no tokens has an answer of no tokens."""
        answers = self._runtime.translate_ids(self._tokenizer.encode_source(texts, self._longest))
        translations = self._tokenizer.decode_target([answer.ids for answer in answers])
        return [
            Translated(text, len(answer.ids), answer.score)
            for text, answer in zip(translations, answers, strict=True)
        ]
