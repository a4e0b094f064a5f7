"""How the server's log looks: for people, or a JSON object a line for machines."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

LEVELS = ("debug", "info", "warning", "error")
USUAL_LEVEL = {"text": "warning", "json": "info"}  # a terminal stays calm; machines get a line a request
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Text(logging.Formatter):
    """For people. No value of a message can forge a line: the lines after the first are indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Escape control characters, and indent lines."""
        lines = super().formatMessage(record).split("\n")
        return "\n  ".join(_printable(line.removeprefix("  ")) for line in lines)


class Lines(logging.Formatter):
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
    handler.setFormatter(Lines() if kind == "json" else Text(TEXT))
    logging.basicConfig(handlers=[handler], level=(level or USUAL_LEVEL[kind]).upper())


def _printable(line: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)
