"""A MarianMT directory as transformers saves it, with random weights; it is made without transformers.

The vocabulary of the base size has 59,400 pieces, as that of an OPUS-MT model: two unigram models of
SentencePiece over invented words, 30,000 pieces each, some of them in both. The weights are large
enough that answers differ from text to text. The end has a bias that no
logit makes up for: every answer is as long as max_length allows.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

SPECIAL = ["</s>", "<unk>"]
NEVER = -1e4  # the bias of the end


class Sizes(NamedTuple):
    """The sizes of a network and of its vocabulary."""

    layers: int
    width: int
    inner: int
    heads: int
    stems: int  # of each side: the pieces that begin a word, besides half as many that go on with it
    decoder_layers: int | None = None  # None: as many as the encoder has


BASE = Sizes(6, 512, 2048, 8, 20_000)
STUDENT = Sizes(6, 256, 1536, 8, 10_700, decoder_layers=2)  # 32,000 pieces
SMALLEST = Sizes(1, 16, 16, 2, 100)


def write(directory: Path, sizes: Sizes, target_tokens: int) -> None:
    """Write the directory.

    Args:
        directory: where the files go; it must not exist.
        sizes: the sizes of the network and of the vocabulary.
        target_tokens: tokens of every answer.
    """
    directory.mkdir(parents=True)
    sides = [_pieces(seed, sizes.stems) for seed in (0, 1)]
    for name, pieces in zip(("source.spm", "target.spm"), sides, strict=True):
        (directory / name).write_bytes(_sentencepiece(pieces))
    names = [*SPECIAL, *dict.fromkeys(sides[0] + sides[1]), "<pad>"]
    pad = len(names) - 1
    ids = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "bos_token_id": 0}
    config = {
        "architectures": ["MarianMTModel"], "model_type": "marian", "d_model": sizes.width,
        "encoder_layers": sizes.layers, "decoder_layers": _decoder_layers(sizes),
        "encoder_ffn_dim": sizes.inner, "decoder_ffn_dim": sizes.inner,
        "encoder_attention_heads": sizes.heads, "decoder_attention_heads": sizes.heads,
        "activation_function": "swish", "scale_embedding": True,
        "max_position_embeddings": 512, "static_position_embeddings": True, "vocab_size": len(names),
        "decoder_vocab_size": len(names), "is_encoder_decoder": True, "dtype": "float32", **ids,
    }  # fmt: skip
    generation = {"max_length": target_tokens + 1, "num_beams": 1, "bad_words_ids": [[pad]], **ids}
    tokenizer = {
        "tokenizer_class": "MarianTokenizer", "source_lang": "fr", "target_lang": "en", "eos_token": "</s>",
        "unk_token": "<unk>", "pad_token": "<pad>", "separate_vocabs": False, "model_max_length": 512,
    }  # fmt: skip
    for name, values in {
        "config.json": config,
        "generation_config.json": generation,
        "tokenizer_config.json": tokenizer,
        "vocab.json": {name: number for number, name in enumerate(names)},
    }.items():
        (directory / name).write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    from safetensors.numpy import save_file

    save_file(_weights(sizes, len(names)), directory / "model.safetensors", {"format": "pt"})


def texts(sizes: Sizes, count: int, pieces: tuple[int, int]) -> list[str]:
    """Return sentences of the source of so many pieces, the end included, as `source_tokens` has."""
    source = _pieces(0, sizes.stems)
    stems, endings = source[: sizes.stems], source[sizes.stems :]
    rng = np.random.default_rng(count)
    rows = []
    for length in rng.permutation(source_tokens(count, pieces)) - 1:
        row = [str(rng.choice(stems))]  # a third of the pieces go on with a word
        row += [str(rng.choice(endings if rng.random() < 1 / 3 else stems)) for _ in range(length - 1)]
        rows.append("".join(row).replace("▁", " ").strip())
    return rows


def source_tokens(count: int, pieces: tuple[int, int]) -> NDArray[np.int64]:
    """Return the numbers of pieces of so many sentences, which lie evenly between two."""
    return np.linspace(*pieces, count).round().astype(int)


def _decoder_layers(sizes: Sizes) -> int:
    return sizes.decoder_layers or sizes.layers


def _pieces(seed: int, stems: int) -> list[str]:
    """Return stems of five letters, then endings of three capitals and a digit: a text has one division."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words: dict[str, None] = {}
    while len(words) < stems:
        words["▁" + "".join(rng.choice(letters, 5))] = None
    endings: dict[str, None] = {}
    while len(endings) < stems // 2:
        endings["".join(rng.choice(letters, 3)).upper() + str(rng.integers(10))] = None
    return [*words, *endings]


def _sentencepiece(pieces: list[str]) -> bytes:
    """A unigram model of these pieces."""
    from sentencepiece import sentencepiece_model_pb2 as proto

    model = proto.ModelProto()
    model.trainer_spec.model_type = proto.TrainerSpec.UNIGRAM
    model.normalizer_spec.name = "identity"
    kind = proto.ModelProto.SentencePiece
    for name, type_ in (("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)):
        model.pieces.add(piece=name, score=0.0, type=type_)
    for number, name in enumerate(pieces):
        model.pieces.add(piece=name, score=-5.0 - 8.0 * number / len(pieces), type=kind.NORMAL)
    return model.SerializeToString()


def _weights(sizes: Sizes, vocabulary: int) -> dict[str, Array]:
    rng = np.random.default_rng(2)
    weights: dict[str, Any] = {}

    def normal(gain: float, *shape: int) -> Array:
        return rng.standard_normal(shape, np.float32) * np.float32(gain)

    def linear(name: str, outputs: int, inputs: int, gain: float) -> None:
        weights[f"{name}.weight"] = normal(gain * inputs**-0.5, outputs, inputs)
        weights[f"{name}.bias"] = normal(0.2, outputs)

    def norm(name: str, scale: float) -> None:
        weights[f"{name}.weight"] = scale + normal(0.2, sizes.width)
        weights[f"{name}.bias"] = normal(0.2, sizes.width)

    for side, layers in (("encoder", sizes.layers), ("decoder", _decoder_layers(sizes))):
        for index in range(layers):
            layer = f"model.{side}.layers.{index}"
            for attention in ("self_attn", "encoder_attn")[: 1 + (side == "decoder")]:
                for part, gain in (("q", 3.0), ("k", 3.0), ("v", 0.6), ("out", 0.6)):
                    linear(f"{layer}.{attention}.{part}_proj", sizes.width, sizes.width, gain)
                norm(f"{layer}.{attention}_layer_norm", 1.0)
            linear(f"{layer}.fc1", sizes.inner, sizes.width, 1.6)
            linear(f"{layer}.fc2", sizes.width, sizes.inner, 1.6)
            last = side == "decoder" and index == layers - 1
            norm(f"{layer}.final_layer_norm", 5.0 if last else 1.0)
    table = normal(0.5 * sizes.width**-0.5, vocabulary, sizes.width)
    table[-1] = 0  # the padding, from which an answer starts: CTranslate2 relies on it
    bias = normal(0.3, 1, vocabulary)
    bias[0, 0] = NEVER
    return {**weights, "model.shared.weight": table, "final_logits_bias": bias}
