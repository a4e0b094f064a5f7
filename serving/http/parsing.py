"""Parsing of request bodies within limits of size and time: JSON or, for LibreTranslate's clients, a form."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec
from aiohttp import web
from google.rpc.code_pb2 import Code

from serving.api.intake import Intake
from serving.errors import InvalidError, RefusedError
from serving.limits import Limits, check_name

MAX_BYTES = 2**20  # of a JSON body, which the parser needs at most 15 ms for, without releasing the GIL
MAX_FORM_BYTES = 2**18  # of a form, whose parser is slower
LARGE_FORM = 2**16  # bytes of a form that are parsed within a few milliseconds
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
FLAGS = ("alternatives_at_prefix", "scores")
SEARCH = ("beam", "alternatives", "length_penalty", "prefix", "no_repeat_ngram", "loop_guard", *FLAGS)
FIELDS = ("q", "source", "target", "format", "model", "version", *SEARCH)
UNUSED = ("api_key",)  # LibreTranslate's clients send it; it changes nothing here
COUNTS = ("beam", "alternatives", "no_repeat_ngram")
MAX_COUNT = 2**32 - 1
MAX_VERSION = 2**64 - 1
UNKNOWN = f"body has an unknown field; the fields are {', '.join(FIELDS)}"
EXPECTED = {
    "q": "a string, or a list of strings",
    "version": f"a whole number from 0 to {MAX_VERSION}",
    "length_penalty": "a number",
    **dict.fromkeys(("loop_guard", *FLAGS), "true or false"),
    **dict.fromkeys(COUNTS, f"a whole number from 0 to {MAX_COUNT}"),
}


@dataclass(frozen=True)
class TextRequest:
    """Texts to translate, with optional languages and model.

    Attributes:
        texts: The texts.
        several: Whether they came as a list.
        source: Code of the source language; "" for any.
        target: Code of the target language; "" for any.
        model: Name of the model; "" for any.
        version: Number of the version; 0 for the default.
        search: Fields of wire.Options that are not the default.
    """

    texts: list[str]
    several: bool
    source: str
    target: str
    model: str
    version: int
    search: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The only text.

        Raises:
            InvalidError: If the texts came as a list.
        """
        if self.several:
            raise InvalidError("q", "q must be a string here; got a list")
        return self.texts[0]


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    """Fields of a body. JSON is checked while it is parsed, so parsing ends at the first wrong value."""

    q: str | list[str] | msgspec.UnsetType = msgspec.UNSET
    source: str = ""
    target: str = ""
    format: str = ""
    model: str = ""
    version: int | str = 0
    api_key: msgspec.Raw = msgspec.Raw()
    beam: int | str = 0
    alternatives: int | str = 0
    length_penalty: float | str | None = None
    prefix: str = ""
    no_repeat_ngram: int | str = 0
    alternatives_at_prefix: bool | str = False
    scores: bool | str = False
    loop_guard: bool | str = True


_DECODER = msgspec.json.Decoder(_Fields)
_WRONG_FIELD = re.compile(r"`\$\.(\w+)")  # in the decoder's message


async def read_body(request: web.Request, kinds: tuple[str, ...], intake: Intake) -> bytes:
    """Read a body within the limits of the intake.

    Args:
        request: The request.
        kinds: Allowed content types.
        intake: Limits of the bodies that arrive at the same time.

    Raises:
        web.HTTPException: If the body has another type, or is compressed, too large or too slow.
        RefusedError: If too many messages arrive.
    """
    if request.content_type not in kinds:
        raise web.HTTPUnsupportedMediaType(text=f"Content-Type must be {' or '.join(kinds)}")
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise web.HTTPUnsupportedMediaType(text="Content-Encoding must be identity: no compression")
    max_size = min(request.client_max_size, MAX_FORM_BYTES if request.content_type == FORM else MAX_BYTES)
    peer = str(request.transport.get_extra_info("peername")) if request.transport else ""
    try:
        if (request.content_length or 0) > max_size:
            raise web.HTTPRequestEntityTooLarge(max_size=max_size)
        async with intake.arriving(peer):
            return await request.clone(client_max_size=max_size).read()
    except RefusedError as error:
        if error.refusal.code != Code.DEADLINE_EXCEEDED:
            raise
        raise web.HTTPRequestTimeout(text=error.refusal.message) from None
    except web.HTTPRequestEntityTooLarge:
        text = f"the body is too large; the limit is {max_size:,} bytes. Split it into several requests."
        raise web.HTTPRequestEntityTooLarge(max_size=max_size, text=text) from None


