"""The worst sentences side by side, on one HTML page that needs nothing else: no network, light and dark.

Whatever stands in a sentence is shown and never obeyed: it is escaped, its controls are drawn as signs, its
direction ends with it, and the page's policy runs no script but the page's own, which sorts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.evaluation.scores import Score, check_pairs, sentence_chrf
from keras_transformer.evaluation.significance import Comparison
from keras_transformer.files import write_whole
from keras_transformer.viz.differences import differences, folded
from keras_transformer.viz.document import document, escaped

LIMIT = 100
LONGEST = 1000  # characters of a sentence that are shown

_STYLE = """
header, main, footer { max-width: 84rem; }
:root { --wrong: #fbdcc6; --wrong-line: #b3470b; --lost: #cfe5f5; --lost-line: #00507f; }
@media (prefers-color-scheme: dark) {
  :root { --wrong: #57321c; --wrong-line: #ff9d5c; --lost: #17405c; --lost-line: #7cc0e6; } }
header p + p { margin-top: .6rem; }
header .scroll { margin-top: 1.4rem; }
header tbody th { background: var(--paper); }
header small { color: var(--soft); display: block; margin-top: .5rem; overflow-wrap: anywhere; }
nav { margin-top: 1.4rem; display: flex; flex-wrap: wrap; gap: .5rem; align-items: baseline; }
nav[hidden] { display: none; }
nav button { font: inherit; font-size: .9rem; padding: .3rem .8rem; border: 1px solid var(--line);
  border-radius: 2rem; background: var(--card); color: var(--ink); cursor: pointer; }
nav button[aria-pressed=true] { border-color: var(--accent); color: var(--accent); font-weight: 600; }
ol.sentences { list-style: none; margin: 0; padding: 0; }
ol.sentences > li { background: var(--card); border: 1px solid var(--line); border-radius: 1rem;
  margin: 1rem 0; padding: 1rem 1.3rem 1.2rem; }
h2 { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; font-size: .9rem; font-weight: 400;
  color: var(--soft); letter-spacing: 0; margin: 0 0 .7rem; font-variant-numeric: tabular-nums; }
h2 span { color: inherit; margin: 0; }
h2 b { color: var(--accent); font-weight: 600; }
dl { margin: 0; display: grid; gap: .8rem 1.8rem;
  grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
dt { color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
mark { color: inherit; border-radius: .2rem; padding: 0 .1em; background: var(--wrong);
  box-shadow: inset 0 -2px var(--wrong-line); }
mark.lost { background: var(--lost); box-shadow: none;
  text-decoration: underline dotted 2px var(--lost-line); text-underline-offset: .2em; }
dd i { color: var(--soft); }
"""

_SCRIPT = """
const list = document.querySelector("ol.sentences"), nav = document.querySelector("nav");
nav.hidden = false;
nav.addEventListener("click", ({target}) => {
  if (!target.dataset.by) return;
  const value = card => Number(card.dataset[target.dataset.by]);
  list.append(...[...list.children].sort((one, other) => value(one) - value(other)));
  for (const button of nav.querySelectorAll("button")) button.setAttribute("aria-pressed", button === target);
});
"""


@dataclass(frozen=True)
class ScoredSentence:
    """A line of the files, what was made of it, and its chrF; the other system's too, if there is one."""

    line: int
    source: str | None
    reference: str
    translation: str
    chrf: float
    other: str | None = None
    other_chrf: float | None = None

    @property
    def ahead(self) -> float:
        """By how much ours is better than the other's."""
        return 0.0 if self.other_chrf is None else self.chrf - self.other_chrf


def write(path: Path, content: str) -> None:
    """Write a page, whole or not at all."""
    write_whole(path, content.encode())


def page(
    sources: Sequence[str] | None,
    references: Sequence[str],
    translations: Sequence[str],
    others: Sequence[str] | None = None,
    *,
    names: tuple[str, str] = ("Translation", "Other"),
    scores: Sequence[Score] = (),
    compared: Sequence[Comparison] = (),
    lowercase: bool = False,
    limit: int = LIMIT,
) -> str:
    """The page, as text. `names` are the two systems', `scores` and `compared` what is shown on top."""
    sentences = _sentences(sources, references, translations, others, lowercase)
    exact = [folded(each.translation, lowercase) == folded(each.reference, lowercase) for each in sentences]
    wrong = [each for each, right in zip(sentences, exact, strict=True) if not right]
    shown = worst(wrong, limit)
    items = "\n".join(_item(each, names, lowercase) for each in shown)
    orders = [("chrf", "worst first"), ("line", "as in the file")]
    if others is not None:
        orders.insert(1, ("ahead", f"most behind {names[1]}"))
    buttons = "\n".join(
        f'<button type="button" data-by="{by}" aria-pressed="{pressed}">{escaped(says)}</button>'
        for (by, says), pressed in zip(orders, ("true", "false", "false"), strict=False)
    )
    body = f"""<header>
<h1>The worst sentences</h1>
<p>{_summary(len(sentences), sum(exact), len(shown), others is not None)}</p>
<p><mark>Marked so</mark> are words of a translation that the reference does not have there,
<mark class="lost">and so</mark> words of the reference that {escaped(names[0])} lacks.</p>
{_scores(scores, compared, names)}
<nav aria-label="Order" hidden>
{buttons}
</nav>
</header>
<main>
<ol class="sentences">
{items}
</ol>
</main>"""
    return document("The worst sentences", body, "evaluate", _STYLE, _SCRIPT)


def worst(sentences: Sequence[ScoredSentence], limit: int = LIMIT) -> list[ScoredSentence]:
    """So many of the lowest chrF, and as many that are most behind the other system; the lowest first."""
    lowest = sorted(sentences, key=lambda each: each.chrf)
    behind = sorted((each for each in sentences if each.ahead < 0), key=lambda each: each.ahead)
    chosen = {each.line for each in (*lowest[:limit], *behind[:limit])}
    return [each for each in lowest if each.line in chosen]


def _sentences(
    sources: Sequence[str] | None,
    references: Sequence[str],
    translations: Sequence[str],
    others: Sequence[str] | None,
    lowercase: bool,
) -> list[ScoredSentence]:
    check_pairs(translations, references)
    if sources is not None and len(sources) != len(references):
        raise ValueError(
            f"each source needs its reference; got {len(sources)} sources and {len(references)} references."
        )
    nothing: list[None] = [None] * len(references)
    other_chrf: Sequence[float | None] = nothing
    if others is not None:
        other_chrf = sentence_chrf(others, references, lowercase)
    columns = (
        nothing if sources is None else sources,
        references,
        translations,
        sentence_chrf(translations, references, lowercase),
        nothing if others is None else others,
        other_chrf,
    )
    return [ScoredSentence(line, *row) for line, row in enumerate(zip(*columns, strict=True), start=1)]


def _summary(sentences: int, exact: int, shown: int, compared: bool) -> str:
    if exact == sentences:
        return f"There is none: of {sentences:,} sentences, each is exactly as its reference."
    chosen = "those of the lowest chrF" + (" and those most behind the other system" if compared else "")
    which = "all others" if shown == sentences - exact else f"{shown:,} of the others, {chosen}"
    return f"Of {sentences:,} sentences, {exact:,} are exactly as the reference. Here are {which}."


def _scores(scores: Sequence[Score], compared: Sequence[Comparison], names: tuple[str, str]) -> str:
    if not scores:
        return ""
    against = {each.name: each for each in compared}
    heads = ["", names[0], "95 %", *([names[1], "p"] if against else [])]
    rows = []
    for score in scores:
        cells = [f"{score.value:.2f}", "" if score.low is None else f"{score.low:.2f} to {score.high:.2f}"]
        if score.name in against:
            cells += [f"{against[score.name].other:.2f}", f"{against[score.name].p:.3f}"]
        figures = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escaped(score.name)}</th>{figures}</tr>')
    signatures = "<br>".join(escaped(f"{score.name}: {score.signature}") for score in scores)
    return f"""<div class="scroll" tabindex="0"><table>
<thead><tr>{"".join(f'<th scope="col">{escaped(head)}</th>' for head in heads)}</tr></thead>
<tbody>
{chr(10).join(rows)}
</tbody></table></div>
<small>More is better, but of TER less.<br>{signatures}</small>"""


def _item(each: ScoredSentence, names: tuple[str, str], lowercase: bool) -> str:
    reference, translation = _cut(each.reference), _cut(each.translation)
    lost, wrong = differences(reference, translation, lowercase)
    cells = [] if each.source is None else [("Source", _marked(_cut(each.source), (), ""))]
    cells += [
        ("Reference", _marked(reference, lost, "lost")),
        (names[0], _marked(translation, wrong, "wrong")),
    ]
    head = [f"line {each.line:,}", f"chrF <b>{each.chrf:.1f}</b>"]
    if each.other is not None and each.other_chrf is not None:
        other = _cut(each.other)
        cells.append((names[1], _marked(other, differences(reference, other, lowercase)[1], "wrong")))
        head.append(f"{escaped(names[1])} <b>{each.other_chrf:.1f}</b>")
    texts = "\n".join(
        f'<div><dt>{escaped(name)}</dt><dd dir="auto">{text or "<i>nothing</i>"}</dd></div>'
        for name, text in cells
    )
    return f"""<li data-line="{each.line}" data-chrf="{each.chrf:.4f}" data-ahead="{each.ahead:.4f}">
<h2>{"".join(f"<span>{part}</span>" for part in head)}</h2>
<dl>
{texts}
</dl></li>"""


def _marked(text: str, places: Iterable[slice], kind: str) -> str:
    parts, done = [], 0
    for place in places:
        parts += [escaped(text[done : place.start]), f'<mark class="{kind}">{escaped(text[place])}</mark>']
        done = place.stop
    return "".join([*parts, escaped(text[done:])])


def _cut(text: str) -> str:
    """Comparing two texts takes the product of their lengths, and nobody reads them to the end."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"
