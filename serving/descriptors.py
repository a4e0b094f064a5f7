"""File descriptors, and the number of connections that leaves enough of them for everything else."""

import asyncio
import errno
import logging
import resource
from pathlib import Path
from typing import Any

_logger = logging.getLogger(__name__)

RESERVE = 64  # descriptors for model files, logs, and connections that will be refused
MIN_CONNECTIONS = 8  # of each port


def max_connections() -> int:
    """Return the largest number of connections of each of the two ports: half of the free descriptors.

    Raises:
        OSError: If the process may open too few files to serve at all.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    share = (limit - opened - RESERVE) // 2
    if share < MIN_CONNECTIONS:
        need = opened + RESERVE + 2 * MIN_CONNECTIONS
        raise OSError(
            f"this process may open {limit} files, and needs at least {need}; raise the limit with ulimit -n"
        )
    return share


def log_exhaustion_once(loop: asyncio.AbstractEventLoop) -> None:
    """Log one line when no descriptor is left for a new connection.

    asyncio itself logs a traceback at every retry, once a second. A burst of connections can use the reserve
    for a moment, because gRPC closes surplus connections a little later.
    """
    logged = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal logged
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif not logged:
            logged = True
            _logger.warning(
                "no file descriptor is free for a new connection, which has to wait; raise the limit of open "
                "files (ulimit -n)"
            )

    loop.set_exception_handler(handle)
