"""Handling of Ctrl-C, which ends a verb even where a library swallows the exception."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Handler of SIGINT that raises KeyboardInterrupt and remembers it.

    Keras has bare `except:` clauses that swallow a KeyboardInterrupt or convert it to another error.
    """

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        self.came = True
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """Leave the block with KeyboardInterrupt if a Ctrl-C came inside, even if the exception was swallowed.

    Where SIGINT is ignored, as in the background, it stays ignored. Only the main thread receives signals.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = before if isinstance(before, Interrupt) else Interrupt()
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    except BaseException as error:
        if handler.came and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if handler.came:
        raise KeyboardInterrupt


def raise_interrupt() -> None:
    """Raise KeyboardInterrupt if a Ctrl-C was swallowed in the surrounding `interruptible` block."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, Interrupt) and handler.came:
        raise KeyboardInterrupt


def print_no_lost_interrupt() -> None:
    """Keep Python from printing a Ctrl-C that arrives in a finalizer, which cannot raise it."""
    print_lost = sys.unraisablehook

    def hook(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            print_lost(lost)

    sys.unraisablehook = hook
