"""Score a model, or a file of translations, with sacreBLEU's BLEU, chrF and TER, or compare two of them.

The scores have sacreBLEU's signatures and 95 % confidence intervals; --compare uses a paired bootstrap test.

examples:
  keras-transformer evaluate build/run --source test.en --reference test.de
  keras-transformer evaluate build/run --source test.en --reference test.de --compare build/other
  keras-transformer evaluate build/run --source test.en --reference test.de --worst worst.html
  keras-transformer evaluate build/one build/two --source test.en --reference test.de
  keras-transformer evaluate --translations mine.de --reference test.de --compare theirs.de
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_transformer.cli import CommandError, add_files, failures
from keras_transformer.cli._models import (
    DEFAULT_SEARCH,
    check_ensemble,
    configure_others,
    configure_search,
    is_version,
    load_ensemble,
    search_options,
)
from keras_transformer.cli._opened import open_exported, open_translator
from keras_transformer.files import check_writable, write_whole
from keras_transformer.text.corpus import STANDARD_INPUT
from keras_transformer.text.visible import visible

if TYPE_CHECKING:
    from keras_transformer.inference.answer import Translation
    from keras_transformer.text.tokenizer import Tokenizer

SIGNIFICANT = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    scored = parser.add_mutually_exclusive_group(required=True)
    scored.add_argument(
        "model",
        type=Path,
        nargs="?",
        metavar="MODEL",
        help="a run directory, a .keras file or an exported version",
    )
    configure_others(parser)
    add_files(scored, {"--translations": "translations to score, a line for each line of the reference"})
    source = "text that MODEL translates, a sentence a line; may be .gz, - is standard input"
    add_files(parser, {"--source": source})
    add_files(parser, {"--reference": "reference translation, line by line"}, required=True)
    parser.add_argument("--lowercase", action="store_true", help="ignore case in the scores")
    parser.add_argument(
        "--tokenize",
        choices=("13a", "intl", "zh", "char", "none"),
        help="how BLEU divides text into words; none for tokenized text (13a, or zh or char "
        "if the target language of MODEL has no spaces between words)",
    )
    add_files(parser, {"--compare": "another MODEL, or a file of translations, to compare with"}, "OTHER")
    add_files(parser, {"--worst": "write a page with the worst sentences"}, "F.html")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    configure_search(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, translate, score and print, after all checks that need no model."""
    from keras_transformer.text.corpus import CorpusError

    systems = [([arguments.model or arguments.translations, *arguments.others], arguments.model is not None)]
    if arguments.compare:
        systems.append(
            ([arguments.compare], arguments.compare.is_dir() or arguments.compare.suffix == ".keras")
        )
    texts = [path for paths, is_model in systems if not is_model for path in paths]
    _check(arguments, texts, [paths for paths, is_model in systems if is_model])
    with failures(CorpusError):
        columns, references = _read(
            [*([arguments.source] if arguments.source else []), *texts], arguments.reference
        )
    sources = columns.pop(0) if arguments.source else None
    models = [_opened(paths, arguments) if is_model else None for paths, is_model in systems]
    with failures(ValueError):
        _check_language(arguments.target_language, models)
        outputs = [
            _Output(_name(paths), columns.pop(0), None)
            if model is None or sources is None
            else _translate(model, sources, arguments, _name(paths))
            for model, (paths, _) in zip(models, systems, strict=True)
        ]
        arguments.tokenize = arguments.tokenize or _tokenization(models, arguments.target_language)
        _evaluate(arguments, sources, references, outputs)


def _name(paths: list[Path]) -> str:
    return " + ".join(map(str, paths))


def _check(arguments: argparse.Namespace, texts: list[Path], models: list[list[Path]]) -> None:
    if models and not arguments.source:
        arguments.usage_error(f"--source is needed: it is what {_name(models[0])} translates")
    if not models and (search_options(arguments) != DEFAULT_SEARCH or arguments.target_language):
        arguments.usage_error(
            "--beam, --length-penalty, --no-loop-guard and --target-language are options of a MODEL, and "
            "none is named: leave them out"
        )
    others = [*([arguments.source] if arguments.source else []), *texts]
    if [*others, arguments.reference].count(STANDARD_INPUT) > 1:
        arguments.usage_error("standard input (-) can be read as one file only")
    if arguments.reference == STANDARD_INPUT and len(others) > 1:
        arguments.usage_error("--reference cannot be standard input here: it is read several times")
    for path in others:
        if path.exists() and arguments.reference.exists() and path.samefile(arguments.reference):
            arguments.usage_error(f"{path} is given both as the reference and as text to compare with it")
    for paths in models:
        if len(paths) > 1 or not is_version(paths[0]):
            check_ensemble(paths)
    if arguments.worst:
        _check_page(arguments.worst, [*others, arguments.reference])


def _check_page(page: Path, read: list[Path]) -> None:
    """Raise CommandError if the page cannot be written, or is one of the input files."""
    if page.is_dir():
        raise CommandError(f"{page} is a directory: --worst names the file to write.")
    if any(page.exists() and path.exists() and page.samefile(path) for path in read):
        raise CommandError(f"{page} is an input file, which --worst would overwrite. Name another file.")
    check_writable(page)
    page.parent.mkdir(parents=True, exist_ok=True)


