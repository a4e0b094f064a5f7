"""Options that several verbs have: files by their meanings, and numbers."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def add_files(group: Any, options: Mapping[str, str], metavar: str = "F", **settings: Any) -> None:
    """Add options that name a file.

    Args:
        group: The parser, or a group of it.
        options: What each of them means.
        metavar: What stands for the file in the help.
        **settings: Other settings that all of them have, as `nargs`.
    """
    for option, meaning in options.items():
        group.add_argument(option, type=Path, metavar=metavar, help=meaning, **settings)


def at_least_one(rule: str, maximum: int) -> Callable[[str], int]:
    """Return the type of an option that counts from 1 to `maximum`; its error text begins with the rule."""

    def number(text: str) -> int:
        if not text.isdecimal() or len(text) > len(str(maximum)) or not 1 <= int(text) <= maximum:
            raise argparse.ArgumentTypeError(f"{rule}, and at most {maximum:,}; got {text}")
        return int(text)

    return number
