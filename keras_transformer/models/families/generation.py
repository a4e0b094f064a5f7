"""Text that a model continues: prompts in, generated tokens out, with a KV cache.

B batch, P length of the longest prompt, L largest number of new tokens, V vocabulary.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from keras_transformer.decoding.greedy import State, StepFunction
from keras_transformer.decoding.sampling import Sampling, draw, sample
from keras_transformer.decoding.tracing import Derived, traced
from keras_transformer.layers.arguments import check_sizes
from keras_transformer.layers.tensor import Tensor
from keras_transformer.models.families.family import TextModel
from keras_transformer.settings import Settings
from keras_transformer.text.padding import padded

Rows = list[list[int]]


@dataclass(frozen=True)
class GenerativeNetwork(Settings):
    """Base class of the networks of GenerativeModel, which have a field end_id."""

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Ids that end a text: none, one or several."""
        ends = vars(self)["end_id"]
        return () if ends is None else ends if isinstance(ends, tuple) else (ends,)

    def _wrong_ends(self) -> list[str]:
        """Make a list of JSON a tuple, and return what is wrong with the ids."""
        if isinstance(vars(self)["end_id"], list):
            object.__setattr__(self, "end_id", tuple(vars(self)["end_id"]))
        right = all(type(end) is int and end >= 0 for end in self.end_ids)
        return [] if right else [f"end_id must be an id, several, or None; got {self.end_ids}"]


