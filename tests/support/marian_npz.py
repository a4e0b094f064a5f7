"""Directories as Marian writes them, with random weights: model.npz and vocabularies."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.support.marian_kinds import spm

OPTIONS: dict[str, Any] = {
    "type": "transformer", "dim-emb": 32, "enc-depth": 2, "dec-depth": 2, "transformer-heads": 2,
    "transformer-dim-ffn": 48, "transformer-decoder-dim-ffn": 0, "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "swish", "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False, "transformer-postprocess-emb": "d", "transformer-preprocess": "",
    "transformer-postprocess": "dan", "transformer-postprocess-top": "", "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False, "transformer-guided-alignment-layer": "last",
    "tied-embeddings": False, "tied-embeddings-src": False, "tied-embeddings-all": True,
}  # fmt: skip
PRE_NORM = {
    "transformer-preprocess": "n",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
}


#: Files of the vocabularies of source and target.
VOCABULARIES = {
    "one yml": ("vocab.yml", "vocab.yml"),
    "one spm": ("vocab.spm", "vocab.spm"),
    "two spm": ("source.spm", "target.spm"),
    "two yml": ("opus.src.vocab.yml", "opus.trg.vocab.yml"),
    "two lists": ("opus.src.vocab", "opus.trg.vocab"),
}
PACKED = "opus.best-perplexity.npz"  # what decoder.yml calls the model of an OPUS-MT package


def make(
    directory: Path, *, vocabularies: str = "one yml", seed: int = 7, packed: bool = False, **changes: Any
) -> dict[str, Any]:
    """Write a directory.

    Args:
        directory: Where the files go; it must not exist.
        vocabularies: Which of VOCABULARIES it has.
        seed: Decides the weights.
        packed: Whether decoder.yml names the files, as in OPUS-MT packages.
        changes: Options that differ from OPTIONS, with _ in place of -.

    Returns:
        The tensors, which `write_model` takes.
    """
    directory.mkdir(parents=True)
    sides = _write_vocabularies(directory, vocabularies)
    options = {**OPTIONS, **{name.replace("_", "-"): value for name, value in changes.items()}}
    options["dim-vocabs"] = [len(pieces) for pieces in sides]
    tensors = _tensors(options, sides[1].index("</s>"), seed)
    write_model(directory, options, tensors)
    if packed:
        (directory / "model.npz").rename(directory / PACKED)
        names = [f"/home/opus/work/{name}" for name in VOCABULARIES[vocabularies]]
        write_decoder(directory, {"models": [PACKED], "vocabs": names})
    return tensors


def write_decoder(directory: Path, options: Any) -> None:
    """Write decoder.yml."""
    (directory / "decoder.yml").write_text(yaml.safe_dump(options), encoding="utf-8")


def write_yml(path: Path, pieces: Iterable[str]) -> None:
    """Write a vocabulary as Marian does."""
    lines = (f"{json.dumps(piece, ensure_ascii=False)}: {number}\n" for number, piece in enumerate(pieces))
    path.write_text("".join(lines), encoding="utf-8")


def _write_vocabularies(directory: Path, kind: str) -> list[list[str]]:
    """Write the vocabularies, and return the pieces of source and target."""
    special = ["</s>", "<unk>"]
    if kind == "one spm":
        pieces = [*special, *spm(directory / "vocab.spm", 3, 120)]
        _numbered_like_marian(directory / "vocab.spm")
        return [pieces] * 2
    source = spm(directory / "source.spm", 4, 110)
    target = spm(directory / "target.spm", 5, 110 if kind == "one yml" else 90)
    if kind == "one yml":
        pieces = [*special, *sorted({*source, *target, "no", "null", "~", "1"})]
        write_yml(directory / "vocab.yml", pieces)
        return [pieces] * 2
    if kind == "two spm":
        for name in VOCABULARIES[kind]:
            _numbered_like_marian(directory / name)
        return [[*special, *source], [*special, *target]]
    sides = [[*special, *source], [*target, "no", *reversed(special)]]
    for name, pieces in zip(VOCABULARIES[kind], sides, strict=True):
        if kind == "two yml":
            write_yml(directory / name, pieces)
        else:
            (directory / name).write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return sides


def write_model(directory: Path, options: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Write model.npz."""
    text = np.frombuffer(yaml.safe_dump(options).encode() + b"\0", np.int8)
    np.savez(directory / "model.npz", **{"special:model.yml": text}, **tensors)


def _numbered_like_marian(path: Path) -> None:
    """Give </s> the id 0 and <unk> the id 1, as Marian trains them."""
    from sentencepiece import sentencepiece_model_pb2 as proto

    model = proto.ModelProto.FromString(path.read_bytes())
    kept = {piece.piece: piece for piece in model.pieces if piece.piece != "<s>"}
    ordered = [kept.pop("</s>"), kept.pop("<unk>"), *kept.values()]
    del model.pieces[:]
    model.pieces.extend(ordered)
    path.write_bytes(model.SerializeToString())


def _tensors(options: dict[str, Any], end: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    width, inner = options["dim-emb"], options["transformer-dim-ffn"]
    pre_norm = options["transformer-preprocess"] == "n"
    sizes = options["dim-vocabs"]
    made: dict[str, Any] = {}

    def linear(name: str, letter: str, inputs: int, outputs: int, gain: float) -> None:
        made[f"{name}_W{letter}"] = gain * inputs**-0.5 * rng.standard_normal((inputs, outputs))
        made[f"{name}_b{letter}"] = 0.2 * rng.standard_normal((1, outputs))

    def norm(name: str, suffix: str, scale: float = 1.0) -> None:
        made[f"{name}_ln_scale{suffix}"] = scale + 0.2 * rng.standard_normal((1, width))
        made[f"{name}_ln_bias{suffix}"] = 0.2 * rng.standard_normal((1, width))

    suffix = "_pre" if pre_norm else ""
    for side, depth in (("encoder", options["enc-depth"]), ("decoder", options["dec-depth"])):
        for layer in range(1, depth + 1):
            name = f"{side}_l{layer}"
            for attention in ("self", "context")[: 1 + (side == "decoder")]:
                for letter, gain in (("q", 3.0), ("k", 3.0), ("v", 0.6), ("o", 0.6)):
                    linear(f"{name}_{attention}", letter, width, width, gain)
                norm(f"{name}_{attention}_Wo", suffix)
            linear(f"{name}_ffn", "1", width, inner, 1.6)
            linear(f"{name}_ffn", "2", inner, width, 1.6)
            norm(f"{name}_ffn_ffn", suffix, 5.0 if side == "decoder" and layer == depth else 1.0)
        if pre_norm:
            norm(f"{side}_top", "", 5.0 if side == "decoder" else 1.0)
    shared = options["tied-embeddings-all"] or options["tied-embeddings-src"]
    names = ("Wemb",) if shared else ("encoder_Wemb", "decoder_Wemb")
    for name, size in zip(names, sizes, strict=False):
        made[name] = 0.5 * width**-0.5 * rng.standard_normal((size, width))
    if not (options["tied-embeddings-all"] or options["tied-embeddings"]):
        made["decoder_ff_logit_out_W"] = 0.5 * width**-0.5 * rng.standard_normal((width, sizes[1]))
    made["decoder_ff_logit_out_b"] = 0.3 * rng.standard_normal((1, sizes[1]))
    made["decoder_ff_logit_out_b"][0, end] += 1.0  # answers end now and then
    return {name: values.astype(np.float32) for name, values in made.items()}
