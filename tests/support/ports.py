"""Ports of this machine."""

import socket


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]
