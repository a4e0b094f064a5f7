"""Work in a daemon thread, which does not delay the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_daemon(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Run a function as asyncio.to_thread does, in a thread that the end of the process does not wait for."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # a caller that is cancelled from now on leaves it running

    def work() -> None:
        try:
            result.set_result(function(*arguments, **options))
        except BaseException as error:  # every kind belongs to the caller
            result.set_exception(error)

    threading.Thread(target=work, name=function.__name__, daemon=True).start()
    return await asyncio.wrap_future(result)
