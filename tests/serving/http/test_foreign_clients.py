"""Clients that nobody here wrote, and a model that was exported: a real server, asked as others ask."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grpc_requests import Client as GenericClient
from libretranslatepy import LibreTranslateAPI

from export.artifact.manifest import open_version
from serving import Client
from tests.support.serving.serve_process import serving_both

TEXT = "Où est la gare ?"


@pytest.fixture(scope="module")
def addresses(exported: Path) -> Iterator[tuple[str, str]]:
    """gRPC's, HTTP's."""
    with serving_both(exported.parents[1]) as (_, grpc, http):
        yield grpc, http


def ask(http: str, place: str, content: Any = None) -> Any:
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(f"http://{http}{place}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_libretranslates_own_client_gets_what_grpc_says(addresses: tuple[str, str]) -> None:
    grpc, http = addresses
    libre = LibreTranslateAPI(f"http://{http}", api_key="unused")
    assert libre.languages() == [{"code": "fr", "name": "French", "targets": ["en"]}]
    with Client(grpc) as client:
        for text in (TEXT, "a & b = c\n\n100 % +é日本", ""):
            assert libre.translate(text, "fr", "en", timeout=60) == client.translate(text).text
    with pytest.raises(urllib.error.HTTPError) as told:
        libre.translate(TEXT, "fr", "de", timeout=60)
    with told.value as answer:
        assert (answer.code, list(json.load(answer))) == (400, ["error"])


def test_a_generic_client_of_grpc_asks_by_reflection(addresses: tuple[str, str]) -> None:
    grpc, _ = addresses
    generic = GenericClient.get_by_endpoint(grpc)
    try:
        assert "serving.v1.TranslationService" in generic.service_names
        service = generic.service("serving.v1.TranslationService")
        with Client(grpc) as client:
            expected = client.translate(TEXT).text
        assert service.Translate({"text": TEXT})["translation"]["text"] == expected
        assert "".join(each.get("text", "") for each in service.StreamTranslate({"text": TEXT})) == expected
        assert service.ListModels({})["models"][0]["name"] == "fr-en"
    finally:
        generic.channel.close()


def test_attention_over_http_is_that_of_grpc_to_six_digits(addresses: tuple[str, str]) -> None:
    grpc, http = addresses
    text = f"Bonjour.\n{TEXT}"
    answer = ask(http, "/attention", {"q": text, "source": "fr", "target": "en"})
    with Client(grpc) as client:
        expected = client.attend(text)
    assert (answer["translatedText"], answer["model"], answer["version"]) == (
        expected.translation.text,
        "fr-en",
        1,
    )
    assert len(answer["parts"]) == len(expected.parts) == 2
    for part, other in zip(answer["parts"], expected.parts, strict=True):
        assert part["source"] == [token.piece for token in other.source]
        assert part["target"] == [token.piece for token in other.target]
        for name in ("encoder", "decoder", "cross"):
            weights = getattr(other, name)
            assert part[name]["shape"] == list(weights.shape)
            np.testing.assert_allclose(part[name]["values"], weights.values, rtol=1e-5)


def test_a_model_tells_what_it_learned_and_what_to_try(addresses: tuple[str, str], exported: Path) -> None:
    version = open_version(exported)
    (model,) = ask(addresses[1], "/models")["models"]
    (listed,) = model["versions"]
    assert listed["corpus"] == (version.manifest.quality.corpus or "")
    assert listed["examples"] == [each.source for each in version.golden[:6]]
    assert listed["examples"]
    answer = ask(addresses[1], "/translate", {"q": listed["examples"], "loop_guard": False})
    assert answer["translatedText"] == [each.target for each in version.golden[:6]]
