"""Ports of this machine."""

import socket
from contextlib import ExitStack


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def free_ports(count: int) -> list[int]:
    """Return different ports of 127.0.0.1 that are free."""
    with ExitStack() as taken:
        servers = [taken.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(server.getsockname()[1]) for server in servers]
