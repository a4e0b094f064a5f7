"""The loop guard: answers that repeat themselves, or do not end, are found and marked, and repetitions cut.

An answer is a loop if one of its n-grams, of any length, occurs TIMES times in a row, or if it has as many
tokens as the model allows for its source, and no end. Repetition does not count where the source or the
prefix repeats an n-gram REPEATS times in a row ("Ha ha ha!").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from operator import eq
from typing import Self

from keras_transformer.inference.answer import Answer

TIMES = 4
REPEATS = 3
EVERY = 8  # tokens after which a growing answer is checked


@dataclass(frozen=True)
class LoopGuard:
    """Guard of the answers to one source.

    Attributes:
        max_tokens: Number of tokens at which an answer without an end is a loop.
        begun: Number of tokens that are never cut: the prefix, and the token in which branches differ.
        may_repeat: Whether repetition is allowed, because the source or the prefix has it too.
    """

    max_tokens: int
    begun: int = 0
    may_repeat: bool = False

    @classmethod
    def of(
        cls, source: Sequence[int], max_tokens: int, prefix: Sequence[int] = (), branching: bool = False
    ) -> Self:
        """Return the guard of a source.

        Args:
            source: Its ids.
            max_tokens: Largest number of tokens that the model allows for an answer to it.
            prefix: Ids with which the answers begin.
            branching: Whether the answers differ in the token after the prefix.
        """
        repeats = any(_first_of_repeated(ids, REPEATS) is not None for ids in (source, prefix))
        return cls(max_tokens, len(prefix) + branching, repeats)

    def stuck(self, ids: Sequence[int]) -> bool:
        """Return whether a growing answer, which is checked EVERY few tokens, is a loop at its end."""
        if self.may_repeat or len(ids) % EVERY:
            return False
        longest = len(ids) // TIMES
        return any(
            ids[-1] == ids[-1 - size] and ids[-(TIMES - 1) * size :] == ids[-TIMES * size : -size]
            for size in range(1, longest + 1)
        )

    def certain(self, ids: Sequence[int]) -> Sequence[int]:
        """Return the tokens of a growing answer that are not cut whatever follows them."""
        if self.may_repeat:
            return ids
        kept = self._kept(ids)
        if kept is None:
            sizes = (size for size in range(1, len(ids)) if ids[-1] == ids[-1 - size])
            kept = len(ids) - max((_repeated_at_end(ids, size) for size in sizes), default=0)
        return ids[: max(kept, self.begun)]

    def checked(self, answers: Sequence[Answer], end_id: int, length_penalty: float) -> list[Answer]:
        """Cut and mark loops.

        A repetition is cut after the first occurrence of its n-gram. An answer that only does not end is not
        cut.

        Args:
            answers: The answers to the source, best first.
            end_id: Id of the token that ends an answer.
            length_penalty: Exponent of the length by which scores are divided.

        Returns:
            The answers that are no loops, then the loops, best first, without those that have become equal.
        """
        sound, loops = [], dict[tuple[int, ...], Answer]()
        for answer in answers:
            kept = None if self.may_repeat else self._kept(answer.ids)
            if kept is not None:
                cut = _cut(answer, max(kept, self.begun), length_penalty)
                loops.setdefault(tuple(cut.ids), cut)
            elif len(answer.ids) == self.max_tokens and answer.ids[-1] != end_id:
                loops.setdefault(tuple(answer.ids), answer._replace(looped=True))
            else:
                sound.append(answer)
        return [*sound, *sorted(loops.values(), key=lambda answer: answer.score, reverse=True)]

    def _kept(self, ids: Sequence[int]) -> int | None:
        return _first_of_repeated(ids, TIMES)


def _first_of_repeated(ids: Sequence[int], times: int) -> int | None:
    """Return the end of the first occurrence of the n-gram that is the first to occur `times` times in a row.

    None if there is none.
    """
    if len(ids) - len(set(ids)) < times - 1:
        return None
    complete = []
    for size in range(1, len(ids) // times + 1):
        needed = (times - 1) * size
        if not any(map(eq, ids[needed - 1 + size :: needed], ids[needed - 1 :: needed])):
            continue  # so many equal tokens in a row would include one of these
        equal = bytes(map(eq, ids[size:], ids))  # each token with that of the n-gram before
        begin = equal.find(b"\1" * needed)
        if begin >= 0:
            complete.append((begin + times * size, begin + size))
    return min(complete)[1] if complete else None


def _repeated_at_end(ids: Sequence[int], size: int) -> int:
    """Return the number of tokens at the end that are equal to those `size` tokens before."""
    pairs = zip(reversed(ids), islice(reversed(ids), size, None), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut(answer: Answer, kept: int, length_penalty: float) -> Answer:
    """Cut an answer; its score is computed again if there are log-probabilities."""
    ids, log_probs = answer.ids[:kept], answer.log_probs[:kept]
    score = sum(log_probs) / len(ids) ** length_penalty if log_probs else answer.score
    return Answer(ids, score, log_probs, looped=True)
