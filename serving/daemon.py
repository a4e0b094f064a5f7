"""Work in a daemon thread, which does not delay the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_daemon(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Run a function like asyncio.to_thread, but in a thread that does not delay the process' end."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # from now on, cancelling the caller does not stop the work

    def work() -> None:
        try:
            result.set_result(function(*arguments, **options))
        except BaseException as error:  # raised again in the caller
            result.set_exception(error)

    threading.Thread(target=work, name=function.__name__, daemon=True).start()
    return await asyncio.wrap_future(result)