async def parse(content: bytes, kind: str, limits: Limits) -> TextRequest:
    """Parse a body.

    Args:
        content: The body.
        kind: Its content type.
        limits: Limits of a request.

    Raises:
        InvalidError: If the body is malformed, or a field is missing or invalid.
    """
    if kind == JSON or len(content) <= LARGE_FORM:
        return _parse(content, kind, limits)
    return await asyncio.to_thread(_parse, content, kind, limits)  # does not block other requests


def _parse(content: bytes, kind: str, limits: Limits) -> TextRequest:
    fields = _fields(content, kind, limits)
    if fields.q is msgspec.UNSET:
        raise InvalidError("q", "q is missing; send the text to translate")
    if fields.format not in ("", "text"):
        raise InvalidError("format", 'format must be "text"; HTML is not supported')
    several = isinstance(fields.q, list)
    texts = fields.q if isinstance(fields.q, list) else [fields.q]
    if several:
        limits.check_segments(len(texts))
    for name, code in (("source", fields.source), ("target", fields.target)):
        check_name(name, code, "the code of a language")
    source = "" if fields.source == "auto" else fields.source
    version = _number("version", fields.version, MAX_VERSION)
    return TextRequest(texts, several, source, fields.target, fields.model, version, _search(fields))


def _search(fields: _Fields) -> Mapping[str, Any]:
    """Return the fields of wire.Options that are not the default."""
    search: dict[str, Any] = {"prefix": fields.prefix} if fields.prefix else {}
    for name in COUNTS:
        if number := _number(name, getattr(fields, name), MAX_COUNT):
            search[name] = number
    for name in FLAGS:
        if _flag(name, getattr(fields, name)):
            search[name] = True
    if fields.length_penalty is not None:
        try:
            search["length_penalty"] = float(fields.length_penalty)
        except ValueError:
            raise _unexpected("length_penalty") from None
    if not _flag("loop_guard", fields.loop_guard):
        search["loop_guard"] = False
    return search


def _fields(content: bytes, kind: str, limits: Limits) -> _Fields:
    try:
        if kind == JSON:
            return _DECODER.decode(content)
        return msgspec.convert(_parse_form(content, limits.segments), _Fields)
    except msgspec.ValidationError as error:
        match = _WRONG_FIELD.search(str(error))
        if match is None:
            unknown = "unknown field" in str(error)
            raise InvalidError("body", UNKNOWN if unknown else "body must be a JSON object") from None
        raise _unexpected(match[1]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidError("body", "body must be JSON in UTF-8") from None


def _parse_form(content: bytes, segments: int) -> Mapping[str, Any]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InvalidError("body", "body must be UTF-8") from None
    max_fields = segments + len({*FIELDS, *UNUSED} - {"q"})
    try:
        fields = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=max_fields)
    except UnicodeDecodeError:
        raise InvalidError("body", "the fields of the body must be UTF-8") from None
    except ValueError:
        raise InvalidError(
            "body",
            f"body has {text.count('&') + 1:,} fields; the limit is {max_fields:,}, {segments:,} of them q. "
            "Send several batches.",
        ) from None
    known = {name: values for name, values in fields.items() if name not in UNUSED}
    return {name: values if len(values) > 1 else values[0] for name, values in known.items()}


def _number(name: str, value: object, maximum: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        raise _unexpected(name)
    return value


def _flag(name: str, value: bool | str) -> bool:
    if value not in (True, False, "true", "false"):
        raise _unexpected(name)
    return value in (True, "true")


def _unexpected(name: str) -> InvalidError:
    """Return the error of a field with a wrong type."""
    return InvalidError(name, f"{name} must be {EXPECTED.get(name, 'a string')}")
