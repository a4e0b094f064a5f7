// The weights of one head as lines from the queries on the left to the keys on the right.

import {tint} from "./colour_scale.js";
import {element} from "./dom.js";

const MIN_WEIGHT = 0.01;          // less has no line
const HEIGHT = 26, WIDTH = 150;   // of a token; of the space between the two lists

export class TokenLines {
  #queries; #keys; #lines; #weight; #max;

  // `point(row, column)` is called for the token that is pointed at, with null for the other; `leave()` afterwards.
  constructor(queries, lines, keys, point, leave) {
    [this.#queries, this.#lines, this.#keys] = [queries, lines, keys];
    for (const [list, indices] of [[queries, index => [index, null]], [keys, index => [null, index]]]) {
      list.addEventListener("mouseover", ({target}) => {
        if (target.matches("li")) point(...indices([...list.children].indexOf(target)));
      });
      list.addEventListener("mouseleave", leave);
    }
  }

  draw({queries, keys}) {
    for (const [list, tokens] of [[this.#queries, queries], [this.#keys, keys]])
      list.replaceChildren(...tokens.map(token => element("li", token, {dir: "auto"})));
    const height = HEIGHT * Math.max(queries.length, keys.length);
    this.#lines.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    this.#lines.style.height = `${height}px`;
  }

  fill(weight, max) {
    [this.#weight, this.#max] = [weight, max];
    const columns = [...[...this.#keys.children].keys()];
    this.#lines.replaceChildren(...[...this.#queries.children].map((_, row) => {
      const visible = columns.filter(column => weight(row, column) >= MIN_WEIGHT);
      return element("g", visible.map(column => this.#line(row, column, weight(row, column) / max)));
    }));
  }

  // Show the lines of one query or key alone, and tint the tokens at their other ends; null and null shows all.
  mark(row, column) {
    for (const token of [...this.#queries.children, ...this.#keys.children]) {
      token.className = "";
      token.removeAttribute("style");
    }
    for (const line of this.#lines.querySelectorAll(".on")) line.classList.remove("on");
    const some = row !== null || column !== null;
    this.#lines.classList.toggle("some", some);
    if (!some) return;
    const others = row !== null ? this.#keys : this.#queries;
    [...others.children].forEach((token, index) =>
      tint(token, row !== null ? this.#weight(row, index) : this.#weight(index, column), this.#max));
    if (row !== null) this.#queries.children[row].className = "on";
    if (column !== null) this.#keys.children[column].className = "on";
    const lines = row !== null ? `g:nth-child(${row + 1}) path` : `path[data-column="${column}"]`;
    for (const line of this.#lines.querySelectorAll(lines)) line.classList.add("on");
  }

  #line(row, column, strength) {
    const left = (row + 0.5) * HEIGHT, right = (column + 0.5) * HEIGHT, middle = WIDTH / 2;
    return element("path", [], {
      d: `M0 ${left}C${middle} ${left} ${middle} ${right} ${WIDTH} ${right}`,
      "stroke-opacity": (0.08 + 0.92 * strength).toFixed(3),
      "stroke-width": (0.6 + 3.4 * strength).toFixed(2),
      "data-column": column,
    });
  }
}
