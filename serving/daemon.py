"""Work in a thread that nobody waits for when the process ends."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_daemon(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """As asyncio.to_thread, but for the end: asyncio.run and the interpreter do not wait for this thread."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # from now on who does not wait for it any more leaves it alone

    def work() -> None:
        try:
            done.set_result(function(*arguments, **options))
        except BaseException as error:  # whatever it is, it is for who waits
            done.set_exception(error)

    threading.Thread(target=work, name=function.__name__, daemon=True).start()
    return await asyncio.wrap_future(done)
