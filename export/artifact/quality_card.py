"""The quality card: corpus, scores, sizes and speed of a version, and the machine of the measurement."""

import os
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from export.artifact.checksums import Checksum
from export.artifact.schema import Large
from export.formats.registry import format_of
from keras_transformer.text.visible import visible_line


@dataclass(frozen=True)
class Pairs:
    """The number of pairs of the corpus, and of those that cleaning kept."""

    read: Large
    kept: Large


@dataclass(frozen=True)
class Scored:
    """A metric of sacreBLEU on the golden sentences; low and high bound it with 95 % confidence."""

    name: str
    value: float
    signature: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Agreement:
    """The agreement of one runtime with the model on golden sentences: a row of the certificate."""

    runtime: str
    precision: str
    sentences: int
    identical: int  # in every token, or as text where a runtime tells no tokens
    texts: int | None  # of these, translated to the same text from text alone, where a runtime can do that
    near_ties: int  # other tokens, where the model's first two were less than NEAR_TIE apart
    score_difference: float | None  # the largest, where the tokens are identical
    bleu: float | None  # where there are references
    bleu_change: float | None  # against the model's own
    sentences_per_second: float


@dataclass(frozen=True)
class Machine:
    """The machine on which the speed was measured."""

    processor: str
    cores: int
    threads: int  # that each runtime was given

    @classmethod
    def this(cls, threads: int) -> "Machine":
        return cls(_processor(), os.cpu_count() or 1, threads)


@dataclass(frozen=True)
class QualityCard:
    """The quality of a version, as the manifest has it."""

    corpus: str | None  # what it was trained on, as far as that is known
    pairs: Pairs | None
    parameters: Large
    bytes: dict[str, Large]  # of each format; "all" is what every format needs
    sentences: int  # golden ones
    scores: tuple[Scored, ...]  # none without references
    agreement: tuple[Agreement, ...]  # as seen when it was exported
    machine: Machine
    date: str

    def __post_init__(self) -> None:
        if self.corpus is not None and self.corpus != visible_line(self.corpus):
            raise ValueError(f"corpus must be one printable line; got {self.corpus[:60]!a}")


def sizes(files: Mapping[str, Checksum]) -> dict[str, int]:
    """Return the bytes of the files of each format."""
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
