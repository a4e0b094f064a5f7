"""MarianMT directories with random weights, made with transformers and PyTorch.

Each kind is a configuration that differs from the others in what it computes. The weights are large enough
that a wrong option shows: normalisations, biases and the bias of the logits are random, too.

`python tests/support/marian_kinds.py [KIND ...]` writes the directories and the expected values into
tests/keras_transformer/pretrained/golden/. It needs `make bench-env`.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

WORDS = [
    "le", "la", "un", "une", "chat", "chien", "maison", "voiture", "mange", "boit", "dort", "petit", "grand",
    "rouge", "bleu", "dans", "sur", "avec", "sans", "pour", "the", "a", "cat", "dog", "house", "car", "eats",
    "drinks", "sleeps", "small", "big", "red", "blue", "in", "on", "with", "without", "for", "été", "à", "où",
    "ça", "Ünïcode",
]  # fmt: skip
LANGUAGES = (">>fra<<", ">>deu<<", ">>eng<<")
SMALL: dict[str, Any] = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
    "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 64,
}  # fmt: skip

#: The configuration of each kind, and of which form its files are.
KINDS: dict[str, dict[str, Any]] = {
    "swish": {"dtype": "float32"},
    "relu": {"activation_function": "relu"},
    "gelu": {"activation_function": "gelu", "dtype": "bfloat16"},
    "deep_encoder": {"encoder_layers": 4, "decoder_layers": 1},
    "deep_decoder": {"encoder_layers": 1, "decoder_layers": 3, "form": "bin", "dtype": "float32"},
    "many_heads": {"d_model": 32, "encoder_attention_heads": 8, "decoder_attention_heads": 8},
    "own_decoder": {"decoder_attention_heads": 4, "decoder_ffn_dim": 40},
    "unscaled": {"scale_embedding": False},
    "untied": {"tie_word_embeddings": False},
    "two_tables": {"share_encoder_decoder_embeddings": False, "form": "legacy"},
    "two_vocabularies": {"share_encoder_decoder_embeddings": False, "separate": True},
    "languages": {"languages": True},
    "short_answers": {"max_length": 8},
    "unforced": {"max_length": 16, "forced_eos": False},
}
KEPT = ("source", "answer", "translation")
#: For the live comparison alone: they are too large to be kept.
LARGE_KINDS: dict[str, dict[str, Any]] = {
    "wide": {"d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
             "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "encoder_layers": 6, "decoder_layers": 6},
    "middle": {"d_model": 256, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
               "activation_function": "relu", "encoder_ffn_dim": 512, "decoder_ffn_dim": 512},
}  # fmt: skip


def sentences(count: int, seed: int, longest: int = 12) -> list[str]:
    """Texts of known words, and of some that no vocabulary has."""
    source = random.Random(seed)
    return [
        " ".join(
            source.choice(WORDS)
            if source.random() < 0.9
            else source.choice(["☃", "xyz", "42", "Ж", "e\u0301"])
            for _ in range(source.randint(1, longest))
        )
        for _ in range(count)
    ]


def spm(
    path: Path, seed: int, size: int, kind: str = "unigram", normalization: str = "identity"
) -> list[str]:
    """Train a SentencePiece model as OPUS-MT has them: no padding, <unk> 0 or another, <s>, </s>."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(600, seed)), model_prefix=str(path.with_suffix("")), vocab_size=size,
        model_type=kind, normalization_rule_name=normalization, minloglevel=2, hard_vocab_limit=False,
        character_coverage=0.99,
    )  # fmt: skip
    path.with_suffix(".model").rename(path)
    path.with_suffix(".vocab").unlink()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [processor.id_to_piece(number) for number in range(3, processor.vocab_size())]


