// Every head of a kind in small, as a bird sees them: a row for each layer.

import {byId, element, stop} from "./dom.js";

const place = byId("birds");
let drawn = null;

// `choose` gets the layer and the head of the one that is clicked.
export function draw(kind, choose) {
  drawn = kind;
  place.style.setProperty("--heads", kind.heads);
  place.replaceChildren(...Array.from({length: kind.layers * kind.heads}, (_, index) => {
    const layer = Math.floor(index / kind.heads), head = index % kind.heads;
    const button = element("button", "", {type: "button", "aria-label": `Layer ${layer + 1}, head ${head + 1}`});
    button.append(element("canvas", "", {width: kind.columns.length, height: kind.rows.length}));
    button.addEventListener("click", () => choose(layer, head));
    return button;
  }));
  paint();
}

export function mark(layer, head) {
  const chosen = place.children[layer * drawn.heads + head];
  for (const each of place.children) each.setAttribute("aria-pressed", each === chosen);
  stop(place.children, chosen);
}

// The weight is how much of the colour covers the ground, as in the table.
function paint() {
  [...place.children].forEach((button, index) => {
    const canvas = button.firstChild, context = canvas.getContext("2d");
    const layer = Math.floor(index / drawn.heads), head = index % drawn.heads;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = getComputedStyle(canvas).color;
    drawn.rows.forEach((_, row) => drawn.columns.forEach((_, column) => {
      context.globalAlpha = drawn.weight(layer, head, row, column);
      context.fillRect(column, row, 1, 1);
    }));
  });
}

place.addEventListener("keydown", event => {
  const at = [...place.children].indexOf(event.target);
  const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -drawn?.heads, ArrowDown: drawn?.heads}[event.key];
  if (at < 0 || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const next = place.children[at + step];
  next?.click();
  next?.focus();
});

document.addEventListener("recoloured", () => {
  if (drawn) paint();
});
