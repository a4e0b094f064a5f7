// One head as a table: a row for each query, a column for each key.

import {tint} from "./colour_scale.js";
import {ARROWS, element, hasModifier, setTabStop} from "./dom.js";

const NUMBERS = 18, SQUARES = 64;  // the most columns whose cells hold their number, or have a visible size

export class HeatMap {
  #cells = [];

  // `point(row, column, cell)` is called for the cell that is pointed at, and with null for the column or the row
  // where a heading is; `leave()` when nothing is any more.
  constructor(table, point, leave) {
    this.table = table;
    table.addEventListener("mouseover", ({target}) => {
      const cell = target.closest("tbody td"), heading = target.closest("th");
      if (cell) point(...this.#indexOf(cell), cell);
      else if (heading?.scope === "row") point(heading.parentElement.sectionRowIndex, null, null);
      else if (heading) point(null, heading.cellIndex - 1, null);
    });
    table.addEventListener("focusin", ({target}) => {
      const cell = target.closest("tbody td");
      if (!cell) return;
      setTabStop(table.querySelectorAll("td[tabindex='0']"), cell);
      cell.tabIndex = 0;
      point(...this.#indexOf(cell), cell);
    });
    for (const event of ["mouseleave", "focusout"]) table.addEventListener(event, leave);
    table.addEventListener("keydown", event => this.#move(event));
  }

  draw({queries, keys}) {
    this.table.className = keys.length <= NUMBERS ? "numbers" : keys.length <= SQUARES ? "squares" : "dots";
    const heading = (token, scope) => element("th", element("span", token, {dir: "auto", title: token}), {scope});
    this.#cells = queries.map(() =>
      keys.map(() => element("td", [], {role: "gridcell", tabindex: -1, "aria-describedby": "tip"})));
    const head = element("tr", [element("td", [], {class: "corner"}), ...keys.map(key => heading(key, "col"))]);
    this.table.tHead.replaceChildren(head);
    this.table.tBodies[0].replaceChildren(...queries.map((query, row) =>
      element("tr", [heading(query, "row"), ...this.#cells[row]])));
    this.#cells[0][0].tabIndex = 0;
  }

  // `weight(row, column)`; `max` has the last colour.
  fill(weight, max) {
    const written = this.table.className === "numbers";
    this.#cells.forEach((line, row) => line.forEach((cell, column) => {
      const value = weight(row, column), number = value < 0.0005 ? "0" : value.toFixed(3);
      tint(cell, value, max);
      if (written) cell.textContent = number;
      else cell.ariaLabel = number;
    }));
  }

  // Mark the names of a row and a column; null is none.
  mark(row, column) {
    for (const marked of this.table.querySelectorAll("th.on")) marked.classList.remove("on");
    if (row !== null) this.table.tBodies[0].rows[row].cells[0].classList.add("on");
    if (column !== null) this.table.tHead.rows[0].cells[column + 1].classList.add("on");
  }

  #indexOf(cell) {
    return [cell.parentElement.sectionRowIndex, cell.cellIndex - 1];
  }

  #move(event) {
    const cell = event.target.closest("tbody td");
    if (!cell || hasModifier(event) || !(event.key in ARROWS || ["Home", "End"].includes(event.key))) return;
    event.preventDefault();
    const [row, column] = this.#indexOf(cell), [down, right] = ARROWS[event.key] ?? [0, 0];
    const line = this.#cells[row];
    const next = {Home: line[0], End: line.at(-1)}[event.key] ?? this.#cells[row + down]?.[column + right];
    next?.focus();
  }
}
