"""The quality card of a version: corpus, scores, sizes, and speed on a named machine."""

import os
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from export.artifact.checksums import Checksum
from export.artifact.schema import Large
from export.formats.registry import format_of
from keras_transformer.text.visible import visible_line


@dataclass(frozen=True)
class Pairs:
    """Number of pairs of the corpus, and of those that cleaning kept."""

    read: Large
    kept: Large


@dataclass(frozen=True)
class Scored:
    """Value of a sacreBLEU metric on the golden sentences, with its 95 % confidence interval."""

    name: str
    value: float
    signature: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Agreement:
    """Agreement of a runtime with the model on golden sentences: a row of the certificate.

    Attributes:
        runtime: Name of the runtime.
        precision: "float32" or "int8".
        sentences: Number of sentences.
        identical: Number of answers that are equal in every token, or as text if a runtime returns no tokens.
        texts: Number of sentences whose translation from text is the same text, for a runtime that takes
            text.
        near_ties: Number of other answers that differ first where the model's two best tokens were a
            near-tie.
        score_difference: Largest difference of the scores of identical answers.
        bleu: BLEU, if there are references.
        bleu_change: Difference of the BLEU to that of the model.
        sentences_per_second: Speed.
        beam: Width of the beam; 1 is greedy.
    """

    runtime: str
    precision: str
    sentences: int
    identical: int
    texts: int | None
    near_ties: int
    score_difference: float | None
    bleu: float | None
    bleu_change: float | None
    sentences_per_second: float
    beam: int = 1
    optional: ClassVar = ("beam",)


@dataclass(frozen=True)
class BeamQuality:
    """BLEU with a beam on some of the golden sentences, and that of the greedy answers to the same ones.

    Attributes:
        beam: Width of the beam.
        sentences: Number of sentences.
        bleu: BLEU with the beam.
        greedy_bleu: BLEU of the greedy answers.
    """

    beam: int
    sentences: int
    bleu: float
    greedy_bleu: float


@dataclass(frozen=True)
class Machine:
    """Machine on which the speed was measured; each runtime had `threads` threads."""

    processor: str
    cores: int
    threads: int

    @classmethod
    def this(cls, threads: int) -> "Machine":
        """Describe this machine."""
        return cls(_processor(), os.cpu_count() or 1, threads)


@dataclass(frozen=True)
class QualityCard:
    """Quality of a version, as the manifest stores it.

    Attributes:
        corpus: The corpus, if it is known.
        pairs: Numbers of pairs of the corpus.
        parameters: Number of parameters.
        bytes: Size of each format; "all" is the size of what every format needs.
        sentences: Number of golden sentences.
        scores: Scores of the model; empty without references.
        agreement: Agreement of each runtime at the export.
        machine: Machine of the measurement.
        date: Time of the measurement.
        beam: BLEU with a beam; None without references.
    """

    corpus: str | None
    pairs: Pairs | None
    parameters: Large
    bytes: dict[str, Large]
    sentences: int
    scores: tuple[Scored, ...]
    agreement: tuple[Agreement, ...]
    machine: Machine
    date: str
    beam: BeamQuality | None = None
    optional: ClassVar = ("beam",)  # versions of earlier releases have none

    def __post_init__(self) -> None:
        if self.corpus is not None and self.corpus != visible_line(self.corpus):
            raise ValueError(f"corpus must be one printable line; got {self.corpus[:60]!a}")


def sizes(files: Mapping[str, Checksum]) -> dict[str, int]:
    """Return the size in bytes of the files of each format."""
    counted: Counter[str] = Counter()
    for name, checksum in files.items():
        counted[format_of(name)] += checksum.bytes
    return dict(counted)


def _processor() -> str:
    """Return the name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
