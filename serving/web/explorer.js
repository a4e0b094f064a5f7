// The heads behind a translation: a sentence of it, a kind, a layer and a head are chosen, and one is shown whole.

import * as birds from "./birds.js";
import {byId, element} from "./dom.js";
import * as map from "./map.js";

const box = byId("heads"), notice = byId("heads-notice"), explorer = byId("explorer");
const state = {part: 0, kind: 2, layer: Infinity, head: 0};  // at first the last layer's first head
let looking = null, shown = null, attended = null;

const kind = () => attended.parts[state.part].kinds[state.kind];

// Of this translation from now on; null is none.
export function use(now) {
  looking = now;
  box.hidden = !now && !box.open;
  if (box.open) load();
}

async function load() {
  const wanted = looking;
  if (!wanted || wanted === shown) return;
  try {
    const found = await wanted.attended(said => { notice.textContent = said; });
    if (wanted === looking) show(found, wanted);
  } catch (error) {
    if (wanted.signal.aborted) return;
    explorer.hidden = true;
    notice.textContent = `The heads are not shown: ${error.message}`;
  }
}

function show(found, wanted) {
  [attended, shown] = [found, wanted];
  explorer.hidden = !found.parts.length;
  notice.textContent = found.parts.length ? "" : "There is nothing to look at.";
  if (!found.parts.length) return;
  byId("part-label").hidden = found.parts.length < 2;
  byId("part").replaceChildren(...found.parts.map(({source}, index) =>
    element("option", `${index + 1}: ${source.map(({text}) => text).join(" ").slice(0, 60)}`, {value: index})));
  choose({part: 0});
}

function choose(changes) {
  Object.assign(state, changes);
  state.layer = Math.min(state.layer, kind().layers - 1);
  state.head = Math.min(state.head, kind().heads - 1);
  if ("part" in changes || "kind" in changes) {
    chips("kind", attended.parts[0].kinds.map(({name}) => name));
    chips("layer", counted(kind().layers));
    chips("head", counted(kind().heads));
    byId("part").value = state.part;
    byId("kind-about").textContent = kind().about;
    birds.draw(kind(), (layer, head) => choose({layer, head}));
  }
  for (const name of ["kind", "layer", "head"])
    byId(name).querySelectorAll("input")[state[name]].checked = true;
  birds.mark(state.layer, state.head);
  const {name, layers, heads} = kind(), {layer, head} = state;
  byId("map-title").textContent = `${name}, layer ${layer + 1} of ${layers}, head ${head + 1} of ${heads}`;
  map.draw(kind(), (row, column) => kind().weight(layer, head, row, column));
}

const counted = count => Array.from({length: count}, (_, index) => index + 1);

function chips(name, labels) {
  const field = byId(name), at = field.contains(document.activeElement);
  field.querySelectorAll("label").forEach(old => old.remove());
  field.append(...labels.map((text, index) => {
    const label = element("label"), input = element("input", "", {type: "radio", name, value: index});
    input.addEventListener("change", () => choose({[name]: index}));
    label.append(input, element("span", text));
    return label;
  }));
  if (at) field.querySelectorAll("input")[state[name]].focus();
}

box.addEventListener("toggle", () => {
  if (box.open) load();
});
byId("part").addEventListener("change", ({target}) => choose({part: Number(target.value)}));
