"""Draw the attention of a model on a text, in every layer and head, as an interactive page or a picture.

examples:
  keras-transformer attention build/demo/run "Je suis étudiant."
  keras-transformer attention build/demo/run "Je suis étudiant." --output heads.html
  keras-transformer attention build/demo/run "Je suis étudiant." --target "I am a teacher."
  keras-transformer attention build/demo/run "Je suis étudiant." --output all.png
  keras-transformer attention build/demo/run - --kind input-output --layer 3 --head 1 --output head.png < text
"""

import argparse
from pathlib import Path

from keras_transformer.cli import CommandError, failures, report
from keras_transformer.cli._lines import read_lines, write_lines
from keras_transformer.cli._target_language import add_target_language, target_language_failures
from keras_transformer.text.corpus import STANDARD_INPUT
from keras_transformer.text.visible import visible

DEFAULT = Path("attention.html")
SUFFIXES = (".html", ".png")
KINDS = ("input-input", "output-output", "input-output")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a run directory or a .keras file")
    parser.add_argument(
        "text", metavar="TEXT", help="the text to translate; - reads standard input as one text"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=DEFAULT,
        metavar="F",
        help=f"F.html, a page, or F.png, a picture; an existing file is replaced ({DEFAULT})",
    )
    parser.add_argument("--target", metavar="TEXT", help="use this translation instead of the model's own")
    add_target_language(parser)
    shown = parser.add_argument_group(
        "selection",
        "a picture shows what is selected, by default all; a page has everything, and opens there",
    )
    shown.add_argument("--kind", choices=KINDS, metavar="NAME", help=f"kind of attention: {', '.join(KINDS)}")
    shown.add_argument("--layer", type=int, metavar="N", help="number of the layer, from 1")
    shown.add_argument("--head", type=int, metavar="N", help="number of the head, from 1")


def run(arguments: argparse.Namespace) -> None:
    """Draw the attention, and write it, after all checks that need no model."""
    _check(arguments)
    text = arguments.text
    if text == str(STANDARD_INPUT):
        text = "\n".join(read_lines(STANDARD_INPUT))
    if not text.strip():
        raise CommandError("the text is empty: it must have at least one word.")
    from keras_transformer.cli._models import check_model, load_model, read_config
    from keras_transformer.files import check_writable, write_whole
    from keras_transformer.viz.heads import Choice, heads_of, sizes_of

    check_model(arguments.model)
    choice = Choice(arguments.kind, arguments.layer, arguments.head)
    network, _ = read_config(arguments.model)
    if not network.attention:
        raise CommandError(
            f"{arguments.model} has no attention to draw: its architecture is {network.architecture}, whose "
            "decoder reads the last states of the encoder alone. Train one with --architecture "
            "recurrent-attention."
        )
    with failures(ValueError):
        choice.check(sizes_of(network))
    check_writable(arguments.output)
    model = load_model(arguments.model)
    if model.tokenizer is not None:
        with target_language_failures(model.tokenizer):
            text = model.tokenizer.with_language(text, arguments.target_language)
    from keras_transformer.viz.attention_page import attention_page
    from keras_transformer.viz.attention_picture import attention_png

    with failures(ValueError):
        heads = heads_of(model, text, arguments.target)
        is_page = arguments.output.suffix == ".html"
        content = attention_page(heads, choice).encode() if is_page else attention_png(heads, choice)
    for notice in heads.notices:
        report(f"notice: {notice}")
    write_whole(arguments.output, content)
    if arguments.target is None:
        write_lines([f"translation: {heads.translation}"])
    write_lines([visible(f"wrote {arguments.output} ({len(content) / 1000:,.0f} kB)")])
    if is_page:
        write_lines([f"look at it: python -m webbrowser {arguments.output.resolve().as_uri()}"])


def _check(arguments: argparse.Namespace) -> None:
    output = arguments.output
    if output.suffix not in SUFFIXES:
        arguments.usage_error(f"--output must end with {' or '.join(SUFFIXES)}; got {output}")
    if output.is_dir():
        raise CommandError(f"{output} is a directory: --output names the file to write.")
    if not output.parent.is_dir():
        raise CommandError(f"{output.parent} is not a directory: create it, or name another file.")
