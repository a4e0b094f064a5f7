// Earlier translations, kept in this browser alone.

import {byId, element} from "./dom.js";

const KEY = "history", MAX_ENTRIES = 20;
const section = byId("history"), list = section.querySelector("ol");
let entries = read();

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY)) ?? [];
    return kept.filter(entry => ["text", "translation", "model"].every(name => typeof entry[name] === "string"));
  } catch {  // the browser keeps nothing for this page, or what it has kept is not ours
    return [];
  }
}

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // the entries last until the page is closed
  }
}

// Add an entry. A text that is still being typed is one entry: it replaces the one that it continues.
export function add(entry) {
  const continues = ({text, model}) => model === entry.model && (entry.text === text || text &&
    (entry.text.startsWith(text) || text.startsWith(entry.text)));
  if (entries.length && continues(entries[0])) entries.shift();
  entries = [entry, ...entries.filter(({text, model}) => text !== entry.text || model !== entry.model)];
  entries.length = Math.min(entries.length, MAX_ENTRIES);
  keep();
  show();
}

// Show the entries, and call the action with the one that is chosen.
export function start(action) {
  list.addEventListener("click", ({target}) => {
    const button = target.closest("button");
    if (button) action(entries[[...list.children].indexOf(button.parentElement)]);
  });
  byId("clear-history").addEventListener("click", () => {
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
    const texts = [text, translation].map(one => element("span", one, {dir: "auto"}));
    return element("li", element("button", texts, {type: "button"}));
  }));
}
