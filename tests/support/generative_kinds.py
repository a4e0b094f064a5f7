"""Directories of GPT-2, Llama and T5 with random weights, made with transformers and PyTorch.

Each kind is a configuration, or a form of the files, that differs from the others. Widths are odd, and the
weights are large enough that a wrong option shows: normalizations and biases are random, too.

`python tests/support/generative_kinds.py [KIND ...]` writes the directories, with what transformers computes
for them, into tests/keras_transformer/pretrained/families/golden/. It needs `make bench-env`.
"""

import copy
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "keras_transformer" / "pretrained" / "families" / "golden"
STEPS = 50
MARGIN = 1e-3  # between the two highest logits of every step, so that rounding changes no token

GPT2: dict[str, Any] = {
    "class": "GPT2LMHeadModel", "vocab_size": 263, "n_positions": 80, "n_embd": 18, "n_layer": 2, "n_head": 3,
    "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "class": "LlamaForCausalLM", "vocab_size": 67, "hidden_size": 24, "intermediate_size": 26,
    "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
    "max_position_embeddings": 96, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
T5: dict[str, Any] = {
    "class": "T5ForConditionalGeneration", "vocab_size": 67, "d_model": 20, "d_kv": 6, "d_ff": 26,
    "num_layers": 2, "num_decoder_layers": 3, "num_heads": 3, "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 20, "decoder_start_token_id": 0, "eos_token_id": None,
}  # fmt: skip
SCALED = {
    "rope_type": "llama3", "rope_theta": 100.0, "factor": 4.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 24,
}  # fmt: skip

#: The class in transformers, the configuration, and the form of the files.
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": GPT2,
    "gpt2_untied": {
        **GPT2, "vocab_size": 67, "n_embd": 20, "n_head": 5, "n_inner": 26, "activation_function": "relu",
        "layer_norm_epsilon": 0.1, "scale_attn_weights": False, "tie_word_embeddings": False,
        "form": "shards",
    },
    "gpt2_first_years": {**GPT2, "vocab_size": 67, "n_layer": 1, "form": "first years"},
    "llama": {**LLAMA, "rope_parameters": SCALED},
    "llama_biases": {
        **LLAMA, "num_key_value_heads": 1, "head_dim": 10, "attention_bias": True, "mlp_bias": True,
        "rms_norm_eps": 0.1, "form": "before 5",
    },
    "llama_tied": {**LLAMA, "num_key_value_heads": None, "tie_word_embeddings": True, "form": "half"},
    "t5": T5,
    "t5_v1_1": {
        **T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "layer_norm_epsilon": 0.1,
        "num_heads": 2, "d_kv": 14, "num_decoder_layers": 1, "eos_token_id": 1,
    },
}  # fmt: skip
#: For the live comparison alone.
MORE_KINDS: dict[str, dict[str, Any]] = {
    "gpt2_large": {**GPT2, "n_embd": 192, "n_head": 6, "n_layer": 5},
    "gpt2_silu": {**GPT2, "activation_function": "silu", "resid_pdrop": 0.0},
    "llama_large": {
        **LLAMA, "hidden_size": 192, "intermediate_size": 400, "num_attention_heads": 12,
        "num_key_value_heads": 4, "num_hidden_layers": 5, "head_dim": 32,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
    },
    "llama_slow": {**LLAMA, "rope_parameters": {**SCALED, "factor": 32.0, "rope_theta": 1000.0}},
    "llama_gelu": {**LLAMA, "hidden_act": "gelu", "num_key_value_heads": 3, "mlp_bias": True},
    "t5_large": {
        **T5, "d_model": 192, "d_kv": 32, "d_ff": 300, "num_layers": 5, "num_heads": 6,
        "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128,
    },
    "t5_gated_silu": {**T5, "feed_forward_proj": "gated-silu", "relative_attention_num_buckets": 10},
    "t5_gelu": {**T5, "feed_forward_proj": "gelu", "relative_attention_max_distance": 7},
}  # fmt: skip


def make(directory: Path, kind: dict[str, Any], seed: int = 0) -> Any:
    """Write one directory, as `save_pretrained` writes it, and return the model of transformers."""
    import torch
    import transformers

    options = dict(kind)
    made, form = getattr(transformers, options.pop("class")), options.pop("form", "whole")
    torch.manual_seed(seed)
    model = made(made.config_class(**options)).eval()
    if options.get("tie_word_embeddings") is False and kind["class"].startswith("T5"):
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    with torch.no_grad():
        for name, values in model.named_parameters():
            _randomize(name, values, model.config)
    model.generation_config.eos_token_id = options.get("eos_token_id")
    if form == "half":
        with torch.no_grad():
            for values in model.parameters():
                values.copy_(values.half())
        copy.deepcopy(model).half().save_pretrained(
            directory
        )  # a copy: its rotary frequencies are rounded too
    else:
        model.save_pretrained(directory, max_shard_size=12000 if form == "shards" else "1GB")
    if form in _REWRITTEN:
        _REWRITTEN[form](directory, model)
    if kind["class"].startswith("GPT2") and options["vocab_size"] > 256:
        _write_bytes(directory)
    return model


