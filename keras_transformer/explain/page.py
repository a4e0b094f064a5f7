"""The worked examples as one HTML page that needs nothing else: no network, no script, light and dark."""

import re
from collections.abc import Sequence
from html import escape

from keras_transformer import __version__
from keras_transformer.explain.content import Example, Picture, Step, Table
from keras_transformer.explain.folder import INDEX, MARK
from keras_transformer.explain.pictures import draw, png, svg

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #56657a; --paper: #f3f5f8; --card: #ffffff;
  --line: #dde3ea; --accent: #00507f; --tint: #eaf2f7; --note: #fff6e0; --note-line: #e0a100; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4eaf1; --soft: #9fb0c3; --paper: #10151b; --card: #182029; --line: #2c3844;
    --accent: #7cc0e6; --tint: #1d2b37; --note: #2c2716; --note-line: #c79a2a; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header, main, footer { max-width: 54rem; margin: 0 auto; padding: 0 1.1rem; }
header { padding-top: 3rem; padding-bottom: 1rem; }
h1 { font-size: clamp(1.9rem, 6vw, 2.8rem); line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 .8rem; }
header p { font-size: 1.1rem; color: var(--soft); max-width: 44rem; margin: 0; }
nav ol { list-style: none; padding: 0; margin: 1.6rem 0 0; display: flex; flex-wrap: wrap; gap: .5rem; }
nav a { display: block; padding: .3rem .8rem; border: 1px solid var(--line); border-radius: 2rem;
  background: var(--card); color: var(--ink); text-decoration: none; font-size: .9rem; }
nav a:hover, nav a:focus-visible { border-color: var(--accent); color: var(--accent); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 1rem;
  padding: 1.8rem clamp(1.1rem, 4vw, 2.4rem) 2rem; margin: 1.6rem 0; scroll-margin-top: 1rem; }
h2 { font-size: 1.55rem; line-height: 1.25; letter-spacing: -0.01em; margin: 0 0 .5rem; }
h2 span { color: var(--accent); margin-right: .4rem; }
.lead { color: var(--soft); margin: 0; }
ol.steps { list-style: none; padding: 0; margin: 0; }
ol.steps > li { border-top: 1px solid var(--line); margin-top: 1.4rem; padding-top: 1.3rem; }
ol.steps p { margin: 0 0 .8rem; }
.label { color: var(--accent); font-weight: 600; font-size: .85em; margin-right: .25rem; }
.formula { font: italic 1.12rem/1.7 "STIX Two Text", "Cambria Math", Cambria, Georgia, "DejaVu Serif", serif;
  background: var(--tint); border-radius: .5rem; padding: .45rem .9rem; overflow-x: auto; }
.formula sub, .formula sup { font-size: .72em; line-height: 0; }
.shown { display: flex; flex-wrap: wrap; gap: .9rem 2.5rem; align-items: flex-start; margin: 0 0 .9rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td { padding: .28rem .8rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
tr:last-child > * { border-bottom: 0; }
thead th { color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); }
tbody th { text-align: left; font-weight: 600; padding-left: 0; position: sticky; left: 0;
  background: var(--card); }
thead th:first-child { text-align: left; padding-left: 0; }
.hand { color: var(--soft); font-size: .95rem; }
.hand b { color: var(--accent); font-weight: 600; }
.note { background: var(--note); border-left: 3px solid var(--note-line); border-radius: 0 .5rem .5rem 0;
  padding: .6rem .9rem; font-size: .95rem; }
figure { margin: 0; min-width: 0; }
figure svg { max-width: 100%; height: auto; display: block; }
figure image { image-rendering: pixelated; }
details { border-top: 1px solid var(--line); margin-top: 1.4rem; padding-top: 1.1rem; }
summary { cursor: pointer; color: var(--accent); font-weight: 600; }
pre { background: var(--tint); border-radius: .5rem; padding: .9rem 1rem; overflow-x: auto; margin: .8rem 0 0;
  font: .87rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
footer { color: var(--soft); font-size: .9rem; padding-bottom: 3rem; }
@media (max-width: 34rem) {
  body { font-size: 16px; }
  header, main, footer { padding-left: .7rem; padding-right: .7rem; }
  table { font-size: .8rem; }
  .shown th, .shown td { padding-left: .28rem; padding-right: .28rem; } }
"""


def page_files(examples: Sequence[tuple[int, Example]]) -> dict[str, bytes]:
    """Numbered examples -> the page, and each picture as a PNG file too; by name, the page first."""
    pictures = [step.picture for _, example in examples for step in example.steps if step.picture]
    drawn = {f"{picture.name}.png": png(draw(picture)) for picture in pictures}
    return {INDEX: page(examples).encode(), **drawn}


def page(examples: Sequence[tuple[int, Example]]) -> str:
    """A whole HTML document of numbered examples, the pictures within."""
    links = "\n".join(
        f'<li><a href="#example-{number}">{number}. {escape(example.title)}</a></li>'
        for number, example in examples
    )
    sections = "\n".join(_section(example, number) for number, example in examples)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
{MARK}
<title>The Transformer, step by step</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>The Transformer, step by step</h1>
<p>Small examples that you can follow with a pencil. Every number below was computed by the same layers that
train and translate, so what you work out by hand is what the model does.</p>
<nav aria-label="Examples"><ol>
{links}
</ol></nav>
</header>
<main>
{sections}
</main>
<footer><p>Made by <code>keras-transformer walkthrough</code>, version {escape(__version__)}.</p></footer>
</body>
</html>
"""


def _section(example: Example, number: int) -> str:
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


def _step(step: Step, label: str) -> str:
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
