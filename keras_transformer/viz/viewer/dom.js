// Find and create elements. Text enters a page as text nodes alone, never as HTML.

export const ARROWS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

const SVG = "http://www.w3.org/2000/svg", SHAPES = ["svg", "g", "path"];

export const byId = id => document.getElementById(id);

// `content` is a text, a node or an array of both.
export function element(tag, content = [], attributes = {}) {
  const created = SHAPES.includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  created.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  return created;
}

// Tab reaches one element of a group; arrow keys reach the others.
export function setTabStop(elements, current) {
  for (const other of elements) other.tabIndex = other === current ? 0 : -1;
}

export const hasModifier = ({ctrlKey, metaKey, altKey}) => ctrlKey || metaKey || altKey;
