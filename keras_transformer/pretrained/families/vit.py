"""ViT, as transformers saves it: its configuration, and the mapping of its tensors."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.models.families.vit import ViT, ViTNetwork
from keras_transformer.pretrained.config import ACTIVATIONS, MAX_LAYERS, ConfigReader, read_config
from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.mapping import Fill, Tensor, check_names, fill
from keras_transformer.pretrained.rules import linear, norm, table
from keras_transformer.pretrained.weights import open_weights

PREPROCESSOR = "preprocessor_config.json"
#: Options that change the network, with the one value that is computed here.
FIXED = {"qkv_bias": True}


def load_vit(kind: type[ViT], path: Path, labels: Sequence[str] | None) -> ViT:
    """Make a ViT of a directory, with its classifier or with a new one."""
    directory = PretrainedDirectory(path)
    config = read_config(directory)
    values, own_labels = _network(config), config.labels()
    values |= _normalization(directory, config, values["channels"])
    unused = [*_other_heads(config, values["width"], values["channels"])]
    config.check(path)
    network = ViTNetwork.from_dict({**values, "labels": own_labels if labels is None else labels})
    weights = open_weights(directory)
    if labels is None and "classifier.weight" not in weights:
        problem = "it has no classifier; pass labels=[...], the names of the classes, for a new one"
        raise PretrainedError(path, [problem])
    fills = [*_encoder(network)]
    classifier = [*linear(("classifier",), [["classifier"]], (len(own_labels), network.width))]
    if labels is None:
        fills += classifier
    else:
        unused += [tensor for each in classifier for tensor in each.tensors]
    check_names(weights, fills, unused=unused)
    model = kind(network)
    model.build()  # only now, when the file is known to be as large
    fill(model, weights, fills, fresh=() if labels is None else model.classifier.weights)
    return model


def _network(config: ConfigReader) -> dict[str, Any]:
    """Read the fields of the network, all but the labels and the normalization of pixels."""
    config.family(["vit"])
    config.fixed(FIXED, ", which alone is supported")
    image_size, patch_size = _pair(config, "image_size", 224), _pair(config, "patch_size", 16)
    for image, patch in zip(image_size, patch_size, strict=True):
        config.divides("patch_size", patch, "image_size", image)
    width = config.size("hidden_size", 768, 2**16)
    heads = config.size("num_attention_heads", 12, 2**10)
    config.divides("num_attention_heads", heads, "hidden_size", width)
    return {
        "image_size": image_size,
        "patch_size": patch_size,
        "channels": config.size("num_channels", 3, 2**10),
        "num_layers": config.size("num_hidden_layers", 12, MAX_LAYERS),
        "width": width,
        "inner_width": config.size("intermediate_size", 3072, 2**18),
        "num_heads": heads,
        "dropout": config.rate("hidden_dropout_prob", 0.0),
        "attention_dropout": config.rate("attention_probs_dropout_prob", 0.0),
        "activation": config.choice("hidden_act", ACTIVATIONS, "gelu"),
        "epsilon": config.positive("layer_norm_eps", 1e-12),
    }


def _pair(config: ConfigReader, name: str, default: int) -> tuple[int, int]:
    """Return a height and a width, which may be given as one number."""
    value = config.values.get(name, default)
    sizes = value if isinstance(value, list) else [value, value]
    right = len(sizes) == 2 and all(type(size) is int and 1 <= size <= 2**14 for size in sizes)
    height, width = config.checked(
        right, name, "must be one or two whole numbers of 1 to 16,384", sizes, (1, 1)
    )
    return height, width


def _normalization(
    directory: PretrainedDirectory, config: ConfigReader, channels: int
) -> dict[str, tuple[float, ...]]:
    """Read how pixels are normalized, if preprocessor_config.json is there."""
    if not directory.has(PREPROCESSOR):
        return {}
    reader = ConfigReader(directory.json(PREPROCESSOR), PREPROCESSOR, config.problems)
    reader.fixed({"do_rescale": True, "do_normalize": True}, ", which alone is supported")
    factor = reader.positive("rescale_factor", 1 / 255)
    if not np.isclose(factor, 1 / 255):
        reader.wrong("rescale_factor", "must be 1/255", factor)
    found = {}
    for field, name, least in (("mean", "image_mean", -1e3), ("deviation", "image_std", 1e-3)):
        values = reader.values.get(name, [0.5])
        right = isinstance(values, list) and len(values) in (1, channels)
        right = right and all(type(value) in (int, float) and least <= value <= 1e3 for value in values)
        rule = f"must have a number of {least:g} to 1000 for each channel"
        found[field] = tuple(reader.checked(right, name, rule, values, [0.5]))
    return found


def _named(*names: str) -> tuple[str, ...]:
    """Return the names that a tensor of the encoder may have, each with and without the prefix."""
    return tuple(f"{prefix}{name}" for prefix in ("vit.", "") for name in names)


def _encoder(network: ViTNetwork) -> Iterator[Fill]:
    width, inner = network.width, network.inner_width
    projection = "embeddings.patch_embeddings.projection"
    kernel = Tensor(_named(f"{projection}.weight"), (width, network.channels, *network.patch_size))
    yield Fill(("patches", "kernel"), (kernel,), lambda values: values.transpose(2, 3, 1, 0))
    yield table(("patches", "bias"), _named(f"{projection}.bias"), (width,))
    yield table(("class_token", "vector"), _named("embeddings.cls_token"), (1, 1, width))
    positions = Tensor(_named("embeddings.position_embeddings"), (1, network.patches + 1, width))
    yield Fill(("positions", "table"), (positions,), lambda values: values[0])
    for index in range(network.num_layers):
        block = ("encoder", "blocks", index)
        before, after = f"encoder.layer.{index}", f"layers.{index}"  # of transformers 4, and 5
        attention = [
            _named(f"{before}.attention.attention.{name}", f"{after}.attention.{name[0]}_proj")
            for name in ("query", "key", "value")
        ]
        output = _named(f"{before}.attention.output.dense", f"{after}.attention.o_proj")
        own_attention, feed_forward = (*block, "self_attention"), (*block, "feed_forward")
        yield from linear((*own_attention, "query_key_value_projection"), attention, (width, width))
        yield from linear((*own_attention, "output_projection"), [output], (width, width))
        for layer, names, shape in (
            ("inner", _named(f"{before}.intermediate.dense", f"{after}.mlp.fc1"), (inner, width)),
            ("outer", _named(f"{before}.output.dense", f"{after}.mlp.fc2"), (width, inner)),
        ):
            yield from linear((*feed_forward, layer), [names], shape)
        for own, theirs in (("self_attention", "layernorm_before"), ("feed_forward", "layernorm_after")):
            yield from norm((*block, f"{own}_norm"), _named(f"{before}.{theirs}", f"{after}.{theirs}"), width)
    yield from norm(("encoder", "norm"), _named("layernorm"), width)


def _other_heads(config: ConfigReader, width: int, channels: int) -> Iterator[Tensor]:
    """What ViT has not: the pooler, and the parts of masked image modelling."""
    has_size = config.values.get("pooler_output_size") is not None
    pooled = config.size("pooler_output_size") if has_size else width
    pixels = config.size("encoder_stride", 16, 2**10) ** 2 * channels
    yield Tensor(_named("pooler.dense.weight"), (pooled, width))
    yield Tensor(_named("pooler.dense.bias"), (pooled,))
    yield Tensor(_named("embeddings.mask_token"), (1, 1, width))
    yield Tensor(("decoder.0.weight",), (pixels, width, 1, 1))
    yield Tensor(("decoder.0.bias",), (pixels,))
