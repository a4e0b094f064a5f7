// What else can stand in the place of a word: a list to choose from, and a field for words of one's own.

import {ServerError} from "./api.js";
import {byId, element, hasModifier} from "./dom.js";
import {wordsOf} from "./draft.js";

const popover = byId("options"), title = byId("options-title"), notice = byId("options-notice");
const list = byId("options-list"), form = byId("options-own"), own = byId("own");
const MARGIN = 12;  // pixels between the popover and the edges of the window
let opened = null, active = 0;

// Offer other words for {element, text}, which is `at` a place of the draft. When one is chosen, or written, the action
// is called with the target of its sentence.
export async function open({element: word, text}, at, draft, action) {
  close();
  const controller = new AbortController(), {signal} = controller;
  opened = {word, at, draft, action, controller, targets: []};
  title.replaceChildren("In place of ", element("b", text, {dir: "auto"}));
  list.hidden = true;
  own.value = "";
  own.lang = list.lang = byId("translation").lang;
  notice.textContent = "Looking for other words …";
  popover.showPopover();
  place();
  try {
    const found = await draft.wordsAt(at, signal, message => { notice.textContent = message; });
    if (!signal.aborted) show(found, at.place);
  } catch (error) {
    if (!signal.aborted) explain(error);
  }
}

export function close() {
  opened?.controller.abort();
  opened = null;
  popover.hidePopover();
}

function show(found, at) {
  opened.targets = found.map(({target}) => target);
  notice.textContent = found.length ? "" : "The model has no other word for this place.";
  list.hidden = !found.length;
  list.replaceChildren(...found.map(({word, target}, index) => element("li", [
    element("b", word || "the end of the sentence"),
    element("span", wordsOf(target).slice(at + 1).join(" ")),
  ], {role: "option", id: `option-${index}`, dir: "auto"})));
  place();
  if (!found.length) return;
  activate(0);
  if (document.activeElement === opened.word) list.focus({preventScroll: true});
}

function explain(error) {
  if (!(error instanceof ServerError)) throw error;
  notice.textContent = `The server refuses this: ${error.message}`;
}

function activate(index) {
  active = Math.max(0, Math.min(index, list.children.length - 1));
  for (const [other, option] of [...list.children].entries()) option.setAttribute("aria-selected", other === active);
  list.setAttribute("aria-activedescendant", `option-${active}`);
}

// Under the word, within the window.
function place() {
  const word = opened.word.getBoundingClientRect(), {width} = popover.getBoundingClientRect();
  const fromRight = getComputedStyle(opened.word).direction === "rtl";
  const left = fromRight ? word.right - width : word.left;
  const most = document.documentElement.clientWidth - width - MARGIN;
  popover.style.left = `${Math.max(MARGIN, Math.min(left, most)) + scrollX}px`;
  popover.style.top = `${word.bottom + scrollY + 6}px`;
  popover.scrollIntoView({block: "nearest"});
}

function choose(target) {
  const {action, at} = opened;
  close();
  action(target, at);
}

list.addEventListener("click", ({target}) => {
  const index = [...list.children].indexOf(target.closest("li"));
  if (index >= 0) choose(opened.targets[index]);
});

list.addEventListener("pointermove", ({target}) => {
  const index = [...list.children].indexOf(target.closest("li"));
  if (index >= 0) activate(index);
});

list.addEventListener("keydown", event => {
  if (hasModifier(event)) return;
  const next = {ArrowUp: active - 1, ArrowDown: active + 1, Home: 0, End: list.children.length - 1}[event.key];
  if (next !== undefined) activate(next);
  else if (event.key === "Enter" || event.key === " ") choose(opened.targets[active]);
  else {
    if (event.key.length === 1) own.focus();  // which takes the letter
    return;
  }
  event.preventDefault();
});

form.addEventListener("submit", async event => {
  event.preventDefault();
  const written = wordsOf(own.value).join(" "), {draft, at, controller: {signal}} = opened;
  if (!written) return;
  try {
    const target = await draft.continued(at, written, signal, message => { notice.textContent = message; });
    if (!signal.aborted) choose(target);
  } catch (error) {
    if (!signal.aborted) explain(error);
  }
});

// Closed by Escape, or by a press elsewhere.
popover.addEventListener("toggle", ({newState}) => {
  if (newState === "closed" && !popover.matches(":popover-open")) {
    opened?.controller.abort();
    opened = null;
  }
});
addEventListener("resize", () => {
  if (opened) place();
});