class GenerativeModel(TextModel):
    """Base class of models that generate text. A network is a GenerativeNetwork with a vocabulary_size.

    Args:
        *args: Arguments of TextModel: network, tokenizer and seed.
        **kwargs: Arguments of keras.Model.
    """

    network: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.derived = Derived(self)

    @classmethod
    def from_pretrained(cls, path: str | Path) -> Self:
        """Load a directory of Hugging Face transformers.

        Args:
            path: Directory with config.json, the weights as safetensors or pytorch_model.bin, and perhaps
                tokenizer.json. Nothing in it is executed.

        Returns:
            The model, with its tokenizer if there is one.

        Raises:
            PretrainedError: With everything that is wrong with the directory, or not supported.
        """
        return cls._load(Path(path))

    @classmethod
    @abstractmethod
    def _load(cls, path: Path) -> Self:
        """Load a directory with the loader of the family, which is imported no earlier."""

    @abstractmethod
    def _begin(self, prompts: Tensor, lengths: Tensor, longest: Tensor) -> tuple[StepFunction, State, Tensor]:
        """Read the prompts (B, P) in one pass.

        Args:
            prompts: Padded ids.
            lengths: Number of real ids of each prompt (B,).
            longest: Number of steps that follow.

        Returns:
            The step function, its state, and the token before the first step (B,).
        """

    @abstractmethod
    def _seen(self, prompts: Rows) -> Rows:
        """Return the tokens that a repetition penalty counts before the first step."""

    def _texts(self, prompts: Rows, found: Rows) -> list[str]:
        """Return the texts of the new ids."""
        return self.known_tokenizer().decode(found)

    def _check_lengths(self, prompts: Rows, new_tokens: int) -> None:
        """Raise ValueError for a prompt that is too long for the network."""

    def generate(
        self,
        prompts: Any,
        max_new_tokens: int = 50,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        repetition_penalty: float = 1.0,
        seed: int | Sequence[int] | None = None,
        batch_size: int = 32,
    ) -> Any:
        """Generate tokens.

        A prompt has the same tokens in any batch: its random numbers depend on its own seed.

        Args:
            prompts: Texts, which need a tokenizer, or rows of token ids.
            max_new_tokens: Largest number of new tokens of a prompt.
            temperature: Divisor of the logits before a token is drawn; 0 takes the likeliest token.
            top_k: Number of likeliest tokens to draw from; None for all.
            top_p: Draw from the likeliest tokens that together have at least this probability.
            repetition_penalty: Divisor of the positive logits of tokens that were there already, and factor
                of the negative ones.
            seed: Seed of all prompts, or one for each; None for new ones at every call.
            batch_size: Number of prompts that are computed together.

        Returns:
            For texts the new texts, for ids the new ids, up to and including the first end id.

        Raises:
            ValueError: If an option is out of range, a prompt is empty or too long, or texts are passed to a
                model without a tokenizer.
            TypeError: If prompts is a single text, or mixes texts and ids.
        """
        options = Sampling(temperature, top_k, top_p, repetition_penalty)
        options.check()
        check_sizes(max_new_tokens=max_new_tokens, batch_size=batch_size)
        rows, are_texts = self._rows(prompts)
        self._check_lengths(rows, max_new_tokens)
        draws = draw(_seeds(seed, len(rows)), max_new_tokens)
        run = self.derived.get(_traced, options)
        found: Rows = []
        for first in range(0, len(rows), batch_size):
            chosen = rows[first : first + batch_size]
            seen = self._one_hot(chosen, options)
            lengths = np.array([len(row) for row in chosen], np.int32)
            prompt_ids = padded(chosen, pad_id=getattr(self.network, "pad_id", 0))
            batch = run(prompt_ids, lengths, draws[first : first + batch_size], seen, max_new_tokens)
            found += [self._up_to_end(ids) for ids in batch.tolist()]
        return self._texts(rows, found) if are_texts else found

    def _rows(self, prompts: Any) -> tuple[Rows, bool]:
        """Return the prompts as rows of ids, and whether they are texts."""
        if isinstance(prompts, str | bytes) or not isinstance(prompts, Iterable):
            raise TypeError(f"generate takes a list of texts or of rows of ids; got {prompts!r:.40}.")
        prompts = list(prompts)
        kinds = {isinstance(prompt, str) for prompt in prompts}
        if len(kinds) > 1:
            raise TypeError("generate takes texts or rows of ids; got both.")
        are_texts = kinds == {True}
        rows = self.known_tokenizer().encode(prompts) if are_texts else [[*map(int, row)] for row in prompts]
        for number, row in enumerate(rows, start=1):
            if not row:
                raise ValueError(f"prompt {number} is empty; a prompt needs at least one token.")
            if not 0 <= min(row) <= max(row) < self.network.vocabulary_size:
                raise ValueError(
                    f"prompt {number} must have ids from 0 to {self.network.vocabulary_size - 1}; "
                    f"got {min(row)} to {max(row)}."
                )
        return rows, are_texts

    def _one_hot(self, prompts: Rows, options: Sampling) -> Any:
        if options.repetition_penalty == 1:
            return np.zeros((len(prompts), 1), np.int32)  # not read
        seen = np.zeros((len(prompts), self.network.vocabulary_size), np.int32)
        for row, ids in zip(seen, self._seen(prompts), strict=True):
            row[ids] = 1
        return seen

    def _up_to_end(self, ids: list[int]) -> list[int]:
        ends = self.network.end_ids
        return ids[: next((place + 1 for place, token in enumerate(ids) if token in ends), len(ids))]


def _seeds(seed: int | Sequence[int] | None, count: int) -> list[int]:
    if seed is None:
        return [int(state) for state in np.random.SeedSequence().generate_state(count)]
    seeds = [seed] * count if np.ndim(seed) == 0 else list(seed)  # type: ignore[arg-type]
    if len(seeds) != count:
        raise ValueError(f"there must be one seed, or one for each of {count} prompts; got {len(seeds)}.")
    return seeds  # type: ignore[return-value]


def _traced(model: GenerativeModel, options: Sampling) -> Callable[..., Any]:
    """Compile the generation of a model with fixed options."""
    ends = model.network.end_ids

    def generate(prompts: Tensor, lengths: Tensor, draws: Tensor, seen: Tensor, longest: Tensor) -> Tensor:
        step, state, token = model._begin(prompts, lengths, longest)
        return sample(step, state, token, longest, ends, options, draws, seen)

    return traced(model, generate, 2, 1, 2, 2, 0)
