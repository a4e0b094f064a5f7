"""What is posted: bounded in size and time; JSON or, for LibreTranslate's clients, a form."""

import asyncio
import gc
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from serving.api.errors import InvalidError
from serving.api.limits import Limits, check_name

SECONDS = 10.0  # in which a body has to be there
LARGE = 2**16  # bytes: to read so many takes less than a few milliseconds
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
FIELDS = ("q", "source", "target", "format", "model", "version")
UNUSED = ("api_key", "alternatives")  # LibreTranslate's clients send them; they change nothing here
MOST_VERSION = 2**64 - 1


@dataclass(frozen=True)
class Asking:
    """Texts to translate, from and to which language, and by whom; empty: not said."""

    texts: list[str]
    several: bool  # whether they came as a list
    source: str
    target: str
    model: str
    version: int

    @property
    def text(self) -> str:
        """Where there can be but one."""
        if self.several:
            raise InvalidError("q", "one text is taken here, and no list")
        return self.texts[0]


async def body(request: web.Request, kinds: tuple[str, ...]) -> bytes:
    """All of it."""
    if request.content_type not in kinds:
        said = f"the body must be {' or '.join(kinds)}, and its Content-Type must say so"
        raise web.HTTPUnsupportedMediaType(text=said)
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise web.HTTPUnsupportedMediaType(text="the body must not be compressed")
    try:
        async with asyncio.timeout(SECONDS):
            return await request.read()
    except TimeoutError:
        said = f"the body was not there within {SECONDS:g} s"
        raise web.HTTPRequestTimeout(text=said, headers={"Connection": "close"}) from None
    except web.HTTPRequestEntityTooLarge:
        raise web.HTTPRequestEntityTooLarge(
            max_size=request.client_max_size,
            text=f"the body has more than the {request.client_max_size:,} bytes that are taken: divide it",
        ) from None


async def asking(content: bytes, kind: str, limits: Limits) -> Asking:
    """What it asks for, or an InvalidError that names the field."""
    if len(content) <= LARGE:
        return _asking(content, kind, limits)
    # others have their turn meanwhile, except where json's own code keeps the interpreter to itself
    return await asyncio.to_thread(_asking, content, kind, limits)


def _asking(content: bytes, kind: str, limits: Limits) -> Asking:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InvalidError("body", "it must be UTF-8") from None
    fields = _of_json(text) if kind == JSON else _of_form(text, limits.segments)
    unknown = sorted(set(fields) - {*FIELDS, *UNUSED})
    if unknown:
        raise InvalidError("body", f"it has fields that are unknown; there are {', '.join(FIELDS)}")
    if "q" not in fields:
        raise InvalidError("q", "it is missing: the text to translate")
    if _word(fields, "format") not in ("", "text"):
        raise InvalidError("format", 'it must be "text": html is not translated')
    q = fields["q"]
    if isinstance(q, list):
        limits.check_segments(len(q))  # before each of them is looked at
    source, target = (_language(fields, name) for name in ("source", "target"))
    return Asking(
        [_text("q", each) for each in q] if isinstance(q, list) else [_text("q", q)],
        isinstance(q, list),
        "" if source == "auto" else source,
        target,
        _word(fields, "model"),
        _number(fields.get("version", 0)),
    )


def _of_json(text: str) -> Mapping[str, Any]:
    gc.disable()  # of a million small lists it makes a wait five times as long, and nobody else has a turn
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidError("body", "it is not JSON") from None
    finally:
        gc.enable()
    if not isinstance(fields, dict):
        raise InvalidError("body", "it must be a JSON object")
    return fields


def _of_form(text: str, segments: int) -> Mapping[str, Any]:
    most = segments + len({*FIELDS, *UNUSED} - {"q"})
    try:
        found = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=most)
    except UnicodeDecodeError:
        raise InvalidError("body", "its fields must be UTF-8") from None
    except ValueError:
        raise InvalidError(
            "body",
            f"it has {text.count('&') + 1:,} fields, and {most:,} are taken, {segments:,} of them q: "
            "send several batches",
        ) from None
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _word(fields: Mapping[str, Any], name: str) -> str:
    return _text(name, fields.get(name, ""))


def _language(fields: Mapping[str, Any], name: str) -> str:
    code = _word(fields, name)
    check_name(name, code, "a language's code")
    return code


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        more = ", or a list of such" if name == "q" else ""
        raise InvalidError(name, f"it must be a string{more}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidError(name, "it has half of a surrogate pair, which is no text") from None
    return value


def _number(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_VERSION:
        raise InvalidError("version", "it must be a number from 0")
    return value
