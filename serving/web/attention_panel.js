// The panel with the attention viewer: it loads the weights when it is opened, and shows one sentence of the text.

import {AttentionViewer} from "./attention_viewer.js";
import {byId, element} from "./dom.js";

const START = {kind: 2, layer: Infinity, head: 0};  // the last layer's first head of Input–Output
const panel = byId("heads"), notice = byId("heads-notice"), content = byId("heads-content"), select = byId("sentence");
let viewer = null, draft = null, shown = null, current = 0, turns = 0;

// Belong to a Draft from now on, or to none.
export function use(other) {
  draft = other;
  shown = null;
  current = 0;
  panel.hidden = !draft && !panel.open;
  update();
}

// Show the sentence of this index.
export function follow(index) {
  current = index;
  if (shown) showSentence();
}

// Load what is not shown yet, if the panel is open.
export async function update() {
  const turn = ++turns, wanted = draft;  // answers may come in another order
  if (!wanted || !panel.open) return;
  try {
    const attended = await wanted.attention(message => { notice.textContent = message; });
    if (turn === turns && attended !== shown) show(attended);
  } catch (error) {
    if (turn !== turns || wanted.signal.aborted) return;
    shown = null;
    content.hidden = true;
    notice.textContent = `The attention cannot be shown: ${error.message}`;
  }
}

function show(sentences) {
  shown = sentences;
  content.hidden = !sentences.length;
  notice.textContent = sentences.length ? "" : "The text has no word.";
  if (!sentences.length) return;
  byId("sentence-label").hidden = sentences.length < 2;
  select.replaceChildren(...sentences.map(({source}, index) =>
    element("option", `${index + 1}: ${source.map(({text}) => text).join(" ").slice(0, 60)}`, {value: index})));
  showSentence();
}

function showSentence() {
  select.value = current;
  const start = viewer ? [] : [START];
  viewer ??= new AttentionViewer(byId("viewer"), "h3", "plain");
  viewer.show(shown[current].kinds, ...start);
}

panel.addEventListener("toggle", update);
select.addEventListener("change", () => follow(Number(select.value)));
document.addEventListener("themechange", () => viewer?.recolour());
