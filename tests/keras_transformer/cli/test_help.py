"""`keras-transformer VERB --help`: options are explained, defaults are those used, examples are taken."""

import argparse
import re
import shlex

import pytest

from keras_transformer.cli import VERBS, VerbParser, program

RECIPES_OWN = "train"  # its defaults follow the corpus: test_refusals.py


def parser_of(verb: str) -> VerbParser:
    (parser,) = (parser for parser in program()[1] if parser.prog.endswith(f" {verb}"))
    parser.load()
    return parser


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_is_explained(verb: str) -> None:
    unexplained = [action.dest for action in parser_of(verb)._actions if not action.help]
    assert unexplained == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != RECIPES_OWN])
def test_the_default_that_is_shown_is_the_one_that_is_used(verb: str) -> None:
    for action in parser_of(verb)._actions:
        if action.nargs == 0 or action.default in (None, argparse.SUPPRESS, frozenset()):
            continue
        shown = re.search(r"\(([^()]+)\)$", action.help or "")
        assert shown, action.dest
        if isinstance(action.default, int | float) and action.default:
            assert float(shown[1].replace(",", "")) == action.default, action.dest
        elif action.default:
            assert shown[1] == str(action.default), action.dest


@pytest.mark.parametrize("verb", VERBS)
def test_its_examples_are_commands_that_it_takes(verb: str) -> None:
    parser = parser_of(verb)
    examples = re.findall(rf"keras-transformer {verb}\b([^<>|\n]*)", parser.epilog or "")
    assert examples
    for example in examples:
        parser.parse_args(shlex.split(example))
