"""A directory of a family that is wrong or hostile is refused with every reason, and nothing is run."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_transformer.models import Bert
from keras_transformer.pretrained.directory import PretrainedError
from tests.support.damage import (
    WEIGHTS,
    Runs,
    change,
    fifo,
    legacy,
    link,
    pickled,
    remove,
    tensors,
    truncated,
    write,
)
from tests.support.family_kinds import GOLDEN

INDEX, FIRST = "model.safetensors.index.json", "model-00001-of-00004.safetensors"
TABLE = "embeddings.word_embeddings.weight"


def system(proof: Path) -> Any:
    return {"weight": Runs(os.system, f"touch {proof}")}


def index(change_map: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Change what the index of the shards says."""

    def damage(directory: Path) -> None:
        content = json.loads((directory / INDEX).read_bytes())
        change_map(content["weight_map"])
        (directory / INDEX).write_text(json.dumps(content))

    return damage


def twice(directory: Path) -> None:
    """A tensor in two shards."""
    name = "bert.embeddings.LayerNorm.bias"
    save_file({name: np.zeros(18, "float32")}, directory / "extra.safetensors")
    index(lambda places: places.update({"other": "extra.safetensors"}))(directory)


def no_padding(directory: Path) -> None:
    content = json.loads((directory / "config.json").read_bytes())
    (directory / "config.json").write_text(json.dumps(content | {"pad_token_id": None}))


def whole_numbers(values: dict[str, Any]) -> None:
    values[TABLE] = values[TABLE].astype("int64")


def another_name(values: dict[str, Any]) -> None:
    values[f"bert.{TABLE}"] = values[TABLE] + 1


def other_positions(values: dict[str, Any]) -> None:
    values["embeddings.position_ids"] = np.arange(23)[None] + 1


def split_layer(values: dict[str, Any]) -> None:
    values["encoder.layer.0.output.dense.weight"] = np.zeros((26, 18), "float32")
    del values["encoder.layer.1.output.dense.bias"]
    values["encoder.layer.1.attention.self.distance_embedding.weight"] = np.zeros((45, 6), "float32")


