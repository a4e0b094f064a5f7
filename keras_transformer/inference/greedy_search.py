"""Greedy search: append the token that the backend has picked, or the likeliest one that is allowed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.backend import Floats
from keras_transformer.inference.repetition import likeliest, repeating
from keras_transformer.inference.request import Request
from keras_transformer.inference.strategy import Choices, Move


@dataclass(frozen=True, eq=False)
class GreedySearch:
    """Greedy search of one request in one row, whose tokens grow with every step and can be streamed."""

    request: Request
    end_id: int
    scores: Sequence[float] = ()  # nothing compares them

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Append the next token."""
        request, row = self.request, rows[0]
        token = choices.tokens[row]
        request.tokens.append(token)
        if request.scores:
            request.log_probs.append(choices.log_probs[row])
        guard, over = request.guard, token == self.end_id or len(request.tokens) == request.max_tokens
        if not over and (guard is None or not guard.stuck(request.tokens)):
            return ()
        score = math.nan
        if request.scores:
            score = sum(request.log_probs) / len(request.tokens) ** request.length_penalty
        request.finish([Answer(request.tokens, score, request.log_probs)], self.end_id)
        return ()


class GuidedSearch(GreedySearch):
    """One row whose answer begins with a prefix, or repeats no n-gram."""

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Append the token of the prefix, or the likeliest one that repeats nothing."""
        if choices.continuations is None:
            raise TypeError("a prefix or a guard needs a backend that returns candidates.")
        (row,), log_probs = rows, choices.continuations.of_all
        token = self._chosen(choices.tokens[row], log_probs[row])
        if token == choices.tokens[row]:
            return super().advance(choices, rows)
        choices.tokens[row], choices.log_probs[row] = token, float(log_probs[row, token])
        super().advance(choices, rows)
        return () if self.request.end else (Move(row, row, token),)

    def _chosen(self, token: int, log_probs: Floats) -> int:
        request = self.request
        if len(request.tokens) < len(request.prefix):
            return request.prefix[len(request.tokens)]
        if request.no_repeat_ngram:
            banned = repeating(request.tokens, request.no_repeat_ngram)
            if token in banned:
                (token,) = likeliest(log_probs, banned, 1)
        return token
