"""Directories of the families with random weights, made with transformers and PyTorch.

Each kind is a configuration, or a form of the files, that differs from the others. Widths are odd, and the
weights are large enough that a wrong option shows: normalizations and biases are random, too.

`python tests/support/family_kinds.py [KIND ...]` writes the directories, with what transformers computes for
them, into tests/keras_transformer/pretrained/families/golden/. It needs `make bench-env`.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "keras_transformer" / "pretrained" / "families" / "golden"
Arrays = dict[str, np.ndarray]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *".,!?", *(f"##{each}" for each in LETTERS)]
PIECES += ["the", "cat", "cafe", "##ing"]
TEXTS = ["The cat sings.", "A café, perhaps?", "[MASK] x2 ☃", "a", ""]
PAIRS = ["", "the", "Cat!", "x" * 30, "a b c d e f g h i j k l m n o p"]  # the last two are truncated
MAX_TOKENS = 23
PREPROCESSOR = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "do_resize": False,
                "image_mean": [0.4], "image_std": [0.25]}  # fmt: skip

BERT: dict[str, Any] = {
    "class": "BertModel", "vocab_size": 67, "hidden_size": 18, "num_hidden_layers": 2,
    "num_attention_heads": 3, "intermediate_size": 26, "max_position_embeddings": MAX_TOKENS,
}  # fmt: skip
DISTILBERT: dict[str, Any] = {
    "vocab_size": 67, "dim": 20, "n_layers": 2, "n_heads": 5, "hidden_dim": 22,
    "max_position_embeddings": MAX_TOKENS,
}  # fmt: skip

VIT: dict[str, Any] = {
    "class": "ViTForImageClassification", "image_size": 12, "patch_size": 4, "num_channels": 3,
    "hidden_size": 18, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 26,
    "id2label": {0: "cat", 1: "dog", 2: "cow", 3: "hen", 4: "emu"},
}  # fmt: skip

#: The class in transformers, the configuration, and the form of the files.
KINDS: dict[str, dict[str, Any]] = {
    "bert": {**BERT, "type_vocab_size": 3},
    "bert_sharded": {**BERT, "class": "BertForPreTraining", "hidden_act": "gelu_new", "form": "shards"},
    "bert_first_years": {
        **BERT, "class": "BertForSequenceClassification", "hidden_act": "relu", "layer_norm_eps": 0.1,
        "id2label": {0: "bad", 1: "fair", 2: "good"}, "form": "first years",
    },
    "bert_masked": {**BERT, "class": "BertForMaskedLM", "num_hidden_layers": 1, "form": "half"},
    "distilbert_masked": {**DISTILBERT, "class": "DistilBertForMaskedLM"},
    "distilbert_classifier": {
        **DISTILBERT, "class": "DistilBertForSequenceClassification", "sinusoidal_pos_embds": True,
        "activation": "silu",
    },
    "vit": {**VIT, "layer_norm_eps": 0.1},
    "vit_oblong": {
        **VIT, "image_size": [8, 15], "patch_size": [4, 5], "num_channels": 1, "hidden_act": "gelu_new",
        "form": "new names",
    },
    "vit_headless": {**VIT, "class": "ViTModel", "num_hidden_layers": 1, "pooler_output_size": 7},
}  # fmt: skip


def make(directory: Path, kind: dict[str, Any], seed: int = 0) -> Any:
    """Write one directory, as `save_pretrained` writes it, and return the model of transformers."""
    import torch
    import transformers
    from safetensors.torch import save_file

    options = dict(kind)
    made, form = getattr(transformers, options.pop("class")), options.pop("form", "whole")
    torch.manual_seed(seed)
    model = made(made.config_class(**options)).eval()
    with torch.no_grad():
        for name, values in model.named_parameters():
            _randomize(name, values)
    if form == "half":
        model.half().save_pretrained(directory)
        model.float()
    else:
        model.save_pretrained(directory, max_shard_size=8000 if form == "shards" else "1GB")
    if form == "first years":  # pytorch_model.bin with the positions' numbers, and Keras' names of the norms
        old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        state = {_replaced(name, old): values for name, values in model.state_dict().items()}
        state["bert.embeddings.position_ids"] = torch.arange(model.config.max_position_embeddings)[None]
        (directory / "model.safetensors").unlink()
        torch.save(state, directory / "pytorch_model.bin")
    if form == "new names":  # what the classes of transformers 5 call their parts
        state = {name: values.contiguous() for name, values in model.state_dict().items()}
        save_file(state, directory / "model.safetensors")
    if model.config.model_type == "vit":
        (directory / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR))
    if "bert" in model.config.model_type:
        _write_word_piece(directory, form)
    return model


def _replaced(name: str, parts: dict[str, str]) -> str:
    for part, other in parts.items():
        name = name.replace(part, other)
    return name


def _randomize(name: str, values: Any) -> None:
    """Weights under which the outputs differ from position to position, and lie between -10 and 10."""
    values.normal_()
    if "norm" in name.lower() and name.endswith("weight"):
        values.mul_(0.2).add_(1.0)
    elif name.endswith("bias"):
        values.mul_(0.3)
    elif values.ndim == 2 and "embeddings" not in name:
        large = ("query", "key", "q_lin", "k_lin", "q_proj", "k_proj", "classifier")
        values.mul_((3.0 if any(part in name for part in large) else 1.2) * values.shape[1] ** -0.5)


def _write_word_piece(directory: Path, form: str) -> None:
    """Write tokenizer.json; with the files of the first years vocab.txt of a cased model."""
    from transformers import BertTokenizer

    if form == "first years":
        (directory / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
        settings = {"do_lower_case": False, "tokenizer_class": "BertTokenizer"}
        (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    else:
        pieces = {piece: number for number, piece in enumerate(PIECES)}
        BertTokenizer(vocab=pieces, model_max_length=23).save_pretrained(directory)


def expected(model: Any, directory: Path) -> Arrays:
    """Return inputs, and what transformers computes for them."""
    import torch

    with torch.no_grad():
        found = _EXPECTED[model.config.model_type](model, directory)
    return {name: np.asarray(values) for name, values in found.items()}


def _of_bert(model: Any, directory: Path) -> dict[str, Any]:
    import torch
    from transformers import AutoTokenizer

    config, rng = model.config, np.random.default_rng(1)
    ids = rng.integers(1, config.vocab_size, (4, 11))
    ids[0, 7:] = ids[1, 1:] = 0
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(ids != 0)}
    found = {"ids": ids}
    if config.model_type == "bert":
        found["token_types"] = rng.integers(0, config.type_vocab_size, ids.shape)
        given["token_type_ids"] = torch.tensor(found["token_types"])
    found["hidden"] = getattr(model, model.base_model_prefix, model)(**given).last_hidden_state
    outputs = model(**given)
    if "logits" in outputs or "prediction_logits" in outputs:
        found["logits"] = outputs.get("logits", outputs.get("prediction_logits"))
    tokenizer = AutoTokenizer.from_pretrained(directory)
    encoded = tokenizer(TEXTS, PAIRS, padding=True, truncation=True, max_length=MAX_TOKENS)
    found["text_ids"], found["text_types"] = encoded["input_ids"], encoded["token_type_ids"]
    return found


def _of_vit(model: Any, directory: Path) -> dict[str, Any]:
    import torch

    config, rng = model.config, np.random.default_rng(1)
    size = config.image_size
    height, width = size if isinstance(size, list) else (size, size)
    images = rng.integers(0, 256, (4, height, width, config.num_channels), dtype="uint8")
    pixels = ((images / 255 - 0.4) / 0.25).astype("float32")  # as PREPROCESSOR says
    given = torch.tensor(pixels.transpose(0, 3, 1, 2))
    found = {"images": images, "hidden": getattr(model, "vit", model)(given).last_hidden_state}
    return found | ({"logits": model(given).logits} if hasattr(model, "classifier") else {})


_EXPECTED: dict[str, Callable[[Any, Path], dict[str, Any]]] = {
    "bert": _of_bert,
    "distilbert": _of_bert,
    "vit": _of_vit,
}


def main(names: list[str]) -> None:
    """Write the directories of these kinds, or of all."""
    for name in names or KINDS:
        shutil.rmtree(GOLDEN / name, ignore_errors=True)
        model = make(GOLDEN / name, KINDS[name])
        arrays = expected(model, GOLDEN / name)
        np.savez_compressed(GOLDEN / name / "expected.npz", **arrays)
        size = sum(path.stat().st_size for path in (GOLDEN / name).iterdir())
        largest = {key: round(float(np.abs(each).max()), 2) for key, each in arrays.items()}
        print(f"{name}: {size:,} bytes; {largest}")


if __name__ == "__main__":
    main(sys.argv[1:])
