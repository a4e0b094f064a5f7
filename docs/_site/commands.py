"""MkDocs hook: render the parsers of the command line as the reference of the commands."""

import argparse
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from keras_transformer.cli import VERBS, VerbParser, program

TITLES = {"positional arguments": "arguments"}
INTRODUCTION = """# Commands

Every command with every option, from the parsers of `keras-transformer`. `python -m keras_transformer` is
the same program. `keras-transformer VERB --help` prints the section of a verb, and `--version` the version.

Results go to stdout; progress, notices and errors go to stderr. Where an option names a file of text, `-` is
standard input. Defaults are in brackets.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | a failure; stderr says what to do |
| 2 | wrong usage |
| 130 | interrupted with Ctrl-C |

| command | purpose |
|---|---|
"""


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add reference/commands.md."""
    files.append(File.generated(config, "reference/commands.md", content=page()))
    return files


def page() -> str:
    """Return the page."""
    verbs = program()[1]
    for verb in verbs:
        verb.load()
    rows = "\n".join(f"| [`{verb}`](#{verb}) | {purpose} |" for verb, purpose in VERBS.items())
    sections = (block for name, verb in zip(VERBS, verbs, strict=True) for block in _section(name, verb))
    return "\n\n".join(filter(None, [INTRODUCTION + rows, *sections])) + "\n"


def _section(name: str, verb: VerbParser) -> Iterator[str]:
    """Yield the blocks of one command: description, options, examples."""
    yield f"## `{name}` {{ #{name} }}"
    yield verb.description or ""
    for group in verb._action_groups:
        rows = [_row(verb, action) for action in group._group_actions if action.dest != "help"]
        if rows:
            yield f"**{TITLES.get(group.title or '', group.title)}**"
            yield group.description or ""
            yield "\n".join(["| | |", "|---|---|", *rows])
    for paragraph in (verb.epilog or "").split("\n\n"):
        title, _, commands = paragraph.partition("\n")
        yield f"```sh\n{dedent(commands).rstrip()}\n```" if title.startswith("example") else paragraph


def _row(verb: VerbParser, action: argparse.Action) -> str:
    formatter = verb._get_formatter()
    value = "" if action.nargs == 0 else formatter._format_args(action, action.dest)
    names = [f"{name} {value}".rstrip() for name in action.option_strings] or [value.strip("[]")]
    text = formatter._expand_help(action).replace("|", r"\|").replace("<", "&lt;")
    return f"| {', '.join(f'`{name}`' for name in names)} | {text} |"
