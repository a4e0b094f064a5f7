// The translation: it grows while it is decoded, and its words can be chosen when it is complete.

import {byId, element, hasModifier, setTabStop} from "./dom.js";

const view = byId("translation"), empty = byId("empty"), announced = byId("announced"), by = byId("by");
const copy = byId("copy");
const listeners = [];
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
  fill(translatedText.split(/(\s+)/).map(run => run.trim() ? word(run) : run));
  words = [...view.children];
  setTabStop(words, words[0]);
  empty.hidden = true;
  copy.hidden = !navigator.clipboard || !words.length;  // browsers have no clipboard without encryption
  const cut = finishReason === "length" ? "; it was cut at the length limit" : "";
  by.textContent = `by ${model} ${version}${cut}`;
  announced.textContent = translatedText;
}

export const countWords = () => words.length;

// Call the listener whenever a word is chosen, with its index and its text, or with null.
export const onChoice = listener => listeners.push(listener);

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
  const again = chosen?.getAttribute("aria-pressed") === "true";
  for (const other of words) other.setAttribute("aria-pressed", other === chosen && !again);
  const index = again ? -1 : words.indexOf(chosen);
  for (const listener of listeners) listener(index < 0 ? null : {index, text: chosen.textContent});
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
    const target = words[Math.max(0, Math.min(next, words.length - 1))];
    setTabStop(words, target);
    target.focus();
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
