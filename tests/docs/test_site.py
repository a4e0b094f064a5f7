"""The documentation site: it builds without a warning, no link is broken, and its reference is complete."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer
import serving
from keras_transformer.cli import VERBS, program
from serving.v1.translation_pb2 import DESCRIPTOR

ROOT = Path(__file__).parents[2]
REFERENCE = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
PUBLIC = [
    f"{package.__name__}.{name}" for package in (keras_transformer, serving) for name in package.__all__
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the site, built as `make docs` builds it."""
    directory = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    built = subprocess.run(
        mkdocs,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return directory


def test_the_site_builds_with_every_page_and_link(site: Path) -> None:
    for page in ("index.html", "how-to/serve.html", "reference/layers.html", "measurements.html"):
        assert (site / page).is_file()


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    source = r'<(?:script|img|iframe)[^>]* src="?(https?:[^" >]+)'
    sheet = r'<link[^>]*rel="?stylesheet"?[^>]*(https?:[^" >]+)'
    loads = re.compile(f"{source}|{sheet}")
    pages = {page.name: loads.findall(page.read_text("utf-8")) for page in site.rglob("*.html")}
    assert pages and not any(pages.values()), pages


def test_a_page_links_to_files_of_the_repository_that_the_site_has(site: Path) -> None:
    page = (site / "reference" / "protocol.html").read_text("utf-8")
    assert "../source/serving/v1/translation.proto" in page
    published = site / "source" / "serving" / "v1" / "translation.proto"
    assert published.read_bytes() == (ROOT / "serving" / "v1" / "translation.proto").read_bytes()


@pytest.mark.parametrize("name", PUBLIC)
def test_the_reference_has_every_public_name(name: str) -> None:
    assert re.search(rf"^::: {re.escape(name)}$", REFERENCE, re.MULTILINE)


def test_the_reference_of_the_commands_has_every_verb_and_every_option(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text("utf-8")
    starts = [text.index(f'<h2 id="{verb}">') for verb in VERBS]
    sections = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    for parser, section in zip(program()[1], sections, strict=True):
        parser.load()
        usage = parser.format_help().partition("\n\n")[0]
        options = set(re.findall(r"--[a-z-]+", usage))
        shown = set(re.findall(r"<td>.*?<code>(--[a-z-]+)", section))
        assert options == shown, parser.prog
        words = " ".join(html.unescape(re.sub("<[^>]+>", "", section)).split())
        for action in parser._actions:
            assert action.dest == "help" or " ".join(str(action.help).split()) in words


def test_the_reference_of_the_protocol_has_every_method_field_and_value(site: Path) -> None:
    text = html.unescape(re.sub("<[^>]+>", "", (site / "reference" / "protocol.html").read_text("utf-8")))
    service = DESCRIPTOR.services_by_name["TranslationService"]
    names = {method.name for method in service.methods}
    for message in DESCRIPTOR.message_types_by_name.values():
        names |= {message.name, *message.fields_by_name}
    for enumeration in DESCRIPTOR.enum_types_by_name.values():
        names |= {enumeration.name, *enumeration.values_by_name}
    assert {"Attend", "no_repeat_ngram", "FINISH_REASON_LOOP"} <= names
    assert sorted(names - set(re.findall(r"\w+", text))) == []
