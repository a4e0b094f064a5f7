"""Train a translation model from parallel text, or from the embedded phrasebook.

examples:
  keras-transformer train --phrasebook fr-en --run build/run
  keras-transformer train --source a.en --target a.de --source-lang en --target-lang de --run build/run
  keras-transformer train --pairs corpus.tmx --source-lang en --target-lang de --run build/run
  keras-transformer train --run build/run --resume

The options of the recipe have defaults that suit the size of the corpus. The recipe is printed.
"""

import argparse
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from keras_transformer.cli import CommandError, failures, report
from keras_transformer.cli._loading import load
from keras_transformer.text.visible import visible

FOLLOWS = "follows the size of the corpus"
RECIPE_HELP = {
    "preset": "size of the network: tiny, small or base (tiny)",
    "dropout": f"share of activations dropped in training ({FOLLOWS}: 0.1 to 0.3)",
    "attention_dropout": "share of attention weights dropped in training (0)",
    "inner_dropout": "share of the feed-forward network's inner activations dropped in training (0)",
    "bpe_dropout": "share of the merges of BPE that is skipped; the corpus is encoded several times (0)",
    "both_ways": "share of the steps, the first ones, that see every pair in both directions "
    f"({FOLLOWS}: 0.33 or 0)",
    "tokenizer": "how the vocabulary is learned: bpe or unigram (bpe)",
    "vocabulary_size": "pieces of the vocabulary (8,000, or as many as the corpus supports)",
    "max_tokens": "longer sentences are cut there in training (128)",
    "batch_tokens": f"tokens of the longer side in a batch, padding included ({FOLLOWS}: 4,096 or 8,192)",
    "gradient_accumulation_steps": "batches in a step (1)",
    "steps": f"steps of the training ({FOLLOWS}: 1,000 to 50,000)",
    "schedule": "learning rate after the warm-up: cosine or inverse-sqrt (cosine)",
    "peak_learning_rate": "highest learning rate (0.005)",
    "warmup_steps": "steps until the learning rate peaks (1,000, or a quarter of few steps)",
    "label_smoothing": "share of the target probability that is spread over the vocabulary (0.1)",
    "clip_norm": "largest norm of the gradients; 0 is none (1.0)",
    "ema_decay": "decay of the moving average of the weights; 0 is no average "
    "(0.998; with --average-checkpoints 0)",
    "average_checkpoints": "number of last validations to average the weights of instead; 0 is none (0)",
    "validate_every": "steps between two validations; each writes a checkpoint (a sixteenth of the steps)",
    "patience": "validations without a better BLEU before the run stops; 0 is never (0)",
    "precision": "arithmetic of the training: float32 or bfloat16 (the faster one on this machine)",
    "seed": "seed of all that is random (0)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb, with an option for each field of the recipe."""
    from keras_transformer.training.recipe import Recipe

    parser.add_argument(
        "--run", type=Path, required=True, metavar="DIR", help="run directory: what the training writes"
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in DIR where it stands")
    corpus = parser.add_argument_group("corpus")
    corpus.add_argument(
        "--source", type=Path, nargs="+", metavar="F", help="source text, one sentence per line; may be .gz"
    )
    corpus.add_argument(
        "--target", type=Path, nargs="+", metavar="F", help="translation of the source text, line by line"
    )
    corpus.add_argument(
        "--pairs", type=Path, nargs="+", metavar="F", help="files with both sides: .tsv, .jsonl or .tmx"
    )
    corpus.add_argument("--phrasebook", metavar="L-L", help="train from the embedded corpus: fr-en or en-fr")
    corpus.add_argument("--source-lang", metavar="L", help="language of the source, for example fr")
    corpus.add_argument("--target-lang", metavar="L", help="language of the target, for example en")
    corpus.add_argument(
        "--valid-source",
        type=Path,
        nargs="+",
        metavar="F",
        help="held-out source text for the scores (some of the corpus)",
    )
    corpus.add_argument(
        "--valid-target", type=Path, nargs="+", metavar="F", help="its translation, line by line"
    )
    corpus.add_argument(
        "--max-words", type=int, metavar="N", help="drop pairs with more words on a side (150)"
    )
    corpus.add_argument(
        "--max-ratio", type=float, metavar="X", help="drop pairs whose lengths differ by a larger factor (4)"
    )
    corpus.add_argument("--keep-duplicates", action="store_true", help="keep repeated pairs")
    recipe = parser.add_argument_group(
        "recipe", "defaults are in brackets; the phrasebook has a recipe of its own"
    )
    for field in fields(Recipe):
        if field.name in RECIPE_HELP:
            kind = {"vocabulary_size": int}.get(field.name) or type(field.default)
            recipe.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=kind,
                metavar="X" if kind is not str else "NAME",
                help=RECIPE_HELP[field.name],
            )
    recipe.add_argument(
        "--separate", action="store_true", help="learn a vocabulary for each side instead of one for both"
    )


def run(arguments: argparse.Namespace) -> None:
    """Prepare the run unless it is prepared, then train it."""
    from keras_transformer.training.run_directory import Run, RunError

    directory = Run(arguments.run)
    with failures(RunError):
        if arguments.resume:
            _refuse_options(arguments)
        with directory.lock() if arguments.resume else directory.begin(_about(arguments)):
            about = directory.about()
            if not (directory.path / "recipe.json").exists():
                _prepare(directory, about, resumed=arguments.resume)
            recipe = _recipe(directory)
            report("recipe: " + ", ".join(f"{name} {value}" for name, value in recipe.as_dict().items()))
            _train(directory, recipe)


def _recipe(directory: Any) -> Any:
    from keras_transformer.training.recipe import Recipe

    try:
        return Recipe.from_run(directory.read("recipe.json"))
    except (ValueError, TypeError) as error:
        raise CommandError(f"{directory.path / 'recipe.json'} is damaged: {error}") from error


def _train(directory: Any, recipe: Any) -> None:
    from keras_transformer.training.checkpoint import CheckpointError

    trainer = load("keras_transformer.training.trainer")
    with failures(ValueError):  # a tokenizer or tokens that were changed
        prepared = trainer.Trainer(directory, recipe)
    with failures(trainer.TrainingError, CheckpointError):
        best = prepared.train()
    done = f"best model: {directory.model}, step {best['step']:,}, held-out BLEU {best['bleu']:.2f}"
    next_step = f"next:       echo ... | keras-transformer translate {directory.path}"
    print(visible(f"{done}\ncurves:     {directory.curves}\n{next_step}"))


def _about(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options as run.json stores them, or report every problem of the command line."""
    from keras_transformer.training.data.corpus_options import Corpus
    from keras_transformer.training.recipe import Recipe

    problems, about = [], {}
    try:
        about = Corpus(**_corpus(arguments)).as_run()
    except ValueError as error:
        problems.append(str(error))
    try:
        Recipe.for_corpus(LARGE, **_overrides(arguments))
    except ValueError as error:
        problems.append(str(error))
    if problems:
        arguments.usage_error("; ".join(problems))
    return {**about, "recipe": _overrides(arguments)}


def _corpus(arguments: argparse.Namespace) -> dict[str, Any]:
    from keras_transformer.training.data.corpus_options import Corpus

    given = {field.name: getattr(arguments, field.name) for field in fields(Corpus)}
    return {
        name: [str(path) for path in value] if isinstance(value, list) else value
        for name, value in given.items()
    }


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    overrides = {
        name: getattr(arguments, name) for name in RECIPE_HELP if getattr(arguments, name) is not None
    }
    return {**overrides, **({"joint": False} if arguments.separate else {})}


def _refuse_options(arguments: argparse.Namespace) -> None:
    """End the program with its usage for options that would change a resumed run."""
    options = (*_corpus(arguments), *RECIPE_HELP, "separate")
    values = {name: getattr(arguments, name) for name in options}
    given = [name for name, value in values.items() if value is not None and value is not False]
    if given:
        arguments.usage_error(
            "--resume continues the run with the options of its begin: leave out "
            f"{', '.join('--' + name.replace('_', '-') for name in given)}. "
            "For more steps or other options begin a new run, in another --run."
        )


def _prepare(directory: Any, about: dict[str, Any], resumed: bool) -> None:
    from keras_transformer.training.data.corpus_options import Corpus
    from keras_transformer.training.data.prepare import prepare
    from keras_transformer.training.mixed_precision import fastest_precision
    from keras_transformer.training.run_directory import BEGIN_AGAIN

    try:
        corpus, remedy = Corpus.from_run(about), ""
    except (ValueError, TypeError) as error:
        path = directory.path / "run.json"
        raise CommandError(f"{path} is damaged ({error}): {BEGIN_AGAIN}.") from error
    if resumed and corpus.is_piped:
        remedy = (
            f"The corpus of {directory.path} comes from standard input, and was not read to its end: "
            "pipe all of it into `train --resume` again, or begin a new run."
        )
        if sys.stdin is None or sys.stdin.isatty():
            raise CommandError(remedy)
    try:
        training, valid = corpus.read()
        defaults = {"precision": fastest_precision(), **corpus.recipe_defaults()}
        prepare(directory, about, training, valid, corpus.rules(), about["recipe"], report, defaults)
    except ValueError as error:  # from the corpus, the cleaning rules, or the vocabulary
        raise CommandError(f"{error}. {remedy}" if remedy else str(error)) from error


LARGE = 10**9  # pairs: with so many, only options that are wrong for every corpus are refused
