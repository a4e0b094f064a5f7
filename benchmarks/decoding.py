"""Greedy decoding beside KerasHub, Hugging Face and CTranslate2: target tokens per second on one thread.

    python benchmarks/decoding.py --preset small --batch 1 8 32 64 --json
    python benchmarks/decoding.py --run RUN --text FILE --json

The first form: 21 source tokens, 24 target tokens that no side may cut short, a vocabulary of 8,000. Ours and
CTranslate2 have the same random weights; MarianMT and BART are of the same sizes with weights of their own.
Each side runs in a process of its own and takes turns with the others; a turn is as many calls as take a
fifth of a second, since the first one finds the caches full of another's weights. Timed is a call from ids to
ids, the encoder included. *Not* timed: loading, compiling, and text.

The second form: a whole file from text to text, ours as `keras-transformer translate` does it with the run
and, onnx_float32, with an exported version, beside CTranslate2 with the same weights and the same tokenizer.
The model is loaded before; what is compiled meanwhile counts.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure
import numpy as np
import smallest
from sides import TURN, Side, serve, speeds, take_turns

VOCABULARY, SOURCE, TARGET = 8000, 21, 24
START, END, NEVER = 2, 3, -1
OURS = ("ours", "onnx_float32")
PACKAGES = {
    "ours": "tensorflow",
    "kerashub": "keras-hub",
    "hf": "transformers",
    "ctranslate2_float32": "ctranslate2",
    "onnx_float32": "onnxruntime",
}
WITH_IDS = ("ours", "kerashub", "hf", "ctranslate2_float32")
WITH_TEXT = ("ours", "onnx_float32", "ctranslate2_float32")
REPEATS = measure.Effort(smoke=3, quick=5, whole=15)


def main() -> None:
    """Both sides of every batch size, or of a file."""
    parser = measure.parser(__doc__)
    parser.add_argument("--preset", choices=("tiny", "small", "base"), default="small")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 64])
    parser.add_argument("--run", type=Path, help="a trained run, for a file of text")
    parser.add_argument("--text", type=Path, help="the file")
    parser.add_argument("--serve", choices=PACKAGES, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if bool(options.run) != bool(options.text):
        parser.error("--run and --text go together")
    if options.smoke:
        options.preset, options.batch = smallest.PRESET, [2]
    if options.serve:
        turn, warm_up = (0, 1) if options.smoke else (TURN, 1 if options.run else 3)
        serve(lambda task: _prepared(options, task), warm_up, turn)
        return
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        tasks = {} if options.run else {f"batch={batch}": WITH_IDS for batch in options.batch}
        if options.smoke:
            options.run, options.text = Path(scratch) / "model.keras", Path(scratch) / "test.fr"
            smallest.write_model(options.run)
            smallest.write_texts(options.text, Path(scratch) / "test.en")
            arguments += ["--run", str(options.run), "--text", str(options.text)]
        if options.run:
            tasks["text"] = WITH_TEXT
        needed = {name: PACKAGES[name] for names in tasks.values() for name in names}
        sides = {name: Side(name, scratch, arguments) for name in measure.installed(needed, options)}
        try:
            _measure(sides, tasks, options)
        finally:
            for side in sides.values():
                side.close()


def _measure(sides: dict[str, Side], tasks: dict[str, tuple[str, ...]], options: argparse.Namespace) -> None:
    figures: dict[str, Any] = {}
    ratios = {}
    for task, names in tasks.items():
        taking_part = {name: sides[name] for name in names if name in sides}
        tokens, seconds = take_turns(taking_part, task, REPEATS.of(options))
        figures |= speeds(task, tokens, seconds)
        for peer in [name for name in taking_part if name not in OURS]:
            for own in [name for name in taking_part if name in OURS]:
                ratios[f"{own}/{peer} {task}"] = measure.ratio(seconds[own], seconds[peer])
    measure.report("decoding", [PACKAGES[name] for name in sides], figures, ratios, options.json)


def _prepared(options: argparse.Namespace, task: str) -> tuple[Callable[[], Any], int]:
    return _texts(options) if task == "text" else _ids(options, int(task.partition("=")[2]))


def _ids(options: argparse.Namespace, batch: int) -> tuple[Callable[[], Any], int]:
    """What one side does with a batch of ids."""
    rng = np.random.default_rng(batch)
    source = np.concatenate(
        [rng.integers(4, VOCABULARY, (batch, SOURCE - 1)), np.full((batch, 1), END)], axis=1
    ).astype(np.int32)
    sides = {"ours": _ours, "kerashub": _kerashub, "hf": _hf, "ctranslate2_float32": _ctranslate2}
    return sides[options.serve](options, source), batch * TARGET


def _model(preset: str) -> Any:
    import keras

    from keras_transformer import TranslationModel

    keras.utils.set_random_seed(1)
    model = TranslationModel(smallest.network(preset), VOCABULARY)
    model.build()
    return model


def _ours(options: argparse.Namespace, source: Any) -> Callable[[], Any]:
    from keras_transformer.decoding.traced_search import Search
    from keras_transformer.models.translate import search_ids

    model, rows = _model(options.preset), source.tolist()

    def call() -> None:
        found = search_ids(model, rows, Search(START, NEVER), max_tokens=TARGET)
        assert all(len(answer.ids) == TARGET for (answer,) in found)  # noqa: S101

    return call


def _kerashub(options: argparse.Namespace, source: Any) -> Callable[[], Any]:
    import keras_hub

    network = smallest.network(options.preset)
    backbone = keras_hub.models.BartBackbone(
        VOCABULARY,
        network.encoder_layers,
        network.num_heads,
        network.width,
        network.inner_width,
        dropout=0.0,
        max_sequence_length=64,
    )
    model = keras_hub.models.BartSeq2SeqLM(backbone=backbone, preprocessor=None)
    model.compile(sampler="greedy", jit_compile=True)
    said = np.zeros((len(source), TARGET + 1), np.int32)
    said[:, 0] = START
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": np.ones_like(source, bool),
        "decoder_token_ids": said,
        "decoder_padding_mask": said != 0,
    }
    return lambda: model.generate(inputs, stop_token_ids=None)


def _hf(options: argparse.Namespace, source: Any) -> Callable[[], Any]:
    import torch
    from transformers import MarianConfig, MarianMTModel

    torch.set_num_threads(1)
    network = smallest.network(options.preset)
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=network.width,
        encoder_layers=network.encoder_layers,
        decoder_layers=network.decoder_layers,
        encoder_attention_heads=network.num_heads,
        decoder_attention_heads=network.num_heads,
        encoder_ffn_dim=network.inner_width,
        decoder_ffn_dim=network.inner_width,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=START,
    )
    model = MarianMTModel(config).eval()
    ids = torch.tensor(source, dtype=torch.long)

    def call() -> None:
        with torch.inference_mode():
            found = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                num_beams=1,
                do_sample=False,
                min_new_tokens=TARGET,
                max_new_tokens=TARGET,
            )
        assert found.shape == (len(source), TARGET + 1)  # noqa: S101

    return call


def _ctranslate2(options: argparse.Namespace, source: Any) -> Callable[[], Any]:
    import ctranslate2

    from export.formats.writers.ctranslate2 import write_with_vocabulary

    names = [str(number) for number in range(VOCABULARY)]
    directory = options.scratch / "ctranslate2"
    if not directory.exists():
        write_with_vocabulary(_model(options.preset), names, names, START, END, directory)
    translator = ctranslate2.Translator(
        str(directory), inter_threads=1, intra_threads=1, compute_type="float32"
    )
    rows = [[names[number] for number in row] for row in source]

    def call() -> None:
        found = translator.translate_batch(
            rows, beam_size=1, min_decoding_length=TARGET, max_decoding_length=TARGET
        )
        assert all(len(each.hypotheses[0]) == TARGET for each in found)  # noqa: S101

    return call


def _texts(options: argparse.Namespace) -> tuple[Callable[[], Any], int]:
    """What one side does with a file."""
    from keras_transformer import TranslationModel

    model = TranslationModel.load(options.run)
    texts = options.text.read_text(encoding="utf-8").splitlines()
    tokenizer = model.tokenizer
    tokens = sum(len(row) for row in tokenizer.encode_target(model.translate(texts, loop_guard=False)))
    if options.serve == "ours":
        return lambda: model.translate(texts, loop_guard=False), tokens
    if options.serve == "onnx_float32":
        return _exported(options, model, texts), tokens
    import ctranslate2

    from export.formats.writers.ctranslate2 import write_ctranslate2

    directory = options.scratch / "ctranslate2-text"
    write_ctranslate2(model, directory)
    translator = ctranslate2.Translator(
        str(directory), inter_threads=1, intra_threads=1, compute_type="float32"
    )
    names = tokenizer.pieces_target(range(tokenizer.target_size))
    numbers = {name: number for number, name in enumerate(names)}

    def call() -> None:
        rows = [tokenizer.pieces_source(row) for row in tokenizer.encode_source(texts)]
        found = translator.translate_batch(rows, beam_size=1, max_batch_size=2048, batch_type="tokens")
        tokenizer.decode_target([[numbers[piece] for piece in each.hypotheses[0]] for each in found])

    return call, tokens


def _exported(options: argparse.Namespace, model: Any, texts: list[str]) -> Callable[[], Any]:
    from export.formats.runtimes.onnx_scheduler_runtime import SchedulerOnnx
    from export.formats.writers.onnx_scheduler import write_scheduler_onnx

    write_scheduler_onnx(model, options.scratch)
    longest, tokenizer = model.network.max_length, model.tokenizer
    runtime = SchedulerOnnx(options.scratch, "float32", tokenizer.bos_id, tokenizer.eos_id, longest)

    def call() -> None:
        answers = runtime.translate_ids(tokenizer.encode_source(texts, longest))
        tokenizer.decode_target([answer.ids for answer in answers])

    return call


if __name__ == "__main__":
    main()
