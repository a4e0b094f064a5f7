"""Train a translation model from parallel text, or from the embedded phrasebook.

examples:
  keras-transformer train --phrasebook fr-en --run build/run
  keras-transformer train --source a.en --target a.de --source-lang en --target-lang de --run build/run
  keras-transformer train --pairs corpus.tmx --source-lang en --target-lang de --run build/run
  keras-transformer train --from build/run --pairs letters.tsv --run build/letters
  keras-transformer train --run build/run --resume
  keras-transformer train --run build/run --resume --steps 20000
  keras-transformer train --phrasebook fr-en --run build/run --cluster 10.0.0.1:2222,10.0.0.2:2222 --rank 0
  keras-transformer train --phrasebook fr-en --run build/run --engine ray --workers 2

The options of the recipe have defaults that suit the size of the corpus. The recipe is printed.
With --from they suit a trained model: a lower peak of the learning rate, a short warm-up, few steps.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.cli import CommandError, failures, report
from keras_transformer.cli._loading import load
from keras_transformer.cli._training import train_workers
from keras_transformer.cli._training.corpus_arguments import configure_corpus, corpus_options
from keras_transformer.text.visible import visible

if TYPE_CHECKING:
    from keras_transformer.training.cluster.workers import Workers
    from keras_transformer.training.runs.run_directory import Run
    from keras_transformer.training.runs.starting_point import StartingPoint

FOLLOWS = "follows the size of the corpus"
TYPED = "share of the sentences that are trained on"
RECIPE_HELP = {
    "architecture": "transformer, recurrent-attention (2015) or recurrent (2014) (transformer)",
    "preset": "size of the network: tiny, small, base or student ({preset})",
    "dropout": f"share of activations dropped in training ({FOLLOWS}: 0.1 to 0.3)",
    "attention_dropout": "share of attention weights dropped in training (0)",
    "inner_dropout": "share of the feed-forward network's inner activations dropped in training (0)",
    "bpe_dropout": "share of the merges of BPE that is skipped; the corpus is encoded several times (0)",
    "both_ways": "share of the steps, the first ones, that see every pair in both directions "
    f"({FOLLOWS}: 0.33 or 0)",
    "upper_case": f"{TYPED} in upper case, with their translations (0.02)",
    "title_case": f"{TYPED} In Title Case (0.02)",
    "lower_case": f"{TYPED} in lower case without the full stop (0.02)",
    "no_punctuation": f"{TYPED} without the final punctuation mark (0.02)",
    "typing_errors": f"{TYPED} with typing errors (0.02)",
    "tokenizer": "how the vocabulary is learned: bpe or unigram; or a directory with shared.model, or with "
    "source.model and target.model, SentencePiece models that are there (bpe)",
    "vocabulary_size": "pieces of the vocabulary (8,000, or as many as the corpus supports)",
    "max_tokens": "longer sentences are cut there in training (128)",
    "batch_tokens": f"tokens of the longer side in a batch, padding included ({FOLLOWS}: 4,096 or 8,192)",
    "gradient_accumulation_steps": "batches in a step, which workers share evenly (one for each worker)",
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
    """Add the options of the verb."""
    parser.add_argument(
        "--run", type=Path, required=True, metavar="DIR", help="run directory: what the training writes"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the run in DIR where it stands; a finished one with --steps N, to step N",
    )
    parser.add_argument(
        "--from",
        type=Path,
        dest="start",
        metavar="RUN",
        help="go on from the best weights of another run, trained or imported, with its tokenizer",
    )
    parser.set_defaults(distilled=None)  # what a student learns from, of `distill`
    train_workers.configure(parser)
    configure_corpus(parser, "that of --from")
    configure_recipe(parser, "tiny")


def configure_recipe(parser: argparse.ArgumentParser, preset: str) -> None:
    """Add an option for each field of the recipe; `preset` is the default one."""
    from keras_transformer.training.recipe import Recipe

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
                help=RECIPE_HELP[field.name].format(preset=preset),
            )
    recipe.add_argument(
        "--separate", action="store_true", help="learn a vocabulary for each side instead of one for both"
    )


def run(arguments: argparse.Namespace) -> None:
    """Prepare the run unless it is prepared, then train it."""
    from keras_transformer.training.cluster.workers import ClusterError
    from keras_transformer.training.history import best
    from keras_transformer.training.runs.run_directory import Run, RunError
    from keras_transformer.training.runs.run_recipe import read_recipe

    directory = Run(arguments.run)
    workers = train_workers.workers_of(arguments)
    with failures(RunError):
        if arguments.resume:
            _refuse_options(arguments)
        about = None if arguments.resume else request_of(arguments, arguments.workers or workers.size)
    if arguments.engine is not None:
        train_workers.check_before_launch(directory, about, arguments)
        train_workers.launch(directory, about, _given(arguments), arguments)
        _print_result(directory, best(directory.read("history.json")) or {})
        return
    with failures(RunError, ClusterError), workers:
        workers.join(arguments.join_timeout)
        if workers.size > 1:
            workers.agree(train_workers.facts(_given(arguments)))
        more_steps = arguments.steps if arguments.resume else None
        with _prepared(directory, about, more_steps) if workers.rank == 0 else nullcontext():
            workers.broadcast()  # the run is prepared
            if workers.size > 1:
                train_workers.await_run(directory, workers)
                workers.agree(directory.digests())
            _train(directory, read_recipe(directory), workers)


def _given(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return the options that decide what is trained, with their values."""
    names = ("resume", *corpus_options(arguments), *RECIPE_HELP, "separate")
    start = {} if arguments.start is None else {"--from": [str(arguments.start)]}
    return {**given(arguments, names), **start}


