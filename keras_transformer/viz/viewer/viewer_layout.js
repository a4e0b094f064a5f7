// The elements of the attention viewer.

import {element} from "./dom.js";

// `heading` is the tag of its titles, `panel` the class of its parts.
export function viewerLayout(heading, panel) {
  const hint = text => element("p", text, {class: "hint"});
  const field = (id, legend) => element("fieldset", element("legend", legend), {id});
  const lines = element("svg", [], {id: "lines", role: "img", "aria-label": "The weights of the table as lines"});
  return [
    element("div", [
      field("kind", "Kind"), field("layer", "Layer"), field("head", "Head"),
      element("p", [], {id: "about", class: "hint"}),
    ], {class: `${panel} chooser`}),
    element("section", [
      element(heading, "All heads"),
      element("div", [], {id: "overview", role: "group", "aria-label": "Layers from top to bottom, heads from left to right"}),
      hint("A row is a layer, a column a head. Choose one by a click, or with the arrow keys."),
    ], {class: panel, "aria-label": "All heads"}),
    element("section", [
      element(heading, [], {id: "map-title", "aria-live": "polite"}),
      element("p", [
        element("span", ["weight 0 ", element("i"), " ", element("span", "1", {id: "highest"})], {class: "scale"}),
        element("label", [
          element("input", [], {type: "checkbox", id: "stretch"}),
          " stretch the colours to the strongest weight of the head",
        ]),
      ], {class: "legend"}),
      element("p", "Only a part of the table is in sight: scroll it. The names of its rows and columns stay.",
        {id: "cut", class: "hint"}),
      element("div", element("table", [element("thead"), element("tbody")], {id: "map", role: "grid"}),
        {id: "scrolled", tabindex: -1}),
      hint("A row is a query, the token that looks; a column is a key, a token that is looked at. The weights of a " +
        "row sum to 1. Point at a cell for its weight, or go from cell to cell with the arrow keys. The sign ␣ is " +
        "a space."),
    ], {class: `${panel} map`, "aria-label": "Weights"}),
    element("section", [
      element(heading, "Who looks at whom"),
      element("div", [element("ol", [], {id: "queries"}), lines, element("ol", [], {id: "keys"})], {class: "strings"}),
      hint("The tokens on the left look at those on the right. More weight is a stronger line, less than 0.01 none. " +
        "Point at a token to see its lines alone."),
    ], {class: panel, "aria-label": "Lines"}),
    element("div", [], {id: "tip", role: "tooltip", hidden: ""}),
  ];
}
