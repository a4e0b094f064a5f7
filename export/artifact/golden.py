"""Golden sentences: answers of the trained model, token by token, that every runtime must reproduce."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from export.artifact.schema import RecordError, parsed, record
from keras_transformer.text.tokenizer import Tokenizer

NEAR_TIE = 1e-4  # difference of two logits, or scores of a beam, below which rounding may decide
BEAM = 5  # width of the beams of golden sentences, and of the signature `beam` of a SavedModel


class GoldenError(ValueError):
    """Error of golden sentences; each problem is a line that begins with its position."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class BeamAnswer:
    """The best answer of the model's beam of BEAM in float32.

    Attributes:
        target: The answer.
        target_ids: Its ids, with the end id if the model generated it.
        score: Mean log-probability of these ids.
        margin: Smallest difference of two scores by which the search decided.
    """

    target: str
    target_ids: tuple[int, ...]
    score: float
    margin: float


@dataclass(frozen=True)
class Golden:
    """Sentence, and the model's greedy answer to it in float32.

    Attributes:
        source: The sentence.
        source_ids: Its ids with the end id, cut to the model's limit.
        target: The answer.
        target_ids: Its ids, with the end id if the model generated it.
        score: Mean log-probability of these ids.
        margin: Smallest difference of the two highest logits, over the steps of the answer.
        reference: A correct translation, if one is known.
        beam: The answer of a beam search, which some of the sentences have.
    """

    source: str
    source_ids: tuple[int, ...]
    target: str
    target_ids: tuple[int, ...]
    score: float
    margin: float
    reference: str | None
    beam: BeamAnswer | None = None
    optional: ClassVar = ("beam",)  # versions of earlier releases have none

    @property
    def near_tie(self) -> bool:
        """Whether two tokens were almost equally likely for the model."""
        return self.margin < NEAR_TIE

    def searched(self) -> "Golden | None":
        """Return the sentence with the answer of the beam instead of the greedy one."""
        return None if self.beam is None else replace(self, **vars(self.beam), beam=None)


def golden_lines(sentences: Iterable[Golden]) -> bytes:
    """Return the bytes of golden.jsonl."""
    return b"".join(
        json.dumps(asdict(sentence), ensure_ascii=False).encode() + b"\n" for sentence in sentences
    )


def read_golden(content: bytes) -> tuple[Golden, ...]:
    """Read the content of golden.jsonl, in which only a line feed ends a line.

    Raises:
        GoldenError: If there is no sentence, or a line is damaged.
    """
    if not content:
        raise GoldenError([": there is no sentence in it"])
    sentences, problems = [], []
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        try:
            sentences.append(record(Golden, parsed(line)))
        except RecordError as error:
            problems += [f", line {number}: {problem}" for problem in error.problems]
    if problems:
        raise GoldenError(problems)
    return tuple(sentences)


def check_tokenized(sentences: Sequence[Golden], tokenizer: Tokenizer, max_length: int) -> None:
    """Check that the ids are those of the texts under a tokenizer.

    Raises:
        GoldenError: With every sentence whose ids differ.
    """
    problems = []
    encoded = tokenizer.encode_source([sentence.source for sentence in sentences], max_length)
    for number, (sentence, ids) in enumerate(zip(sentences, encoded, strict=True), 1):
        if sentence.source_ids != tuple(ids):
            problems.append(f", line {number}: source_ids are not the tokenizer's for its source")
        for name, answer in (("", sentence), ("beam.", sentence.beam)):
            if answer is None:
                continue
            try:
                (target,) = tokenizer.decode_target([answer.target_ids])
            except ValueError as error:
                problems.append(f", line {number}: {name}target_ids: {error}")
            else:
                if answer.target != target:
                    problems.append(
                        f", line {number}: {name}target_ids are not the tokenizer's for its {name}target"
                    )
    if problems:
        raise GoldenError(problems)