def _randomize(name: str, values: Any, config: Any) -> None:
    """Weights under which the outputs differ from position to position, and lie between -20 and 20."""
    values.normal_()
    if values.ndim == 1:
        values.mul_(0.2).add_(0.0 if name.endswith("bias") else 1.0)
    elif not any(
        part in name for part in ("wte", "wpe", "embed_tokens", "shared", "relative_attention_bias")
    ):
        fan_in = values.shape[0] if config.model_type == "gpt2" and "lm_head" not in name else values.shape[1]
        values.mul_(1.3 * fan_in**-0.5)
        if name.endswith(".q.weight"):  # T5 does not scale the scores
            values.mul_(config.d_kv**-0.5)
        if any(part in name for part in ("q.weight", "k.weight", "q_proj", "k_proj")):
            values.mul_(2.0)


def _first_years(directory: Path, model: Any) -> None:
    """The names of the network alone, with the causal masks."""
    import torch
    from safetensors.torch import load_file, save_file

    state = {
        name.removeprefix("transformer."): values
        for name, values in load_file(directory / "model.safetensors").items()
    }
    size = model.config.n_positions
    state["h.0.attn.bias"] = torch.ones(size, size).tril()[None, None]
    state["h.0.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(state, directory / "model.safetensors")


def _before_5(directory: Path, model: Any) -> None:
    """The configuration of transformers 4, and the frequencies among the weights."""
    from safetensors.torch import load_file, save_file

    config = json.loads((directory / "config.json").read_bytes())
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["rope_scaling"] = None
    (directory / "config.json").write_text(json.dumps(config, indent=2))
    state = load_file(directory / "model.safetensors")
    state["model.layers.0.self_attn.rotary_emb.inv_freq"] = model.model.rotary_emb.inv_freq.clone()
    save_file(state, directory / "model.safetensors")


_REWRITTEN = {"first years": _first_years, "before 5": _before_5}


def _write_bytes(directory: Path) -> None:
    """A tokenizer.json whose tokens are the 256 bytes, and six pairs of letters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("a", "n"), ("e", "r"), ("Ġ", "a"), ("o", "n")]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *map("".join, merges)])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(directory / "tokenizer.json"))


def inputs(config: Any, seed: int = 1) -> dict[str, np.ndarray]:
    """Return rows of ids, shorter ones padded with 0 at their end, and for T5 targets."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(2, config.vocab_size, (3, 24))
    lengths = np.array([24, 9, 1])
    ids[np.arange(24) >= lengths[:, None]] = 0
    found = {"ids": ids, "lengths": lengths}
    if config.model_type == "t5":
        found["target"] = rng.integers(2, config.vocab_size, (3, 11))
        found["target"][:, 0] = 0
    return found


def expected(model: Any, seed: int = 1) -> dict[str, np.ndarray]:
    """Return inputs, the logits, and the greedy tokens of each row; 0 where a row has ended."""
    import torch

    given = inputs(model.config, seed)
    ids, is_t5 = torch.tensor(given["ids"]), model.config.model_type == "t5"
    mask = torch.arange(24)[None] < torch.tensor(given["lengths"])[:, None]
    targets = {"decoder_input_ids": torch.tensor(given["target"])} if is_t5 else {}
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=mask, **targets).logits.numpy()
        tokens = np.zeros((3, STEPS), int)
        margins = []
        for row, length in enumerate(given["lengths"]):
            new = _greedy(model, ids[row : row + 1, :length], is_t5, margins)
            tokens[row, : len(new)] = new
    return {**given, "logits": logits, "tokens": tokens, "margin": np.array(min(margins))}


def _greedy(model: Any, ids: Any, is_t5: bool, margins: list[float]) -> list[int]:
    """Generate with transformers' own loop."""
    found = model.generate(  # its cache fails where the decoder is deeper than the encoder
        ids, attention_mask=ids >= 0, max_new_tokens=STEPS, do_sample=False, num_beams=1, pad_token_id=0,
        use_cache=not is_t5, output_logits=True, return_dict_in_generate=True,
    )  # fmt: skip
    for logits in found.logits:
        first, second = logits[0].topk(2).values.tolist()
        margins.append(first - second)
    return found.sequences[0, 1 if is_t5 else ids.shape[1] :].tolist()


def main(names: list[str]) -> None:
    """Write the directories of these kinds, or of all; seeds are tried until no step is near a tie."""
    for name in names or KINDS:
        directory = GOLDEN / name
        for seed in range(1000):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
            found = expected(make(directory, KINDS[name], seed))
            different = np.mean([len(set(row)) for row in found["tokens"]])
            print(name, seed, found["margin"], different, flush=True)
            if found["margin"] > MARGIN and different > 4:
                break
        print(name, seed, found["margin"], different, np.abs(found["logits"]).max())
        np.savez_compressed(directory / "expected.npz", **found)
        (directory / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
