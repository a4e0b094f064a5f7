"""A line of the log for each request that is over: who answered, how, and how long it took."""

import logging
from typing import Any

from google.rpc.code_pb2 import Code

from serving.api.context import CallContext

_logger = logging.getLogger(__name__)


def log(visit: CallContext) -> None:
    """At INFO. The text and what was made of it are never in it."""
    if not _logger.isEnabledFor(logging.INFO):
        return
    facts: dict[str, Any] = {
        "method": visit.method,
        "protocol": visit.protocol,
        "code": Code.Name(visit.code),
        "ms": _milliseconds(visit.seconds),
    }
    if visit.model is not None:
        facts |= {"model": visit.model.name, "version": visit.model.version}
        facts |= {"source_tokens": visit.source_tokens, "target_tokens": visit.target_tokens}
    if visit.waited is not None:
        facts["queue_ms"] = _milliseconds(visit.waited)
    if visit.trace_id:
        facts["trace_id"] = visit.trace_id
    _logger.info(" ".join(f"{name}={value}" for name, value in facts.items()), extra={"facts": facts})


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
