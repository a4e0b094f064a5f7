// What was translated before, in this browser alone.

import {byId, element} from "./dom.js";

const KEY = "history", MOST = 20;
const section = byId("history"), list = section.querySelector("ol");
let entries = read();

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY)) ?? [];
    return found.filter(each => ["text", "translation", "model"].every(name => typeof each[name] === "string"));
  } catch {  // the browser keeps nothing for this page, or what it has kept is not ours
    return [];
  }
}

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // they are there until the page is closed
  }
}

// A text that is being written is one entry: what it goes on from is replaced.
export function add(entry) {
  const continues = ({text, model}) => model === entry.model && (entry.text === text || text &&
    (entry.text.startsWith(text) || text.startsWith(entry.text)));
  if (entries.length && continues(entries[0])) entries.shift();
  entries = [entry, ...entries.filter(each => each.text !== entry.text || each.model !== entry.model)];
  entries.length = Math.min(entries.length, MOST);
  keep();
  show();
}

// The action gets the entry that was chosen.
export function start(action) {
  list.addEventListener("click", ({target}) => {
    const button = target.closest("button");
    if (button) action(entries[[...list.children].indexOf(button.parentElement)]);
  });
  byId("forget").addEventListener("click", () => {
    entries = [];
    keep();
    show();
    byId("text").focus();
  });
  show();
}

function show() {
  section.hidden = !entries.length;
  list.replaceChildren(...entries.map(({text, translation}) => {
    const item = element("li"), button = element("button", "", {type: "button"});
    button.append(element("span", text, {dir: "auto"}), element("span", translation, {dir: "auto"}));
    item.append(button);
    return item;
  }));
}
