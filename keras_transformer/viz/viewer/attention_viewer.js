// The attention viewer: a kind, a layer and a head are chosen, and shown as a table and as lines. The page that
// `keras-transformer attention` writes and the page of the server both use it.

import {readScale} from "./colour_scale.js";
import {ARROWS, byId, element, hasModifier} from "./dom.js";
import {HeatMap} from "./heat_map.js";
import {Overview} from "./overview.js";
import {TokenLines} from "./token_lines.js";
import {viewerLayout} from "./viewer_layout.js";

const LONG = 64;  // tokens from which on a weight is too small for the whole scale

export class AttentionViewer {
  #kinds = [];
  #state = {kind: 0, layer: 0, head: 0};
  #pointed = null;
  #overview; #map; #lines;

  // Fill an empty element; `heading` is the tag of the titles, `panel` the class of the parts.
  constructor(box, heading, panel) {
    box.append(...viewerLayout(heading, panel));
    const point = (row, column, cell = null) => this.#point(row, column, cell), leave = () => this.#leave();
    this.#overview = new Overview(byId("overview"), (layer, head) => this.choose({layer, head}));
    this.#map = new HeatMap(byId("map"), point, leave);
    this.#lines = new TokenLines(byId("queries"), byId("lines"), byId("keys"), point, leave);
    this.#overview.box.addEventListener("keydown", event => this.handleArrow(event));
    byId("stretch").addEventListener("change", () => this.recolour());
    document.addEventListener("keydown", ({key}) => {
      if (key === "Escape") leave();
    });
    for (const scrolled of [window, byId("scrolled")])
      scrolled.addEventListener("scroll", () => this.#explain(), {passive: true});
    const sizes = new ResizeObserver(() => this.#hintAtScrolling());
    sizes.observe(byId("scrolled"));
    sizes.observe(this.#map.table);
  }

  // Show other kinds of attention, at a choice of kind, layer and head, counted from 0.
  show(kinds, choice = {}) {
    this.#kinds = kinds;
    byId("stretch").checked ||= kinds.some(({keys}) => keys.length > LONG);
    readScale();
    this.#offer("kind", kinds.map(({name}) => name));
    this.choose({kind: this.#state.kind, ...choice});
  }

  // Change the kind, the layer, the head or several of them.
  choose(changes) {
    const state = Object.assign(this.#state, changes), {layers, heads} = this.#kind;
    state.layer = Math.min(state.layer, layers - 1);
    state.head = Math.min(state.head, heads - 1);
    if ("kind" in changes) this.#drawKind();
    this.#drawHead();
  }

  // Let an arrow key choose the next layer or head.
  handleArrow(event) {
    if (!(event.key in ARROWS) || hasModifier(event) || event.defaultPrevented) return;
    event.preventDefault();
    const [down, right] = ARROWS[event.key], {layer, head} = this.#state, {layers, heads} = this.#kind;
    this.choose({layer: (layer + down + layers) % layers, head: (head + right + heads) % heads});
  }

  // Draw again after a change of the theme.
  recolour() {
    if (!this.#kinds.length) return;
    readScale();
    this.#paintOverview();
    this.#drawHead();
  }

  get #kind() {
    return this.#kinds[this.#state.kind];
  }

  #offer(name, labels) {
    const field = byId(name);
    field.querySelectorAll("label").forEach(label => label.remove());
    field.append(...labels.map((text, index) => {
      const input = element("input", [], {type: "radio", name, value: index});
      input.addEventListener("change", () => this.choose({[name]: index}));
      return element("label", [input, element("span", text)]);
    }));
  }

  #drawKind() {
    const kind = this.#kind, numbers = count => Array.from({length: count}, (_, index) => `${index + 1}`);
    this.#offer("layer", numbers(kind.layers));
    this.#offer("head", numbers(kind.heads));
    byId("about").textContent = kind.about;
    this.#pointed = null;
    byId("tip").hidden = true;
    this.#map.draw(kind);
    this.#lines.draw(kind);
    this.#overview.draw(kind);
    this.#paintOverview();
  }

  #paintOverview() {
    this.#overview.paint((layer, head) => this.#max(layer, head));
  }

  // The weight that has the last colour.
  #max(layer, head) {
    return byId("stretch").checked ? this.#kind.max(layer, head) : 1;
  }

  #drawHead() {
    const {layer, head} = this.#state, {name, layers, heads} = this.#kind, max = this.#max(layer, head);
    const title = `${name}, layer ${layer + 1} of ${layers}, head ${head + 1} of ${heads}`;
    byId("map-title").textContent = title;
    this.#map.table.setAttribute("aria-label", `Weights of ${title}`);
    for (const choice of ["kind", "layer", "head"])
      byId(choice).querySelectorAll("input")[this.#state[choice]].checked = true;
    byId("highest").textContent = byId("stretch").checked ? max.toFixed(4) : "1";
    const weight = (row, column) => this.#kind.weight(layer, head, row, column);
    this.#overview.mark(layer, head);
    this.#map.fill(weight, max);
    this.#lines.fill(weight, max);
    if (this.#pointed) this.#point(...this.#pointed);
  }

  #hintAtScrolling() {
    const {scrollWidth, clientWidth, scrollHeight, clientHeight} = byId("scrolled");
    byId("cut").hidden = scrollWidth <= clientWidth && scrollHeight <= clientHeight;
  }

  #leave() {
    this.#pointed = null;
    byId("tip").hidden = true;
    this.#map.mark(null, null);
    this.#lines.mark(null, null);
  }

  #point(row, column, cell) {
    this.#pointed = [row, column, cell];
    this.#map.mark(row, column);
    this.#lines.mark(row, column);
    this.#explain();
  }

  // Put the weight, the two tokens and the note of the query beside the cell that is pointed at.
  #explain() {
    const [row, column, cell] = this.#pointed ?? [], tip = byId("tip");
    tip.hidden = !cell;
    if (!cell) return;
    const {queries, keys, notes} = this.#kind, {layer, head} = this.#state;
    tip.replaceChildren(
      element("b", this.#kind.weight(layer, head, row, column).toFixed(4)),
      element("span", [element("bdi", queries[row]), " looks at ", element("bdi", keys[column])]),
      ...notes[row] ? [element("small", notes[row])] : []);
    const box = cell.getBoundingClientRect(), {offsetWidth: width, offsetHeight: height} = tip;
    const left = box.left + box.width / 2 - width / 2, above = box.top - height - 8;
    tip.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    tip.style.top = `${above < 8 ? box.bottom + 8 : above}px`;
  }
}
