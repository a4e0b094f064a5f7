"""What the imports of generative families share: a checked network, a tokenizer, and weights by rules."""

from collections.abc import Sequence
from typing import Any, TypeVar

from keras_transformer.models.families.generation import GenerativeModel
from keras_transformer.pretrained.config import ConfigReader
from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.mapping import Constant, Fill, Target, Tensor, check_names, fill
from keras_transformer.pretrained.rules import as_it_is
from keras_transformer.pretrained.tokenizer_files import read_tokenizer
from keras_transformer.pretrained.weights import Weights

GENERATION, MAX_ENDS = "generation_config.json", 100

Model = TypeVar("Model", bound=GenerativeModel)


def made(
    kind: type[Model],
    directory: PretrainedDirectory,
    weights: Weights,
    values: dict[str, Any],
    fills: Sequence[Fill],
    constants: Sequence[Constant] = (),
    unused: Sequence[Tensor] = (),
) -> Model:
    """Make a model, and fill it with weights that are all there.

    Args:
        kind: Class of the model.
        directory: The directory.
        weights: Its weights.
        values: Fields of the network.
        fills: Everything that the model needs.
        constants: What the file may have besides.
        unused: What the file may have, and nothing reads.

    Raises:
        PretrainedError: With everything that is wrong with the names, the shapes or the tokenizer.
    """
    check_names(weights, fills, constants, unused)
    tokenizer = read_tokenizer(directory, values["vocabulary_size"], values.get("pad_id"))
    try:
        model = kind(kind.network_class.from_dict(values), tokenizer)
    except ValueError as error:  # a combination that only the network refuses
        raise PretrainedError(directory.path, [f"config.json: {error}"]) from error
    model.build()
    fill(model, weights, fills, constants)
    return model


def ends_of(
    directory: PretrainedDirectory, config: ConfigReader, vocabulary: int, default: int
) -> tuple[int, ...]:
    """Return the ids that end a text: those of generation_config.json, or without it of config.json.

    Null, and ids outside the vocabulary, are none.
    """
    if directory.has(GENERATION):
        own = directory.json(GENERATION)
        if "eos_token_id" in own:
            config = ConfigReader(own, GENERATION, config.problems)
    value = config.values.get("eos_token_id", default)
    ids = value if isinstance(value, list) else [] if value is None else [value]
    right = len(ids) <= MAX_ENDS and all(type(each) is int and each >= 0 for each in ids)
    config.checked(right, "eos_token_id", "must be an id, several, or null", value, None)
    return tuple(dict.fromkeys(each for each in ids if each < vocabulary)) if right else ()


def rms_norm(target: Target, names: Sequence[str], width: int) -> Fill:
    """Return the rule for the scale of an RMS normalization."""
    return Fill((*target, "scale"), (Tensor(tuple(names), (width,)),), as_it_is)