def given(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, list[str]]:
    """Return those of the options that are given, as they are written, with their values."""
    values = {name: getattr(arguments, name) for name in names}
    return {
        "--" + name.replace("_", "-"): [str(item) for item in value]
        if isinstance(value, list)
        else [str(value)] * (value is not True)
        for name, value in values.items()
        if value is not None and value is not False
    }


@contextmanager
def _prepared(directory: "Run", about: dict[str, Any] | None, more_steps: int | None) -> Iterator[None]:
    """Hold the lock of a run that is prepared; without `about` it is resumed."""
    from keras_transformer.training.runs.run_recipe import check_unextended, read_recipe

    resumed = about is None
    with directory.lock() if about is None else directory.begin(about):
        about = directory.about()
        if not directory.is_prepared:
            check_unextended(directory, more_steps)
            _prepare(directory, about, resumed)
        recipe = read_recipe(directory, more_steps)
        if more_steps is not None:
            directory.write("recipe.json", recipe.as_dict())
        if recipe.extended_at:
            report(recipe.extension())
        report("recipe: " + ", ".join(f"{name} {value}" for name, value in recipe.as_dict().items()))
        yield


def _train(directory: Any, recipe: Any, workers: "Workers") -> None:
    from keras_transformer.training.runs.checkpoint import CheckpointError

    trainer = load("keras_transformer.training.trainer")
    with failures(ValueError):  # a tokenizer or tokens that were changed
        prepared = trainer.Trainer(directory, recipe, workers)
    with failures(trainer.TrainingError, CheckpointError):
        best = prepared.train()
    if workers.rank:
        report(f"{workers.name(workers.rank)} is done; {workers.name(0)} has written {directory.path}")
    else:
        _print_result(directory, best)


def _print_result(directory: Any, best: Any) -> None:
    done = f"best model: {directory.model}, step {best['step']:,}, held-out BLEU {best['bleu']:.2f}"
    next_step = f"next:       echo ... | keras-transformer translate {directory.path}"
    print(visible(f"{done}\ncurves:     {directory.curves}\n{next_step}"))


def request_of(arguments: argparse.Namespace, workers: int) -> dict[str, Any]:
    """Return the options as run.json stores them, or report every problem of the command line."""
    from keras_transformer.training.data.corpus_options import Corpus
    from keras_transformer.training.recipe import Recipe
    from keras_transformer.training.runs.starting_point import existing_tokenizer, of_tokenizer, origin

    problems, about = [], {}
    corpus, overrides, start = corpus_options(arguments), _overrides(arguments), _start(arguments)
    network = None
    if start is not None:
        network, languages = start.network, start.tokenizer
        overrides |= start.overrides()
        if not arguments.phrasebook:
            corpus["source_lang"] = arguments.source_lang or languages.source_lang
            corpus["target_lang"] = arguments.target_lang or languages.target_lang
    try:
        directory = _tokenizer_directory(arguments)
        if directory is not None:
            overrides |= of_tokenizer(existing_tokenizer(directory))
    except (ValueError, OSError) as error:
        overrides.pop("tokenizer")
        problems.append(str(error))
    try:
        about = Corpus(**corpus).as_run()
    except ValueError as error:
        problems.append(str(error))
    batches = overrides.setdefault("gradient_accumulation_steps", workers) if workers > 1 else 0
    if workers > 1 and batches % workers:
        problems.append(
            f"--gradient-accumulation-steps is the number of batches in a step, which {workers} workers "
            f"share evenly; got {batches}"
        )
    try:
        Recipe.for_corpus(LARGE, network=network, **overrides)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        arguments.usage_error("; ".join(problems))
    if start is not None:
        about["from"] = origin(arguments.start)
    if directory is not None:
        about["tokenizer"] = str(directory)
    if arguments.distilled is not None:
        about["distilled"] = arguments.distilled
    return {**about, "recipe": overrides}


