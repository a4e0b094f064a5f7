"""BERT and DistilBERT, as transformers saves them: their configurations, and the mapping of their tensors.

A directory has the encoder, with or without the prefix of its family, and perhaps heads. A head that the
model here does not have is allowed, and not read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformer.models.families.bert import Bert, BertNetwork, DistilBert
from keras_transformer.models.families.bert_heads import MaskedLanguageModel, TextClassifier
from keras_transformer.pretrained.config import ACTIVATIONS, MAX_LAYERS, ConfigReader, read_config
from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.mapping import Constant, Fill, Target, check_names, fill
from keras_transformer.pretrained.rules import linear, norm, table
from keras_transformer.pretrained.tokenizer_files import read_tokenizer
from keras_transformer.pretrained.weights import Weights, open_weights


class Names(NamedTuple):
    """What a family calls its options and its tensors."""

    model: type[Bert]
    prefix: str
    options: dict[str, str]
    block: str
    attention: tuple[str, str, str]
    block_layers: dict[str, str]  # of the encoder's blocks here -> in a block of the family
    pooler: str
    masked: tuple[str, str]  # dense layer and normalization of the masked language model
    output: tuple[str, ...]  # its projection
    output_bias: tuple[str, ...]


NAMES = {
    "bert": Names(
        model=Bert,
        prefix="bert.",
        options={
            "num_layers": "num_hidden_layers",
            "width": "hidden_size",
            "inner_width": "intermediate_size",
            "num_heads": "num_attention_heads",
            "dropout": "hidden_dropout_prob",
            "attention_dropout": "attention_probs_dropout_prob",
            "activation": "hidden_act",
            "classifier_dropout": "classifier_dropout",
        },
        block="encoder.layer",
        attention=("attention.self.query", "attention.self.key", "attention.self.value"),
        block_layers={
            "output": "attention.output.dense",
            "self_attention_norm": "attention.output.LayerNorm",
            "inner": "intermediate.dense",
            "outer": "output.dense",
            "feed_forward_norm": "output.LayerNorm",
        },
        pooler="bert.pooler.dense",
        masked=("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"),
        output=("cls.predictions.decoder.weight",),
        output_bias=("cls.predictions.bias", "cls.predictions.decoder.bias"),
    ),
    "distilbert": Names(
        model=DistilBert,
        prefix="distilbert.",
        options={
            "num_layers": "n_layers",
            "width": "dim",
            "inner_width": "hidden_dim",
            "num_heads": "n_heads",
            "dropout": "dropout",
            "attention_dropout": "attention_dropout",
            "activation": "activation",
            "classifier_dropout": "seq_classif_dropout",
        },
        block="transformer.layer",
        attention=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        block_layers={
            "output": "attention.out_lin",
            "self_attention_norm": "sa_layer_norm",
            "inner": "ffn.lin1",
            "outer": "ffn.lin2",
            "feed_forward_norm": "output_layer_norm",
        },
        pooler="pre_classifier",
        masked=("vocab_transform", "vocab_layer_norm"),
        output=("vocab_projector.weight",),
        output_bias=("vocab_projector.bias",),
    ),
}
CLASSIFIER, SINGLE_LABEL = "ForSequenceClassification", "single_label_classification"
#: Options that change the network, with the one value that is computed here.
FIXED = {
    "add_cross_attention": False,
    "is_decoder": False,
    "position_embedding_type": "absolute",
    "pruned_heads": {},
}


class Source:
    """A directory of BERT or DistilBERT, whose configuration is checked.

    Args:
        path: The directory.
        model_types: Families that are allowed.
        fixed: Further options with the one value that is supported.
        reads_classifier: Whether the classifier of the directory is used.

    Raises:
        PretrainedError: With everything that is wrong with the configuration.
    """

    def __init__(
        self,
        path: Path,
        model_types: Iterable[str],
        fixed: Mapping[str, Any] | None = None,
        reads_classifier: bool = False,
    ) -> None:
        self.directory = PretrainedDirectory(path)
        config = read_config(self.directory)
        self.names = NAMES[config.family(model_types)]
        config.fixed({**FIXED, **(fixed or {})}, ", which alone is supported")
        values = _network(config, self.names)
        self.labels = config.labels()
        self.classifier_dropout = _classifier_dropout(config, self.names)
        self.ties_output = config.flag("tie_word_embeddings", True)
        if reads_classifier:
            _check_classifier(config, self.labels)
        config.check(path)
        self.network = BertNetwork.from_dict(values)

    def open(self) -> tuple[Bert, Weights]:
        """Return the model without its weights, and the weights.

        Raises:
            PretrainedError: If a file is missing, or is not what its name says.
        """
        network = self.network
        tokenizer = read_tokenizer(self.directory, network.vocabulary_size, network.pad_id)
        if tokenizer is not None and network.pad_id is None:
            problem = (
                "config.json: pad_token_id is null; the tokenizer of the directory needs one for its batches"
            )
            raise PretrainedError(self.directory.path, [problem])
        return self.names.model(network, tokenizer), open_weights(self.directory)


def load_encoder(kind: type[Bert], path: Path) -> Bert:
    """Make a Bert or a DistilBert of a directory."""
    source = Source(path, [name for name, names in NAMES.items() if names.model is kind])
    model, weights = source.open()
    _fill(model, source, weights, [*_encoder(source, ())])
    return model


def load_masked(kind: type[MaskedLanguageModel], path: Path) -> MaskedLanguageModel:
    """Make a masked language model of a directory."""
    source = Source(path, NAMES, {"tie_word_embeddings": True})
    encoder, weights = source.open()
    model = kind(encoder)
    _fill(model, source, weights, [*_encoder(source, ("encoder",)), *_masked(source)])
    return model


def load_classifier(kind: type[TextClassifier], path: Path, labels: Sequence[str] | None) -> TextClassifier:
    """Make a classifier of a directory, with its classifier or with a new one."""
    source = Source(path, NAMES, reads_classifier=labels is None)
    encoder, weights = source.open()
    if labels is None and "classifier.weight" not in weights:
        problem = "it has no classifier; pass labels=[...], the names of the classes, for a new one"
        raise PretrainedError(path, [problem])
    model = kind(encoder, source.labels if labels is None else labels, source.classifier_dropout)
    fills = [*_encoder(source, ("encoder",))]
    fresh: list[keras.layers.Layer] = []
    pooler, classifier = [*_pooler(source)], [*_classifier(source)]
    for part, layer, is_read in (
        (pooler, model.pooler, labels is None or _has(weights, pooler)),
        (classifier, model.classifier, labels is None),
    ):
        fills += part if is_read else []
        fresh += [] if is_read else [layer]
    _fill(model, source, weights, fills, fresh)
    return model


def _fill(
    model: Any, source: Source, weights: Weights, fills: list[Fill], fresh: Iterable[keras.layers.Layer] = ()
) -> None:
    """Check the names and the shapes of a file, and only then build a model and fill it.

    Heads that the model does not have are not read; layers that are fresh keep their initial weights.
    """
    needed = {name for each in fills for tensor in each.tensors for name in tensor.names}
    heads = chain(_masked(source), _pooler(source), _classifier(source), _other_heads(source))
    unused = [tensor for each in heads for tensor in each.tensors if needed.isdisjoint(tensor.names)]
    positions = np.arange(source.network.max_length, dtype=np.float32)[None]
    constants = [Constant(name, positions) for name in _named(source, "embeddings.position_ids")]
    check_names(weights, fills, constants, unused)
    model.build()
    fill(model, weights, fills, constants, [weight for layer in fresh for weight in layer.weights])


def _has(weights: Weights, fills: Iterable[Fill]) -> bool:
    return any(name in weights for each in fills for tensor in each.tensors for name in tensor.names)


def _network(config: ConfigReader, names: Names) -> dict[str, Any]:
    """Read the fields of the network."""
    options, defaults, has_types = names.options, names.model.presets["base"], names.model is Bert
    limits = {"num_layers": MAX_LAYERS, "width": 2**16, "inner_width": 2**18, "num_heads": 2**10}
    sizes = {name: config.size(options[name], defaults[name], most) for name, most in limits.items()}
    config.divides(options["num_heads"], sizes["num_heads"], options["width"], sizes["width"])
    vocabulary_size = config.size("vocab_size", 30522)
    pads = config.values.get("pad_token_id", 0) is not None
    return {
        **sizes,
        "vocabulary_size": vocabulary_size,
        "dropout": config.rate(options["dropout"], 0.1),
        "attention_dropout": config.rate(options["attention_dropout"], 0.1),
        "activation": config.choice(options["activation"], ACTIVATIONS, "gelu"),
        "epsilon": config.positive("layer_norm_eps", 1e-12) if has_types else 1e-12,
        "max_length": config.size("max_position_embeddings", 512),
        "token_types": config.size("type_vocab_size", 2) if has_types else 0,
        "pad_id": config.id("pad_token_id", vocabulary_size, 0) if pads else None,
    }


def _classifier_dropout(config: ConfigReader, names: Names) -> float:
    """Return the dropout of a classifier; BERT's is that of the encoder, unless it has its own."""
    option = names.options["classifier_dropout"]
    if names.model is Bert and config.values.get(option) is None:
        option = names.options["dropout"]
    return config.rate(option, 0.1 if names.model is Bert else 0.2)


