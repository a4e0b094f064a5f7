// The page: what is written is asked, what comes is shown, and each new text puts an end to the one before.

import * as directions from "./directions.js";
import {byId, element} from "./dom.js";
import * as explorer from "./explorer.js";
import * as history from "./history.js";
import * as looked from "./looked.js";
import {Looking} from "./looking.js";
import * as output from "./output.js";
import {patiently} from "./patience.js";
import {models, ServerError, translation} from "./server.js";
import * as writing from "./writing.js";

const PAUSE = 350;  // milliseconds without a key, after which it is translated
const notice = byId("notice"), field = byId("text");
let current = new AbortController(), waiting = 0, looking = null;

const tell = said => { notice.textContent = said; };

function stop() {
  clearTimeout(waiting);
  current.abort();
  current = new AbortController();
  looking = null;
  looked.clear();
  return current.signal;
}

async function translate() {
  const signal = stop(), text = writing.text(), one = directions.chosen();
  if (!one || writing.excess() || !text.trim()) return rest(text);
  tell("");
  try {
    const done = await patiently(async () => {
      const add = output.begin();
      for await (const event of translation({q: text, ...directions.named(one)}, signal))
        if (event.kind === "piece") add(event.text);
        else return event;
    }, signal, tell);
    output.done(done);
    history.add({text, translation: done.translatedText, model: done.model});
    looking = new Looking({q: text, model: done.model, version: done.version}, signal);
    explorer.use(looking);
    looked.invite();
    if (done.version !== one.version && one.usual) await learn(signal);  // another has become the default
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
}

// Nothing is asked.
function rest(text) {
  if (text.trim()) output.stale();
  else output.clear();
  explorer.use(null);
  const over = writing.excess();
  tell(over ? `This is too long by ${writing.grouped(over)} characters: shorten it, or divide it.` : "");
}

function fail(error) {
  if (!(error instanceof ServerError)) throw error;
  tell({
    400: `The server does not take this text: ${error.message}.`,
    404: "That version is gone. Choose another direction, or load the page again.",
    413: "This is too long: shorten it, or divide it.",
    504: "This took longer than the server allows. Ask it again, or divide the text.",
  }[error.status] ?? `This failed: ${error.message}. It may help to ask again.`);
}

async function learn(signal) {
  const {models: found, limits} = await models(signal);
  writing.limit(limits.characters);
  directions.show(found);
  name();
}

// What depends on the direction: the names of the languages, and the examples.
function name() {
  const {source = "", target = "", examples = []} = directions.chosen() ?? {};
  byId("from").textContent = source ? directions.language(source) : "Text";
  byId("to").textContent = target ? directions.language(target) : "Translation";
  field.lang = source;
  byId("translation").lang = target;
  byId("examples").hidden = !examples.length;
  byId("examples").querySelector("ul").replaceChildren(...examples.map(text => {
    const item = element("li");
    item.append(element("button", text, {type: "button", lang: source, dir: "auto"}));
    return item;
  }));
}

function take(text) {
  writing.write(text);
  field.focus();
  translate();
}

field.addEventListener("input", ({isComposing}) => {
  stop();
  writing.changed();
  if (writing.text().trim() && !writing.excess()) output.stale();
  else return rest(writing.text());
  if (!isComposing) waiting = setTimeout(translate, PAUSE);
});
field.addEventListener("compositionend", () => {
  clearTimeout(waiting);
  waiting = setTimeout(translate, PAUSE);
});
document.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  translate();
});
byId("translate").addEventListener("click", translate);
byId("examples").addEventListener("click", ({target}) => {
  if (target.closest("button")) take(target.textContent);
});
directions.changed(() => {
  directions.describe();
  name();
  translate();
});
history.start(({text, model}) => {
  if (directions.choose(model)) name();
  take(text);
});
output.chosen(async word => {
  looked.clear();
  if (!looking) return;
  if (!word) return looked.invite();
  const asked = looking;
  try {
    const attended = await asked.attended(tell);
    if (asked === looking) looked.show(word, attended);
  } catch (error) {
    if (!asked.signal.aborted) fail(error);
  }
});

const opening = new AbortController();
patiently(() => learn(opening.signal), opening.signal, tell).then(translate, fail);
