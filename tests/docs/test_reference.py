"""The reference has every argument, environment variable, status code and option that the code has."""

import argparse
import ast
import json
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import pytest
from prometheus_client.parser import text_string_to_metric_families

from keras_transformer import models
from keras_transformer.cli import serve
from serving import Client
from tests.support.serving.serve_process import serving_both

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


#: The pages that are made from docstrings.
PAGES = ["layers.md", "models.md", "versions.md", "client.md"]


def sources() -> str:
    files = [
        path
        for package in ("keras_transformer", "export", "serving")
        for path in (ROOT / package).rglob("*.py")
    ]
    return "\n".join(path.read_text("utf-8") for path in files)


LOADER = griffe.GriffeLoader(
    search_paths=[ROOT],
    docstring_parser="google",
    docstring_options={"warn_unknown_params": False, "warn_missing_types": False},
)


def documented(name: str) -> Iterator[tuple[str, Any]]:
    """Yield what the site shows of a name: a function, or a class with the methods that the filters leave."""
    package, _, attribute = name.rpartition(".")
    entry = LOADER.modules_collection[package][attribute]
    yield name, entry
    if entry.is_class:
        hidden = r"_|build$|get_config$|compute_(output_shape|output_spec|mask)$"
        for member in entry.members.values():
            if member.is_function and not re.match(hidden, member.name):
                yield f"{name}.{member.name}", member


def sections(entry: Any) -> dict[str, Any]:
    return {
        section.kind.value: section.value
        for section in entry.docstring.parsed
        if section.kind.value != "text"
    }


def test_the_reference_has_every_name_that_a_program_on_a_page_imports() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    blocks = re.findall(
        r"^```py(?:thon)?\n(.*?)^```$",
        "\n".join(page.read_text("utf-8") for page in pages),
        re.DOTALL | re.MULTILINE,
    )
    imported = {
        (node.module.partition(".")[0], alias.name)
        for block in blocks
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    ours = {pair for pair in imported if pair[0] in ("keras_transformer", "export", "serving")}
    listed = re.findall(r"^::: (\w+)[\w.]*\.(\w+)$", "\n".join(map(page, PAGES)), re.MULTILINE)
    assert len(ours) > 20
    assert ours | {("keras_transformer", name) for name in models.__all__} <= set(listed)


@pytest.mark.parametrize("page_name", PAGES)
def test_every_public_name_explains_its_arguments_and_its_result(page_name: str) -> None:
    names = re.findall(r"^::: ([\w.]+)$", page(page_name), re.MULTILINE)
    assert len(names) >= 5
    for package in {name.partition(".")[0] for name in names}:
        LOADER.load(package)
    LOADER.resolve_aliases()
    for name, entry in (pair for listed in names for pair in documented(listed)):
        assert entry.docstring, name
        told = sections(entry)
        explained = {
            argument.name.strip("*")
            for kind in ("parameters", "attributes")
            for argument in told.get(kind, ())
        }
        expected = {argument.name for argument in entry.parameters} - {"self", "cls"}
        assert expected <= explained, f"{name}: {sorted(expected - explained)}"
        if entry.is_function and entry.returns is not None and str(entry.returns) not in ("None", "Self"):
            assert {"returns", "yields"} & told.keys(), name


def test_every_environment_variable_that_the_code_names_is_listed() -> None:
    named = set(re.findall(r'"((?:OMP|KERAS|TF|ORT|GRPC|OTEL|RAY)_[A-Z_]+|NO_COLOR)"', sources()))
    named |= set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    assert {"OMP_NUM_THREADS", "OTEL_TRACES_EXPORTER", "MODELS"} <= named
    rows = re.findall(r"^\| (`.*?) \|", page("environment.md"), re.MULTILINE)
    assert set(re.findall(r"`([A-Z_]+)`", "".join(rows))) == named


def test_every_address_and_every_field_of_http_is_listed() -> None:
    openapi = json.loads((ROOT / "serving" / "http" / "openapi.json").read_bytes())
    addresses = {
        f"{method.upper()} {path}" for path, methods in openapi["paths"].items() for method in methods
    }
    fields = {
        name for schema in openapi["components"]["schemas"].values() for name in schema.get("properties", ())
    }
    assert {"GET /models", "finishReason"} <= addresses | fields
    assert sorted((addresses | fields) - set(re.findall(r"`([^`]+)`", page("http.md")))) == []


def test_every_status_code_of_the_service_is_listed() -> None:
    proto = (ROOT / "serving" / "v1" / "translation.proto").read_text("utf-8").partition("syntax")[0]
    codes = set(re.findall(r"^//   ([A-Z_]+) ", proto, re.MULTILINE))
    assert "UNAUTHENTICATED" in codes
    assert codes <= set(re.findall(r"`([A-Z_]+)`", page("errors.md")))


@pytest.mark.parametrize("option", re.findall(r"`(--[a-z-]+)`", page("limits.md")))
def test_a_limit_is_an_option_of_the_server(option: str) -> None:
    parser = argparse.ArgumentParser()
    serve.configure(parser)
    assert option in {name for action in parser._actions for name in action.option_strings}


def test_the_metrics_that_a_server_returns_are_those_that_are_listed_with_their_labels(
    exported: Path, tmp_path: Path
) -> None:
    shutil.copytree(exported.parents[1], tmp_path / "models")
    (tmp_path / "models" / "fr-en" / "2").mkdir()  # a version that is refused
    with serving_both(tmp_path / "models") as (_, grpc, http), Client(grpc) as client:
        client.translate("Merci.")
        client.translate(["Merci.", "Oui."])
        with urllib.request.urlopen(f"http://{http}/metrics", timeout=60) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
    returned = {
        family.name + "_total" * (family.type == "counter"): {
            label for sample in family.samples for label in sample.labels if label != "le"
        }
        for family in families
    }
    listed = {
        name: set(re.findall(r"`(\w+)`", labels))
        for names, labels in re.findall(r"^\| (`.*?) \| (.*?) \|", page("metrics.md"), re.MULTILINE)
        for name in re.findall(r"`([\w*]+)`", names)
    }
    assert listed.pop("process_*") == set()
    own = {name: labels for name, labels in returned.items() if not name.startswith("process_")}
    assert len(own) < len(returned)
    assert own == listed
