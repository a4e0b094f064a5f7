"""How the server's log looks: for people, or a JSON object a line for machines."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from keras_transformer.text.visible import visible_line

LEVELS = ("debug", "info", "warning", "error")
USUAL_LEVEL = {"text": "warning", "json": "info"}  # a terminal stays calm; machines get a line a request
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Text(logging.Formatter):
    """For people: a record is one line, and what follows it of an exception is indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return visible_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(f"  {visible_line(line)}" for line in super().formatException(ei).splitlines())


class JsonFormatter(logging.Formatter):
    """JSON. What a record has as `facts` become keys beside the usual ones."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
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


def configure(kind: str, level: str | None) -> None:
    """All of the process, to stderr; no level is the one that is usual for the kind."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if kind == "json" else Text(TEXT))
    logging.basicConfig(handlers=[handler], level=(level or USUAL_LEVEL[kind]).upper())