#: The kind that is damaged, how, and a part of each reason.
DAMAGES: dict[str, tuple[str, Callable[[Path], None], list[str]]] = {
    "another family": ("bert", change("config.json", model_type="roberta"), ["model_type must be bert"]),
    "no family": ("bert", change("config.json", model_type=None), ["model_type must be bert; got None"]),
    "options of another network": (
        "bert",
        change(
            "config.json", position_embedding_type="relative_key", is_decoder=True, hidden_act="quick_gelu",
            pruned_heads={"0": [1]}, quantization_config={"bits": 4},
        ),
        ["position_embedding_type must be 'absolute'", "is_decoder must be False", "hidden_act must be",
         "pruned_heads must be {}", "quantization_config must be None"],
    ),
    "values out of range": (
        "bert",
        change(
            "config.json", hidden_size="18", num_hidden_layers=10**6, num_attention_heads=0,
            hidden_dropout_prob=1, layer_norm_eps=0, pad_token_id=67, type_vocab_size=True,
        ),
        ["hidden_size must be a whole number", "num_hidden_layers must be", "num_attention_heads must be",
         "hidden_dropout_prob must be", "layer_norm_eps must be", "pad_token_id must be an id",
         "type_vocab_size must be"],
    ),
    "a number of hundreds of digits": (
        "bert", change("config.json", layer_norm_eps=10**400), ["layer_norm_eps must be a finite number"]
    ),
    "a tokenizer without padding": (
        "bert", no_padding, ["pad_token_id is null; the tokenizer"]
    ),
    "heads that do not divide": (
        "bert", change("config.json", num_attention_heads=4), ["num_attention_heads must divide"]
    ),
    "tables larger than any memory": (
        "bert",
        change("config.json", vocab_size=2**20, hidden_size=2**16, num_attention_heads=1),
        [f"{TABLE} has the shape (67, 18); it must have (1048576, 65536)"],
    ),
    "labels that are no numbers": (
        "bert_first_years", change("config.json", id2label={"0": "a", "2": "b"}), ["id2label must have"]
    ),
    "more labels than classes": (
        "bert_first_years",
        change("config.json", id2label={"0": "a", "1": "b"}),
        ["classifier.bias has the shape (3,); it must have (2,)"],
    ),
    "names and shapes of another model": (
        "bert",
        tensors(split_layer),
        ["encoder.layer.1.output.dense.bias is missing", "distance_embedding.weight is surplus",
         "encoder.layer.0.output.dense.weight has the shape (26, 18); it must have (18, 26)"],
    ),
    "a table of whole numbers": ("bert", tensors(whole_numbers), [f"{TABLE} holds I64"]),
    "a table under two names": ("bert", tensors(another_name), [f"{TABLE} differs from bert.{TABLE}"]),
    "positions that do not count": ("bert", tensors(other_positions), ["position_ids is not what it is"]),
    "no weights": ("bert", remove(WEIGHTS), ["neither model.safetensors nor pytorch_model.bin"]),
    "truncated weights": ("bert", truncated(WEIGHTS, 100), ["not fully covered"]),
    "a pipe": ("bert", fifo, ["no regular file"]),
    "a link out of the directory": ("bert", link(WEIGHTS, "../outside"), ["outside the directory"]),
    "a pickle that runs a command": ("bert", pickled(system), ["posix.system"]),
    "an old pickle that runs a command": ("bert", legacy(system), ["posix.system"]),
    "a shard that is missing": ("bert_sharded", remove(FIRST), [f"{FIRST} is missing"]),
    "a shard that is truncated": ("bert_sharded", truncated(FIRST, 8), ["not fully covered"]),
    "a shard outside": (
        "bert_sharded",
        index(lambda places: places.update(dict.fromkeys(places, "../model.safetensors"))),
        ["weight_map must name a file of this directory"],
    ),
    "a shard that is no file of weights": (
        "bert_sharded",
        index(lambda places: places.update(dict.fromkeys(places, "config.json"))),
        ["weight_map must name a file of this directory"],
    ),
    "a tensor in another shard than its place": (
        "bert_sharded",
        index(lambda places: places.update({"cls.predictions.bias": FIRST})),
        [f"{FIRST} lacks cls.predictions.bias", "has cls.predictions.bias, which the index does not place"],
    ),
    "a tensor in two shards": ("bert_sharded", twice, ["extra.safetensors has bert.embeddings"]),
    "a shard that the index names for nothing": (
        "bert_sharded",
        index(lambda places: places.update({"bert.nothing": FIRST})),
        [f"{FIRST} lacks bert.nothing"],
    ),
    "an index without a map": ("bert_sharded", write(INDEX, b'{"weight_map": []}'), ["weight_map must name"]),
    "a tokenizer that is none": ("bert", write("tokenizer.json", b'{"model": 1}'), ["no tokenizer of"]),
    "a tokenizer nested without end": ("bert", write("tokenizer.json", b"[" * 10**6), ["no tokenizer of"]),
    "a tokenizer of an impossible merge": (
        "bert",
        write(
            "tokenizer.json", b'{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}'
        ),
        ["no tokenizer of"],
    ),
    "a tokenizer with a damaged table of characters": (
        "bert",
        change("tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        ["no tokenizer of"],
    ),
    "a tokenizer in no known encoding": ("bert", write("tokenizer.json", b"\xff\xfe"), ["is not in UTF-8"]),
    "a tokenizer of more ids": (
        "bert_first_years",
        write("vocab.txt", "\n".join(["[UNK]", "[CLS]", "[SEP]", *map(str, range(70))]).encode()),
        ["the tokenizer has 73 ids; the model has 67"],
    ),
    "a vocabulary without its special pieces": (
        "bert_first_years",
        write("vocab.txt", b"a\nb\na\n"),
        ["vocab.txt lacks [UNK]", "vocab.txt lacks [CLS]", "vocab.txt lacks [SEP]", "a piece twice"],
    ),
    "a tokenizer of other special pieces": (
        "bert_first_years", change("tokenizer_config.json", sep_token="</s>"), ["sep_token must be '[SEP]'"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_refused_with_every_reason_and_nothing_is_run(damage: str, tmp_path: Path) -> None:
    kind, make, reasons = DAMAGES[damage]
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / kind, directory)
    make(directory)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(PretrainedError) as refused:
        Bert.from_pretrained(directory)
    for reason in reasons:
        assert reason in str(refused.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert not (tmp_path / "executed").exists()


def test_a_directory_without_a_tokenizer_is_a_model_of_ids(tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / "bert", directory)
    remove("tokenizer.json")(directory)
    assert Bert.from_pretrained(directory).tokenizer is None
