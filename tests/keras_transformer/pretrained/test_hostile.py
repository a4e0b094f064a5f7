"""A directory that is wrong, truncated, mismatched or hostile is refused with the reason; nothing is run."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.pretrained.directory import PretrainedError
from keras_transformer.pretrained.torch_file import open_torch
from tests.support.damage import (
    PICKLED,
    WEIGHTS,
    Runs,
    change,
    compressed,
    entry,
    fifo,
    header,
    legacy,
    link,
    pickled,
    remove,
    tensor,
    tensors,
    truncated,
    write,
)

GOLDEN = Path(__file__).parent / "golden"


def vocabulary(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        pieces = json.loads((directory / "vocab.json").read_bytes())
        change(pieces)
        (directory / "vocab.json").write_text(json.dumps(pieces))

    return damage


def system(proof: Path) -> Any:
    return {"weight": Runs(os.system, f"touch {proof}")}


def memo(proof: Path) -> bytes:
    return b"\x80\x02}r\xff\xff\xff\xff."


def of_two_kinds(values: dict[str, Any]) -> None:
    values["model.encoder.layers.0.fc1.weight"] = values["model.encoder.layers.0.fc1.weight"].T.copy()
    values["model.encoder.layers.9.fc1.bias"] = values.pop("model.encoder.layers.0.fc1.bias")


def with_nan(values: dict[str, Any]) -> None:
    values["model.decoder.layers.1.fc2.bias"][3] = np.nan


#: Each kind of damage: the function that does it, and a part of the error message that gives the reason.
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no configuration": (remove("config.json"), "config.json is missing"),
    "a configuration that is no JSON": (write("config.json", b"{'a': 1}"), "config.json is no JSON"),
    "a configuration that is a list": (write("config.json", b"[]"), "must hold an object"),
    "a configuration nested without end": (write("config.json", b"[" * 10**6), "nested too deeply"),
    "a key twice": (write("config.json", b'{"d_model": 16, "d_model": 32}'), '"d_model" is duplicate'),
    "another family": (change("config.json", model_type="bart"), "model_type must be 'marian'"),
    "no model type": (change("config.json", model_type=None), "model_type is missing"),
    "a width as a text": (change("config.json", d_model="16"), "d_model must be a whole number"),
    "a width that lies": (change("config.json", d_model=32), "must have (32"),
    "a million layers": (change("config.json", encoder_layers=10**6), "encoder_layers must be a whole"),
    "a layer more than there is": (change("config.json", encoder_layers=3), "layers.2.fc1.weight is missing"),
    "a layer less than there is": (change("config.json", decoder_layers=1), "layers.1.fc1.weight is surplus"),
    "heads that do not divide": (change("config.json", encoder_attention_heads=3), "must divide d_model, 16"),
    "positions without end": (change("config.json", max_position_embeddings=2**30), "1 to 16,384"),
    "an unknown activation": (change("config.json", activation_function="gelu_new"), "relu, gelu, swish"),
    "pre-norm": (change("config.json", normalize_before=True), "normalize_before must be False"),
    "a padding outside": (change("generation_config.json", pad_token_id=10**6), "pad_token_id must be"),
    "another end of answers": (change("generation_config.json", eos_token_id=2), "forced_eos_token_id must"),
    "a penalty": (change("generation_config.json", no_repeat_ngram_size=3), "no_repeat_ngram_size changes"),
    "a forbidden sequence": (change("generation_config.json", bad_words_ids=[[4, 5]]), "lists of one id"),
    "no room for an answer": (change("generation_config.json", max_length=1), "max_length"),
    "another start": (change("generation_config.json", forced_bos_token_id=3), "forced_bos_token_id changes"),
    "no weights": (remove(WEIGHTS), "neither model.safetensors nor pytorch_model.bin"),
    "truncated weights": (truncated(WEIGHTS, 100), "not fully covered"),
    "an empty file of weights": (write(WEIGHTS, b""), "damaged, or no safetensors file"),
    "weights that are a page": (write(WEIGHTS, b"<html>not found</html>"), "damaged, or no safetensors file"),
    "overlapping tensors": (header({"a": entry(0, 4), "b": entry(0, 4)}), "invalid offset"),
    "a hole between tensors": (header({"a": entry(4, 8)}), "invalid offset"),
    "absurd offsets": (header({"a": entry(0, 2**63, shape=(2**62, 4))}), "overflow"),
    "negative offsets": (header({"a": entry(-4, 0)}), "invalid value"),
    "a header as long as the disk": (header({}, size=2**60), "header too large"),
    "whole numbers": (header({"a": entry(0, 8, dtype="I64")}), "a holds I64"),
    "names and shapes that are others": (tensors(of_two_kinds), "fc1.bias is missing"),
    "a value that is no number": (tensors(with_nan), "fc2.bias has values that are not finite"),
    "a pickle that runs a command": (pickled(system), "posix.system"),
    "an old pickle that runs a command": (legacy(system), "posix.system"),
    "a pickle that evaluates": (pickled({"a": Runs(eval, "1 + 1")}), "eval"),
    "a pickle that reaches for attributes": (pickled({"a": Runs(getattr, "a", "b")}), "getattr"),
    "a pickle of protocol 4": (pickled(pickle.dumps({"a": 1}, 4)), "the instruction FRAME"),
    "a pickle that takes all memory": (pickled(memo), "damaged at byte"),
    "a pickle of something else": (pickled({"a": 1}), "tensors by name"),
    "a pickle that is none": (pickled(b"no pickle"), "opcode b'n' unknown"),
    "a compressed archive": (compressed, "is compressed"),
    "a storage that is too short": (pickled(tensor(0, (4,), (1,)), _0=bytes(8)), "truncated"),
    "a storage that is missing": (pickled(tensor(0, (4,), (1,))), "damaged"),
    "a tensor past its storage": (pickled(tensor(0, (2, 2), (1, 9)), _0=bytes(16)), "reaches value 10"),
    "a tensor larger than its storage": (pickled(tensor(0, (9,), (0,)), _0=bytes(16)), "does not hold"),
    "no SentencePiece model": (remove("source.spm"), "source.spm is missing"),
    "a SentencePiece model that is none": (write("target.spm", b"no model" * 99), "not a SentencePiece"),
    "no vocabulary": (remove("vocab.json"), "vocab.json is missing"),
    "a hole in the vocabulary": (vocabulary(lambda ids: ids.update({[*ids][5]: 10**6})), "5 is missing"),
    "an id twice": (vocabulary(lambda ids: ids.update({[*ids][5]: 4})), "the id 4 is given twice"),
    "an id that is a text": (vocabulary(lambda ids: ids.update({[*ids][5]: "5"})), "every id must be"),
    "a vocabulary too small": (vocabulary(lambda ids: ids.popitem()), "pieces; the configuration has"),
    "no unknown piece": (vocabulary(lambda ids: ids.update({"x": ids.pop("<unk>")})), "it lacks '<unk>'"),
    "another end": (vocabulary(lambda ids: ids.update({"</s>": 1, "<unk>": 0})), "'</s>' is id 1"),
    "a link out of the directory": (link("config.json", "../outside"), "outside the directory"),
    "a link that leads nowhere": (link("config.json", "nowhere"), "leads nowhere"),
    "a link to itself": (link("vocab.json", "vocab.json"), "leads nowhere"),
    "a pipe": (fifo, "no regular file"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_refused_with_the_reason_and_nothing_is_run(damage: str, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / "swish", directory)
    make, reason = DAMAGES[damage]
    make(directory)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(directory)
    assert reason in str(refused.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert not (tmp_path / "executed").exists()


def test_every_wrong_name_and_shape_is_told_at_once(tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / "swish", directory)
    tensors(of_two_kinds)(directory)
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(directory)
    assert refused.value.problems == [
        "model.encoder.layers.0.fc1.bias is missing; its shape is (24,)",
        "model.encoder.layers.0.fc1.weight has the shape (16, 24); it must have (24, 16)",
        "model.encoder.layers.9.fc1.bias is surplus: a model of this configuration has no such tensor",
    ]


def test_every_wrong_option_is_told_at_once(tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / "swish", directory)
    change("config.json", d_model=0, dropout=2, activation_function=["relu"])(directory)
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(directory)
    assert [problem.split(" must ")[0] for problem in refused.value.problems] == [
        "config.json: d_model", "config.json: dropout", "config.json: activation_function",
    ]  # fmt: skip


def test_a_table_that_a_file_has_twice_must_be_the_same(tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / "swish", directory)
    tensors(lambda values: values.update({"lm_head.weight": values["model.shared.weight"] + 1}))(directory)
    with pytest.raises(PretrainedError, match=r"lm_head\.weight differs from model\.shared\.weight"):
        TranslationModel.from_pretrained(directory)


def test_the_links_of_a_cache_of_hugging_face_are_followed(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "0123"
    shutil.copytree(GOLDEN / "swish", blobs)
    snapshot.mkdir(parents=True)
    for blob in blobs.iterdir():
        (snapshot / blob.name).symlink_to(f"../../blobs/{blob.name}")
    assert TranslationModel.from_pretrained(snapshot).translate(["chat"])


def test_a_pickled_number_without_dimensions_is_read(tmp_path: Path) -> None:
    """GPT-2's files of the first years have such a number beside their masks."""
    (tmp_path / WEIGHTS).touch()
    pickled(tensor(1, (), ()), _0=np.arange(4, dtype="float32").tobytes())(tmp_path)
    found = open_torch(tmp_path / PICKLED)["weight"]
    assert (found.shape, found.read()) == ((), 1)
