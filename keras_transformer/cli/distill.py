"""Train a small, fast student on the translations of one or several teachers.

examples:
  keras-transformer distill build/teacher --source a.en --target a.de --run build/student
  keras-transformer distill build/one build/two --pairs corpus.tmx --run build/student
  keras-transformer distill build/teacher --pairs a.tsv --monolingual-source b.en --run build/student
  keras-transformer distill build/teacher --pairs a.tsv --backward back --monolingual-target b.de --run s

The same command again goes on where it was stopped. Several teachers are an ensemble. The options of the
corpus and the recipe are those of `train`.
"""

import argparse
import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.cli import CommandError, VerbParser, add_files, at_least_one, failures, report, train
from keras_transformer.cli._bulk import (
    MAX_WORKERS,
    SEARCH,
    run_job,
    settings_of,
    task_of,
)
from keras_transformer.cli._models import MAX_BEAM, is_version
from keras_transformer.cli._opened import open_exported
from keras_transformer.cli._training import train_workers
from keras_transformer.cli._training.corpus_arguments import configure_corpus, corpus_options
from keras_transformer.text.corpus import STANDARD_INPUT, CorpusError
from keras_transformer.training.distillation import BACK, MONOLINGUAL, ORIGINAL, PARTS, TEACHER

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import Tokenizer
    from keras_transformer.training.data.corpus_options import Corpus
    from keras_transformer.training.distillation.folder import Folder
    from keras_transformer.training.runs.run_directory import Run

