"""What every head of a translation model looks at while it reads a text and writes its translation.

L layers, H heads, S source tokens, T target tokens; `from` is the position that looks, `to` what it looks at.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from keras_transformer.models.translation import TranslationModel

#: The kinds of attention, by the name that a command line takes.
KINDS = {"input-input": "Input–Input", "output-output": "Output–Output", "input-output": "Input–Output"}
#: Tokens of a side that are shown. A map of more has cells that nobody can tell apart.
LONGEST = 256
START, END, SPACE = "⟨start⟩", "⟨end⟩", "␣"

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class AttentionKind:
    """The heads of one kind: weights (L, H, from, to), and the tokens of both axes.

    `situations` says of each position that looks where in the text it stands.
    """

    name: str
    weights: NDArray[np.float32]
    looking: tuple[str, ...]
    seen: tuple[str, ...]
    situations: tuple[str, ...]

    @property
    def layers(self) -> int:
        return self.weights.shape[0]

    @property
    def heads(self) -> int:
        return self.weights.shape[1]


@dataclass(frozen=True)
class Heads:
    """A text, its translation, and the three kinds of attention behind it. `cut` says what was left out."""

    text: str
    translation: str
    kinds: dict[str, AttentionKind]
    cut: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """What of the heads to show: a kind, a layer, a head, the last two counted from 1. None is every one."""

    kind: str | None = None
    layer: int | None = None
    head: int | None = None

    def of(self, heads: Heads) -> dict[str, AttentionKind]:
        """The kinds chosen; each has the layer and the head, or the choice is refused."""
        kinds = {self.kind: heads.kinds[self.kind]} if self.kind else heads.kinds
        for kind in kinds.values():
            for what, number, count in (("layer", self.layer, kind.layers), ("head", self.head, kind.heads)):
                if number is not None and not 1 <= number <= count:
                    raise ValueError(f"{kind.name} has the {what}s 1 to {count}; got {what} {number}.")
        return kinds


def heads_of(model: "TranslationModel", text: str, target: str | None = None) -> Heads:
    """The heads at work on a text and the model's own translation of it, or a given one.

    The decoder reads the start and then what was said so far: position t has read token t and says t + 1.
    """
    if model.tokenizer is None:
        raise ValueError("this model has no tokenizer: create it with tokenizer=... to look at a text.")
    tokenizer = model.tokenizer
    limit = min(LONGEST, model.network.max_length)
    whole = tokenizer.encode_source([text])[0]
    source = whole if len(whole) <= limit else [*whole[: limit - 1], tokenizer.eos_id]
    if source == [tokenizer.eos_id]:
        raise ValueError(f"there is nothing to look at in the text {text[:40]!r}: give it a word.")
    said = _translated(model, source) if target is None else tokenizer.encode_target([target])[0]
    read = [tokenizer.bos_id, *said[:-1]]
    cut = [
        f"{name} has {len(ids)} tokens and {limit} are shown: the rest was left out."
        for name, ids in (("The text", whole), ("The translation", said))
        if len(ids) > limit
    ]
    read, shown = read[:limit], said[:limit]
    encoder, decoder, cross = _attend(model, source, read)
    special = {tokenizer.bos_id: START, tokenizer.eos_id: END}
    sources = readable(tokenizer.pieces_source(source), [special.get(number, "") for number in source])
    reads = readable(tokenizer.pieces_target(read), [special.get(number, "") for number in read])
    says = readable(tokenizer.pieces_target(shown), [special.get(number, "") for number in shown])
    written = tuple(f"has read {one}, says {other}" for one, other in zip(reads, says, strict=True))
    kinds = (
        AttentionKind(KINDS["input-input"], encoder, sources, sources, ("",) * len(sources)),
        AttentionKind(KINDS["output-output"], decoder, reads, reads, written),
        AttentionKind(KINDS["input-output"], cross, says, sources, written),
    )
    translation = tokenizer.decode_target([said])[0] if target is None else target
    return Heads(text, translation, dict(zip(KINDS, kinds, strict=True)), tuple(cut))


def readable(pieces: Sequence[str], names: Sequence[str] = ()) -> tuple[str, ...]:
    """Pieces as a reader wants them: ▁ as ␣, bytes as the character that they are a part of.

    Where `names` has a name for a piece, that is what it is called.
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
    """A name for each byte: of a character of several bytes, é 1/2 and é 2/2."""
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
    try:
        return len(content.decode()) == 1
    except UnicodeDecodeError:
        return False


def _translated(model: "TranslationModel", source: list[int]) -> list[int]:
    """What the model says, with the end, unless it was stopped before it came to one."""
    from keras_transformer.decoding.traced_search import Search  # noqa: PLC0415
    from keras_transformer.models.translate import search_ids  # noqa: PLC0415

    tokenizer: Any = model.tokenizer
    (answers,) = search_ids(model, [source], Search(tokenizer.bos_id, tokenizer.eos_id))
    return answers[0].ids if answers else [tokenizer.eos_id]


def _attend(model: "TranslationModel", source: list[int], read: list[int]) -> list[NDArray[np.float32]]:
    """Encoder, decoder and cross attention, each (L, H, from, to)."""
    from keras import ops  # noqa: PLC0415

    _, attention = model.attend(
        {"source": ops.convert_to_tensor([source]), "target": ops.convert_to_tensor([read])}
    )
    return [
        np.stack([ops.convert_to_numpy(layer)[0] for layer in layers]).astype("float32")
        for layers in attention
    ]
