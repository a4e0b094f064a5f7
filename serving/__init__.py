"""The inference server for exported versions, with continuous batching; and its clients.

Importing the package loads nothing; accessing a client does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serving.client.asynchronous import AsyncClient
    from serving.client.blocking import Client
    from serving.client.calls import Retries, TranslationError
    from serving.client.tls import Tls

__all__ = ["AsyncClient", "Client", "Retries", "Tls", "TranslationError"]

_HOMES = {
    "AsyncClient": "serving.client.asynchronous",
    "Client": "serving.client.blocking",
    "Retries": "serving.client.calls",
    "Tls": "serving.client.tls",
    "TranslationError": "serving.client.calls",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
