// The panel with the other translations of a sentence: it requests them when it is opened.

import {byId, element} from "./dom.js";
import {wordsOf} from "./draft.js";

const panel = byId("alternatives"), notice = byId("alternatives-notice"), list = byId("alternatives-list");
const sentence = byId("alternatives-of"), hint = byId("alternatives-hint");
let draft = null, current = 0, request = new AbortController(), found = [], action = () => {};

// Call the action with the target that is chosen, and the place where its sentence begins.
export const onChoice = called => { action = called; };

// Belong to a Draft from now on, or to none.
export function use(other) {
  draft = other?.others ? other : null;
  current = 0;
  panel.hidden = !draft;
  load();
}

// Show the sentence of this index.
export function follow(index) {
  if (index === current) return;
  current = index;
  load();
}

// Mark the translation that stands.
export function update() {
  const stands = draft?.sentences[current]?.target;
  found.forEach(({target}, index) =>
    list.children[index].firstChild.setAttribute("aria-pressed", target === stands));
}

async function load() {
  request.abort();
  request = new AbortController();
  clear("");
  if (!draft || !panel.open) return;
  const wanted = draft, signal = AbortSignal.any([request.signal, draft.signal]);
  const notify = message => { notice.textContent = message; };
  notify("Looking for other translations …");
  try {
    await wanted.attention(notify);  // which tells the sentences apart
    if (signal.aborted) return;
    if (!wanted.sentences.length) return clear("Its words do not tell the sentences of this text apart.");
    const answers = await wanted.alternatives(current, signal, notify);
    if (!signal.aborted) show(answers);
  } catch (error) {
    if (!signal.aborted) clear(`They cannot be shown: ${error.message}`);
  }
}

function clear(message) {
  found = [];
  list.replaceChildren();
  sentence.textContent = "";
  hint.hidden = true;
  notice.textContent = message;
}

function show(answers) {
  clear("");
  found = answers;
  hint.hidden = false;
  sentence.textContent = draft.sentences.length > 1 ? draft.sentences[current].source : "";
  list.replaceChildren(...answers.map(({target, score}) => element("li", element("button", [
    element("span", withoutCommon(target, answers[0].target), {dir: "auto", lang: byId("translation").lang}),
    element("span", score.toFixed(3).replace("-", "−"), {class: "score"}),
  ], {type: "button"}))));
  update();
}

// A text whose words between those that it begins and ends with as the other one does are bold.
function withoutCommon(text, other) {
  const words = wordsOf(text), others = wordsOf(other), most = Math.min(words.length, others.length);
  let begin = 0, end = 0;
  while (begin < most && words[begin] === others[begin]) begin++;
  while (end < most - begin && words.at(-1 - end) === others.at(-1 - end)) end++;
  const parts = [words.slice(0, begin), words.slice(begin, words.length - end), words.slice(words.length - end)];
  const [before, own, after] = parts.map(part => part.join(" "));
  return [before, own && element("b", own), after].filter(Boolean).flatMap((part, index) => index ? [" ", part] : part);
}

panel.addEventListener("toggle", load);
list.addEventListener("click", ({target}) => {
  const index = [...list.children].indexOf(target.closest("li"));
  if (index >= 0) action(found[index].target, {index: current, place: 0});
});
