"""The heads of a model on one HTML page: choose a kind, a layer and a head, and see who looks at what.

The page needs no network. It holds every weight, so that it grows with layers x heads x tokens squared: 20 kB
for a sentence of the smallest model, some MB for a hundred tokens.
"""

import base64
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.viz.attention_script import SCRIPT
from keras_transformer.viz.document import document, embedded, escaped, seen
from keras_transformer.viz.heads import Choice, Heads
from keras_transformer.viz.pictures import STEPS

#: A weight is stored as a multiple of 1/65535, in two bytes.
WHOLE = 65535

ABOUT = {
    "input-input": "The encoder reads: each token of the text looks at the tokens around it.",
    "output-output": "The decoder looks back at what it has read of the translation so far. What comes later "
    "is hidden from it: everything right of the diagonal is 0.",
    "input-output": "The decoder looks into the text. A row is the token that it is about to say.",
}

_DARK = ("#1e2a35", *reversed(STEPS[:-1]))
_STYLE = (
    f"""
:root {{ --ramp: {", ".join(STEPS)}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ramp: {", ".join(_DARK)}; }} }}
"""
    + """
header, main, footer { max-width: 88rem; }
header { padding-top: 2rem; padding-bottom: 1.2rem; }
h1 { font-size: clamp(1.6rem, 4vw, 2.1rem); margin-bottom: .7rem; }
h2 { font-size: 1.1rem; letter-spacing: 0; margin: 0 0 .6rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .6rem 2rem;
  margin: 0; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-size: 1.1rem; line-height: 1.45; overflow-wrap: anywhere; max-height: 6em;
  overflow-y: auto; }
header .note { margin: .8rem 0 0; color: var(--ink); max-width: none; font-size: .95rem; }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
main[hidden] { display: none; }
section { margin: 0; padding: 1rem 1.2rem 1.2rem; min-width: 0; }
@media (min-width: 64rem) {
  main { grid-template-columns: 25rem minmax(0, 1fr); }
  .choice { grid-column: 1 / -1; }
  .map { grid-column: 2; grid-row: 2 / span 2; position: sticky; top: 1rem; } }
.choice { display: flex; flex-wrap: wrap; gap: .6rem 2rem; align-items: center; }
.choice p { flex-basis: 100%; margin: 0; font-size: .95rem; color: var(--soft); }
fieldset { border: 0; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .35rem;
  align-items: center; }
legend { float: left; padding: 0; margin-right: .6rem; font-size: .9rem; color: var(--soft); }
fieldset label { position: relative; cursor: pointer; }
fieldset input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
fieldset span { display: block; min-width: 2.1rem; text-align: center; padding: .2rem .65rem;
  border: 1px solid var(--line); border-radius: 2rem; font-size: .9rem; }
fieldset input:hover + span { border-color: var(--accent); }
fieldset input:checked + span { background: var(--accent); border-color: var(--accent); color: var(--card);
  font-weight: 600; }
:focus-visible, fieldset input:focus-visible + span { outline: 3px solid var(--note-line);
  outline-offset: 2px; }
kbd { font: inherit; font-size: .85em; border: 1px solid var(--line); border-bottom-width: 2px;
  border-radius: .3rem; padding: 0 .35em; white-space: nowrap; color: var(--ink); }
#birds { display: grid; grid-template-columns: auto repeat(var(--heads), minmax(2rem, 1fr)); gap: .3rem;
  max-width: calc(1.5rem + var(--heads) * 5.6rem); overflow-x: auto; padding: 4px; margin: -4px; }
#birds span { color: var(--soft); font-size: .8rem; align-self: center; justify-self: center;
  font-variant-numeric: tabular-nums; }
#birds button { display: block; min-width: 0; padding: 2px; margin: 0; border: 2px solid transparent;
  border-radius: .4rem; background: none; cursor: pointer; }
#birds button:hover { border-color: var(--soft); }
#birds button[aria-pressed=true] { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
canvas { display: block; width: 100%; aspect-ratio: 1; border-radius: .15rem; image-rendering: pixelated; }
.fine canvas { image-rendering: auto; }
.hint { color: var(--soft); font-size: .85rem; margin: .7rem 0 0; line-height: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; align-items: center; color: var(--soft);
  font-size: .85rem; margin: 0 0 .7rem; font-variant-numeric: tabular-nums; }
.legend input { accent-color: var(--accent); vertical-align: middle; margin: 0 .2rem 0 0; }
.legend i { display: inline-block; margin: 0 .3rem; width: 9rem; height: .7rem; border-radius: .2rem;
  background: linear-gradient(90deg, var(--ramp)); }
#scrolled { overflow: auto; max-height: max(24rem, calc(100vh - 9rem)); }
#map { border-collapse: separate; border-spacing: 2px; font-size: .78rem; line-height: 1; }
#map th, #map td { border: 0; padding: 0; text-align: center; }
#map td { forced-color-adjust: none; border-radius: 2px; cursor: default; }
#map.numbers td { width: 2.75rem; min-width: 2.75rem; height: 1.8rem; }
#map.squares { border-spacing: 1px; }
#map.squares td { width: 1.45rem; min-width: 1.45rem; height: 1.45rem; }
#map.dots { border-spacing: 0; font-size: .66rem; }
#map.dots td { width: .75rem; min-width: .75rem; height: .75rem; border-radius: 0; }
#map tbody td:focus-visible, #map tbody td:hover { outline: 2px solid var(--note-line); outline-offset: 0; }
#map thead th { position: sticky; top: 0; z-index: 2; background: var(--card); color: var(--ink);
  font-weight: 500; vertical-align: bottom; padding: .2rem 0 .3rem; }
#map thead span { writing-mode: vertical-rl; transform: rotate(180deg); display: inline-block;
  max-height: 9rem; overflow: hidden; line-height: 1.4; }
#map tbody th { z-index: 1; text-align: right; padding: 0 .5rem 0 .2rem; font-weight: 500; }
#map tbody th span { display: inline-block; max-width: 9rem; overflow: hidden; vertical-align: middle;
  line-height: 1.4; }
#map.dots th span { line-height: .75rem; }
#map .corner { position: sticky; top: 0; left: 0; z-index: 3; background: var(--card); }
#map th.on { color: var(--accent); font-weight: 700; }
.strings { display: grid; grid-template-columns: minmax(0, 1fr) 150px minmax(0, 1fr); max-height: 80vh;
  overflow: auto; }
.strings ol { list-style: none; margin: 0; padding: 0; font-size: .85rem; }
.strings li { height: 26px; line-height: 26px; padding: 0 .5rem; overflow: hidden; white-space: nowrap;
  text-overflow: ellipsis; border-radius: .3rem; cursor: default; unicode-bidi: isolate; }
#looking li { text-align: right; }
#seen li { text-align: left; }
.strings li.on { font-weight: 700; }
#lines { width: 150px; display: block; }
#lines path { fill: none; stroke: var(--accent); }
#lines.some path:not(.on) { stroke-opacity: .04; }
#tip { position: fixed; z-index: 9; pointer-events: none; background: var(--ink); color: var(--card);
  border-radius: .5rem; padding: .4rem .7rem; font-size: .85rem; line-height: 1.35; max-width: 20rem;
  box-shadow: 0 2px 10px #0005; text-align: center; overflow-wrap: anywhere; }
#tip[hidden] { display: none; }
#tip > * { display: block; }
#tip b { font-size: 1.05rem; font-variant-numeric: tabular-nums; }
#tip small { opacity: .85; }
"""
)


