// One head as a table: a row for each token that looks, a column for each that is looked at.

import {byId, element, stop} from "./dom.js";

const NUMBERS = 16, SQUARES = 64;  // up to so many columns a cell holds its number, or is of some size
const table = byId("map"), readout = byId("weight");
let cells = [], weight = null, names = null;

// `weightAt`: of a row and a column.
export function draw({rows, columns}, weightAt) {
  weight = weightAt;
  names = {rows, columns};
  table.className = columns.length <= NUMBERS ? "numbers" : columns.length <= SQUARES ? "squares" : "dots";
  const head = element("tr");
  head.append(element("td"), ...columns.map(name => {
    const heading = element("th", "", {scope: "col"});
    heading.append(element("span", name));
    return heading;
  }));
  table.tHead.replaceChildren(head);
  cells = rows.map((_, row) => columns.map((_, column) => cell(weight(row, column))));
  table.tBodies[0].replaceChildren(...rows.map((name, row) => {
    const line = element("tr");
    line.append(element("th", name, {scope: "row"}), ...cells[row]);
    return line;
  }));
  stop(cells.flat(), cells[0]?.[0]);
  readout.textContent = "";
}

function cell(value) {
  const short = value < 0.005 ? "0" : value.toFixed(2);
  const made = element("td", table.className === "numbers" ? short : "");
  if (!made.textContent) made.setAttribute("aria-label", short);
  made.classList.toggle("strong", value > 0.72);
  made.style.setProperty("--weight", value.toFixed(4));
  return made;
}

function tell(row, column) {
  for (const old of table.querySelectorAll("th.on")) old.classList.remove("on");
  table.tBodies[0].rows[row].cells[0].classList.add("on");
  table.tHead.rows[0].cells[column + 1].classList.add("on");
  readout.replaceChildren(element("bdi", names.rows[row]), " looks at ", element("bdi", names.columns[column]),
    ": ", element("b", weight(row, column).toFixed(4)));
}

function placeOf({target}) {
  const found = target.closest("tbody td");
  return found && [found.parentElement.sectionRowIndex, found.cellIndex - 1];
}

for (const event of ["mouseover", "focusin"])
  table.addEventListener(event, at => {
    const place = placeOf(at);
    if (place) tell(...place);
  });

const STEPS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

table.addEventListener("keydown", event => {
  const place = placeOf(event);
  if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
  const [row, column] = place, [down, right] = STEPS[event.key] ?? [0, 0], line = cells[row];
  const next = {Home: line[0], End: line.at(-1)}[event.key] ?? cells[row + down]?.[column + right];
  if (!(event.key in STEPS) && !["Home", "End"].includes(event.key)) return;
  event.preventDefault();
  if (!next) return;
  stop(cells.flat(), next);
  next.focus();
});
