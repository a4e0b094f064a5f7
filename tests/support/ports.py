"""Ports of this machine."""

import socket


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]