BEAM, DROP_WORST, PRESET = 5, 0.05, "student"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb: those of the translation, and those of `train` for corpus and recipe."""
    parser.add_argument(
        "teachers",
        type=Path,
        nargs="+",
        metavar="TEACHER",
        help="a run directory, a .keras file or an exported version; several runs are an ensemble",
    )
    parser.add_argument(
        "--run",
        type=Path,
        required=True,
        metavar="DIR",
        help="run directory of the student",
    )
    group = parser.add_argument_group("translations")
    group.add_argument(
        "--beam",
        type=at_least_one("a beam keeps at least 1 answer", MAX_BEAM),
        default=BEAM,
        metavar="N",
        help=f"width of the beam search ({BEAM})",
    )
    add_files(
        group,
        {
            "--monolingual-source": "more text in the source language, which the teacher translates",
            "--monolingual-target": "text in the target language, which the backward model translates",
        },
        nargs="+",
    )
    add_files(group, {"--backward": "model from the target language to the source language"}, "RUN")
    group.add_argument(
        "--drop-worst",
        type=_share,
        default=DROP_WORST,
        metavar="X",
        help=f"share of the translations that are dropped for the lowest scores ({DROP_WORST:g})",
    )
    group.add_argument(
        "--mix",
        type=_weight,
        nargs="+",
        default=[],
        metavar="PART=W",
        help=f"weights of the parts in training: {', '.join(PARTS)}; 0 leaves one out (1 each)",
    )
    group.add_argument(
        "--workers",
        type=at_least_one("translating needs at least 1 worker", MAX_WORKERS),
        metavar="N",
        help="number of processes that translate, each on a core of its own (all cores of this machine)",
    )
    configure_corpus(parser, "that of TEACHER")
    train.configure_recipe(parser, PRESET)
    parser.set_defaults(preset=PRESET)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"a share is a number from 0 to below 1; got {text}")
    return share


def _weight(text: str) -> tuple[str, float]:
    part, _, number = text.partition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = -1.0
    if part not in PARTS or not weight >= 0:
        raise argparse.ArgumentTypeError(
            f"a weight is PART=W, where PART is {', '.join(PARTS)} and W at least 0; got {text}"
        )
    return part, weight


def run(arguments: argparse.Namespace) -> None:
    """Check everything that is quick to check, then go through the stages that are not complete."""
    from keras_transformer.bulk import BulkError
    from keras_transformer.libraries import LibraryError
    from keras_transformer.training.distillation.folder import Folder
    from keras_transformer.training.runs.run_directory import Run, RunError
    from keras_transformer.training.runs.run_summary import FactsError

    directory, folder = Run(arguments.run), Folder(arguments.run)
    with failures(RunError, BulkError, FactsError), failures(CorpusError, LibraryError, end="."):
        distillation = _Distillation(arguments, folder)
        training = _training(arguments, distillation.corpus, folder)
        if train_workers.workers_of(training).size > 1:
            raise CommandError("distill trains on one machine: unset TF_CONFIG, which names several workers.")
        training.distilled = distillation.domain()
        about = train.request_of(training, 1)
        request = distillation.request()
        if (directory.path / "recipe.json").exists() and folder.read("request.json") is not None:
            folder.begin(request)
            training = _resumed(directory, about)
        else:
            with directory.lock_unprepared():
                folder.begin(request)
                distillation.prepare()
    report(f"stage {distillation.stages} of {distillation.stages}: training the student")
    train.run(training)
    print(f"report:     {folder.report}")


class _Distillation:
    """The stages before the training of the student."""

    def __init__(self, arguments: argparse.Namespace, folder: "Folder") -> None:
        if (arguments.monolingual_target is None) != (arguments.backward is None):
            arguments.usage_error("--monolingual-target and --backward go together: text and its translator")
        self.folder = folder
        self.arguments = arguments
        self.monolingual = arguments.monolingual_source or [], arguments.monolingual_target or []
        if STANDARD_INPUT in (*self.monolingual[0], *self.monolingual[1]):
            arguments.usage_error("monolingual text cannot be standard input: name files")
        teacher = _tokenizer(arguments.teachers[0])
        self.corpus = _corpus(arguments, teacher)
        source, target = self.corpus.languages
        language = _code_of(target, arguments.teachers[0], teacher, source)
        self.teacher = _translating(arguments, arguments.teachers, language)
        self.backward: argparse.Namespace | None = None
        if arguments.backward:
            language = _code_of(source, arguments.backward, _tokenizer(arguments.backward), target)
            self.backward = _translating(arguments, [arguments.backward], language)
        self.stages = 4 if self.backward is None else 5
        self.stage = 0

    def domain(self) -> str:
        """Return what the student learns from, as `info` shows it."""
        from keras_transformer.training.runs.run_summary import domain_of

        names = [domain_of(self.corpus.as_run()), *(path.name for path in chain(*self.monolingual))]
        teachers = " + ".join(map(_name, self.arguments.teachers))
        return f"{', '.join(names)}, distilled from {teachers}"

    def request(self) -> dict[str, Any]:
        """Return what the stages depend on, after a look at models and files that loads no library."""
        from keras_transformer.files import digest
        from keras_transformer.text.corpus import read_text

        arguments = self.arguments
        self.corpus.read()  # checks that the files are there
        options = self.corpus.as_run()["corpus"]
        names = [name for value in options.values() if isinstance(value, list) for name in value]
        for path in chain(*self.monolingual):
            lines = read_text([path])  # checks that it is there
            if path.is_file():  # a pipe can be read only once
                next(lines)  # one that is empty ends the command before the corpus is read
        paths = [*map(Path, names), *chain(*self.monolingual)]
        return {
            "teacher": settings_of(self.teacher)["model"],
            "backward model": self.backward and settings_of(self.backward)["model"],
            "beam": arguments.beam,
            "share of dropped translations": arguments.drop_worst,
            "languages": list(self.corpus.languages),
            "corpus": {name: value for name, value in options.items() if not isinstance(value, list)},
            "text": [digest(path) if path.is_file() else str(path) for path in paths],
            "monolingual text": [len(files) for files in self.monolingual],
        }

    def report_stage(self, name: str) -> None:
        """Report the beginning of the next stage."""
        self.stage += 1
        report(f"stage {self.stage} of {self.stages}: {name}")

    def prepare(self) -> None:
        """Read the corpus, translate, and choose what the student learns from."""
        from keras_transformer.training.distillation.report import write_report
        from keras_transformer.training.distillation.selection import select
        from keras_transformer.training.distillation.texts import write_texts

        arguments, folder = self.arguments, self.folder
        self.report_stage("reading the corpus")
        write_texts(folder, self.corpus, *self.monolingual, report)
        sentences = folder.read("texts.json")["sentences"]
        forward = {part: count for part, count in sentences.items() if part != BACK}
        self.report_stage(f"translating {sum(forward.values()):,} sentences with a beam of {arguments.beam}")
        self._translate(self.teacher, [*forward], folder.translations)
        if self.backward is not None:
            self.report_stage(f"translating {sentences[BACK]:,} sentences with {arguments.backward}")
            self._translate(self.backward, [BACK], folder.back_translations)
        self.report_stage("choosing among the translations")
        if folder.read("report.json") is None:
            rules = self.corpus.rules()
            selections = {part: select(folder, part, rules, arguments.drop_worst) for part in sentences}
            backward = arguments.backward and _origin(arguments.backward)
            teachers = [*map(_origin, arguments.teachers)]
            report(write_report(folder, teachers, backward, arguments.beam, selections))

    def _translate(self, model: argparse.Namespace, parts: list[str], output: Path) -> None:
        from keras_transformer.bulk.corpus_files import Input
        from keras_transformer.bulk.corpus_job import Job
        from keras_transformer.bulk.engines import PROCESSES

        inputs = [Input.of(self.folder.texts(part)) for part in parts]
        job = Job(inputs, output, task_of(model), settings_of(model))
        run_job(job, PROCESSES, self.arguments.workers)


def _corpus(arguments: argparse.Namespace, tokenizer: "Tokenizer") -> "Corpus":
    """Return the corpus in the languages of the teacher with this tokenizer."""
    from keras_transformer.training.data.corpus_options import Corpus

    options = corpus_options(arguments)
    if not arguments.phrasebook:
        options["source_lang"] = arguments.source_lang or tokenizer.source_lang
        options["target_lang"] = arguments.target_lang or tokenizer.target_lang
    try:
        corpus = Corpus(**options)
        corpus.rules()
    except ValueError as error:
        arguments.usage_error(str(error))
        raise
    if any(weight is not None for _, weight in corpus.weighted):
        arguments.usage_error("--mix has the weights of the parts: leave out those of --pairs")
    return corpus


def _code_of(target: str | None, path: Path, tokenizer: "Tokenizer", source: str | None) -> str | None:
    """Return the code with which the model translates into this language; None if it has one target only.

    Raises:
        CommandError: The model has other languages.
    """
    several = tokenizer.target_languages
    targets = several or (tokenizer.target_lang or target,)
    if (tokenizer.source_lang or source) != source or target not in targets:
        known = f"{tokenizer.source_lang or source} to {', '.join(map(str, targets))}"
        raise CommandError(
            f"{path} translates {known}, and here {source} to {target} is needed: name another model, or its "
            "languages with --source-lang and --target-lang."
        )
    return target if several else None


def _tokenizer(path: Path) -> "Tokenizer":
    from keras_transformer.cli._models import check_model
    from keras_transformer.training.runs.starting_point import StartingPoint

    if is_version(path):
        return open_exported(path).tokenizer
    check_model(path)
    return StartingPoint.of(path).tokenizer


def _name(path: Path) -> str:
    """Return a name of a model that says which one it is: NAME/1 of a version, the run of a model.keras."""
    path = path.absolute()
    if is_version(path):
        return f"{path.parent.name}/{path.name}"
    return path.parent.name if path.name == "model.keras" else path.name


def _origin(path: Path) -> dict[str, Any]:
    from keras_transformer.training.runs.starting_point import origin

    return {"path": str(path)} if is_version(path) else origin(path)


def _translating(
    arguments: argparse.Namespace, models: list[Path], target_language: str | None = None
) -> argparse.Namespace:
    """Return the arguments with which `translate --engine` does the same."""
    own = {
        "model": models[0],
        "others": models[1:],
        "column": None,
        "beam": arguments.beam,
        "scores": True,
        "target_language": target_language,
        "usage_error": arguments.usage_error,
    }
    return argparse.Namespace(**SEARCH | own)


def _training(arguments: argparse.Namespace, corpus: "Corpus", folder: "Folder") -> argparse.Namespace:
    """Return the arguments of `train` for the mix of all parts."""
    parts = [ORIGINAL, TEACHER]
    parts += [MONOLINGUAL] if arguments.monolingual_source else []
    parts += [BACK] if arguments.monolingual_target else []
    weights = dict.fromkeys(parts, 1.0) | dict(arguments.mix)
    if missing := weights.keys() - set(parts):
        arguments.usage_error(f"--mix: there is no text for {', '.join(sorted(missing))}")
    mix = [f"{folder.pairs(part).absolute()}={weight:g}" for part, weight in weights.items() if weight]
    if not mix:
        arguments.usage_error("--mix: at least one part needs a weight above 0")
    source, target = corpus.languages
    valid_source, valid_target = (str(path.absolute()) for path in folder.valid)
    words = ["--run", str(arguments.run), "--pairs", *mix, "--keep-duplicates"]
    words += ["--source-lang", str(source), "--target-lang", str(target)]
    words += ["--valid-source", valid_source, "--valid-target", valid_target]
    options = ("max_words", "max_ratio", *train.RECIPE_HELP, "separate")
    given = train.given(_with_defaults(arguments, corpus), options)
    return _parsed([*words, *(word for name, values in given.items() for word in (name, *values))], arguments)


def _with_defaults(arguments: argparse.Namespace, corpus: "Corpus") -> argparse.Namespace:
    """Return the arguments with the recipe of the phrasebook, which the files of its parts do not imply."""
    from keras_transformer.training.recipe import TOKENIZERS, remaining_defaults

    options = {name: value for name, value in vars(arguments).items() if value is not None}
    if arguments.tokenizer not in (None, *TOKENIZERS):
        options["vocabulary_size"] = None  # that of the directory
    return argparse.Namespace(**vars(arguments) | remaining_defaults(corpus.recipe_defaults(), options))


def _resumed(directory: "Run", about: dict[str, Any]) -> argparse.Namespace:
    """Return the arguments of `train` that go on with a training, which was begun with the same options."""
    written, wanted = directory.about(), json.loads(json.dumps(about))
    compared = ("corpus", "recipe", "tokenizer")
    differing = [name for name in compared if written.get(name) != wanted.get(name)]
    if differing:
        raise CommandError(
            f"{directory.path} is trained with another {' and '.join(differing)}: "
            "repeat the first command, or name another run."
        )
    return _parsed(["--run", str(directory.path), "--resume"])


def _parsed(words: list[str], arguments: argparse.Namespace | None = None) -> argparse.Namespace:
    parsed: argparse.Namespace = VerbParser("train").parse_args(words)
    if arguments is not None:
        parsed.usage_error = arguments.usage_error
    return parsed
