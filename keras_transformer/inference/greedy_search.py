"""Greedy search: append the token that the backend has picked; a prefix overrides it."""

from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.inference.answer import Answer
from keras_transformer.inference.request import End, Request
from keras_transformer.inference.strategy import Choices, Move


@dataclass(frozen=True, eq=False)
class GreedySearch:
    """One row. Its tokens grow with every step, so that they can be streamed."""

    request: Request
    end_id: int

    def advance(self, choices: Choices, rows: list[int]) -> Sequence[Move]:
        """Append the next token: the likeliest one, or that of the prefix."""
        request, row = self.request, rows[0]
        token, log_prob = choices.tokens[row], choices.log_probs[row]
        moves: tuple[Move, ...] = ()
        if len(request.tokens) < len(request.prefix):
            if choices.candidates is None:
                raise TypeError("a prefix needs a backend that returns candidates.")
            token = request.prefix[len(request.tokens)]
            log_prob = float(choices.candidates.log_probs[row, token])
            moves = (Move(row, row, token),)
        request.tokens.append(token)
        request.log_probs.append(log_prob)
        if token == self.end_id:
            request.end = End.STOP
        elif len(request.tokens) == request.max_tokens:
            request.end = End.LENGTH
        else:
            return moves
        score = sum(request.log_probs) / len(request.tokens) ** request.length_penalty
        request.answers = [Answer(request.tokens, score, request.log_probs)]
        return ()
