"""Conversion of parsed JSON to dataclasses: exactly their keys, each of its type.

Defaults of fields are ignored, except for fields that a dataclass lists in `optional`: every other key must
be present.
"""

import json
import math
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from keras_transformer.files import unique_keys

Record = TypeVar("Record")

_NOUNS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_SHOWN = 60  # characters of a wrong value

MAX_INT = 2**31 - 1  # largest whole number, which fits int32 and uint32
MAX_LARGE = 2**53 - 1  # largest other number: every JSON reader is exact up to it (RFC 8259, section 6)
MAX_TEXT = 100_000  # characters

#: A whole number that may exceed MAX_INT: bytes, parameters, sentence pairs.
Large = Annotated[int, MAX_LARGE]


class RecordError(ValueError):
    """Error of JSON that does not fit a dataclass, with a line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def parsed(content: bytes) -> Any:
    """Parse strict JSON: UTF-8 without lone surrogates, no duplicate key, no NaN.

    Args:
        content: Bytes of a file, or of a line.

    Returns:
        The parsed values.

    Raises:
        RecordError: If the content is not strict JSON.
    """
    try:
        values = json.loads(content.decode(), object_pairs_hook=unique_keys, parse_constant=_no_constant)
        if b"\\ud" in content.lower():  # an escaped surrogate; a lone one cannot be encoded
            json.dumps(values, ensure_ascii=False).encode()
        return values
    except RecursionError:
        raise RecordError(["it is nested too deeply"]) from None
    except ValueError as error:
        raise RecordError([f"it is not JSON: {error}"]) from error


def record(kind: type[Record], values: Any) -> Record:
    """Build a dataclass of texts, numbers, lists, objects, other dataclasses and None from parsed JSON.

    A whole number is from 0 to MAX_INT, or to MAX_LARGE for a `Large` field; any other number is from
    -MAX_LARGE to MAX_LARGE; a text has at most MAX_TEXT characters.

    Args:
        kind: The dataclass.
        values: The result of `parsed`.

    Returns:
        An instance of the dataclass.

    Raises:
        RecordError: With every key that is missing, unknown, or has a value that is not allowed.
    """
    problems: list[str] = []
    made = _read(kind, values, "", problems)
    if problems:
        raise RecordError(problems)
    return made


def shown(value: Any) -> str:
    """Return a value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _read(kind: Any, value: Any, path: str, problems: list[str]) -> Any:
    """Convert a value to `kind`. If that adds problems, the result must not be used."""
    origin, inside = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _fields(kind, value, path, problems)
    if origin is UnionType:
        (kind,) = (member for member in inside if member is not NoneType)
        return None if value is None else _read(kind, value, path, problems)
    if origin is dict:
        if _is(value, dict, "an object", path, problems):
            return {name: _read(inside[1], item, _at(path, name), problems) for name, item in value.items()}
        return None
    if origin is tuple:
        if _is(value, list, "a list", path, problems):
            items = enumerate(value)
            return tuple(_read(inside[0], item, f"{path}[{index}]", problems) for index, item in items)
        return None
    if origin is Annotated:
        return _plain(inside[0], value, path, problems, inside[1])
    return _plain(kind, value, path, problems)


def _plain(kind: Any, value: Any, path: str, problems: list[str], highest: int = MAX_INT) -> Any:
    """Convert a text, number or bool; `highest` is the largest whole number."""
    allowed = (int, float) if kind is float else (kind,)
    if type(value) not in allowed or (type(value) is float and not math.isfinite(value)):
        problems.append(f"{path} must be {_NOUNS[kind]}; got {shown(value)}")
    elif kind is str and len(value) > MAX_TEXT:
        problems.append(f"{path} must have at most {MAX_TEXT:,} characters; got {len(value):,}")
    elif kind in (int, float):
        low, high = (0, highest) if kind is int else (-MAX_LARGE, MAX_LARGE)
        if not low <= value <= high:
            problems.append(f"{path} must be {low} to {high}; got {shown(value)}")
    return value


def _fields(kind: Any, values: Any, path: str, problems: list[str]) -> Any:
    if not _is(values, dict, "an object", path, problems):
        return None
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind)]
    before = len(problems)
    optional = getattr(kind, "optional", ())
    missing = (name for name in names if name not in values and name not in optional)
    problems += [f"{_at(path, name)} is missing" for name in missing]
    problems += [f"{_at(path, name)} is not a known key" for name in values if name not in names]
    read = {
        name: _read(hints[name], values[name], _at(path, name), problems) for name in names if name in values
    }
    if len(problems) > before:
        return None
    try:
        return kind(**read)
    except RecordError as error:  # a dataclass' own rules, here and below
        problems += error.problems
    except ValueError as error:
        problems.append(f"{path or 'it'}: {error}")
    return None


def _is(value: Any, kind: type, noun: str, path: str, problems: list[str]) -> bool:
    if isinstance(value, kind):
        return True
    problems.append(f"{path or 'it'} must be {noun}; got {shown(value)}")
    return False


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
