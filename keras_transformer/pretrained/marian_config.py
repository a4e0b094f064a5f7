"""config.json, generation_config.json and tokenizer_config.json of a MarianMT directory, as one record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_transformer.models.network import Network
from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
NPZ = "model.npz"

#: transformers' names of the activations that a network has, and the names here.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
MAX_SIZE = 2**20  # of a width or a vocabulary
MAX_LAYERS, MAX_POSITIONS = 256, 2**14  # nothing in the files of weights bounds them

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
    return directory.has(NPZ) and not directory.has(CONFIG)


def read_marian_config(directory: PretrainedDirectory) -> MarianConfig:
    """Read and check the configuration of a MarianMT directory.

    Args:
        directory: Holds config.json, and perhaps generation_config.json and tokenizer_config.json.

    Returns:
        The configuration.

    Raises:
        PretrainedError: With everything that is missing, of a wrong type, contradictory or not supported.
    """
    config = directory.json(CONFIG)
    generation = {**config, **(directory.json(GENERATION) if directory.has(GENERATION) else {})}
    tokenizer = directory.json(TOKENIZER) if directory.has(TOKENIZER) else {}
    reader = Reader()
    made = reader.config(config, generation, tokenizer)
    if reader.problems or made is None:
        raise PretrainedError(directory.path, reader.problems)
    return made


class Reader:
    """Reader of the values of the files, which collects their problems."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def config(
        self, config: dict[str, Any], generation: dict[str, Any], tokenizer: dict[str, Any]
    ) -> MarianConfig | None:
        """Read the configuration, or return None if it has problems."""
        self._check_supported(config, generation)
        sizes = {
            name: self.size(config, name)
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
            sizes[name] = self.size(config, name, most=most)
        target_size = self.size(config, "decoder_vocab_size", sizes["vocab_size"])
        rates = {
            name: self._rate(config, name, default)
            for name, default in (("dropout", 0.1), ("attention_dropout", 0.0), ("activation_dropout", 0.0))
        }
        activation = config.get("activation_function", "gelu")
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            self.wrong(CONFIG, "activation_function", f"must be one of {', '.join(ACTIVATIONS)}", activation)
        shares = self._flag(config, "share_encoder_decoder_embeddings", True)
        scales = self._flag(config, "scale_embedding", False)
        ties_output = self._flag(config, "tie_word_embeddings", True)
        if shares and target_size != sizes["vocab_size"]:
            self.wrong(
                CONFIG, "decoder_vocab_size", f"must be vocab_size, {sizes['vocab_size']}, if shared",
                target_size,
            )  # fmt: skip
        ids = {
            name: self._id(generation, name, target_size)
            for name in ("pad_token_id", "decoder_start_token_id", "eos_token_id")
        }
        if len({ids["pad_token_id"], ids["eos_token_id"]}) < 2:
            self.wrong(CONFIG, "eos_token_id", "must differ from pad_token_id", ids["eos_token_id"])
        forced = generation.get("forced_eos_token_id")
        if forced is not None and forced != ids["eos_token_id"]:
            self.wrong(GENERATION, "forced_eos_token_id", f"must be {ids['eos_token_id']} or null", forced)
        longest = self._longest(generation, sizes["max_position_embeddings"], forced is not None)
        forbidden = self._forbidden(generation, target_size)
        separate = self._flag(tokenizer, "separate_vocabs", False, TOKENIZER)
        languages = [self._text(tokenizer, f"{side}_lang", "", TOKENIZER) for side in ("source", "target")]
        pieces = {
            name: self._piece(tokenizer, f"{name}_token", default)
            for name, default in (("pad", "<pad>"), ("unk", "<unk>"), ("eos", "</s>"))
        }
        for name in ("encoder_attention_heads", "decoder_attention_heads"):
            if sizes["d_model"] % (sizes[name] or 1):
                self.wrong(CONFIG, name, f"must divide d_model, {sizes['d_model']}", sizes[name])
        if self.problems:
            return None
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
            activation=ACTIVATIONS[activation],
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

    def _check_supported(self, config: dict[str, Any], generation: dict[str, Any]) -> None:
        for name, value in FIXED.items():
            if config.get(name, value) != value:
                self.wrong(CONFIG, name, f"must be {value!r}, which Marian computes", config[name])
        if "model_type" not in config:
            self.problems.append(f"{CONFIG}: model_type is missing: only MarianMT models are imported")
        for name, neutral in NEUTRAL.items():
            if generation.get(name) not in neutral:
                rule = "changes what is generated and is not supported; remove it"
                self.wrong(GENERATION, name, rule, generation[name])

    def _longest(self, generation: dict[str, Any], positions: int, forced: bool) -> int:
        """Return the largest number of tokens of an answer.

        max_length counts the start too; a forced end is not counted here.
        """
        if generation.get("max_new_tokens") is not None:
            longest = self.size(generation, "max_new_tokens", file=GENERATION)
        else:
            longest = self.size(generation, "max_length", 20, file=GENERATION) - 1
        longest = min(longest, positions) - forced
        if longest < 1 and not self.problems:
            self.wrong(GENERATION, "max_length", "leaves no room for an answer", generation.get("max_length"))
        return longest

    def _forbidden(self, generation: dict[str, Any], vocabulary: int) -> tuple[int, ...]:
        words = generation.get("bad_words_ids") or []
        if not isinstance(words, list) or not all(
            isinstance(word, list) and len(word) == 1 for word in words
        ):
            self.wrong(GENERATION, "bad_words_ids", "must be lists of one id each", words)
            return ()
        return tuple(self._id({"bad_words_ids": word[0]}, "bad_words_ids", vocabulary) for word in words)

    def size(
        self,
        values: dict[str, Any],
        name: str,
        default: int | None = None,
        file: str = CONFIG,
        most: int = MAX_SIZE,
    ) -> int:
        """Return a whole number of at least 1."""
        value = values.get(name, default)
        if value is None:
            self.problems.append(f"{file}: {name} is missing")
            return 0
        right = type(value) is int and 1 <= value <= most
        return self._checked(right, file, name, f"must be a whole number of 1 to {most:,}", value, 0)

    def _id(self, values: dict[str, Any], name: str, vocabulary: int) -> int:
        value = values.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        right = type(value) is int and 0 <= value < vocabulary
        rule = f"must be an id of the vocabulary, 0 to {vocabulary - 1}"
        return self._checked(right, CONFIG, name, rule, value, 0)

    def _rate(self, values: dict[str, Any], name: str, default: float) -> float:
        value = values.get(name, default)
        right = type(value) in (int, float) and 0 <= value < 1
        return float(self._checked(right, CONFIG, name, "must be at least 0 and below 1", value, 0))

    def _flag(self, values: dict[str, Any], name: str, default: bool, file: str = CONFIG) -> bool:
        value = values.get(name, default)
        return self._checked(type(value) is bool, file, name, "must be true or false", value, default)

    def _text(self, values: dict[str, Any], name: str, default: str, file: str) -> str:
        value = values.get(name) or default
        right = isinstance(value, str) and len(value) <= 100 and value.isprintable()
        rule = "must be a printable text of at most 100 characters"
        return self._checked(right, file, name, rule, value, default)

    def _piece(self, values: dict[str, Any], name: str, default: str) -> str:
        value = values.get(name, default)
        if isinstance(value, dict):  # an AddedToken, written out
            value = value.get("content")
        return self._text({name: value}, name, default, TOKENIZER)

    def _checked(self, right: bool, file: str, name: str, rule: str, value: Any, instead: Any) -> Any:
        """Return the value if it is right; otherwise record a problem and return the other value."""
        if not right:
            self.wrong(file, name, rule, value)
        return value if right else instead

    def wrong(self, file: str, name: str, rule: str, value: Any) -> None:
        """Record a problem of a value."""
        self.problems.append(f"{file}: {name} {rule}; got {value!r:.60}")
