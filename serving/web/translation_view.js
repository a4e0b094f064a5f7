// The translation: it grows while it is decoded, and its words can be chosen when it is complete.

import {byId, element, hasModifier, setTabStop} from "./dom.js";

const view = byId("translation"), empty = byId("empty"), announced = byId("announced"), by = byId("by");
const copy = byId("copy");
const listeners = [];
const NOTICES = {
  length: "; it was cut at the length limit",
  loop: "; the model began to repeat itself, so this may be incomplete",
};
let words = [];

// Mark what is shown as the translation of an earlier text.
export function markStale() {
  view.classList.add("stale");
  choose(null);
}

export function clear() {
  fill([]);
  by.textContent = announced.textContent = "";
  empty.hidden = false;
}

// Begin a new translation, and return the function that appends a piece.
export function begin() {
  let text = "";
  markStale();
  announced.textContent = "";
  return piece => {
    text += piece;
    fill([text]);
    view.classList.add("growing");
    empty.hidden = true;
  };
}

export function complete({translatedText, model, version, finishReason}) {
  show(translatedText);
  by.textContent = `by ${model} ${version}${NOTICES[finishReason] ?? ""}`;
}

// Show a whole translation.
export function show(text) {
  fill(text.split(/(\s+)/).map(run => run.trim() ? word(run) : run));
  words = [...view.children];
  setTabStop(words, words[0]);
  empty.hidden = true;
  copy.hidden = !navigator.clipboard || !words.length;  // browsers have no clipboard without encryption
  announced.textContent = text;
}

// Focus the word of this index, or the last one.
export function focus(index) {
  const target = words[Math.min(index, words.length - 1)];
  setTabStop(words, target);
  target?.focus();
}

// Call the listener whenever a word is chosen, with its index, its text and its element, or with null.
export const onChoice = listener => listeners.push(listener);

export const isChosen = word => word.getAttribute("aria-pressed") === "true";

function fill(content) {
  words = [];
  copy.hidden = true;
  view.classList.remove("stale", "growing");
  view.replaceChildren(...content);
}

function word(text) {
  return element("span", text, {class: "word", role: "button", "aria-pressed": false});
}

function choose(chosen) {
  const again = chosen && isChosen(chosen);
  for (const other of words) other.setAttribute("aria-pressed", other === chosen && !again);
  const index = again ? -1 : words.indexOf(chosen);
  for (const listener of listeners) listener(index < 0 ? null : {index, text: chosen.textContent, element: chosen});
}

view.addEventListener("click", ({target}) => {
  if (!words.includes(target) || !getSelection().isCollapsed) return;  // a selection is for copying
  setTabStop(words, target);
  choose(target);
});

view.addEventListener("keydown", event => {
  const at = words.indexOf(event.target);
  if (at < 0 || hasModifier(event)) return;
  const next = {ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowDown: at + 1,
    Home: 0, End: words.length - 1}[event.key];
  if (next !== undefined) {
    focus(Math.max(0, next));
  } else if (event.key === "Enter" || event.key === " ") {
    choose(words[at]);
  } else if (event.key === "Escape") {
    choose(null);
  } else {
    return;
  }
  event.preventDefault();
});

copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(announced.textContent);
  copy.textContent = "Copied";
  setTimeout(() => { copy.textContent = "Copy"; }, 1500);
});
