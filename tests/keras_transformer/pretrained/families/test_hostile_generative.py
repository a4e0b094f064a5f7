"""A directory of GPT-2, Llama or T5 that is wrong is refused with every reason, and nothing is run."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.models import GPT2, T5, Llama
from keras_transformer.pretrained.directory import PretrainedError
from tests.support.damage import Runs, change, pickled, tensors, write
from tests.support.generative_kinds import GOLDEN, SCALED

CLASSES = {"gpt2": GPT2, "llama": Llama, "t5": T5}


def system(proof: Path) -> Any:
    return {"weight": Runs(os.system, f"touch {proof}")}


def without_a_head(values: dict[str, Any]) -> None:
    del values["lm_head.weight"]
    values["model.layers.0.mlp.up_proj.weight"] = np.zeros((24, 26), "float32")
    values["model.layers.2.mlp.up_proj.weight"] = np.zeros((26, 24), "float32")


def other_mask(values: dict[str, Any]) -> None:
    values["h.0.attn.bias"] = values["h.0.attn.bias"] * 0


def wide_mask(values: dict[str, Any]) -> None:
    values["h.0.attn.bias"] = np.ones((1, 1, 81, 81), "float32")


def not_finite(values: dict[str, Any]) -> None:
    values["shared.weight"][3, 3] = np.inf


def added(number: int) -> dict[str, Any]:
    """A token that is added to those of a tokenizer.json."""
    flags = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized", "special"], False)
    return {"id": number, "content": f"<{number}>", **flags}


#: The kind that is damaged, how, and a part of each reason.
DAMAGES: dict[str, tuple[str, Callable[[Path], None], list[str]]] = {
    "another family": ("llama", change("config.json", model_type="gpt2"), ["model_type must be llama"]),
    "options of another network": (
        "gpt2",
        change(
            "config.json", scale_attn_by_inverse_layer_idx=True, add_cross_attention=True,
            activation_function="quick_gelu",
        ),
        ["scale_attn_by_inverse_layer_idx must be False", "add_cross_attention must be False",
         "activation_function must be one of"],
    ),
    "values out of range": (
        "llama",
        change(
            "config.json", hidden_size="24", num_hidden_layers=10**6, num_attention_heads=6,
            num_key_value_heads=4, rms_norm_eps=0, attention_dropout=1, tie_word_embeddings="no", head_dim=5,
        ),
        ["hidden_size must be a whole number", "num_hidden_layers must be", "num_key_value_heads must divide",
         "rms_norm_eps must be", "attention_dropout must be", "tie_word_embeddings must be",
         "head_dim must be even"],
    ),
    "unknown rotary positions": (
        "llama",
        change("config.json", rope_parameters={"rope_type": "yarn", "rope_theta": -1}),
        ["rope_type must be default or llama3; got 'yarn'", "rope_theta must be a finite number above 0"],
    ),
    "rotary positions without a scale": (
        "llama",
        change("config.json", rope_parameters={"rope_type": "llama3", "low_freq_factor": 8}),
        ["factor of rope_type llama3 is missing", "high_freq_factor of rope_type llama3 is missing"],
    ),
    "scales in the wrong order": (
        "llama",
        change("config.json", rope_parameters={**SCALED, "low_freq_factor": 8}),
        ["high_freq_factor must be above low_freq_factor; got 4.0"],
    ),
    "rotary positions that are a text": (
        "llama", change("config.json", rope_parameters="fast"), ["rope_parameters must be an object"]
    ),
    "names and shapes of another model": (
        "llama",
        tensors(without_a_head),
        ["lm_head.weight is missing", "layers.0.mlp.up_proj.weight has the shape (24, 26)",
         "layers.2.mlp.up_proj.weight is surplus"],
    ),
    "a mask that is not causal": ("gpt2_first_years", tensors(other_mask), ["attn.bias is not what it is"]),
    "positions without end": (
        "gpt2", change("config.json", n_positions=2**16), ["wpe.weight has the shape (80, 18)"]
    ),
    "a mask of other positions": (
        "gpt2_first_years", tensors(wide_mask), ["h.0.attn.bias is surplus"]
    ),
    "a value that is not finite": ("t5", tensors(not_finite), ["shared.weight has values that are not"]),
    "unknown layers": (
        "t5",
        change("config.json", feed_forward_proj="gated-quick", relative_attention_num_buckets=2),
        ["feed_forward_proj must be one of", "relative_attention_num_buckets must be at least 4"],
    ),
    "a head that is promised": (
        "t5", change("config.json", tie_word_embeddings=False), ["lm_head.weight is missing"]
    ),
    "an end that is a text": (
        "t5", write("generation_config.json", b'{"eos_token_id": ["</s>"]}'),
        ["generation_config.json: eos_token_id must be an id, several, or null"],
    ),
    "a start outside": (
        "t5", change("config.json", decoder_start_token_id=67), ["decoder_start_token_id must"]
    ),
    "a pickle that runs a command": ("t5", pickled(system), ["posix.system"]),
    "a tokenizer of more ids": (
        "gpt2",
        change("tokenizer.json", added_tokens=[added(number) for number in (262, 263)]),
        ["the tokenizer has 264 ids; the model has 263"],
    ),
    "a tokenizer that is none": ("gpt2", write("tokenizer.json", b"[]"), ["no tokenizer of"]),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_refused_with_every_reason_and_nothing_is_run(damage: str, tmp_path: Path) -> None:
    name, make, reasons = DAMAGES[damage]
    directory = tmp_path / "model"
    shutil.copytree(GOLDEN / name, directory)
    make(directory)
    with pytest.raises(PretrainedError) as refused:
        CLASSES[name.partition("_")[0]].from_pretrained(directory)
    for reason in reasons:
        assert reason in str(refused.value)
    assert not (tmp_path / "executed").exists()
