"""openapi.json describes every route of a server, and what real servers answer is what it says."""

import asyncio
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from keras_transformer import __version__
from serving.api import intake
from serving.http import routes
from serving.http.application import application
from serving.http.hosts import Hosts
from serving.http.middleware import ROUTES
from serving.http.parsing import FIELDS, UNUSED
from serving.http.routes import ServerParts
from serving.limits import Limits
from serving.registry.registry import Registry
from tests.support.serving.echo import UNSPEAKABLE, Echo, echo, run, until
from tests.support.serving.http_site import events, sent, site, started
from tests.support.serving.serve_process import serving_both

OPENAPI = json.loads(routes.OPENAPI)
ASK = {"q": "Où est la gare ?"}
POSTS = ("/translate", "/translate/stream", "/attention")


def closed(schema: Any) -> Any:
    """Return a copy of a schema that allows no property but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    return {**copy, "additionalProperties": False} if {"required", "properties"} <= copy.keys() else copy


CLOSED = {**closed(OPENAPI["components"]), "securitySchemes": {}}


def check(schema: Mapping[str, Any], value: object) -> None:
    """Raise if a value is not what a schema says."""
    Draft202012Validator({**closed(schema), "components": CLOSED}).validate(value)


def described(method: str, path: str, status: int, *, by_default: bool = False) -> dict[str, Any]:
    """Return the description of an answer."""
    answers = OPENAPI["paths"][path][method.lower()]["responses"]
    assert (str(status) in answers) is not by_default, f"{method} {path}: {status}"
    answer = answers["default" if by_default else str(status)]
    reference = answer.get("$ref", "").rpartition("/")[2]
    return cast(dict[str, Any], OPENAPI["components"]["responses"][reference] if reference else answer)


def check_answer(answer: dict[str, Any], headers: Mapping[str, str], content: bytes) -> Any:
    """Hold an answer against its description, and return what it says."""
    headers = {name.lower(): value for name, value in headers.items()}
    media = answer["content"][headers["content-type"].partition(";")[0]]
    required = {name for name, header in answer.get("headers", {}).items() if header.get("required")}
    assert required == {name for name in ("Retry-After", "WWW-Authenticate") if name.lower() in headers}
    for name in required:
        value = headers[name.lower()]
        check(answer["headers"][name]["schema"], int(value) if value.isdecimal() else value)
    said = json.loads(content) if "json" in headers["content-type"] else content.decode()
    check(media["schema"], said)
    return said


@pytest.fixture(scope="module")
def address(exported: Path) -> Iterator[str]:
    """The address of a server process with a small model."""
    with serving_both(exported.parents[1]) as (_, _, http):
        yield f"http://{http}"


def ask(
    address: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> tuple[int, Mapping[str, str], bytes]:
    """Return status, headers and body of an answer."""
    content = None if body is None else json.dumps(body).encode()
    sent_headers = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(address + path, content, sent_headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_the_description_is_valid_openapi_3_1_of_this_version() -> None:
    assert list(OpenAPIV31SpecValidator(OPENAPI).iter_errors()) == []
    assert (OPENAPI["openapi"], OPENAPI["info"]["version"]) == ("3.1.0", __version__)


def test_it_has_every_route_of_the_server_and_no_other() -> None:
    parts = ServerParts(*[cast(Any, None)] * 3, Limits(), *[cast(Any, None)] * 2)
    made = application(parts, Hosts("127.0.0.1"))
    there = {
        (re.sub(r"^/static/[^/]+$", "/static/{file}", route.resource.canonical), route.method.lower())
        for route in made.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    listed = {(path, method) for path, methods in OPENAPI["paths"].items() for method in methods}
    assert listed == there
    for path, method in listed - {("/static/{file}", "get")}:
        (paths,) = re.findall(rf"{method.upper()} ([^;]+)", ROUTES)
        assert path in paths.split(", ")  # as a 404 names them


def test_it_has_every_field_of_a_request() -> None:
    for name in ("TranslateRequest", "OneTextRequest"):
        assert OPENAPI["components"]["schemas"][name]["properties"].keys() == {*FIELDS, *UNUSED}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", ASK),
        ("/translate", {"q": ["Merci.", ""], "source": "fr", "target": "en", "format": "text"}),
        ("/translate", {**ASK, "source": "auto", "model": "fr-en", "version": 1, "api_key": ""}),
        ("/attention", {"q": "Merci.\nOù est la gare ?", "version": "1", "alternatives": 3}),
        ("/languages", None),
        ("/models", None),
        ("/healthz", None),
        ("/metrics", None),
        ("/openapi.json", None),
        ("/", None),
    ],
)
def test_what_a_server_answers_is_what_it_says(address: str, path: str, body: Any) -> None:
    method = "GET" if body is None else "POST"
    if body is not None:
        operation = OPENAPI["paths"][path]["post"]
        check(operation["requestBody"]["content"]["application/json"]["schema"], body)
    status, headers, content = ask(address, path, body)
    assert status == 200
    said = check_answer(described(method, path, 200), headers, content)
    if path == "/openapi.json":
        assert said == OPENAPI


def test_the_files_of_the_page_have_the_types_that_it_names(address: str) -> None:
    for name in ("page.js", "style.css", "icon.svg"):
        status, headers, content = ask(address, f"/static/{name}")
        check_answer(described("GET", "/static/{file}", status), headers, content)
        status, _, content = ask(
            address, f"/static/{name}", headers={"If-Modified-Since": headers["Last-Modified"]}
        )
        assert (status, content) == (304, b"")
        assert "content" not in described("GET", "/static/{file}", 304)


def test_every_event_of_a_stream_is_one_that_it_has() -> None:
    schemas = described("POST", "/translate/stream", 200)["content"]["text/event-stream"]["x-events"]

    async def scenario() -> None:
        seen = set()
        for text in ("Merci.", f"Où est la gare ?\n{UNSPEAKABLE}"):
            runtime = Echo(held=True)
            async with site(echo(runtime=runtime)) as http:
                asking = asyncio.ensure_future(http.post("/translate/stream", json={"q": text}))
                runtime.allow(3)
                found = events(await asking)
                first = await anext(found)
                runtime.allow(100)
                for kind, data in (first, *[each async for each in found]):
                    check(schemas[kind], data)
                    seen.add(kind)
        assert seen == schemas.keys()

    run(scenario)


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({}, {}, 400),
        ({"q": "a" * 5001}, {}, 400),
        (ASK, {"Origin": "http://evil.example"}, 403),
        ({**ASK, "model": "none"}, {}, 404),
        ({"q": "a" * 2**20}, {}, 413),
        (ASK, {"Content-Type": "text/plain"}, 415),
        (ASK, {"Host": "evil.example"}, 421),
    ],
)
def test_a_refused_request_is_one_that_it_names(
    address: str, path: str, body: Any, headers: dict[str, str], status: int
) -> None:
    found, answered, content = ask(address, path, body, headers)
    assert found == status
    check_answer(described("POST", path, status), answered, content)


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET /none HTTP/1.1", "", 404),
        ("DELETE /translate HTTP/1.1", "", 405),
        ("GET /healthz HTTP/1.1", "Expect: cookies\r\n", 417),
        ("GET /healthz HTTP/2.0", "", 505),
        ("GET /heal\0thz HTTP/1.1", "", 400),
    ],
)
def test_an_error_of_http_itself_is_what_it_calls_other(request_line: str, headers: str, status: int) -> None:
    async def scenario() -> None:
        async with site() as http:
            content = f"{request_line}\r\nHost: localhost\r\n{headers}\r\n".encode()
            found, answered, body = await sent(http, content)
            assert found == status
            check_answer(described("GET", "/healthz", status, by_default=True), answered, body)

    run(scenario)


@pytest.mark.parametrize(
    ("path", "method"),
    [
        (path, method)
        for path, methods in OPENAPI["paths"].items()
        for method, operation in methods.items()
        if operation.get("security") != []
    ],
)
def test_without_its_token_a_request_gets_what_it_names(secured: str, path: str, method: str) -> None:
    status, headers, content = ask(secured, path, ASK if method == "post" else None)
    assert status == 401
    check_answer(described(method, path, 401), headers, content)


@pytest.fixture(scope="module")
def secured(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server process that wants a token."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text("a-token\n", "utf-8")
    tokens.chmod(0o600)
    with serving_both(exported.parents[1], "--token-file", tokens) as (_, _, http):
        yield f"http://{http}"


def test_what_needs_no_token_is_open(secured: str) -> None:
    for path, methods in OPENAPI["paths"].items():
        if methods.get("get", {}).get("security") == []:
            status, headers, content = ask(secured, path.replace("{file}", "page.js"))
            assert status == 200
            check_answer(described("GET", path, status), headers, content)


async def answered(method: str, path: str, status: int, asking: Any) -> Any:
    async with asking as response:
        assert response.status == status
        return check_answer(described(method, path, status), response.headers, await response.read())


def test_a_server_that_is_not_ready_says_so_as_described() -> None:
    async def scenario() -> None:
        async with started() as (server, http):
            for path in ("/healthz", "/languages", "/models"):
                await answered("GET", path, 503, http.get(path))
            await server.open(Registry([]))
            for path in POSTS:
                await answered("POST", path, 503, http.post(path, json=ASK))

    run(scenario)


def test_a_busy_server_a_late_answer_and_a_failure_are_as_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SECONDS", 0.05)

    async def scenario() -> None:
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=1)
        async with site(model) as http:
            for path in POSTS:
                await answered("POST", path, 504, http.post(path, json=ASK))
            runtime.allow(len(POSTS))
            await until(lambda: model.engine.running == 0)
        monkeypatch.setattr(routes, "SECONDS", 60.0)
        async with site() as http:
            for path in POSTS:
                await answered("POST", path, 500, http.post(path, json={"q": UNSPEAKABLE}))
        runtime = Echo(slots=1, held=True)
        model = echo(runtime=runtime, waiting=1)
        async with site(model) as http:
            waiting: list[asyncio.Task[aiohttp.ClientResponse]] = []
            for full in (lambda: model.engine.running == 1, lambda: model.engine.waiting == 1):
                waiting.append(asyncio.ensure_future(http.post("/translate", json=ASK)))
                await until(full)
            for path in POSTS:
                await answered("POST", path, 429, http.post(path, json=ASK))
            runtime.allow(100)
            assert [(await each).status for each in waiting] == [200, 200]

    run(scenario)


def test_a_body_that_does_not_arrive_gets_what_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "SECONDS", 0.1)

    async def scenario() -> None:
        async with site() as http:
            for path in POSTS:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                status, headers, body = await sent(http, f"{head}Content-Length: 100\r\n\r\n{{".encode())
                assert status == 408
                check_answer(described("POST", path, 408), headers, body)

    run(scenario)
