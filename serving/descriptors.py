"""File descriptors: how many connections a server may have before it has none left for anything else."""

import resource
from pathlib import Path

RESERVE = 64  # descriptors for model files, logs, and connections on their way to be refused
MIN_CONNECTIONS = 8  # of each port


def max_connections() -> int:
    """Return how many connections each of the two ports may have: half of what is left each.

    Raises:
        OSError: The process may open too few files to serve at all.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    share = (limit - opened - RESERVE) // 2
    if share < MIN_CONNECTIONS:
        need = opened + RESERVE + 2 * MIN_CONNECTIONS
        raise OSError(
            f"this process may open {limit} files, and needs {need} at least: raise it with ulimit -n"
        )
    return share
