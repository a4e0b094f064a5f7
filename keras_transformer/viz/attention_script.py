"""The script of the attention page: it draws the chosen head, and answers the mouse and the keys."""

SCRIPT = r"""
"use strict";
const {kinds, start} = JSON.parse(document.getElementById("heads").textContent);
const NUMBERS = 18, SQUARES = 64;  // up to so many columns a cell holds its number, or is of some size
const FAINTEST = 0.01;             // less weight has no line
const ROW = 26;                    // the height of a token beside the lines
const LINES = 150;                 // the width of what is between two columns of tokens
const WHOLE = 65535;               // how the weight 1 is stored

const byId = name => document.getElementById(name);
const table = byId("map"), birds = byId("birds"), tip = byId("tip");
const state = {...start}, stretch = byId("stretch");
let cells = [], colours = [], inks = [], highest = 1;

const kind = () => kinds[state.kind];
const weight = (row, column, layer = state.layer, head = state.head) =>
  kind().values[((layer * kind().heads + head) * kind().from.length + row) * kind().to.length + column];
const digits = (value, decimals) => value.toFixed(decimals);

function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function decoded({weights}) {
  const bytes = Uint8Array.from(atob(weights), character => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({length: bytes.length / 2}, (_, index) => view.getUint16(2 * index, true) / WHOLE);
}

// Colours: 256 steps between those of the style, which knows light and dark

function readColours() {
  const steps = getComputedStyle(document.documentElement).getPropertyValue("--ramp").split(",")
    .map(step => [1, 3, 5].map(at => parseInt(step.trim().slice(at, at + 2), 16)));
  colours = Array.from({length: 256}, (_, index) => {
    const place = index / 255 * (steps.length - 1), below = Math.min(Math.floor(place), steps.length - 2);
    return steps[below].map((from, part) =>
      Math.round(from + (steps[below + 1][part] - from) * (place - below)));
  });
  inks = colours.map(colour => {
    const [red, green, blue] = colour.map(part => (part / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff";
  });
}

// The weight that has the last colour: 1, or the strongest of the head, where that is asked for.
function highestOf(layer, head) {
  if (!stretch.checked) return 1;
  const {heads, values, from, to} = kind(), size = from.length * to.length;
  const first = (layer * heads + head) * size;
  return values.subarray(first, first + size).reduce((one, other) => Math.max(one, other));
}

const step = (value, top = highest) => Math.round(value / top * 255);
const colour = value => `rgb(${colours[step(value)]})`;

// Choosing

function choose(changes) {
  Object.assign(state, changes);
  state.layer = Math.min(state.layer, kind().layers - 1);
  state.head = Math.min(state.head, kind().heads - 1);
  if ("kind" in changes) drawKind();
  drawHead();
}

function chips(name, labels) {
  const field = byId(name);
  field.querySelectorAll("label").forEach(old => old.remove());
  labels.forEach((text, index) => {
    const label = element("label"), input = element("input", "", {type: "radio", name, value: index});
    input.addEventListener("change", () => choose({[name]: index}));
    label.append(input, element("span", text));
    field.append(label);
  });
}

const counted = count => Array.from({length: count}, (_, index) => index + 1);

// What depends on the kind: the tokens, the number of layers and heads, every head in small

function drawKind() {
  chips("layer", counted(kind().layers));
  chips("head", counted(kind().heads));
  byId("about").textContent = kind().about;
  drawTable();
  drawTokens();
  drawBirds();
}

function drawTable() {
  const {from, to} = kind();
  table.className = to.length <= NUMBERS ? "numbers" : to.length <= SQUARES ? "squares" : "dots";
  const head = element("tr"), body = document.createDocumentFragment();
  head.append(element("td", "", {class: "corner"}));
  for (const token of to) {
    const cell = element("th", "", {scope: "col"});
    cell.append(element("span", token, {dir: "auto"}));
    head.append(cell);
  }
  cells = from.map(token => {
    const line = element("tr"), name = element("th", "", {scope: "row"});
    name.append(element("span", token, {dir: "auto"}));
    line.append(name);
    const made = to.map(() => element("td", "", {role: "gridcell", tabindex: -1}));
    line.append(...made);
    body.append(line);
    return made;
  });
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(body);
  cells[0][0].tabIndex = 0;
  unpoint();
}

function drawTokens() {
  const {from, to} = kind();
  for (const [name, tokens] of [["looking", from], ["seen", to]])
    byId(name).replaceChildren(...tokens.map(token => element("li", token, {dir: "auto"})));
  const height = ROW * Math.max(from.length, to.length);
  byId("lines").setAttribute("viewBox", `0 0 ${LINES} ${height}`);
  byId("lines").style.height = `${height}px`;
}

function drawBirds() {
  const {layers, heads, from, to} = kind();
  birds.style.setProperty("--heads", heads);
  birds.replaceChildren(
    element("span"), ...counted(heads).map(head => element("span", head, {"aria-hidden": true})));
  for (let layer = 0; layer < layers; layer++) {
    birds.append(element("span", layer + 1, {"aria-hidden": true}));
    for (let head = 0; head < heads; head++) {
      const label = `layer ${layer + 1}, head ${head + 1}`;
      const button = element("button", "", {type: "button", "aria-label": label});
      const canvas = element("canvas", "", {width: to.length, height: from.length});
      button.append(canvas);
      button.addEventListener("click", () => choose({layer, head}));
      birds.append(button);
    }
  }
  birds.classList.toggle("fine", Math.max(from.length, to.length) > SQUARES);
  paintBirds();
}

function paintBirds() {
  const {heads, from, to} = kind();
  birds.querySelectorAll("canvas").forEach((canvas, index) => {
    const layer = Math.floor(index / heads), head = index % heads, top = highestOf(layer, head);
    const image = new ImageData(to.length, from.length);
    for (let row = 0, at = 0; row < from.length; row++)
      for (let column = 0; column < to.length; column++, at += 4)
        image.data.set([...colours[step(weight(row, column, layer, head), top)], 255], at);
    canvas.getContext("2d").putImageData(image, 0, 0);
  });
}

// What depends on the head

function drawHead() {
  const {name, layers, heads} = kind(), {layer, head} = state;
  const title = `${name}, layer ${layer + 1} of ${layers}, head ${head + 1} of ${heads}`;
  byId("title").textContent = title;
  table.setAttribute("aria-label", `Weights of ${title}`);
  for (const choice of ["kind", "layer", "head"])
    document.querySelectorAll(`input[name=${choice}]`)[state[choice]].checked = true;
  birds.querySelectorAll("button").forEach((button, index) => {
    const chosen = index === layer * heads + head;
    button.setAttribute("aria-pressed", chosen);
    button.tabIndex = chosen ? 0 : -1;
  });
  highest = highestOf(layer, head);
  byId("highest").textContent = stretch.checked ? digits(highest, 4) : "1";
  fillTable();
  drawLines();
  if (pointed) point(pointed.row, pointed.column, pointed.place);
}

function fillTable() {
  const written = table.className === "numbers";
  cells.forEach((line, row) => line.forEach((cell, column) => {
    const value = weight(row, column);
    cell.style.backgroundColor = colour(value);
    if (!written) return;
    cell.style.color = inks[step(value)];
    cell.textContent = value < 0.0005 ? "0" : digits(value, 3);
  }));
}

function drawLines() {
  const {from, to} = kind(), places = byId("lines").namespaceURI, half = ROW / 2;
  byId("lines").replaceChildren(...from.map((_, row) => {
    const group = document.createElementNS(places, "g");
    to.forEach((_, column) => {
      const value = weight(row, column);
      if (value < FAINTEST) return;
      const line = document.createElementNS(places, "path");
      const left = row * ROW + half, right = column * ROW + half;
      line.setAttribute("d", `M0 ${left}C${LINES / 2} ${left} ${LINES / 2} ${right} ${LINES} ${right}`);
      line.setAttribute("stroke-opacity", digits(0.08 + 0.92 * value / highest, 3));
      line.setAttribute("stroke-width", digits(0.6 + 3.4 * value / highest, 2));
      line.dataset.column = column;
      group.append(line);
    });
    return group;
  }));
}

// Pointing at a cell, or at a token of one side: the weight, and the lines of that token alone

let pointed = null;

function unpoint() {
  pointed = null;
  tip.hidden = true;
  for (const old of document.querySelectorAll(".on")) old.classList.remove("on");
  for (const token of document.querySelectorAll("#looking li, #seen li")) token.removeAttribute("style");
  byId("lines").classList.remove("some");
}

function point(row, column, place) {
  unpoint();
  pointed = {row, column, place};
  const {from, to} = kind(), looking = byId("looking").children, seen = byId("seen").children;
  const tint = (token, value) => {
    token.style.backgroundColor = colour(value);
    token.style.color = inks[step(value)];
  };
  if (row !== null) {
    table.tBodies[0].rows[row].cells[0].classList.add("on");
    looking[row].classList.add("on");
    to.forEach((_, index) => tint(seen[index], weight(row, index)));
  }
  if (column !== null) {
    table.tHead.rows[0].cells[column + 1].classList.add("on");
    seen[column].classList.add("on");
    if (row === null) from.forEach((_, index) => tint(looking[index], weight(index, column)));
  }
  byId("lines").classList.add("some");
  const lines = row === null ? `path[data-column="${column}"]` : `g:nth-child(${row + 1}) path`;
  for (const line of byId("lines").querySelectorAll(lines)) line.classList.add("on");
  if (row !== null && column !== null) explain(row, column, place);
}

function explain(row, column, place) {
  const {from, to, situations} = kind(), words = element("span");
  words.append(element("bdi", from[row]), " looks at ", element("bdi", to[column]));
  tip.replaceChildren(element("b", digits(weight(row, column), 4)), words);
  if (situations[row]) tip.append(element("small", situations[row]));
  tip.hidden = false;
  const box = place.getBoundingClientRect(), {offsetWidth: width, offsetHeight: height} = tip;
  const above = box.top - height - 8;
  tip.style.left = `${Math.max(8, Math.min(box.left + box.width / 2 - width / 2, innerWidth - width - 8))}px`;
  tip.style.top = `${above < 8 ? box.bottom + 8 : above}px`;
}

function cellAt(target) {
  const cell = target.closest("tbody td");
  return cell && {row: cell.parentElement.sectionRowIndex, column: cell.cellIndex - 1, cell};
}

table.addEventListener("mouseover", ({target}) => {
  const at = cellAt(target), name = target.closest("th");
  if (at) point(at.row, at.column, at.cell);
  else if (name && name.scope === "row") point(name.parentElement.sectionRowIndex, null, null);
  else if (name) point(null, name.cellIndex - 1, null);
});
table.addEventListener("mouseleave", unpoint);
table.addEventListener("focusout", unpoint);
table.addEventListener("focusin", ({target}) => {
  const at = cellAt(target);
  if (!at) return;
  table.querySelectorAll("[tabindex='0']").forEach(old => { old.tabIndex = -1; });
  at.cell.tabIndex = 0;
  at.cell.setAttribute("aria-describedby", "tip");
  point(at.row, at.column, at.cell);
});
for (const [name, pick] of [["looking", index => [index, null]], ["seen", index => [null, index]]]) {
  byId(name).addEventListener("mouseover", ({target}) => {
    if (target.matches("li")) point(...pick([...byId(name).children].indexOf(target)), null);
  });
  byId(name).addEventListener("mouseleave", unpoint);
}
for (const scrolled of [window, byId("scrolled")])
  scrolled.addEventListener("scroll", () => {
    if (pointed) point(pointed.row, pointed.column, pointed.place);
  }, {passive: true});

// Keys

const ARROWS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

table.addEventListener("keydown", event => {
  const at = cellAt(event.target);
  if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
  const line = cells[at.row], [down, right] = ARROWS[event.key] || [0, 0];
  const next = event.key === "Home" ? line[0] : event.key === "End" ? line.at(-1)
    : (down || right) && cells[at.row + down]?.[at.column + right];
  if (next || down || right) event.preventDefault();
  if (next) next.focus();
});

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") unpoint();
  if (/^[1-3]$/.test(event.key)) choose({kind: event.key - 1});
  if (!(event.key in ARROWS) || event.target.closest("fieldset, #scrolled, .strings, dd")) return;
  const inBirds = birds.contains(event.target);
  const [down, right] = ARROWS[event.key], {layers, heads} = kind();
  event.preventDefault();
  choose({layer: (state.layer + down + layers) % layers, head: (state.head + right + heads) % heads});
  if (inBirds) birds.querySelector("[aria-pressed=true]").focus();
});

function recolour() {
  readColours();
  paintBirds();
  drawHead();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
stretch.addEventListener("change", recolour);

for (const each of kinds) each.values = decoded(each);
stretch.checked = kinds.some(({to}) => to.length > SQUARES);  // nobody sees a hundredth of the scale
readColours();
chips("kind", kinds.map(each => each.name));
choose({kind: start.kind});
document.querySelector("main").hidden = false;
"""