def make(
    directory: Path, kind: dict[str, Any], seed: int = 0, spm_kind: str = "unigram", zero_start: bool = False
) -> None:
    """Write one directory, as `save_pretrained` writes it.

    With zero_start the padding has the vector 0, as in every converted model of Marian: CTranslate2 relies on
    it. Otherwise it has a vector of its own, so that a wrong start shows.
    """
    import torch
    from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

    torch.manual_seed(seed)
    options = dict(kind)
    form, dtype = options.pop("form", "safetensors"), options.pop("dtype", "float16")
    separate, languages = options.pop("separate", False), options.pop("languages", False)
    longest, forced = options.pop("max_length", 24), options.pop("forced_eos", True)
    directory.mkdir(parents=True)
    sides = [
        spm(directory / "source.spm", 2 * seed, 120, spm_kind),
        spm(directory / "target.spm", 2 * seed + 1, 110, spm_kind),
    ]
    special = [*(LANGUAGES if languages else ())]
    if separate:
        vocabularies = [_numbered(pieces, pad_first=True) for pieces in sides]  # one id is both paddings
    else:
        joint = sorted({*sides[0], *sides[1]}, key=lambda piece: (len(piece), piece))
        dropped = joint[5::11]  # pieces of a SentencePiece model that the vocabulary lacks
        vocabularies = [_numbered([*special, *(piece for piece in joint if piece not in dropped)])] * 2
    for name, vocabulary in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=True):
        (directory / name).write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    pad = vocabularies[1]["<pad>"]
    config = MarianConfig(
        **{**SMALL, **options},
        vocab_size=len(vocabularies[0]), decoder_vocab_size=len(vocabularies[1]),
        pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, bos_token_id=0,
        forced_eos_token_id=0 if forced else None,
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, values in model.named_parameters():
            _randomize(name, values, f"decoder.layers.{config.decoder_layers - 1}")
            if zero_start and ("shared" in name or "embed_tokens" in name or "lm_head" in name):
                values[pad] = 0
        model.final_logits_bias.copy_(0.3 * torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, 0] += 1.5  # answers end now and then
    model.generation_config = GenerationConfig(
        max_length=longest, num_beams=4, bad_words_ids=[[pad]], pad_token_id=pad, decoder_start_token_id=pad,
        eos_token_id=0, bos_token_id=0, forced_eos_token_id=0 if forced else None, renormalize_logits=True,
    )  # fmt: skip
    model = model.to(getattr(torch, dtype))
    model.save_pretrained(directory)
    if form != "safetensors":
        state = {**model.state_dict()}
        if form == "legacy":  # many files leave out what is computed
            state = {name: values for name, values in state.items() if "embed_positions" not in name}
        (directory / "model.safetensors").unlink()
        torch.save(state, directory / "pytorch_model.bin", _use_new_zipfile_serialization=form == "bin")
    MarianTokenizer(
        str(directory / "source.spm"), str(directory / "target.spm"), str(directory / "vocab.json"),
        str(directory / "target_vocab.json") if separate else None,
        source_lang="fr", target_lang="en", separate_vocabs=separate, model_max_length=64,
    ).save_pretrained(directory)  # fmt: skip
    if not separate:
        (directory / "target_vocab.json").unlink()


def _numbered(pieces: list[str], pad_first: bool = False) -> dict[str, int]:
    ordered = ["<pad>", *pieces] if pad_first else [*pieces, "<pad>"]
    return {piece: number for number, piece in enumerate(["</s>", "<unk>", *ordered])}


def _randomize(name: str, values: Any, last_layer: str) -> None:
    """Weights under which an answer follows from its source and from its beginning."""
    if "embed_positions" in name:
        return
    values.normal_()
    if "layer_norm.weight" in name:
        values.mul_(0.2).add_(5.0 if f"{last_layer}.final" in name else 1.0)
    elif name.endswith("bias"):
        values.mul_(0.2)
    else:
        gains = {"q_proj": 3.0, "k_proj": 3.0, "v_proj": 0.6, "out_proj": 0.6, "fc1": 1.6, "fc2": 1.6}
        gain = next((gain for part, gain in gains.items() if part in name), 0.5)
        values.mul_(gain * values.shape[1] ** -0.5)


def varied(found: dict[str, Any]) -> bool:
    """Whether the answers differ, from text to text and from step to step: else equal ones show nothing."""
    answers = {tuple(each["answer"]) for each in found.values()}
    return len(answers) > 0.8 * len(found) and np.mean([len(set(answer)) for answer in answers]) > 5


def expected(directory: Path, texts: list[str]) -> Iterator[tuple[str, Any]]:
    """What transformers computes for texts: ids, greedy answers as ids and text, and logits everywhere."""
    import torch
    from transformers import MarianMTModel, MarianTokenizer

    tokenizer = MarianTokenizer.from_pretrained(directory)
    model = MarianMTModel.from_pretrained(directory, dtype=torch.float32).eval()
    for text in texts:
        batch = tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            answer = model.generate(**batch, num_beams=1)[0]
            logits = model(**batch, decoder_input_ids=answer[None, :-1]).logits[0]
        yield (
            text,
            {
                "source": batch["input_ids"][0].tolist(),
                "answer": answer.tolist(),
                "translation": tokenizer.decode(answer, skip_special_tokens=True),
                "logits": np.asarray(logits, np.float32),
            },
        )


def texts_of(kind: dict[str, Any], count: int, seed: int = 5) -> list[str]:
    """Sentences for a kind, which begin with a language if it has several."""
    texts = sentences(count, seed)
    if not kind.get("languages"):
        return texts
    return [f"{LANGUAGES[number % len(LANGUAGES)]} {text}" for number, text in enumerate(texts)]


if __name__ == "__main__":
    import shutil
    import sys

    golden = Path(__file__).parents[1] / "keras_transformer" / "pretrained" / "golden"
    for name in sys.argv[1:] or KINDS:
        kind, directory = KINDS[name], golden / name
        for seed in range(20):
            shutil.rmtree(directory, ignore_errors=True)
            make(directory, kind, seed, "bpe" if name == "relu" else "unigram")
            found = dict(expected(directory, texts_of(kind, 12)))
            if varied(found):
                break
        kept = {text: {key: each[key] for key in KEPT} for text, each in found.items()}
        (directory / "expected.json").write_text(json.dumps(kept, ensure_ascii=False, indent=0))
        logits = {f"{number}": each["logits"] for number, each in enumerate([*found.values()][:2])}
        np.savez_compressed(directory / "logits.npz", **logits)
        print(
            name,
            seed,
            sum(file.stat().st_size for file in directory.iterdir()),
            sorted({len(set(each["answer"])) for each in found.values()}),
        )
