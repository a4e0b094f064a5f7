// The page of `keras-transformer attention`: read the weights that it holds, and show them.

import {AttentionKind} from "../viewer/attention_kind.js";
import {AttentionViewer} from "../viewer/attention_viewer.js";
import {byId, hasModifier} from "../viewer/dom.js";

const UNITS = 65535;  // weight 1 is stored as this

function unpacked(weights) {
  const bytes = Uint8Array.from(atob(weights), character => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({length: bytes.length / 2}, (_, index) => view.getUint16(2 * index, true) / UNITS);
}

const {kinds, start} = JSON.parse(byId("heads").textContent);
const viewer = new AttentionViewer(document.querySelector("main"), "h2", "card");

viewer.show(kinds.map(kind => new AttentionKind({...kind, weights: unpacked(kind.weights)})), start);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => viewer.recolour());
document.addEventListener("keydown", event => {
  const {key, target} = event;
  if (/^[1-9]$/.test(key) && !hasModifier(event) && key <= kinds.length) viewer.choose({kind: key - 1});
  if (!target.closest("fieldset, #scrolled, .strings, dd")) viewer.handleArrow(event);
});
