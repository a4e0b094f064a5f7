"""The inference server: continuous batches over an exported version; and its clients.

Importing the package loads nothing: asking for a client does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serving.async_client import AsyncClient
    from serving.calls import Retries, TranslationError
    from serving.client import Client
    from serving.tls import Tls

__all__ = ["AsyncClient", "Client", "Retries", "Tls", "TranslationError"]

_HOMES = {
    "AsyncClient": "serving.async_client",
    "Client": "serving.client",
    "Retries": "serving.calls",
    "Tls": "serving.tls",
    "TranslationError": "serving.calls",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
