"""The program `keras-transformer`, also `python -m keras_transformer`."""

import os

TYPE_CHECKING = False  # not from typing: a Ctrl-C during its import would print a traceback
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def _interrupted(number: int = 0, frame: "FrameType | None" = None) -> "NoReturn":
    """End the process at once: before a verb runs there is nothing to clean up."""
    try:
        os.write(2, b"keras-transformer: interrupted\n")
    finally:
        os._exit(130)


def command() -> "NoReturn":
    """Run the command line; from here on a Ctrl-C ends it with status 130."""
    try:
        import signal  # noqa: PLC0415 (inside the try: it takes time)

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupted)
        from keras_transformer import cli  # noqa: PLC0415

        cli.command()
    except KeyboardInterrupt:
        _interrupted()


if __name__ == "__main__":
    command()
