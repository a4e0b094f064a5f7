"""The frame of a page that needs nothing else: no network, light and dark, no script but its own.

Whatever a text says is shown and never obeyed: it is escaped, its controls are drawn as signs, and the page's
policy runs only the script whose hash it names.
"""

import base64
import hashlib
import json
from html import escape
from typing import Any

from keras_transformer import __version__

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

# Controls, which a page must not contain or which nobody would see, and half characters, which UTF-8 lacks.
_UNSEEN = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t"}
_UNSEEN |= {0x7F: 0x2421, **dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], 0xFFFD)}


def document(title: str, body: str, verb: str, style: str = "", script: str = "") -> str:
    """A whole page: `body` is its <header> and <main>, `verb` the command that made it."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"'sha256-{digest}'" if script else "'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:;
 script-src {scripts}; base-uri 'none'">
<meta name="generator" content="keras-transformer {verb}">
<title>{escaped(title)}</title>
<style>{STYLE}{style}</style>
</head>
<body>
{body}
<footer><p>Made by <code>keras-transformer {verb}</code>, version {escape(__version__)}.</p></footer>
{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""


def escaped(text: str) -> str:
    """A text as HTML that looks like it."""
    return escape(seen(text))


def seen(text: str) -> str:
    """A text without what nobody would see: controls are drawn as signs."""
    return text.translate(_UNSEEN)


def embedded(name: str, values: Any) -> str:
    """Values as an element that the page's script reads, whatever their texts say."""
    content = json.dumps(values, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{content}</script>'
