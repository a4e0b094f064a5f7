"""Every command on every page is one that the program, make or the benchmark takes."""

import argparse
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from keras_transformer.cli import PROGRAM, VERBS, program

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TARGETS = set(re.findall(r"^([a-z./-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
OPERATORS = set("|&;<>()")


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command of ours on a page: in a shell block, or between backquotes."""
    text = page.read_text("utf-8")
    for kind, block in FENCED.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if kind == "sh" or line.startswith("$ "):
                yield from _simple_commands(line.removeprefix("$ "))
    for span in re.findall(r"`([^`\n]+)`", FENCED.sub("", text)):
        if span.startswith(f"{PROGRAM} "):
            yield from _simple_commands(span)


def _simple_commands(line: str) -> Iterator[list[str]]:
    if PROGRAM not in line:
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for operator, words in groupby(lexer, OPERATORS.issuperset):
        found = list(words)
        if not operator and Path(found[0]).name == PROGRAM:
            yield found[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_one_that_the_program_takes(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser, _ = program()
    for words in commands(page):
        if words in (["VERB", "--help"], ["..."], *([verb] for verb in VERBS)):
            continue  # a command that is spoken of, not shown
        try:
            parser.parse_args(words)
        except SystemExit as stopped:
            assert stopped.code == 0, f"{words}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_opens_with_a_sentence_that_says_what_it_is_for(page: Path) -> None:
    title, opening = page.read_text("utf-8").split("\n\n", 2)[:2]
    assert title.startswith("# ")
    assert re.match(r"(\*\*)?[A-Z][^|*]{20,}[.:]", opening), opening


def test_commands_are_found_in_blocks_and_in_text() -> None:
    found = [words for page in PAGES for words in commands(page)]
    assert ["info", "RUN"] in found
    assert len(found) > 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_target_of_a_page_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(r"`make (?:[A-Z]+=\S+ )*([a-z./-]+)", text)
    named += re.findall(
        r"^make ([a-z./-]+)", "".join(block for _, block in FENCED.findall(text)), re.MULTILINE
    )
    assert set(named) <= TARGETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`([\w/]+/\w+\.py)`", FENCED.sub("", page.read_text("utf-8")))
    folders = [ROOT, ROOT / "keras_transformer", ROOT / "keras_transformer" / "inference"]
    assert [path for path in named if not any((folder / path).is_file() for folder in folders)] == []


def benchmark_commands() -> dict[str, set[str]]:
    """Return the options that pages show for each benchmark."""
    shown: dict[str, set[str]] = {}
    for page in PAGES:
        for script, options in re.findall(r"python benchmarks/(\w+)\.py([^`\n#]*)", page.read_text("utf-8")):
            shown.setdefault(script, set()).add(options)
    return shown


@pytest.mark.parametrize(("script", "shown"), benchmark_commands().items())
def test_a_benchmark_takes_the_options_that_the_pages_show(
    script: str, shown: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Parsed(Exception):  # noqa: N818 (no error)
        """Raised instead of the measurement."""

    parse_args = argparse.ArgumentParser.parse_args

    def parse(parser: argparse.ArgumentParser) -> None:
        for options in shown:
            try:
                parse_args(parser, shlex.split(options))
            except SystemExit:
                pytest.fail(f"{options}: {capsys.readouterr().err}")
        raise Parsed

    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse)
    with pytest.raises(Parsed):
        runpy.run_path(str(ROOT / "benchmarks" / f"{script}.py"))["main"]()


#: Words that Keras spells with z, as its names do: normalization, tokenizer, quantize.
ISE = re.compile(
    r"(normal|token|quant|regular|initial|serial|summar|optim|minim|maxim|organ|recogn|synchron|final|visual)"
    r"is(e|ed|es|ing|er|ers|ation|ations)(?![a-z])",
    re.IGNORECASE,
)


def test_words_are_spelled_as_the_names_of_keras() -> None:
    files = [*ROOT.glob("*.md")] + [
        path
        for folder in ("docs", "keras_transformer", "export", "serving", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".md", ".py", ".toml", ".proto", ".mjs", ".js", ".html", ".json", ".yaml")
        and "node_modules" not in path.parts
    ]
    assert len(files) > 400
    found = [
        (path.relative_to(ROOT), word[0]) for path in files for word in ISE.finditer(path.read_text("utf-8"))
    ]
    assert found == []
