"""Checks that libraries are installed, with the remedy if one is missing."""

from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec

from keras_transformer import __version__


class LibraryError(RuntimeError):
    """Error of a library that is not installed, with the remedy."""


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
            f"{purpose} needs {' and '.join(missing)}, not installed in this environment: "
            f"install the package from its clone with its extra `{extra}`{otherwise}"
        )


def versions_of(libraries: Iterable[str]) -> dict[str, str]:
    """Return the versions of this package and of those libraries that are installed."""
    found = _versions()
    return {"keras_transformer": __version__, **{name: found[name] for name in libraries if name in found}}


@cache
def _versions() -> dict[str, str]:
    """Return the versions of all that is installed; to read them takes a tenth of a second."""
    from importlib.metadata import distributions  # noqa: PLC0415 (it takes milliseconds)

    return {distribution.name.lower(): distribution.version for distribution in distributions()}
