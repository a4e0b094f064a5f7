"""MkDocs hook: render translation.proto and its comments as the reference of the protocol."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PROTO = Path(__file__).parents[2] / "serving" / "v1" / "translation.proto"
HEADINGS = {"service": "method", "message": "field", "enum": "value"}
INTRODUCTION = """# Protocol

The gRPC service, from [translation.proto](../../serving/v1/translation.proto). `grpc.health.v1` and
reflection are beside it. [Errors](errors.md) lists the status codes.

After a change of the file, `make proto` generates the Python modules again.
"""


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add reference/protocol.md."""
    page = INTRODUCTION + "\n".join(_sections(PROTO.read_text("utf-8").partition("\npackage ")[2]))
    files.append(File.generated(config, "reference/protocol.md", content=page))
    return files


def _sections(text: str) -> Iterator[str]:
    """Yield the lines of a section for each service, message and enumeration."""
    comment: list[str] = []
    for line in text.splitlines()[1:]:
        words = line.strip().rstrip(";{} ")
        if words.startswith("//"):
            comment.append(words.removeprefix("//").strip())
            continue
        kind, _, name = words.partition(" ")
        if kind in HEADINGS:
            yield f"\n## `{name}`\n\n{' '.join(comment)}\n"
            if not line.endswith("{}"):
                yield f"| {HEADINGS[kind]} | what it is |\n|---|---|"
        elif words and kind != "oneof":
            yield f"| `{words}` | {' '.join(comment)} |"
        comment = []
