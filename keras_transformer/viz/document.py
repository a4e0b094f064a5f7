"""Rendering of HTML pages that need no network: each is one file with its styles and its script.

Templates are in `templates/`, styles and scripts in `web/`, and in `viewer/` if the page of the server uses
them too.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from keras_transformer import __version__

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
# Invisible controls become signs; lone surrogates, which UTF-8 cannot encode, become U+FFFD.
_SIGNS = {code: 0x2400 + code for code in range(0x20) if chr(code) != "\t"}
_SIGNS |= {0x7F: 0x2421, **dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], 0xFFFD)}


def render(template: str, styles: tuple[str, ...], script: str = "", **values: Any) -> str:
    """Render a page from a template.

    Texts are escaped, their control characters are shown as signs, and the page's policy allows no script but
    its own.

    Args:
        template: Name of a file in `templates/`.
        styles: Style sheets, relative to this package, besides those of every page.
        script: A JavaScript module, relative to this package, or "".
        values: Variables of the template.
    """
    code = bundled(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    sheets = ("viewer/base.css", "web/page.css", *styles)
    return _ENVIRONMENT.get_template(template).render(
        version=__version__,
        style=Markup("".join((_HERE / name).read_text("utf-8") for name in sheets)),
        script=Markup(code),
        script_source=Markup(f"'sha256-{digest}'" if code else "'none'"),
        **values,
    )


def bundled(script: str) -> str:
    """Join a module and all modules that it imports into one, dependencies first.

    An import has one form: `import {NAME, ...} from "./PATH";` at the beginning of a line.
    """
    texts: dict[Path, str] = {}

    def add(path: Path) -> None:
        if path not in texts:
            text = path.read_text("utf-8")
            for name in _IMPORT.findall(text):
                add((path.parent / name).resolve())
            texts[path] = _IMPORT.sub("", text)

    add((_HERE / script).resolve())
    return "".join(texts.values())


def printable(text: str) -> str:
    """Replace each control character, which a page would hide or refuse, with a sign."""
    return text.translate(_SIGNS)


_ENVIRONMENT = Environment(
    loader=PackageLoader("keras_transformer.viz"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: printable(value) if type(value) is str else value,
)
