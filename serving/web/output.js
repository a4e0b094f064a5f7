// The translation: it grows while it is being written, and then its words can be chosen.

import {byId, element, stop} from "./dom.js";

const place = byId("translation"), empty = byId("empty"), announced = byId("announced"), by = byId("by");
const copy = byId("copy");
const listeners = [];
let words = [];

// What is there is of an earlier text.
export function stale() {
  place.classList.add("stale");
  choose(null);
}

export function clear() {
  fill([]);
  by.textContent = announced.textContent = "";
  empty.hidden = false;
}

// -> what adds a piece
export function begin() {
  let text = "";
  stale();
  announced.textContent = "";
  return piece => {
    text += piece;
    fill([text]);
    place.classList.add("growing");
    empty.hidden = true;
  };
}

export function done({translatedText, model, version, finishReason}) {
  fill(translatedText.split(/(\s+)/).map(run => run.trim() ? word(run) : run));
  words = [...place.children];
  stop(words, words[0]);
  empty.hidden = true;
  copy.hidden = !navigator.clipboard || !words.length;  // there is none without encryption
  const cut = finishReason === "length" ? "; it was cut at its longest" : "";
  by.textContent = `by ${model} ${version}${cut}`;
  announced.textContent = translatedText;
}

export const count = () => words.length;

// Whenever a word is chosen: its number and its text, or null.
export const chosen = listener => listeners.push(listener);

function fill(content) {
  words = [];
  copy.hidden = true;
  place.classList.remove("stale", "growing");
  place.replaceChildren(...content);
}

function word(text) {
  return element("span", text, {class: "word", role: "button", "aria-pressed": false});
}

function choose(one) {
  const again = one?.getAttribute("aria-pressed") === "true";
  for (const each of words) each.setAttribute("aria-pressed", each === one && !again);
  const number = again ? -1 : words.indexOf(one);
  for (const listener of listeners) listener(number < 0 ? null : {number, text: one.textContent});
}

const wordAt = ({target}) => words.find(each => each === target);

place.addEventListener("click", event => {
  const one = wordAt(event);
  if (!one || !getSelection().isCollapsed) return;  // somebody is marking it, to copy
  stop(words, one);
  choose(one);
});

place.addEventListener("keydown", event => {
  const at = words.indexOf(wordAt(event));
  if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = {ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowDown: at + 1,
    Home: 0, End: words.length - 1}[event.key];
  if (next !== undefined) {
    const one = words[Math.max(0, Math.min(next, words.length - 1))];
    stop(words, one);
    one.focus();
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
