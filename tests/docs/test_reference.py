"""The reference has every environment variable, status code and option that the code has."""

import argparse
import re
from pathlib import Path

import pytest

from keras_transformer.cli import serve

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def sources() -> str:
    files = [
        path
        for package in ("keras_transformer", "export", "serving")
        for path in (ROOT / package).rglob("*.py")
    ]
    return "\n".join(path.read_text("utf-8") for path in files)


def test_every_environment_variable_that_the_code_names_is_listed() -> None:
    named = set(re.findall(r'"((?:OMP|KERAS|TF|ORT|GRPC|OTEL)_[A-Z_]+|NO_COLOR)"', sources()))
    named |= set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    assert {"OMP_NUM_THREADS", "OTEL_TRACES_EXPORTER", "MODELS"} <= named
    assert named <= set(re.findall(r"`([A-Z_]+)`", page("environment.md")))


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
