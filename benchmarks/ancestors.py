"""The Transformer beside the recurrent models before it: BLEU by the length of the sentence, and speed.

    python benchmarks/ancestors.py --json
    python benchmarks/ancestors.py --multi30k DIR --steps 3000 --picture docs/pictures/ancestors.svg

Three models with about the same number of parameters, trained by `train` on the same pairs with the same
recipe: a recurrent encoder and decoder (2014), the same with additive attention (2015), the Transformer. A
pair is one to four sentences of the phrasebook, joined. Tested are lines of one to eight joined sentences,
which no training pair has; each line is translated greedily as one sentence. With --multi30k, whose DIR has
train and test_2016_flickr in .en and .de, the same is done with its sentences (no part of this project).

Tokens per second: a training step of a batch of 2,048 tokens with XLA off, and greedy decoding of the joined
sentences in ONNX Runtime; one thread, the models in turns. Not timed: tracing, validation, the tokenizer.
Runs that are there already are not trained again. --quick: 100 steps. --smoke: 1 step.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import measure
import smallest

#: The models by the years of their papers, with the colour and the marker of their lines.
ARCHITECTURES = {
    "recurrent": ("2014: recurrent", "#b3470b", "v"),
    "recurrent-attention": ("2015: with additive attention", "#559ec3", "s"),
    "transformer": ("2017: Transformer", "#00507f", "o"),
}
STEPS = measure.Effort(smoke=1, quick=100, whole=600)
REPEATS = measure.Effort(smoke=3, quick=3, whole=9)
SENTENCES = measure.Effort(smoke=100, quick=10_000, whole=30_000)
PAIRS = measure.Effort(smoke=120, quick=20_000, whole=60_000)
TESTED = measure.Effort(smoke=3, quick=50, whole=100)
BATCH_TOKENS = measure.Effort(smoke=256, quick=2048, whole=2048)
JOINED = 4  # sentences of a training pair, at most
TESTED_SIZES = (1, 2, 3, 4, 6, 8)
EDGES = (0, 9, 11, 13, 16, 1000)  # words of a source of Multi30k, the first excluded

Pair = tuple[str, str]


class Corpus(NamedTuple):
    """A corpus: the options of `train` for it, and test pairs in groups of one length."""

    name: str
    options: list[str]
    groups: list[list[Pair]]


def main() -> None:
    """Train what is not trained yet, score it, time it, and draw it."""
    parser = measure.parser(__doc__)
    parser.add_argument("--runs", type=Path, default=Path("build/ancestors"), help="directory of the runs")
    parser.add_argument("--steps", type=int, help=f"steps of each training ({STEPS.whole})")
    parser.add_argument("--multi30k", type=Path, metavar="DIR", help="train and score on Multi30k too")
    parser.add_argument("--picture", type=Path, metavar="F", help="draw BLEU by length, as F.svg or F.png")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.smoke:
            options.runs = Path(scratch)
        options.runs.mkdir(parents=True, exist_ok=True)
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from keras_transformer.models.encoder_decoder import EncoderDecoder

    if options.smoke:
        smallest.shrink_presets()
    tf.config.run_functions_eagerly(options.smoke)  # the trainings: too few steps to trace one
    corpora = [_phrasebook(options), *([_multi30k(options.multi30k)] if options.multi30k else [])]
    runs = {
        corpus.name: {name: _trained(corpus, name, options) for name in ARCHITECTURES} for corpus in corpora
    }
    tf.config.run_functions_eagerly(False)
    figures: dict[str, Any] = {}
    for corpus in corpora:
        lengths = [round(mean(len(source.split()) for source, _ in group), 1) for group in corpus.groups]
        models = {name: EncoderDecoder.load(run) for name, run in runs[corpus.name].items()}
        scores = {name: [_bleu(model, group) for group in corpus.groups] for name, model in models.items()}
        figures[corpus.name] = {"words": lengths, "bleu": scores}
        figures[f"{corpus.name} parameters"] = {
            name: model.network.parameters(model.source_vocabulary) for name, model in models.items()
        }
        print(f"\n{corpus.name}: BLEU by words of the source\n{'':24}", *(f"{words:7}" for words in lengths))
        for name, values in scores.items():
            print(f"{name:24}", *(f"{value:7.2f}" for value in values), flush=True)
        if corpus is corpora[0]:
            ratios = _speeds(models, corpus, options, figures)
    if options.picture:
        _draw(options.picture, {corpus.name: figures[corpus.name] for corpus in corpora})
    measure.report("ancestors", ["tensorflow", "keras", "onnxruntime"], figures, ratios, options.json)


def joined(split: str, sentences: int, pairs: int, sizes: Sequence[int]) -> Iterator[Pair]:
    """Yield pairs of several sentences, drawn from some of the phrasebook."""
    from keras_transformer.phrasebook import phrasebook

    random = Random(f"{split} {sizes}")
    drawn_from = list(phrasebook("fr-en", split, sentences))
    for _ in range(pairs):
        sources, targets = zip(*random.choices(drawn_from, k=random.choice(sizes)), strict=True)
        yield " ".join(sources), " ".join(targets)


def _phrasebook(options: argparse.Namespace) -> Corpus:
    training = list(joined("train", SENTENCES.of(options), PAIRS.of(options), range(1, JOINED + 1)))
    files = [options.runs / f"phrasebook.train.{language}" for language in ("fr", "en")]
    for path, side in zip(files, zip(*training, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    tested = TESTED.of(options)
    groups = [list(joined("test", 10 * tested, tested, [size])) for size in TESTED_SIZES]
    pieces = str(smallest.PIECES if options.smoke else 3400)
    return Corpus("phrasebook", [*_files(files, "fr", "en"), "--vocabulary-size", pieces], groups)


def _multi30k(directory: Path) -> Corpus:
    from keras_transformer.text.corpus import read_parallel

    files = [
        [directory / f"{name}.{language}" for language in ("en", "de")]
        for name in ("train", "test_2016_flickr")
    ]
    tested = [tuple(pair) for pair in read_parallel(files[1][:1], files[1][1:])]
    groups = [
        [pair for pair in tested if low < len(pair[0].split()) <= high] for low, high in pairwise(EDGES)
    ]
    return Corpus("multi30k", _files(files[0], "en", "de"), groups)


def _files(files: Sequence[Path], source: str, target: str) -> list[str]:
    languages = ["--source-lang", source, "--target-lang", target]
    return ["--source", str(files[0]), "--target", str(files[1]), *languages]


def _trained(corpus: Corpus, architecture: str, options: argparse.Namespace) -> Path:
    """Train a run unless it is finished, and return its path."""
    from keras_transformer.cli import main as command
    from keras_transformer.training.data.typed import KINDS
    from keras_transformer.training.runs.run_summary import facts

    run = options.runs / f"{corpus.name}-{architecture}"
    steps = options.steps or STEPS.of(options)
    resumed = (run / "recipe.json").exists()
    if resumed and facts(run)["state"] == "finished":
        return run
    new = [
        "--architecture", architecture, "--steps", str(steps), "--validate-every", str(-(-steps // 4)),
        "--batch-tokens", str(BATCH_TOKENS.of(options)), "--max-words", "500", "--both-ways", "0",
        "--dropout", "0" if corpus.name == "phrasebook" else "0.3", *corpus.options,
        *(word for kind in KINDS for word in (f"--{kind.replace('_', '-')}", "0")),
    ]  # fmt: skip
    if status := command(["train", "--run", str(run), *(["--resume"] if resumed else new)]):
        raise SystemExit(status)
    return run


def _bleu(model: Any, group: Sequence[Pair]) -> float:
    """Score greedy translations of undivided lines."""
    from keras_transformer.evaluation.scores import bleu, tokenization
    from keras_transformer.models.translate import translate_sentences

    found = translate_sentences(model, [source for source, _ in group])
    score = bleu(found, [target for _, target in group], tokenization(model.tokenizer.target_lang))
    return round(score, 2)


def _speeds(
    models: Mapping[str, Any], corpus: Corpus, options: argparse.Namespace, figures: dict[str, Any]
) -> dict[str, dict[str, float]]:
    """Time a training step and the decoding of each model; return the ratios to the Transformer."""
    from keras_transformer.decoding.traced_search import Search
    from keras_transformer.models.translate import prepared_search
    from keras_transformer.text.padding import padded
    from keras_transformer.training.loss import LabelSmoothedCrossEntropy

    pairs = corpus.groups[JOINED - 1]
    tokenizer = models["transformer"].tokenizer
    sources = tokenizer.encode_source([source for source, _ in pairs])
    targets = tokenizer.encode_target([target for _, target in pairs])
    rows = max(1, BATCH_TOKENS.of(options) // max(map(len, targets)))
    labels = padded(targets[:rows])
    inputs = {
        "source": padded(sources[:rows]),
        "target": padded([[tokenizer.bos_id, *ids[:-1]] for ids in targets[:rows]]),
    }
    search = Search(tokenizer.bos_id, tokenizer.eos_id)
    searches = {name: prepared_search(model, search, scores=False) for name, model in models.items()}
    answers = {name: translate(sources) for name, translate in searches.items()}
    counts = {
        "training": dict.fromkeys(models, sum(map(len, targets[:rows]))),
        "decoding": {name: sum(len(answer.ids) for (answer,) in found) for name, found in answers.items()},
    }
    decoding = {name: partial(translate, sources) for name, translate in searches.items()}
    seconds = {"decoding": measure.take_turns(decoding, REPEATS.of(options), warm_up=1)}
    training = {}
    for name, model in models.items():
        model.compile("adam", LabelSmoothedCrossEntropy(0.1), jit_compile=False)
        training[name] = lambda model=model: model.train_on_batch(inputs, labels)
    seconds["training"] = measure.take_turns(training, REPEATS.of(options), warm_up=2)
    ratios = {}
    for kind, times in seconds.items():
        rates = {name: [counts[kind][name] / taken for taken in taking] for name, taking in times.items()}
        for name, values in rates.items():
            figures[f"{name} {kind} tokens/s"] = measure.summary(values, per_call=1)
            print(f"{name:24} {kind}: {figures[f'{name} {kind} tokens/s']['median']:,.0f} tokens/s")
        for name in rates.keys() - {"transformer"}:
            ratios[f"transformer/{name} {kind}"] = measure.ratio(
                [1 / rate for rate in rates["transformer"]], [1 / rate for rate in rates[name]]
            )
    return ratios


def _draw(path: Path, corpora: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw BLEU by the length of the source, a panel for each corpus."""
    import matplotlib
    from matplotlib.figure import Figure

    from keras_transformer.viz.pictures import INK, PAPER

    figure = Figure(figsize=(4.8 * len(corpora) + 1, 3.8), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(corpora), squeeze=False)[0]
    for axes, (name, found) in zip(panels, corpora.items(), strict=True):
        for architecture, (label, colour, marker) in ARCHITECTURES.items():
            values = found["bleu"][architecture]
            axes.plot(found["words"], values, color=colour, marker=marker, label=label, clip_on=False)
        if name == "phrasebook":
            longest = found["words"][TESTED_SIZES.index(JOINED)]
            axes.axvline(longest, color=INK, linestyle=":", linewidth=1)
            axes.text(longest, 3, " more than training joins", color=INK, fontsize=8)
        title = {"phrasebook": "Phrasebook sentences, joined", "multi30k": "Multi30k, test 2016"}[name]
        axes.set_title(title, color=INK, fontsize=10)
        axes.set_xlabel("words of the source", color=INK)
        axes.set_ylabel("BLEU", color=INK)
        axes.set_ylim(0, 100 if name == "phrasebook" else None)
        axes.tick_params(colors=INK)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, labelcolor=INK, fontsize=8, loc="lower left", bbox_to_anchor=(0, 0.08))
    with matplotlib.rc_context({"svg.hashsalt": "ancestors"}):  # the same file each time
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
