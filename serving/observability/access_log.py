"""Access log: a line for each call that is over, with version, status and time."""

import logging
from typing import Any

from google.rpc.code_pb2 import Code

from serving.api.context import CallContext

_logger = logging.getLogger("serving.access")  # users filter by this name


def log(call: CallContext) -> None:
    """Log a call at INFO, without its text and its translation."""
    if not _logger.isEnabledFor(logging.INFO):
        return
    facts: dict[str, Any] = {
        "method": call.method,
        "protocol": call.protocol,
        "code": Code.Name(call.code),
        "ms": _milliseconds(call.seconds),
    }
    if call.model is not None:
        facts |= {"model": call.model.name, "version": call.model.version}
        facts |= {"source_tokens": call.source_tokens, "target_tokens": call.target_tokens}
    if call.queue_seconds is not None:
        facts["queue_ms"] = _milliseconds(call.queue_seconds)
    if call.trace_id:
        facts["trace_id"] = call.trace_id
    _logger.info(" ".join(f"{name}={value}" for name, value in facts.items()), extra={"facts": facts})


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
