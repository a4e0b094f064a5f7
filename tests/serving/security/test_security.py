"""Who is heard: every kind of server, and every kind of caller."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from serving.client.tls import Tls
from serving.security.listening import UNAUTHENTICATED, Security
from serving.v1 import translation_pb2 as wire
from serving.v1.translation_pb2_grpc import TranslationServiceStub
from tests.support.serving.certificates import Files, secured
from tests.support.serving.echo import run

TOKEN, SECOND = "c2VjcmV0-._~+/", "second=="
TEXT = "Où est la gare ?"

#: What a caller says -> whether a server with tokens should hear it.
SAID: dict[str, tuple[tuple[tuple[str, str | bytes], ...], bool]] = {
    "right": ((("authorization", f"Bearer {TOKEN}"),), True),
    "the second of the file": ((("authorization", f"Bearer {SECOND}"),), True),
    "lower-case scheme": ((("authorization", f"bearer {TOKEN}"),), True),
    "upper-case scheme": ((("authorization", f"BEARER {TOKEN}"),), True),
    "two spaces": ((("authorization", f"Bearer  {TOKEN}"),), True),
    "none": ((), False),
    "wrong": ((("authorization", "Bearer wrong"),), False),
    "a beginning of it": ((("authorization", f"Bearer {TOKEN[:-1]}"),), False),
    "more than it": ((("authorization", f"Bearer {TOKEN}x"),), False),
    "other case": ((("authorization", f"Bearer {TOKEN.swapcase()}"),), False),
    "two tokens": ((("authorization", f"Bearer {TOKEN} {SECOND}"),), False),
    "a list": ((("authorization", f"Bearer {TOKEN}, Bearer wrong"),), False),
    "two headers": ((("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer wrong")), False),
    "two right headers": ((("authorization", f"Bearer {TOKEN}"),) * 2, False),
    "empty bearer": ((("authorization", "Bearer "),), False),
    "no bearer": ((("authorization", "Bearer"),), False),
    "empty header": ((("authorization", ""),), False),
    "without scheme": ((("authorization", TOKEN),), False),
    "another scheme": ((("authorization", f"Basic {TOKEN}"),), False),
    "scheme run together": ((("authorization", f"Bearer{TOKEN}"),), False),
    "odd characters": ((("authorization", "Bearer !\"#$%&'()*,:;<=>?@[]^`{|}"),), False),
    "a comment of the file": ((("authorization", "Bearer # the first"),), False),
    "very long": ((("authorization", f"Bearer {TOKEN * 400}"),), False),
    "another name": ((("x-authorization", f"Bearer {TOKEN}"),), False),
    "a binary name": ((("authorization-bin", f"Bearer {TOKEN}".encode()),), False),
    "in a cookie": ((("cookie", f"authorization=Bearer {TOKEN}"),), False),
}


class Caller(NamedTuple):
    """How somebody connects."""

    tls: Tls | None
    heard_by: set[str]


def callers(files: Files) -> dict[str, Caller]:
    return {
        "in clear": Caller(None, {"plain"}),
        "right CA": Caller(Tls(files.ca), {"tls"}),
        "wrong CA": Caller(Tls(files.other_ca), set()),
        "the authorities of the world": Caller(Tls(), set()),
        "right certificate": Caller(Tls(files.ca, *files.client), {"tls", "mtls"}),
        "the server's own certificate": Caller(Tls(files.ca, *files.server), {"tls", "mtls"}),
        "strange certificate": Caller(Tls(files.ca, *files.strange_client), {"tls"}),
        "right certificate, wrong CA": Caller(Tls(files.other_ca, *files.client), set()),
    }


def servers(files: Files) -> dict[tuple[str, bool], Security]:
    tokens = files.tokens("# the first", TOKEN, "", f"  {SECOND}\r", "# none: wrong")
    encryption: dict[str, tuple[Path, ...]] = {
        "plain": (),
        "tls": files.server,
        "mtls": (*files.server, files.ca),
    }
    return {
        (kind, wants): Security.of(*given, tokens=tokens if wants else None)
        for (kind, given), wants in product(encryption.items(), (False, True))
    }


@asynccontextmanager
async def channel(address: str, tls: Tls | None) -> AsyncIterator[grpc.aio.Channel]:
    made = (
        grpc.aio.insecure_channel(address)
        if tls is None
        else grpc.aio.secure_channel(address, tls.credentials())
    )
    async with made as opened:
        yield opened


async def ask(opened: grpc.aio.Channel, metadata: Any) -> tuple[grpc.StatusCode, str]:
    """The code, and what was translated or told."""
    try:
        call = TranslationServiceStub(opened).Translate(
            wire.TranslateRequest(text=TEXT), metadata=metadata, timeout=20
        )
        return grpc.StatusCode.OK, (await call).translation.text
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""


async def ended(call: Any) -> grpc.StatusCode:
    """How, when all of it is read."""
    try:
        if isinstance(call, grpc.aio.UnaryUnaryCall):
            await call
        else:
            async for _ in call:
                pass
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_of_all_who_call_all_kinds_of_servers_only_those_are_heard_who_should_be(tmp_path: Path) -> None:
    files = Files(tmp_path)

    async def scenario() -> None:
        asked = heard = 0
        for (kind, wants), security in servers(files).items():
            async with secured(security) as address:
                for caller, (tls, heard_by) in callers(files).items():
                    async with channel(address, tls) as opened:
                        said = SAID if kind in heard_by else {"right": SAID["right"]}
                        for name, (metadata, known) in said.items():
                            case = (kind, wants, caller, name)
                            answer = await ask(opened, metadata)
                            if kind not in heard_by:
                                assert answer[0] is grpc.StatusCode.UNAVAILABLE, (case, answer)
                            elif wants and not known:
                                assert answer == (grpc.StatusCode.UNAUTHENTICATED, UNAUTHENTICATED), case
                            else:
                                assert answer == (grpc.StatusCode.OK, TEXT), (case, answer)
                                heard += 1
                            asked += 1
        connected = sum(len(each.heard_by) for each in callers(files).values())
        assert heard == connected * (len(SAID) + sum(known for _, known in SAID.values()))
        assert asked == 2 * (connected * len(SAID) + 3 * len(callers(files)) - connected)

    run(scenario)


def test_without_a_token_nothing_is_open_but_the_health(tmp_path: Path) -> None:
    security = Security.of(tokens=Files(tmp_path).tokens(TOKEN))

    async def scenario() -> None:
        async with secured(security) as address, channel(address, None) as opened:
            service, metadata = TranslationServiceStub(opened), SAID["right"][0]
            listing = reflection_pb2.ServerReflectionRequest(list_services="")

            def calls(metadata: Any) -> list[Any]:
                reflecting = reflection_pb2_grpc.ServerReflectionStub(opened)
                return [
                    service.Translate(wire.TranslateRequest(text="a"), metadata=metadata),
                    service.BatchTranslate(wire.BatchTranslateRequest(texts=["a"]), metadata=metadata),
                    service.StreamTranslate(wire.StreamTranslateRequest(text="a"), metadata=metadata),
                    service.ListModels(wire.ListModelsRequest(), metadata=metadata),
                    reflecting.ServerReflectionInfo(iter([listing]), metadata=metadata),
                    service.Attend(wire.AttendRequest(text=" "), metadata=metadata),
                    opened.unary_unary("/serving.v1.TranslationService/Nothing")(b"", metadata=metadata),
                    opened.unary_unary("/grpc.health.v1.Healthy/Check")(b"", metadata=metadata),
                ]

            refused, ok = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.OK
            assert [await ended(call) for call in calls(())] == [refused] * 8
            codes = [await ended(call) for call in calls(metadata)]
            assert codes == [ok] * 6 + [grpc.StatusCode.UNIMPLEMENTED] * 2
            healthy = health_pb2_grpc.HealthStub(opened)
            assert (await healthy.Check(health_pb2.HealthCheckRequest())).status == 1
            assert (await healthy.Watch(health_pb2.HealthCheckRequest()).read()).status == 1

    run(scenario)


def test_a_refusal_waits_for_nothing_that_was_going_to_be_sent(tmp_path: Path) -> None:
    security = Security.of(tokens=Files(tmp_path).tokens(TOKEN))

    async def scenario() -> None:
        async with secured(security) as address, channel(address, None) as opened:
            call = reflection_pb2_grpc.ServerReflectionStub(opened).ServerReflectionInfo()
            assert await call.code() is grpc.StatusCode.UNAUTHENTICATED  # it has said nothing yet

    run(scenario)


@pytest.mark.parametrize(
    ("host", "reached"),
    [("127.0.0.1", False), ("127.8.8.8", False), ("::1", False), ("localhost", False),
     ("0.0.0.0", True), ("::", True), ("192.0.2.1", True), ("translate.example.org", True)],
)  # fmt: skip
def test_who_serves_others_in_clear_is_told(host: str, reached: bool, tmp_path: Path) -> None:
    files = Files(tmp_path)
    tokens = files.tokens(TOKEN)
    told = [
        list(security.warnings(host))
        for security in (Security(), Security.of(tokens=tokens), Security.of(*files.server, tokens=tokens))
    ]
    assert [len(lines) for lines in told] == [int(reached), int(reached), 0]
    for (line,) in told[:2] if reached else ():
        assert line.startswith(f"{host} can be reached from other machines")
        assert "--tls-certificate and --tls-key" in line
    assert [("tokens" in line, "every caller" in line) for lines in told for line in lines] == [
        (False, True),
        (True, False),
    ][: 2 * reached]


def test_secrets_that_others_can_read_are_told(tmp_path: Path) -> None:
    files = Files(tmp_path)
    tokens, key = files.tokens(TOKEN), files.server[1]
    security = Security.of(*files.server, tokens=tokens)
    tokens.chmod(0o640)
    key.chmod(0o604)
    assert list(security.warnings("127.0.0.1")) == [
        f"{path} can be read by others than its owner. Run chmod 600 {path}" for path in (key, tokens)
    ]
