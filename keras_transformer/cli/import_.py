"""Import a MarianMT (OPUS-MT) directory, in the format of Hugging Face or of Marian itself, as a run.

The run can be used like one that was trained here: translate, evaluate, export and serve it. Nothing in the
directory is executed. `info` shows the target languages of a model that has several.

examples:
  keras-transformer import opus-mt-fr-en --run build/fr-en
  keras-transformer import opus-mt-en-roa --run build/en-roa --source-lang en
  echo "Je suis étudiant." | keras-transformer translate build/fr-en
"""

import argparse
import time
from pathlib import Path

from keras_transformer.cli import failures, report
from keras_transformer.cli._loading import load
from keras_transformer.files import check_new, check_writable
from keras_transformer.libraries import LibraryError, check_installed
from keras_transformer.memory import spent
from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.marian_config import is_marians_own, read_marian_config
from keras_transformer.text.visible import visible

NEEDED = ("ml_dtypes", "safetensors", "sentencepiece", "yaml")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="weights, configuration, vocabularies")
    parser.add_argument("--run", type=Path, required=True, metavar="RUN", help="the run to write")
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-lang", metavar="L", help=f"code of the {side} language (tokenizer_config.json's)"
        )


def run(arguments: argparse.Namespace) -> None:
    """Import, and print the size and the next command."""
    began = time.monotonic()
    with failures(LibraryError, end="."):
        check_installed(NEEDED, "importing a model", "layers")
    with failures(PretrainedError):
        _check(PretrainedDirectory(arguments.directory))
    check_new(arguments.run)
    check_writable(arguments.run)
    module = load("keras_transformer.training.runs.imported")
    with failures(ValueError):
        model = module.import_run(
            arguments.directory, arguments.run, arguments.source_lang, arguments.target_lang, report
        )
    size = sum(file.stat().st_size for file in arguments.run.rglob("*") if file.is_file())
    languages = model.tokenizer.target_languages
    described = f"{model.count_params():,} parameters, {size / 1e6:.1f} MB, in {spent(began)}"
    print(visible(f"imported: {arguments.run}, {described}"))
    if languages:
        print(visible(f"targets:  {', '.join(languages)}"))
    option = f" --target-language {languages[0]}" if languages else ""
    print(visible(f"next:     keras-transformer translate {arguments.run}{option}"))


def _check(directory: PretrainedDirectory) -> None:
    """Refuse a directory before TensorFlow loads, which takes seconds.

    Raises:
        PretrainedError: With everything that is wrong with its configuration.
    """
    if is_marians_own(directory):
        from keras_transformer.pretrained.marian_npz import read_npz

        read_npz(directory)
    else:
        read_marian_config(directory)
