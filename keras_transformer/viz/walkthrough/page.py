"""The worked examples as one HTML page, with their pictures inside."""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from keras_transformer.viz.document import render
from keras_transformer.viz.folder import INDEX
from keras_transformer.viz.pictures import draw, png, svg
from keras_transformer.viz.walkthrough.content import Picture, WorkedExample


def page_files(examples: Sequence[tuple[int, WorkedExample]]) -> dict[str, bytes]:
    """Return the page of numbered examples, and each picture as a PNG file too; by name, the page first."""
    pictures = [step.picture for _, example in examples for step in example.steps if step.picture]
    drawn = {f"{picture.name}.png": png(draw(picture)) for picture in pictures}
    return {INDEX: page(examples).encode(), **drawn}


def page(examples: Sequence[tuple[int, WorkedExample]]) -> str:
    """Render numbered examples, with their pictures, as a whole HTML document."""
    return render(
        "walkthrough.html",
        ("web/walkthrough.css",),
        "web/walkthrough.js",
        examples=examples,
        formula=_formula,
        drawing=_drawing,
    )


def _drawing(picture: Picture) -> Markup:
    return Markup(svg(draw(picture), picture.name))


def _formula(text: str) -> Markup:
    """Set _x, ^x, _(...) and ^(...) as indices and exponents."""
    tags = {"_": "sub", "^": "sup"}

    def raised(found: re.Match[str]) -> str:
        tag = tags[found[1]]
        return f"<{tag}>{found[2] or found[3]}</{tag}>"

    text = str(escape(text)).replace(",  ", ",\u2003")  # an em space between two formulas in one line
    return Markup(re.sub(r"([_^])(?:\(([^()]*)\)|(-?[^\W_]+(?:\.\d+)?))", raised, text))