def attention_page(heads: Heads, choice: Choice) -> str:
    """The page as text; it opens at the choice, or where that is silent at the last layer's first head."""
    kinds = list(heads.kinds)
    name = choice.kind or "input-output"
    layers = replace(choice, kind=name).of(heads)[name].layers
    values = {
        "kinds": [_kind(heads, each) for each in kinds],
        "start": {
            "kind": kinds.index(name),
            "layer": (choice.layer or layers) - 1,
            "head": (choice.head or 1) - 1,
        },
    }
    cut = "".join(f'<p class="note">{escaped(each)}</p>' for each in heads.cut)
    body = f"""<header>
<h1>What the heads look at</h1>
<dl>
<div><dt>Text</dt><dd dir="auto">{escaped(heads.text)}</dd></div>
<div><dt>Translation</dt><dd dir="auto">{escaped(heads.translation)}</dd></div>
</dl>
{cut}
<noscript><p class="note">A script of this page draws the weights: allow it to run.</p></noscript>
</header>
<main hidden>
<section class="choice" aria-label="Choice">
<fieldset id="kind"><legend>Kind</legend></fieldset>
<fieldset id="layer"><legend>Layer</legend></fieldset>
<fieldset id="head"><legend>Head</legend></fieldset>
<p id="about"></p>
</section>
<section aria-label="All heads">
<h2>All heads</h2>
<div id="birds" role="group" aria-label="Layers from top to bottom, heads from left to right"></div>
<p class="hint">A row is a layer, a column a head. Click one, or press <kbd>←</kbd> <kbd>→</kbd> for the head,
<kbd>↑</kbd> <kbd>↓</kbd> for the layer, <kbd>1</kbd> <kbd>2</kbd> <kbd>3</kbd> for the kind.</p>
</section>
<section class="map" aria-label="Weights">
<h2 id="title" aria-live="polite"></h2>
<p class="legend"><span>weight 0 <i></i> <span id="highest">1</span></span>
<label><input type="checkbox" id="stretch"> stretch the colours to the head's strongest weight</label></p>
<div id="scrolled" tabindex="-1"><table id="map" role="grid"><thead></thead><tbody></tbody></table></div>
<p class="hint">A row is a token that looks, a column one that is looked at. The weights of a row sum to 1.
Point at a cell for its weight; with the keyboard, <kbd>Tab</kbd> to the map and go on with the arrows. The
sign ␣ is a space.</p>
</section>
<section aria-label="Lines">
<h2>Who looks at whom</h2>
<div class="strings">
<ol id="looking"></ol>
<svg id="lines" role="img" aria-label="The weights of the table as lines between the tokens"></svg>
<ol id="seen"></ol>
</div>
<p class="hint">The tokens on the left look at those on the right; more weight is a stronger line, less than
0.01 none. Point at a token to see its lines alone.</p>
</section>
<div id="tip" role="tooltip" hidden></div>
</main>
{embedded("heads", values)}"""
    return document("What the heads look at", body, "attention", _STYLE, SCRIPT)


def _kind(heads: Heads, name: str) -> dict[str, Any]:
    kind = heads.kinds[name]
    return {
        "name": kind.name,
        "about": ABOUT[name],
        "layers": kind.layers,
        "heads": kind.heads,
        "from": [seen(token) for token in kind.looking],
        "to": [seen(token) for token in kind.seen],
        "situations": [seen(situation) for situation in kind.situations],
        "weights": _packed(kind.weights),
    }


def _packed(weights: NDArray[np.float32]) -> str:
    """(L, H, from, to) -> base64 of two bytes a weight, the lower one first."""
    return base64.b64encode(np.rint(weights * WHOLE).astype("<u2").tobytes()).decode()