def _read(paths: list[Path], reference: Path) -> tuple[list[list[str]], list[str]]:
    """Return the lines of each file, and those of the reference; their numbers must be equal."""
    from keras_transformer.text.corpus import read_parallel

    columns, references = [], []
    for path in paths:
        pairs = list(read_parallel([path], [reference]))
        columns.append([pair.source for pair in pairs])
        references = [pair.target for pair in pairs]
    return columns, references


class _Output(NamedTuple):
    """Translations that are scored, and the number of those in which the loop guard found a loop."""

    name: str
    texts: list[str]
    looped: int | None


class _System(NamedTuple):
    """A MODEL that is scored."""

    translate: "Callable[..., list[Translation]]"
    tokenizer: "Tokenizer | None"


def _opened(paths: list[Path], arguments: argparse.Namespace) -> _System:
    """Open a run directory or a .keras file, an ensemble of them, or an exported version."""
    if not is_version(paths[0]):
        from keras_transformer.models.translate import translate

        model = load_ensemble(paths)
        return _System(partial(translate, model, **search_options(arguments)), model.tokenizer)
    version = open_exported(paths[0])
    translator, _ = open_translator(version, arguments)
    return _System(translator.translate_divided, version.tokenizer)


def _translate(model: _System, sources: list[str], arguments: argparse.Namespace, name: str) -> _Output:
    print(f"translating {len(sources):,} sentences", file=sys.stderr, flush=True)
    options = {}
    if model.tokenizer and model.tokenizer.target_languages:
        options["target_language"] = arguments.target_language
    found = model.translate(sources, **options)
    looped = sum(translation.looped for translation in found) if arguments.loop_guard else None
    return _Output(name, [translation.text for translation in found], looped)


def _check_language(language: str | None, models: list[_System | None]) -> None:
    """Raise an error if no model has several target languages; one of the two compared may have just one."""
    tokenizers = [model.tokenizer for model in models if model and model.tokenizer]
    if language and tokenizers and not any(tokenizer.target_languages for tokenizer in tokenizers):
        tokenizers[0].with_language("", language)


def _tokenization(models: list[_System | None], language: str | None) -> str:
    """Return the tokenization for the target language of the first model; files of text have none."""
    from keras_transformer.evaluation.scores import tokenization

    languages = (model.tokenizer.target_lang for model in models if model and model.tokenizer)
    return tokenization(language or next(languages, ""))


def _evaluate(
    arguments: argparse.Namespace,
    sources: list[str] | None,
    references: list[str],
    outputs: list[_Output],
) -> None:
    from keras_transformer.evaluation.scores import score
    from keras_transformer.evaluation.significance import compare
    from keras_transformer.viz.differences import folded

    settings = {"lowercase": arguments.lowercase, "tokenize": arguments.tokenize}
    names, translated, loops = zip(*outputs, strict=True)
    ours, other = translated[0], translated[1] if len(translated) > 1 else None
    scores = score(ours, references, **settings)
    compared = [] if other is None else compare(ours, other, references, **settings)
    exact = (
        folded(one, arguments.lowercase) == folded(two, arguments.lowercase)
        for one, two in zip(ours, references, strict=True)
    )
    result: dict[str, Any] = {
        "system": names[0],
        "sentences": len(references),
        "exact": sum(exact),
        "looped": loops[0],
        "scores": list(map(asdict, scores)),
    }
    if other is not None:
        result |= {"other": names[1], "other_looped": loops[1], "comparison": list(map(asdict, compared))}
    print(visible(json.dumps(result, ensure_ascii=False) if arguments.json else _table(result)))
    if arguments.worst:
        from keras_transformer.viz import worst_sentences

        columns = ("Translation", "Other") if other is None else (names[0], names[1])
        content = worst_sentences.page(
            sources,
            references,
            ours,
            other,
            names=columns,
            scores=scores,
            compared=compared,
            lowercase=arguments.lowercase,
        )
        write_whole(arguments.worst, content.encode())
        print(
            visible(f"worst sentences: {arguments.worst}"), file=sys.stderr if arguments.json else sys.stdout
        )


def _table(result: dict[str, Any]) -> str:
    count = result["sentences"]
    lines = [
        f"{result['system']}: {count:,} sentences, {result['exact']:,} exactly as the reference"
        + _loops(result["looped"], count)
    ]
    for score in result["scores"]:
        bounds = "" if score["low"] is None else f"[{score['low']:.2f}, {score['high']:.2f}]"
        lines.append(f"  {score['name']:<5} {score['value']:6.2f}  {bounds:<16}  {score['signature']}")
    if "other" in result:
        lines.append(
            f"against {result['other']}, by paired bootstrap{_loops(result['other_looped'], count)}:"
        )
    for row in result.get("comparison", []):
        lines.append(
            f"  {row['name']:<5} {row['ours']:6.2f}  against {row['other']:6.2f}  p = {row['p']:.3f}  "
            + _verdict(row)
        )
    return "\n".join(lines)


def _loops(looped: int | None, count: int) -> str:
    return "" if looped is None else f", {looped:,} loops ({looped / count:.1%})"


def _verdict(compared: dict[str, Any]) -> str:
    if compared["p"] >= SIGNIFICANT:
        return "may be chance"
    better = compared["ours"] > compared["other"]
    return "better" if better != (compared["name"] == "TER") else "worse"
