"""Marian's own directory: the weights and the options in model.npz, and the vocabularies of both sides.

Marian has no padding: the target starts with a vector of zeros, which is the last row of every table here.
Its decoder does not generate <unk> unless asked to, and neither does an imported model.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.models.network import Network
from keras_transformer.pretrained.config import MAX_LAYERS, ConfigReader
from keras_transformer.pretrained.directory import PretrainedDirectory
from keras_transformer.pretrained.mapping import Fill, Tensor, Values
from keras_transformer.pretrained.marian_config import DECODERS, MarianConfig
from keras_transformer.pretrained.marian_files import MarianVocabulary, find_model, read_marian_vocabularies
from keras_transformer.pretrained.marian_vocabulary import Vocabularies, make_vocabularies, wrong
from keras_transformer.pretrained.npz_file import OPTIONS, open_npz
from keras_transformer.pretrained.weights import Weights

END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"  # Marian has no padding: it is added
MAX_POSITIONS = 512  # its positions are computed: this is where OPUS-MT's configurations end
ACTIVATIONS = {"swish": "silu", "relu": "relu"}  # its gelu is x sigmoid(1.702 x)
#: Pre- and post-process of a sublayer, and post-process of a stack -> whether the norm comes first.
NORMS = {("", "dan", ""): False, ("n", "da", "n"): True}
#: Options that change the network, with the values that it has here.
ALLOWED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-no-affine": (False,),
    "transformer-no-bias": (False,),
    "transformer-no-projection": (False,),
    "transformer-pool": (False,),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-rnn-projection": (False,),
    "transformer-tied-layers": ([],),
    "transformer-train-position-embeddings": (False,),
    "lemma-dim-emb": (0,),
    "output-omit-bias": (False,),
    "ulr": (False,),
}

Parts = tuple[MarianConfig, Vocabularies, Weights, list[Fill], bool]


def read_npz(directory: PretrainedDirectory) -> Parts:
    """Read a directory of Marian.

    Returns:
        Configuration, vocabularies, weights, how a model is filled with them, and whether both sides have one
        table.

    Raises:
        PretrainedError: With everything that is missing, contradictory or not supported.
    """
    weights, options = open_npz(find_model(directory))
    sides = read_marian_vocabularies(directory)
    config = _config(directory.path, options, sides)
    padded = [{**side.pieces, PADDING: len(side.pieces)} for side in sides]
    names, models = [side.name for side in sides], [side.model for side in sides]
    vocabularies = make_vocabularies(directory, config, names, padded, models)
    fills = list(_fills(config, vocabularies, weights))
    return config, vocabularies, weights, fills, config.shares_vocabulary


def _config(path: Path, options: dict[str, Any], sides: Sequence[MarianVocabulary]) -> MarianConfig:
    """Read the options, and compare them with the vocabularies of source and target."""
    reader = ConfigReader(options, OPTIONS)
    for option, allowed in ALLOWED.items():
        if options.get(option, allowed[0]) not in allowed:
            rule = f"must be {' or '.join(map(repr, allowed))}: another network is not imported"
            reader.wrong(option, rule, options[option])
    before, behind, top = processes = [
        options.get(f"transformer-{which}", "") for which in ("preprocess", "postprocess", "postprocess-top")
    ]
    norm_first = NORMS.get((str(before), str(behind), str(top)))
    if norm_first is None:
        rule = "with -postprocess and -postprocess-top must be '', 'dan' and '', or 'n', 'da' and 'n'"
        reader.wrong("transformer-preprocess", rule, processes)
    activation = reader.choice("transformer-ffn-activation", ACTIVATIONS, "swish")
    sizes = options.get("dim-vocabs")
    if (
        not isinstance(sizes, list)
        or len(sizes) != 2
        or not all(type(each) is int and 1 < each < 2**20 for each in sizes)
    ):
        reader.wrong("dim-vocabs", "must be the sizes of two vocabularies", sizes)
        sizes = [len(side.pieces) for side in sides]
    for side, size in zip(sides, sizes, strict=True):
        found = wrong(side.pieces, size, (END, UNKNOWN))
        if PADDING in side.pieces:
            found.append(f"a piece {PADDING!r} of its own is not supported")
        lines = (f"{side.name}: {problem}" for problem in found)
        reader.problems += [line for line in lines if line not in reader.problems]
    separate = sides[0].pieces != sides[1].pieces
    for option in ("tied-embeddings-all", "tied-embeddings-src"):
        if separate and options.get(option):
            both = " and ".join(side.name for side in sides)
            rule = f"must be false, since {both} differ; name one vocabulary for both in {DECODERS[0]}"
            reader.wrong(option, rule, options[option])
    ties = [options.get(f"tied-embeddings{which}") is True for which in ("-all", "-src", "")]
    width, heads, inner = map(reader.size, ("dim-emb", "transformer-heads", "transformer-dim-ffn"))
    own = "transformer-decoder-dim-ffn"
    own_inner = reader.size(own) if options.get(own) else inner
    layers = [reader.size(f"{side}-depth", most=MAX_LAYERS) for side in ("enc", "dec")]
    reader.divides("transformer-heads", heads, "dim-emb", width)
    reader.check(path)
    network = Network(
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        width=width,
        inner_width=inner,
        num_heads=heads,
        activation=activation,
        norm_first=bool(norm_first),
        max_length=MAX_POSITIONS,
        decoder_inner_width=own_inner if own_inner != inner else None,
        positions="sinusoidal_halves",
        tied_output=ties[0] or ties[2],
        output_bias=True,
    )
    return MarianConfig(
        network,
        source_vocabulary=sizes[0] + 1,
        target_vocabulary=sizes[1] + 1,
        shares_vocabulary=ties[0] or ties[1],
        pad_id=sizes[1],
        start_id=sizes[1],
        end_id=sides[1].pieces[END],
        forbidden=(sides[1].pieces[UNKNOWN],),
        source_lang="",
        target_lang="",
        separate_vocabularies=separate,
        pieces={"pad": PADDING, "unk": UNKNOWN, "eos": END},
    )


def _fills(config: MarianConfig, vocabularies: Vocabularies, weights: Weights) -> Iterator[Fill]:
    network = config.network
    width, rows = network.width, [side.rows for side in (vocabularies.source, vocabularies.target)]
    sizes = config.source_vocabulary - 1, config.target_vocabulary - 1
    tables = ["source_embedding"] if config.shares_vocabulary else ["source_embedding", "target_embedding"]
    names = ["Wemb"] if config.shares_vocabulary else ["encoder_Wemb", "decoder_Wemb"]
    for table, name, own, size in zip(tables, names, rows, sizes, strict=False):
        yield _table((table, "embeddings"), Tensor((name,), (size, width)), own)
    projection, output = tables[-1], "decoder_ff_logit_out"
    if not network.tied_output:
        projection = "untied_output"
        turned = f"{output}_Wt" in weights
        tensor = (
            Tensor((f"{output}_Wt",), (sizes[1], width))
            if turned
            else Tensor((f"{output}_W",), (width, sizes[1]))
        )
        yield _table((projection, "embeddings"), tensor, rows[1], transpose=not turned)
    bias = Tensor((f"{output}_b",), (1, sizes[1]))
    yield Fill((projection, "bias"), (bias,), lambda values: np.append(values[0], np.float32(0))[rows[1]])
    for side, layers, inner in (
        ("encoder", network.encoder_layers, network.inner_width),
        ("decoder", network.decoder_layers, config.decoder_inner_width),
    ):
        for layer in range(layers):
            yield from _block(side, layer, width, inner, "_pre" if network.norm_first else "")
        if network.norm_first:
            yield from _norm((side, "norm"), f"{side}_top", width, "")


def _table(target: tuple[str, ...], tensor: Tensor, rows: NDArray[np.int64], transpose: bool = False) -> Fill:
    """Rows of a table, behind which a row of zeros comes."""

    def taken(values: Values) -> Values:
        table = values.T if transpose else values
        return np.concatenate([table, np.zeros_like(table[:1])])[rows]

    return Fill(target, (tensor,), taken)


def _block(side: str, layer: int, width: int, inner: int, suffix: str) -> Iterator[Fill]:
    block, name = (side, "blocks", layer), f"{side}_l{layer + 1}"
    own, cross = (*block, "self_attention"), (*block, "cross_attention")
    attentions = [(own, f"{name}_self", [("query_key_value", "qkv"), ("output", "o")])]
    if side == "decoder":
        parts = [("query", "q"), ("key_value", "kv"), ("output", "o")]
        attentions.append((cross, f"{name}_context", parts))
    for attention, theirs, projections in attentions:
        for projection, letters in projections:
            yield from _linear((*attention, f"{projection}_projection"), theirs, letters, (width, width))
        yield from _norm((*block, f"{attention[-1]}_norm"), f"{theirs}_Wo", width, suffix)
    yield from _linear((*block, "feed_forward", "inner"), f"{name}_ffn", "1", (width, inner))
    yield from _linear((*block, "feed_forward", "outer"), f"{name}_ffn", "2", (inner, width))
    yield from _norm((*block, "feed_forward_norm"), f"{name}_ffn_ffn", width, suffix)


def _linear(target: tuple[str | int, ...], name: str, letters: str, shape: tuple[int, int]) -> Iterator[Fill]:
    """Several layers side by side are one here."""
    kernels = tuple(Tensor((f"{name}_W{letter}",), shape) for letter in letters)
    biases = tuple(Tensor((f"{name}_b{letter}",), (1, shape[1])) for letter in letters)
    yield Fill((*target, "kernel"), kernels, lambda *parts: np.concatenate(parts, axis=1))
    yield Fill((*target, "bias"), biases, lambda *parts: np.concatenate(parts, axis=1)[0])


def _norm(target: tuple[str | int, ...], name: str, width: int, suffix: str) -> Iterator[Fill]:
    for own, theirs in (("gamma", "scale"), ("beta", "bias")):
        tensor = Tensor((f"{name}_ln_{theirs}{suffix}",), (1, width))
        yield Fill((*target, own), (tensor,), lambda values: values[0])
