"""How the server's log looks: for people, or a JSON object a line for machines."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

LEVELS = ("debug", "info", "warning", "error")
USUAL_LEVEL = {"text": "warning", "json": "info"}  # a terminal stays calm; machines get a line a request
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def printable(text: str) -> str:
    """The text with every character escaped that a terminal or a reader of lines could take for more."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )


class Text(logging.Formatter):
    """For people: a record is one line, and what follows it of an exception is indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(f"  {printable(line)}" for line in super().formatException(ei).splitlines())


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
