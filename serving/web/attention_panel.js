// The panel with the attention viewer: it loads the weights when it is opened, and shows one sentence of the text.

import {AttentionViewer} from "./attention_viewer.js";
import {byId, element} from "./dom.js";

const START = {kind: 2, layer: Infinity, head: 0};  // the last layer's first head of Input–Output
const panel = byId("heads"), notice = byId("heads-notice"), content = byId("heads-content"), select = byId("sentence");
let viewer = null, wanted = null, shown = null, sentences = [];

// Belong to the translation of this AttentionRequest from now on; null is none.
export function use(request) {
  wanted = request;
  panel.hidden = !request && !panel.open;
  if (panel.open) load();
}

async function load() {
  const request = wanted;
  if (!request || request === shown) return;
  try {
    const answer = await request.answer(message => { notice.textContent = message; });
    if (request !== wanted) return;
    shown = request;
    show(answer);
  } catch (error) {
    if (request.signal.aborted) return;
    content.hidden = true;
    notice.textContent = `The attention cannot be shown: ${error.message}`;
  }
}

function show(answer) {
  sentences = answer.sentences;
  content.hidden = !sentences.length;
  notice.textContent = sentences.length ? "" : "The text has no word.";
  if (!sentences.length) return;
  byId("sentence-label").hidden = sentences.length < 2;
  select.replaceChildren(...sentences.map(({source}, index) =>
    element("option", `${index + 1}: ${source.map(({text}) => text).join(" ").slice(0, 60)}`, {value: index})));
  if (viewer) return viewer.show(sentences[0].kinds);
  viewer = new AttentionViewer(byId("viewer"), "h3", "plain");
  viewer.show(sentences[0].kinds, START);
}

panel.addEventListener("toggle", () => {
  if (panel.open) load();
});
select.addEventListener("change", () => viewer.show(sentences[select.value].kinds));
document.addEventListener("themechange", () => viewer?.recolour());
