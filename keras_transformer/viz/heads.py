"""The attention weights of every head of a translation model, for a text and its translation.

L layers, H heads, Q queries, K keys.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.models.recurrent_network import RecurrentNetwork

if TYPE_CHECKING:
    from keras_transformer.models.architectures import Configuration
    from keras_transformer.models.encoder_decoder import EncoderDecoder

#: The kinds of attention, by the name that a command line takes.
KINDS = {"input-input": "Input–Input", "output-output": "Output–Output", "input-output": "Input–Output"}
#: Largest number of tokens of a side that are shown; the cells of a larger table are too small to see.
MAX_TOKENS = 256
START, END, SPACE = "⟨start⟩", "⟨end⟩", "␣"

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class AttentionKind:
    """Attention heads of one kind.

    Args:
        name: Name on pages and pictures.
        weights: Attention weights (L, H, Q, K).
        queries: Tokens of the rows.
        keys: Tokens of the columns.
        notes: Additional text for each query, or "".
    """

    name: str
    weights: NDArray[np.float32]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.weights.shape[0]

    @property
    def heads(self) -> int:
        """Number of heads of a layer."""
        return self.weights.shape[1]


@dataclass(frozen=True)
class Heads:
    """Text, its translation, and their attention by kind; `notices` names the tokens that were omitted."""

    text: str
    translation: str
    kinds: dict[str, AttentionKind]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """Selection of heads by kind, layer and head; the last two count from 1, and None selects all."""

    kind: str | None = None
    layer: int | None = None
    head: int | None = None

    def of(self, heads: Heads) -> dict[str, AttentionKind]:
        """Return the chosen kinds.

        Raises:
            ValueError: If one of them lacks the chosen layer or head.
        """
        self.check({name: (kind.layers, kind.heads) for name, kind in heads.kinds.items()})
        return {self.kind: heads.kinds[self.kind]} if self.kind else heads.kinds

    def check(self, sizes: Mapping[str, tuple[int, int]]) -> None:
        """Check the selection against the numbers of layers and heads of each kind.

        Raises:
            ValueError: If one of them lacks the chosen layer or head.
        """
        if self.kind and self.kind not in sizes:
            raise ValueError(f"this model has no {self.kind} attention; it has {', '.join(sizes)}.")
        for name in [self.kind] if self.kind else sizes:
            for what, number, count in zip(
                ("layer", "head"), (self.layer, self.head), sizes[name], strict=True
            ):
                if number is not None and not 1 <= number <= count:
                    raise ValueError(f"{KINDS[name]} has the {what}s 1 to {count}; got {what} {number}.")


def sizes_of(network: "Configuration") -> dict[str, tuple[int, int]]:
    """Return the numbers of layers and heads of each kind that the network has."""
    if isinstance(network, RecurrentNetwork):
        return {"input-output": (1, 1)} if network.attention else {}
    decoder = network.decoder_layers, network.decoder_num_heads or network.num_heads
    encoder = network.encoder_layers, network.num_heads
    return {"input-input": encoder, "output-output": decoder, "input-output": decoder}


def heads_of(model: "EncoderDecoder", text: str, target: str | None = None) -> Heads:
    """Compute the attention of a model for a text and its translation.

    The decoder reads the start token and the translation so far: position t has read token t and predicts
    token t + 1.

    Args:
        model: Model with a tokenizer.
        text: Text to translate.
        target: Translation to use instead of the model's own.

    Raises:
        ValueError: If the model has no tokenizer, or the text no tokens.
    """
    if model.tokenizer is None:
        raise ValueError("this model has no tokenizer: create it with tokenizer=... to look at a text.")
    tokenizer = model.tokenizer
    limit = min(MAX_TOKENS, model.network.max_length)
    whole = tokenizer.encode_source([text])[0]
    source = whole if len(whole) <= limit else [*whole[: limit - 1], tokenizer.eos_id]
    if source == [tokenizer.eos_id]:
        raise ValueError(f"the text {text[:40]!r} has no tokens: it must have at least one word.")
    output = _translated(model, source) if target is None else tokenizer.encode_target([target])[0]
    read = [tokenizer.bos_id, *output[:-1]]
    notices = [
        f"{name} has {len(ids)} tokens; the first {limit} are shown."
        for name, ids in (("The text", whole), ("The translation", output))
        if len(ids) > limit
    ]
    read, predicted = read[:limit], output[:limit]
    weights = _attend(model, source, read)
    special = {tokenizer.bos_id: START, tokenizer.eos_id: END}
    sources = readable(tokenizer.pieces_source(source), [special.get(number, "") for number in source])
    reads = readable(tokenizer.pieces_target(read), [special.get(number, "") for number in read])
    predictions = readable(
        tokenizer.pieces_target(predicted), [special.get(number, "") for number in predicted]
    )
    notes = tuple(f"has read {one}, predicts {other}" for one, other in zip(reads, predictions, strict=True))
    tokens = {
        "input-input": (sources, sources, ("",) * len(sources)),
        "output-output": (reads, reads, notes),
        "input-output": (predictions, sources, notes),
    }
    kinds = {name: AttentionKind(KINDS[name], weights[name], *tokens[name]) for name in weights}
    translation = tokenizer.decode_target([output])[0] if target is None else target
    return Heads(text, translation, kinds, tuple(notices))


def readable(pieces: Sequence[str], names: Sequence[str] = ()) -> tuple[str, ...]:
    """Make pieces of a vocabulary readable: ▁ becomes ␣, and bytes are named by their character.

    Args:
        pieces: Pieces of a text, in order.
        names: Name of each piece that is not text, "" for the others.
    """
    shown = [piece.replace("▁", SPACE) for piece in pieces]
    for index, name in enumerate(names):
        shown[index] = name or shown[index]
    first = 0
    while first < len(pieces):
        run = first
        while run < len(pieces) and _BYTE.fullmatch(pieces[run]):
            run += 1
        shown[first:run] = _characters(bytes(int(piece[3:5], 16) for piece in pieces[first:run]))
        first = run + 1
    return tuple(shown)


def _characters(content: bytes) -> list[str]:
    """Name each byte; those of a character of two bytes are é 1/2 and é 2/2."""
    names: list[str] = []
    while len(names) < len(content):
        rest = content[len(names) :]
        length = next((size for size in (1, 2, 3, 4) if _is_character(rest[:size])), 0)
        if not length:
            names.append(f"byte {rest[0]:02X}")
        elif length == 1:
            names.append(chr(rest[0]) if 0x20 < rest[0] < 0x7F else f"byte {rest[0]:02X}")
        else:
            character = rest[:length].decode()
            names += [f"{character} {part}/{length}" for part in range(1, length + 1)]
    return names


def _is_character(content: bytes) -> bool:
    text = content.decode(errors="ignore")
    return len(text) == 1 and text.encode() == content


def _translated(model: "EncoderDecoder", source: list[int]) -> list[int]:
    """Translate; the ids end with the end id unless the length limit was reached."""
    from keras_transformer.decoding.traced_search import Search  # noqa: PLC0415
    from keras_transformer.models.translate import prepared_search  # noqa: PLC0415

    tokenizer: Any = model.tokenizer
    search = prepared_search(model, Search(tokenizer.bos_id, tokenizer.eos_id), scores=False)
    (answers,) = search([source])
    return answers[0].ids if answers else [tokenizer.eos_id]


def _attend(model: "EncoderDecoder", source: list[int], read: list[int]) -> dict[str, NDArray[np.float32]]:
    """Return the attention of each kind that the model has, (L, H, Q, K)."""
    from keras import ops  # noqa: PLC0415

    _, attention = model.attend(
        {"source": ops.convert_to_tensor([source]), "target": ops.convert_to_tensor([read])}
    )
    return {
        name: np.stack([ops.convert_to_numpy(layer)[0] for layer in layers]).astype("float32")
        for name, layers in zip(KINDS, attention, strict=True)
        if layers
    }
