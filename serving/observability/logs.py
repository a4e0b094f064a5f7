"""Formats of the server's log: text for people, or one JSON object per line for machines."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from keras_transformer.text.visible import visible_line

DEFAULT_LEVEL = {"text": "warning", "json": "info"}  # info has a line for each request
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Text(logging.Formatter):
    """Text format: a record is one line, and an exception is indented below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """Return the line of a record, without control characters."""
        return visible_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return an exception as indented lines."""
        return "\n".join(f"  {visible_line(line)}" for line in super().formatException(ei).splitlines())


class JsonFormatter(logging.Formatter):
    """JSON format, with the `facts` of a record as keys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        facts = getattr(record, "facts", None)
        line |= {"message": record.getMessage()} if facts is None else facts
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class WithoutMetadata(logging.Filter):
    """Filter for gRPC's record of metadata that is not ASCII, which may contain a token."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is logged."""
        return not str(record.msg).startswith("Invalid encoding")


def configure(kind: str, level: str | None) -> None:
    """Send the log of the process to stderr.

    Args:
        kind: "text" or "json".
        level: Lowest level; None for the default of the kind.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if kind == "json" else Text(TEXT))
    logging.getLogger("grpc._cython.cygrpc").addFilter(WithoutMetadata())
    logging.basicConfig(handlers=[handler], level=(level or DEFAULT_LEVEL[kind]).upper())
