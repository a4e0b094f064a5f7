"""config.json, generation_config.json and tokenizer_config.json of a MarianMT directory, as one record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_transformer.models.network import Network
from keras_transformer.pretrained.config import CONFIG, MAX_LAYERS, ConfigReader
from keras_transformer.pretrained.directory import PretrainedDirectory

GENERATION, TOKENIZER = "generation_config.json", "tokenizer_config.json"
NPZ = "model.npz"
DECODERS = ("decoder.yml", f"{NPZ}.decoder.yml")  # files of Marian's decoder that name the model

#: transformers' names of the activations that a network has, and the names here.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
MAX_POSITIONS = 2**14  # nothing in the files of weights bounds them

#: Options that change the network, with the one value that transformers' Marian computes.
FIXED = {
    "model_type": "marian",
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
#: Options that change which tokens are generated, with the values that change nothing.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "begin_suppress_tokens": (None, []),
    "do_sample": (None, False),
    "encoder_no_repeat_ngram_size": (None, 0),
    "encoder_repetition_penalty": (None, 1.0),
    "exponential_decay_length_penalty": (None,),
    "force_words_ids": (None,),
    "forced_bos_token_id": (None,),
    "guidance_scale": (None, 1.0),
    "min_length": (None, 0),
    "min_new_tokens": (None, 0),
    "no_repeat_ngram_size": (None, 0),
    "num_beam_groups": (None, 1),
    "penalty_alpha": (None,),
    "prefix_allowed_tokens_fn": (None,),
    "repetition_penalty": (None, 1.0),
    "sequence_bias": (None, []),
    "suppress_tokens": (None, []),
}


@dataclass(frozen=True)
class MarianConfig:
    """Network and generation options of a MarianMT directory. Ids are those of its files."""

    network: Network  # all but the ids that are never generated, which are numbered anew
    source_vocabulary: int
    target_vocabulary: int
    shares_vocabulary: bool  # one table of both sides
    pad_id: int
    start_id: int
    end_id: int
    forbidden: tuple[int, ...]  # never generated
    source_lang: str
    target_lang: str
    separate_vocabularies: bool  # a file for each side
    pieces: Mapping[str, str]  # "pad", "unk" and "eos" -> how the vocabulary calls them

    @property
    def decoder_inner_width(self) -> int:
        """Width inside the feed-forward layers of the decoder."""
        return self.network.decoder_inner_width or self.network.inner_width


def is_marians_own(directory: PretrainedDirectory) -> bool:
    """Return whether Marian itself wrote a directory, and not transformers."""
    return not directory.has(CONFIG) and any(map(directory.has, (NPZ, *DECODERS)))


def read_marian_config(directory: PretrainedDirectory) -> MarianConfig:
    """Read and check the configuration of a MarianMT directory.

    Args:
        directory: Holds config.json, and perhaps generation_config.json and tokenizer_config.json.

    Returns:
        The configuration.

    Raises:
        PretrainedError: With everything that is missing, of a wrong type, contradictory or not supported.
    """
    values = directory.json(CONFIG)
    given = directory.json(GENERATION) if directory.has(GENERATION) else {}
    config = ConfigReader(values)
    generation = ConfigReader({**values, **given}, GENERATION, config.problems)
    tokenizer = ConfigReader(
        directory.json(TOKENIZER) if directory.has(TOKENIZER) else {}, TOKENIZER, config.problems
    )
    _check_supported(config, generation)
    sizes = {
        name: config.size(name)
        for name in (
            "d_model", "encoder_ffn_dim", "decoder_ffn_dim", "encoder_attention_heads",
            "decoder_attention_heads", "vocab_size",
        )
    }  # fmt: skip
    for name, most in (
        ("encoder_layers", MAX_LAYERS),
        ("decoder_layers", MAX_LAYERS),
        ("max_position_embeddings", MAX_POSITIONS),
    ):
        sizes[name] = config.size(name, most=most)
    target_size = config.size("decoder_vocab_size", sizes["vocab_size"])
    rates = {
        name: config.rate(name, default)
        for name, default in (("dropout", 0.1), ("attention_dropout", 0.0), ("activation_dropout", 0.0))
    }
    activation = config.choice("activation_function", ACTIVATIONS, "gelu")
    shares = config.flag("share_encoder_decoder_embeddings", True)
    scales = config.flag("scale_embedding", False)
    ties_output = config.flag("tie_word_embeddings", True)
    if shares and target_size != sizes["vocab_size"]:
        rule = f"must be vocab_size, {sizes['vocab_size']}, if shared"
        config.wrong("decoder_vocab_size", rule, target_size)
    ids = {
        name: generation.id(name, target_size)
        for name in ("pad_token_id", "decoder_start_token_id", "eos_token_id")
    }
    if ids["pad_token_id"] == ids["eos_token_id"]:
        generation.wrong("eos_token_id", "must differ from pad_token_id", ids["eos_token_id"])
    forced = generation.values.get("forced_eos_token_id")
    if forced is not None and forced != ids["eos_token_id"]:
        generation.wrong("forced_eos_token_id", f"must be {ids['eos_token_id']} or null", forced)
    longest = _longest(generation, sizes["max_position_embeddings"], forced is not None)
    forbidden = _forbidden(generation, target_size)
    separate = tokenizer.flag("separate_vocabs", False)
    languages = [tokenizer.text(f"{side}_lang", "") for side in ("source", "target")]
    pieces = {
        name: _piece(tokenizer, f"{name}_token", default)
        for name, default in (("pad", "<pad>"), ("unk", "<unk>"), ("eos", "</s>"))
    }
    for name in ("encoder_attention_heads", "decoder_attention_heads"):
        config.divides(name, sizes[name], "d_model", sizes["d_model"])
    config.check(directory.path)
    own_inner = sizes["decoder_ffn_dim"] != sizes["encoder_ffn_dim"]
    own_heads = sizes["decoder_attention_heads"] != sizes["encoder_attention_heads"]
    network = Network(
        encoder_layers=sizes["encoder_layers"],
        decoder_layers=sizes["decoder_layers"],
        width=sizes["d_model"],
        inner_width=sizes["encoder_ffn_dim"],
        num_heads=sizes["encoder_attention_heads"],
        dropout=rates["dropout"],
        attention_dropout=rates["attention_dropout"],
        inner_dropout=rates["activation_dropout"],
        activation=activation,
        norm_first=False,
        max_length=sizes["max_position_embeddings"],
        decoder_inner_width=sizes["decoder_ffn_dim"] if own_inner else None,
        decoder_num_heads=sizes["decoder_attention_heads"] if own_heads else None,
        positions="sinusoidal_halves",
        scale_embeddings=scales,
        tied_output=ties_output,
        output_bias=True,
        answer_tokens=longest,
    )
    return MarianConfig(
        network,
        source_vocabulary=sizes["vocab_size"],
        target_vocabulary=target_size,
        shares_vocabulary=shares,
        pad_id=ids["pad_token_id"],
        start_id=ids["decoder_start_token_id"],
        end_id=ids["eos_token_id"],
        forbidden=forbidden,
        source_lang=languages[0],
        target_lang=languages[1],
        separate_vocabularies=separate,
        pieces=pieces,
    )


def _check_supported(config: ConfigReader, generation: ConfigReader) -> None:
    if "model_type" not in config.values:
        config.problems.append(f"{CONFIG}: model_type is missing: only MarianMT models are imported")
    config.fixed(FIXED, ", which Marian computes")
    for name, neutral in NEUTRAL.items():
        if generation.values.get(name) not in neutral:
            rule = "changes what is generated and is not supported; remove it"
            generation.wrong(name, rule, generation.values[name])


def _longest(generation: ConfigReader, positions: int, forced: bool) -> int:
    """Return the largest number of tokens of an answer.

    max_length counts the start too; a forced end is not counted here.
    """
    if generation.values.get("max_new_tokens") is not None:
        longest = generation.size("max_new_tokens")
    else:
        longest = generation.size("max_length", 20) - 1
    longest = min(longest, positions) - forced
    if longest < 1 and not generation.problems:
        generation.wrong("max_length", "leaves no room for an answer", generation.values.get("max_length"))
    return longest


def _forbidden(generation: ConfigReader, vocabulary: int) -> tuple[int, ...]:
    words = generation.values.get("bad_words_ids") or []
    if not isinstance(words, list) or not all(isinstance(word, list) and len(word) == 1 for word in words):
        generation.wrong("bad_words_ids", "must be lists of one id each", words)
        return ()
    readers = [ConfigReader({"bad_words_ids": word}, GENERATION, generation.problems) for word in words]
    return tuple(reader.id("bad_words_ids", vocabulary) for reader in readers)


def _piece(tokenizer: ConfigReader, name: str, default: str) -> str:
    value = tokenizer.values.get(name, default)
    if isinstance(value, dict):  # an AddedToken, written out
        value = value.get("content")
    return ConfigReader({name: value}, TOKENIZER, tokenizer.problems).text(name, default)
