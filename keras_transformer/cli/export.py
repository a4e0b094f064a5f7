"""Write a model as one directory that serves everywhere, and compare each runtime in it with the model.

examples:
  keras-transformer export build/demo/run --output build/demo/models/fr-en/1
  keras-transformer export build/run --output models/fr-en/1 --format onnx --quantize int8
  keras-transformer export model.keras --output models/fr-en/1 --golden test.fr --golden-reference test.en
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from keras_transformer.cli import CommandError, add_files, at_least_one, failures, report
from keras_transformer.cli._lines import read_lines
from keras_transformer.cli._models import check_model, load_model, read_config
from keras_transformer.files import check_writable
from keras_transformer.interrupts import raise_interrupt
from keras_transformer.memory import spent
from keras_transformer.text.visible import visible
from keras_transformer.training.runs.model_card import UNKNOWN_LICENSE

if TYPE_CHECKING:
    from export.export_request import ExportRequest, Origin
    from export.golden_sentences import SourceSentence
    from keras_transformer.models.translation import TranslationModel
    from keras_transformer.text.sentences import Lengths
    from keras_transformer.text.tokenizer import Tokenizer

DEFAULT_FORMATS = "saved_model,onnx,ctranslate2"
GOLDEN = 200
MAX_GOLDEN = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("model", type=Path, metavar="RUN", help="a run directory or a .keras file")
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="directory to write, as NAME/VERSION; it must not exist",
    )
    parser.add_argument(
        "--format",
        default=DEFAULT_FORMATS,
        metavar="F,F",
        help=f"formats to write, separated by commas ({DEFAULT_FORMATS})",
    )
    parser.add_argument(
        "--quantize", metavar="int8", help="also write the ONNX encoder and decoder with int8 weights"
    )
    parser.add_argument(
        "--with-tokenizer",
        action="store_true",
        help="also write an ONNX file from text to text, for ONNX Runtime with onnxruntime-extensions",
    )
    parser.add_argument(
        "--license",
        default=UNKNOWN_LICENSE,
        metavar="ID",
        help=f"license of the model in its README.md, for example apache-2.0 ({UNKNOWN_LICENSE})",
    )
    golden = parser.add_argument_group(
        "golden sentences",
        "sentences that every runtime must translate as the model does; by default the run's held-out ones",
    )
    add_files(
        golden,
        {
            "--golden": "golden sentences, one per line",
            "--golden-reference": "reference translations of the golden sentences, for scores",
        },
    )
    golden.add_argument(
        "--golden-count",
        type=at_least_one("at least 1 golden sentence is needed", MAX_GOLDEN),
        default=GOLDEN,
        metavar="N",
        help=f"maximum number of golden sentences, taken at even distances ({GOLDEN})",
    )


def run(arguments: argparse.Namespace) -> None:
    """Check everything that needs no model, then load the model and write the version."""
    began = time.monotonic()
    request = _request(arguments)
    if arguments.output.exists():
        raise CommandError(
            f"{arguments.output} exists and is never overwritten: name another, such as the next version."
        )
    check_model(arguments.model)
    network, has_tokenizer = read_config(arguments.model)
    if network.architecture != "transformer":
        raise CommandError(
            f"{arguments.model} has the architecture {network.architecture}, and only Transformers are "
            "exported: use `translate` with the run itself, or train one with --architecture transformer."
        )
    if not has_tokenizer:
        raise CommandError(f"{arguments.model} has no tokenizer: it translates ids, not text.")
    check_writable(arguments.output)
    valid = (arguments.model if arguments.model.is_dir() else arguments.model.parent) / "valid.jsonl"
    if arguments.golden is None and not valid.is_file():
        raise CommandError(
            f"{arguments.model} has no held-out sentences, and a version needs golden sentences: "
            "name a file of them with --golden."
        )
    sentences = list(_sentences(arguments, valid))
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # oneDNN keeps a packed copy of each weight
    model = load_model(arguments.model)
    size = _export(arguments, request, sentences, model)
    print(visible(f"exported: {arguments.output}, {size / 1e6:.1f} MB, in {spent(began)}"))
    print(visible(f"next:     keras-transformer verify {arguments.output}"))


def _request(arguments: argparse.Namespace) -> "ExportRequest":
    from export.export_request import ExportRequest
    from keras_transformer.libraries import LibraryError

    if arguments.golden_reference and not arguments.golden:
        arguments.usage_error("--golden-reference is the translation of --golden: give both")
    try:
        request = ExportRequest(
            tuple(arguments.format.split(",")), arguments.quantize, arguments.with_tokenizer
        )
    except ValueError as error:
        arguments.usage_error(str(error))
    with failures(LibraryError, end="."):
        request.check_libraries()
    return request


def _sentences(arguments: argparse.Namespace, valid: Path) -> "Iterator[SourceSentence]":
    from export.golden_sentences import SourceSentence
    from keras_transformer.text.corpus import CorpusError, read_parallel
    from keras_transformer.training.runs.run_directory import Run, RunError

    with failures(CorpusError, RunError):
        if arguments.golden is None:
            pairs = Run(valid.parent).read_pairs(valid.name)
        elif arguments.golden_reference is None:
            yield from map(SourceSentence, read_lines(arguments.golden))
            return
        else:
            pairs = read_parallel([arguments.golden], [arguments.golden_reference])
        yield from (SourceSentence(*pair) for pair in pairs)


def _export(
    arguments: argparse.Namespace,
    request: "ExportRequest",
    sentences: "list[SourceSentence]",
    model: "TranslationModel",
) -> int:
    """Write the version, and return its size in bytes."""
    from export.golden_sentences import chosen
    from keras_transformer.cli._loading import load

    tokenizer = cast("Tokenizer", model.tokenizer)  # its config has one
    module = load("export.exporter")
    with failures(ValueError, end="."):
        version = module.export_version(
            model,
            arguments.output,
            request,
            chosen(sentences, arguments.golden_count, tokenizer),
            _origin(arguments.model, model.lengths, arguments.license),
            _report,
        )
    return sum(file.bytes for file in version.manifest.files.values())


def _origin(path: Path, lengths: "Lengths", license_id: str) -> "Origin":
    from export.artifact.manifest import LearnedLengths
    from export.artifact.quality_card import Pairs
    from export.export_request import Origin
    from keras_transformer.training.runs.run_summary import facts

    summary = (
        facts(path) if path.is_file() or (path / "run.json").exists() else {"domain": None, "pairs": None}
    )
    pairs = summary["pairs"] and Pairs(**summary["pairs"])
    return Origin(summary["domain"], pairs, LearnedLengths(**lengths._asdict()), license_id)


def _report(line: str) -> None:
    raise_interrupt()  # Keras and TensorFlow swallow interrupts while they trace
    report(line)
