"""Golden sentences: answers of the trained model, token by token, that every runtime must give."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from export.artifact.schema import RecordError, parsed, record
from keras_transformer.text.tokenizer import Tokenizer

NEAR_TIE = 1e-4  # of two logits: less apart, and another runtime's rounding may decide otherwise


class GoldenError(ValueError):
    """Golden sentences that are refused: a line for each problem, which begins with its position."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Golden:
    """A sentence, and the model's greedy answer to it at float32."""

    source: str
    source_ids: tuple[int, ...]  # with the end, cut to what the model takes
    target: str
    target_ids: tuple[int, ...]  # with the end, if it came to it
    score: float  # the mean log-probability of these
    margin: float  # the smallest distance of the first two logits, over the steps of the answer
    reference: str | None  # a right translation, if one is known

    @property
    def near_tie(self) -> bool:
        """Whether two tokens were almost equally likely for the model."""
        return self.margin < NEAR_TIE


def golden_lines(sentences: Iterable[Golden]) -> bytes:
    """Return the bytes of golden.jsonl."""
    return b"".join(
        json.dumps(asdict(sentence), ensure_ascii=False).encode() + b"\n" for sentence in sentences
    )


def read_golden(content: bytes) -> tuple[Golden, ...]:
    """Read what golden_lines wrote. Only a line feed ends a line: a sentence may have other line separators.

    Raises:
        GoldenError: there is no sentence, or a line is damaged.
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
    """Check that texts and ids agree under a tokenizer, the one that they were written with.

    Raises:
        GoldenError: they do not; every sentence is named.
    """
    problems = []
    encoded = tokenizer.encode_source([sentence.source for sentence in sentences], max_length)
    for number, (sentence, ids) in enumerate(zip(sentences, encoded, strict=True), 1):
        if sentence.source_ids != tuple(ids):
            problems.append(f", line {number}: source_ids are not what the tokenizer makes of its source")
        try:
            (target,) = tokenizer.decode_target([sentence.target_ids])
        except ValueError as error:
            problems.append(f", line {number}: target_ids: {error}")
        else:
            if sentence.target != target:
                problems.append(f", line {number}: target_ids are not the tokenizer's for its target")
    if problems:
        raise GoldenError(problems)
