"""What `keras_transformer.bulk.processes` takes for `subprocess`: its workers are forks.

A worker of a model that Keras reads needs seconds for its imports. A fork is passed no descriptors beside the
standard ones, so the connection takes the place of standard input, which a worker does not read.
"""

from collections.abc import Sequence
from subprocess import DEVNULL
from typing import Any

from tests.support import fork_server

__all__ = ["DEVNULL", "Popen"]


def Popen(  # noqa: N802 (as there)
    command: Sequence[str], *, stdin: int, pass_fds: Sequence[int], **options: Any
) -> fork_server.Popen:
    """Fork a worker whose connection is the one descriptor that is passed, the last word of the command."""
    (connection,) = pass_fds
    *program, number = command
    assert (stdin, number) == (DEVNULL, str(connection))
    return fork_server.Popen([*program, "0"], stdin=connection, **options)