def _check_classifier(config: ConfigReader, labels: Sequence[str]) -> None:
    """Refuse heads whose tensors are called the same, and whose outputs are not one class of a text."""
    kinds = config.values.get("architectures") or []
    if not isinstance(kinds, list) or not all(str(kind).endswith(CLASSIFIER) for kind in kinds):
        rule = f"must be a …{CLASSIFIER}; pass labels=[...], the names of the classes, for a new classifier"
        config.wrong("architectures", rule, kinds)
    if (problem_type := config.values.get("problem_type")) not in (None, SINGLE_LABEL):
        config.wrong("problem_type", f"must be {SINGLE_LABEL}, which alone is supported", problem_type)
    elif len(labels) == 1 and problem_type is None:
        config.wrong("id2label", "must have two classes or more: with one it is a regression", labels)


def _named(source: Source, name: str) -> tuple[str, str]:
    """Return the two names that a tensor of the encoder may have."""
    return f"{source.names.prefix}{name}", name


def _encoder(source: Source, target: Target) -> Iterator[Fill]:
    network, names = source.network, source.names
    width, inner = network.width, network.inner_width
    tables = {
        ("embedding", "embeddings"): ("word_embeddings", network.vocabulary_size),
        ("positions", "table"): ("position_embeddings", network.max_length),
    }
    if network.token_types:
        tables["token_types", "table"] = ("token_type_embeddings", network.token_types)
    for weight, (name, size) in tables.items():
        own = _named(source, f"embeddings.{name}.weight")
        tied = names.output if name == "word_embeddings" and source.ties_output else ()
        yield table((*target, *weight), (*own, *tied), (size, width))
    yield from norm((*target, "embedding_norm"), _named(source, "embeddings.LayerNorm"), width)
    for index in range(network.num_layers):
        block = (*target, "encoder", "blocks", index)
        theirs = f"{names.block}.{index}."
        attention = [_named(source, theirs + name) for name in names.attention]
        layers = {name: _named(source, theirs + other) for name, other in names.block_layers.items()}
        own_attention, feed_forward = (*block, "self_attention"), (*block, "feed_forward")
        yield from linear((*own_attention, "query_key_value_projection"), attention, (width, width))
        yield from linear((*own_attention, "output_projection"), [layers["output"]], (width, width))
        yield from norm((*block, "self_attention_norm"), layers["self_attention_norm"], width)
        yield from linear((*feed_forward, "inner"), [layers["inner"]], (inner, width))
        yield from linear((*feed_forward, "outer"), [layers["outer"]], (width, inner))
        yield from norm((*block, "feed_forward_norm"), layers["feed_forward_norm"], width)


def _pooler(source: Source) -> Iterator[Fill]:
    width, name = source.network.width, source.names.pooler
    names = {name, name.removeprefix(source.names.prefix)}
    yield from linear(("pooler",), [sorted(names)], (width, width))


def _classifier(source: Source) -> Iterator[Fill]:
    yield from linear(("classifier",), [["classifier"]], (len(source.labels), source.network.width))


def _masked(source: Source) -> Iterator[Fill]:
    names, width = source.names, source.network.width
    dense, normalization = names.masked
    yield from linear(("transform",), [[dense]], (width, width))
    yield from norm(("transform_norm",), [normalization], width)
    yield table(("bias",), names.output_bias, (source.network.vocabulary_size,))


def _other_heads(source: Source) -> Iterator[Fill]:
    """Heads that no model here has: next sentence prediction, question answering, an untied output."""
    width = source.network.width
    yield from linear(("seq_relationship",), [["cls.seq_relationship"]], (2, width))
    yield from linear(("qa_outputs",), [["qa_outputs"]], (len(source.labels), width))
    if not source.ties_output:
        yield table(("output",), source.names.output, (source.network.vocabulary_size, width))
