"""Optional libraries: which of them are installed, and what to do where one is missing."""

from collections.abc import Iterable
from importlib.util import find_spec


class LibraryError(RuntimeError):
    """A library that is not installed, and what to do."""


def installed(library: str) -> bool:
    """Return whether a library, or a module inside one, could be imported."""
    return find_spec(library.partition(".")[0]) is not None and find_spec(library) is not None


def check_installed(libraries: Iterable[str], purpose: str, extra: str, otherwise: str = "") -> None:
    """Check libraries before any of them is imported.

    Args:
        libraries: Their names.
        purpose: What needs them.
        extra: The extra of this package that has them.
        otherwise: What to do without them.

    Raises:
        LibraryError: Libraries are missing; all of them are named.
    """
    missing = [library for library in libraries if not installed(library)]
    if missing:
        raise LibraryError(
            f"{purpose} needs {' and '.join(missing)}, which this environment has not: "
            f"install the package from its clone with its extra `{extra}`{otherwise}"
        )