def _tokenizer_directory(arguments: argparse.Namespace) -> Path | None:
    """Return the directory of a tokenizer that is there, if --tokenizer names one."""
    from keras_transformer.training.recipe import TOKENIZERS

    if arguments.tokenizer is None or arguments.tokenizer in TOKENIZERS:
        return None
    if arguments.vocabulary_size or arguments.separate:
        arguments.usage_error(
            "--tokenizer takes the vocabulary of the directory: leave out --vocabulary-size and --separate"
        )
    return Path(arguments.tokenizer)


def _start(arguments: argparse.Namespace) -> "StartingPoint | None":
    """Read the model that the run goes on from, without Keras."""
    if arguments.start is None:
        return None
    from keras_transformer.cli._models import check_model
    from keras_transformer.training.runs.starting_point import StartingPoint

    given = [name for name in OF_THE_MODEL if getattr(arguments, name)]
    if given:
        arguments.usage_error(
            "--from goes on with the network and the tokenizer of the other run: leave out "
            + ", ".join("--" + name.replace("_", "-") for name in given)
        )
    check_model(arguments.start)
    with failures(ValueError):  # a file that is damaged, or holds another model
        return StartingPoint.of(arguments.start)


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    overrides = {
        name: getattr(arguments, name) for name in RECIPE_HELP if getattr(arguments, name) is not None
    }
    return {**overrides, **({"joint": False} if arguments.separate else {})}


def _refuse_options(arguments: argparse.Namespace) -> None:
    """End the program with its usage for options that would change a resumed run; it may get more steps."""
    if changed := [name for name in _given(arguments) if name not in ("--resume", "--steps")]:
        arguments.usage_error(
            "--resume continues the run with its first options, except for --steps: leave out "
            f"{', '.join(changed)}. For other options begin a new run in another --run, or continue from "
            "this one with --from."
        )


def _prepare(directory: Any, about: dict[str, Any], resumed: bool) -> None:
    from keras_transformer.training.data.corpus_options import Corpus
    from keras_transformer.training.data.prepare import prepare
    from keras_transformer.training.mixed_precision import fastest_precision
    from keras_transformer.training.runs.run_directory import BEGIN_AGAIN
    from keras_transformer.training.runs.starting_point import existing_tokenizer

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
        start = _copied_start(directory, about)
        languages = about["source_lang"], about["target_lang"]
        tokenizer = start.tokenizer_for(*languages) if start else None
        if "tokenizer" in about:
            tokenizer = existing_tokenizer(Path(about["directory"], about["tokenizer"]), *languages)
        training, valid = corpus.read()
        defaults = {"precision": fastest_precision()} | ({} if start else corpus.recipe_defaults())
        cleaned = training, valid, corpus.rules()
        prepare(directory, about, *cleaned, about["recipe"], report, defaults, start, tokenizer)
    except ValueError as error:  # from the corpus, the cleaning rules, or the vocabulary
        raise CommandError(f"{error}. {remedy}" if remedy else str(error)) from error


def _copied_start(directory: "Run", about: dict[str, Any]) -> "StartingPoint | None":
    """Copy the model that the run starts from into the run, unless it is there already."""
    from keras_transformer.training.runs.starting_point import StartingPoint

    if "from" not in about:
        return None
    if not directory.initial.exists():
        StartingPoint.of(Path(about["directory"], about["from"]["path"])).copy_into(directory)
    start = StartingPoint.copied_into(directory)
    origin = about["from"]
    known = f", step {origin['step']:,}, held-out BLEU {origin['bleu']:.2f}" if origin["step"] else ""
    report(f"from: {origin['path']} ({origin['domain'] or 'a .keras file'}{known})")
    return start


OF_THE_MODEL = ("architecture", "preset", "tokenizer", "vocabulary_size", "separate")  # which --from decides
LARGE = 10**9  # pairs: with so many, only options that are wrong for every corpus are refused
