"""What is posted: bounded in size and time; JSON or, for LibreTranslate's clients, a form."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec
from aiohttp import web
from google.rpc.code_pb2 import Code

from serving.errors import InvalidError, RefusedError
from serving.intake import Intake
from serving.limits import Limits, check_name

MAX_BYTES = 2**20  # of a body: the parser holds the interpreter, and needs at most 15 ms for so many
MAX_FORM_BYTES = 2**18  # the same of a form, whose parser is slower
LARGE_FORM = 2**16  # bytes: to read so many takes less than a few milliseconds
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
FIELDS = ("q", "source", "target", "format", "model", "version")
UNUSED = ("api_key", "alternatives")  # LibreTranslate's clients send them; they change nothing here
MOST_VERSION = 2**64 - 1
UNKNOWN = f"it has fields that are unknown; there are {', '.join(FIELDS)}"
EXPECTED = {"q": "it must be a string, or a list of such", "version": "it must be a number from 0"}


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


class _Fields(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON body: its shape is checked while it is parsed, so that the first wrong value ends it."""

    q: str | list[str] | msgspec.UnsetType = msgspec.UNSET
    source: str = ""
    target: str = ""
    format: str = ""
    model: str = ""
    version: int | str = 0
    api_key: msgspec.Raw = msgspec.Raw()
    alternatives: msgspec.Raw = msgspec.Raw()


_DECODER = msgspec.json.Decoder(_Fields)
_WRONG_FIELD = re.compile(r"`\$\.(\w+)")  # in the decoder's message


async def body(request: web.Request, kinds: tuple[str, ...], intake: Intake) -> bytes:
    """Read all of a body, under the bounds of the intake."""
    if request.content_type not in kinds:
        said = f"the body must be {' or '.join(kinds)}, and its Content-Type must say so"
        raise web.HTTPUnsupportedMediaType(text=said)
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise web.HTTPUnsupportedMediaType(text="the body must not be compressed")
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
        text = f"the body has more than the {max_size:,} bytes that are taken: divide it"
        raise web.HTTPRequestEntityTooLarge(max_size=max_size, text=text) from None


async def asking(content: bytes, kind: str, limits: Limits) -> Asking:
    """What it asks for, or an InvalidError that names the field."""
    if kind == JSON or len(content) <= LARGE_FORM:
        return _asking(content, kind, limits)
    return await asyncio.to_thread(_asking, content, kind, limits)  # others have their turn meanwhile


def _asking(content: bytes, kind: str, limits: Limits) -> Asking:
    fields = _of_json(content) if kind == JSON else _of_form(content, limits.segments)
    if not {*FIELDS, *UNUSED}.issuperset(fields):
        raise InvalidError("body", UNKNOWN)
    if "q" not in fields:
        raise InvalidError("q", "it is missing: the text to translate")
    if _word(fields, "format") not in ("", "text"):
        raise InvalidError("format", 'it must be "text": html is not translated')
    q = fields["q"]
    if isinstance(q, list):
        limits.check_segments(len(q))  # before each of them is looked at
    source, target = (_language(fields, name) for name in ("source", "target"))
    return Asking(
        q if isinstance(q, list) else [q],
        isinstance(q, list),
        "" if source == "auto" else source,
        target,
        _word(fields, "model"),
        _number(fields.get("version", 0)),
    )


def _of_json(content: bytes) -> Mapping[str, Any]:
    try:
        fields = _DECODER.decode(content)
    except msgspec.ValidationError as error:
        field = _WRONG_FIELD.search(str(error))
        if field is None:
            unknown = "unknown field" in str(error)
            raise InvalidError("body", UNKNOWN if unknown else "it must be a JSON object") from None
        raise InvalidError(field[1], EXPECTED.get(field[1], "it must be a string")) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidError("body", "it is not JSON of valid Unicode") from None
    return {name: value for name in FIELDS if (value := getattr(fields, name)) is not msgspec.UNSET}


def _of_form(content: bytes, segments: int) -> Mapping[str, Any]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InvalidError("body", "it must be UTF-8") from None
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
    word = fields.get(name, "")
    if not isinstance(word, str):  # a form that has it twice
        raise InvalidError(name, "it must be a string")
    return word


def _language(fields: Mapping[str, Any], name: str) -> str:
    code = _word(fields, name)
    check_name(name, code, "a language's code")
    return code


def _number(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_VERSION:
        raise InvalidError("version", "it must be a number from 0")
    return value
