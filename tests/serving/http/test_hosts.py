"""By which names a server is called: another site's name that was pointed at this machine is not one."""

import pytest

from serving.http.hosts import Hosts
from tests.support.serving.echo import run
from tests.support.serving.http_site import sent, site

LOOPBACK = [
    "localhost", "localhost:8080", "LOCALHOST.:80", "app.localhost:1", "127.0.0.1", "127.0.0.1:8080",
    "127.1.2.3", "[::1]", "[::1]:8080",
]  # fmt: skip
FOREIGN = [
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "xlocalhost",
]
BROKEN = [None, "", "[::1", "::1", "localhost:80:80", "localhost@evil.example", "a b", "localhost/"]
ADDRESSES = ["10.0.0.7:8080", "[fd00::7]:8080"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost"])
def test_on_loopback_only_loopback_names_are_the_servers(address: str) -> None:
    hosts = Hosts(address)
    assert [name for name in LOOPBACK if not hosts.accepts(name)] == []
    assert [name for name in (*FOREIGN, *BROKEN, *ADDRESSES) if hosts.accepts(name)] == []
    assert Hosts(address, {"translate.example"}).accepts("Translate.example:443")


def test_elsewhere_every_name_is_until_some_are_allowed_and_addresses_and_loopback_always_are() -> None:
    named = ["translate.example", "translate.example:8080", *LOOPBACK, *ADDRESSES]
    hosts = Hosts("0.0.0.0", {"translate.example"})
    assert [name for name in named if not hosts.accepts(name)] == []
    assert [name for name in (*FOREIGN, *BROKEN) if hosts.accepts(name)] == []
    assert [name for name in (*named, *FOREIGN, "server-1:8080") if not Hosts("0.0.0.0").accepts(name)] == []


@pytest.mark.parametrize("path", ["/", "/languages", "/metrics", "/static/page.js", "/nothing"])
def test_a_page_whose_name_was_pointed_at_this_machine_reads_nothing_here(path: str) -> None:
    async def scenario() -> None:
        async with site() as http:
            for host, refused in (("evil.example", True), ("localhost:1", False)):
                request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
                assert ((await sent(http, request))[0] == 421) is refused
            health = b"GET /healthz HTTP/1.1\r\nHost: http\r\n\r\n"  # Envoy calls it by its cluster's name
            assert (await sent(http, health))[0] == 200

    run(scenario)
