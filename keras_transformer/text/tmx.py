"""Reading of TMX, the exchange format of translators: an XML stream to translation units, in constant memory.

The parser is the standard library's expat, fed chunk by chunk. Declarations of entities are refused, which
prevents the two attacks that XML allows (entity expansion, external entities). A DOCTYPE that names tmx14.dtd
is allowed and never fetched. defusedxml would add nothing to that, so it is not a dependency.

Text is what a translator reads: the code inside the inline tags `bpt`, `ept`, `it`, `ph`, `ut` (and the
footnote that a `sub` contains) is omitted, highlighted text (`hi`) is kept, and a line break (`<ph
type="lb">`) is a space.
"""

from collections.abc import Iterable, Iterator
from xml.parsers import expat

CODE_TAGS = frozenset({"bpt", "ept", "it", "ph", "ut"})


class TmxError(ValueError):
    """Error of a document that is not valid TMX; the message has the reason and the position."""


def translation_units(chunks: Iterable[bytes]) -> Iterator[dict[str, str]]:
    """Yield each `<tu>` as {language: text}, languages as in the file. UTF-8, UTF-16 or as declared."""
    document = _Document()
    for chunk in chunks:
        document.feed(chunk, final=False)
        yield from document.finished()
    document.feed(b"", final=True)
    yield from document.finished()


class _Document:
    """Collector of expat's events into units."""

    def __init__(self) -> None:
        self._units: list[dict[str, str]] = []
        self._unit: dict[str, str] = {}
        self._language = ""
        self._text: list[str] | None = None  # None outside of <seg>
        self._code_depth = 0
        self._root_seen = False
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._declared_entity
        self._parser.SkippedEntityHandler = self._unknown_entity

    def feed(self, chunk: bytes, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise TmxError(f"line {error.lineno}, column {error.offset + 1}: {reason}") from error
        except TmxError:
            raise
        except (LookupError, ValueError) as error:
            raise TmxError(f"{self._position()}: the declared encoding cannot be read ({error})") from error

    def finished(self) -> list[dict[str, str]]:
        units, self._units = self._units, []
        return units

    def _position(self) -> str:
        return f"line {self._parser.CurrentLineNumber}, column {self._parser.CurrentColumnNumber + 1}"

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._root_seen and tag != "tmx":
            raise TmxError(f"{self._position()}: the document is <{tag}>, not <tmx>")
        self._root_seen = True
        if self._text is not None:
            self._start_inline(tag, attributes)
        elif tag == "tu":
            self._unit = {}
        elif tag == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang", "")  # lang: TMX 1.1
        elif tag == "seg":
            self._text, self._code_depth = [], 0

    def _start_inline(self, tag: str, attributes: dict[str, str]) -> None:
        if self._code_depth or tag in CODE_TAGS:
            self._code_depth += 1
        if tag == "ph" and attributes.get("type") == "lb" and self._text is not None:
            self._text.append(" ")

    def _end(self, tag: str) -> None:
        if self._text is not None and tag == "seg":
            self._unit[self._language] = "".join(self._text)
            self._text = None
        elif self._code_depth:
            self._code_depth -= 1
        elif tag == "tu":
            self._units.append(self._unit)

    def _characters(self, data: str) -> None:
        if self._text is not None and not self._code_depth:
            self._text.append(data)

    def _declared_entity(self, name: str, *_declaration: object) -> None:
        raise TmxError(
            f"{self._position()}: the entity &{name}; is declared, and declarations of entities are refused "
            "because they can exhaust memory or read other files. Replace the entity by its text"
        )

    def _unknown_entity(self, name: str, _is_parameter_entity: bool) -> None:
        raise TmxError(f"{self._position()}: the entity &{name}; is not known. Replace it by its text")
