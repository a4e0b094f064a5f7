"""The worked examples as one HTML page that needs nothing else: no network, no script, light and dark."""

import re
from collections.abc import Sequence
from html import escape

from keras_transformer.viz.document import document
from keras_transformer.viz.folder import INDEX
from keras_transformer.viz.pictures import draw, png, svg
from keras_transformer.viz.walkthrough.content import ExampleStep, Picture, Table, WorkedExample


def page_files(examples: Sequence[tuple[int, WorkedExample]]) -> dict[str, bytes]:
    """Numbered examples -> the page, and each picture as a PNG file too; by name, the page first."""
    pictures = [step.picture for _, example in examples for step in example.steps if step.picture]
    drawn = {f"{picture.name}.png": png(draw(picture)) for picture in pictures}
    return {INDEX: page(examples).encode(), **drawn}


def page(examples: Sequence[tuple[int, WorkedExample]]) -> str:
    """A whole HTML document of numbered examples, the pictures within."""
    links = "\n".join(
        f'<li><a href="#example-{number}">{number}. {escape(example.title)}</a></li>'
        for number, example in examples
    )
    sections = "\n".join(_section(example, number) for number, example in examples)
    body = f"""<header>
<h1>The Transformer, step by step</h1>
<p>Small examples that you can follow with a pencil. Every number below was computed by the same layers that
train and translate, so what you work out by hand is what the model does.</p>
<nav aria-label="Examples"><ol>
{links}
</ol></nav>
</header>
<main>
{sections}
</main>"""
    return document("The Transformer, step by step", body, "walkthrough")


def _section(example: WorkedExample, number: int) -> str:
    steps = "\n".join(
        f"<li>{_step(step, f'{number}.{index}')}</li>" for index, step in enumerate(example.steps, 1)
    )
    return f"""<section id="example-{number}">
<h2><span>{number}</span>{escape(example.title)}</h2>
<p class="lead">{escape(example.explanation)}</p>
<ol class="steps">
{steps}
</ol>
<details><summary>In Python</summary><pre><code>{escape(example.code)}</code></pre></details>
</section>"""


def _step(step: ExampleStep, label: str) -> str:
    parts = [f'<p><span class="label">{label}</span> {_formula(step.caption)}</p>']
    if step.formula:
        parts.append(f'<p class="formula">{_formula(step.formula)}</p>')
    shown = [_table(step.table)] if step.table else []
    if step.picture:
        shown.append(_figure(step.picture))
    if shown:
        parts.append(f'<div class="shown">{"".join(shown)}</div>')
    if step.by_hand:
        parts.append(f'<p class="hand"><b>By hand</b> {_formula(step.by_hand)}</p>')
    if step.remark:
        parts.append(f'<p class="note">{_formula(step.remark)}</p>')
    return "\n".join(parts)


def _figure(picture: Picture) -> str:
    drawing = svg(draw(picture), picture.name)
    return f'<figure role="img" aria-label="{escape(picture.title)}">{drawing}</figure>'


def _formula(text: str) -> str:
    """The text with _x, ^x, _(...) and ^(...) set as indices and exponents."""
    tags = {"_": "sub", "^": "sup"}

    def raised(found: re.Match[str]) -> str:
        tag = tags[found[1]]
        return f"<{tag}>{found[2] or found[3]}</{tag}>"

    text = text.replace(",  ", ",\u2003")  # an em space between two formulas in one line
    return re.sub(r"([_^])(?:\(([^()]*)\)|(-?[^\W_]+(?:\.\d+)?))", raised, escape(text))


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, cells in zip(table.rows, table.texts(), strict=True)
    )
    return f"""<div class="scroll" tabindex="0"><table>
<thead><tr><th>{escape(table.corner)}</th>{head}</tr></thead>
<tbody>
{body}
</tbody></table></div>"""
