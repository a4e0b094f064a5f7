// Every head of a kind as a small picture: a row for each layer, a column for each head.

import {channelsOf} from "./colour_scale.js";
import {element, setTabStop} from "./dom.js";

const FINE = 64;  // more tokens than this are drawn smoothly

export class Overview {
  #buttons = [];
  #kind = null;

  // `choose` is called with the layer and the head of the picture that is clicked.
  constructor(box, choose) {
    this.box = box;
    this.choose = choose;
  }

  draw(kind) {
    this.#kind = kind;
    const heads = [...Array(kind.heads).keys()], width = kind.keys.length, height = kind.queries.length;
    const label = number => element("span", `${number + 1}`, {"aria-hidden": true});
    const rows = Array.from({length: kind.layers}, (_, layer) => [label(layer), ...heads.map(head => {
      const canvas = element("canvas", [], {width, height}), name = `Layer ${layer + 1}, head ${head + 1}`;
      const button = element("button", canvas, {type: "button", "aria-label": name});
      button.addEventListener("click", () => this.choose(layer, head));
      return button;
    })]);
    this.box.style.setProperty("--heads", kind.heads);
    this.box.classList.toggle("fine", Math.max(width, height) > FINE);
    this.box.replaceChildren(element("span"), ...heads.map(label), ...rows.flat());
    this.#buttons = [...this.box.querySelectorAll("button")];
  }

  // `max(layer, head)` is the weight that has the last colour.
  paint(max) {
    const kind = this.#kind;
    this.#buttons.forEach((button, index) => {
      const layer = Math.floor(index / kind.heads), head = index % kind.heads, highest = max(layer, head);
      const image = new ImageData(kind.keys.length, kind.queries.length);
      let pixel = 0;
      kind.queries.forEach((_, row) => kind.keys.forEach((_, column) => {
        image.data.set([...channelsOf(kind.weight(layer, head, row, column), highest), 255], pixel);
        pixel += 4;
      }));
      button.firstChild.getContext("2d").putImageData(image, 0, 0);
    });
  }

  mark(layer, head) {
    const chosen = this.#buttons[layer * this.#kind.heads + head];
    for (const button of this.#buttons) button.setAttribute("aria-pressed", button === chosen);
    setTabStop(this.#buttons, chosen);
    if (this.box.contains(document.activeElement)) chosen.focus();
  }
}
