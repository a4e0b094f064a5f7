// The page: it translates what is typed, and each new text cancels the request before.

import {models, ServerError, translation} from "./api.js";
import * as alternativesPanel from "./alternatives_panel.js";
import * as attentionPanel from "./attention_panel.js";
import {byId, element} from "./dom.js";
import {Draft} from "./draft.js";
import * as history from "./history.js";
import * as modelChoice from "./model_choice.js";
import {retrying} from "./retry.js";
import * as source from "./source_text.js";
import * as view from "./translation_view.js";
import * as wordAttention from "./word_attention.js";
import * as wordOptions from "./word_options.js";

const TYPING_PAUSE = 350;  // milliseconds without a key before the text is translated
const notice = byId("notice"), field = byId("text");
let current = new AbortController(), timer = 0, draft = null;

const notify = message => { notice.textContent = message; };

// Cancel the current request, and return the signal of the next one.
function cancel() {
  clearTimeout(timer);
  current.abort();
  current = new AbortController();
  draft = null;
  inviteToChoose();
  wordOptions.close();
  return current.signal;
}

async function translate() {
  const signal = cancel(), text = source.text(), model = modelChoice.chosen();
  if (!model || source.excess() || !text.trim()) return rest(text);
  notify("");
  try {
    const done = await retrying(async () => {
      const append = view.begin();
      for await (const event of translation({q: text, ...modelChoice.fieldsOf(model)}, signal))
        if (event.kind === "piece") append(event.text);
        else return event;
    }, signal, notify);
    view.complete(done);
    history.add({text, translation: done.translatedText, model: done.model});
    const version = {...modelChoice.fieldsOf(model), model: done.model, version: done.version};
    work(new Draft(text, done.translatedText, version, Math.max(0, model.maxBeam - 1), signal));
    if (done.version !== model.version && model.isDefault) await loadModels(signal);  // another became the default
  } catch (error) {
    if (!signal.aborted) showFailure(error);
  }
}

// Work on a translation from now on, or on none.
function work(on) {
  draft = on;
  attentionPanel.use(draft);
  alternativesPanel.use(draft);
  inviteToChoose();
}

function inviteToChoose() {
  wordAttention.clear();
  if (draft) wordAttention.invite(draft.others);
  byId("undo").hidden = !draft?.isChanged;
}

// Show the translation as it has been changed, and focus one of its words.
function showChanged(word) {
  view.show(draft.text);
  view.focus(word);
  inviteToChoose();
  attentionPanel.update();
  alternativesPanel.update();
}

function replaceSentence(target, at) {
  if (!draft) return;
  draft.replace(at.index, target);
  showChanged(draft.indexOf(at));
}

// Request nothing, as for an empty or too long text.
function rest(text) {
  if (text.trim()) view.markStale();
  else view.clear();
  work(null);
  notify("");
}

function showFailure(error) {
  if (!(error instanceof ServerError)) throw error;
  notify({
    400: `The server does not accept this text: ${error.message}.`,
    404: "This version is not served any more. Choose another one, or reload the page.",
    413: "The text is too long: shorten it, or split it.",
    504: "This took longer than the server allows. Try again, or split the text.",
  }[error.status] ?? `The request failed: ${error.message}. Try again.`);
}

async function loadModels(signal) {
  const {models: found, limits} = await models(signal);
  source.limit(limits.characters);
  modelChoice.show(found);
  showLanguages();
}

// Show what depends on the model: the names of the languages, and the examples.
function showLanguages() {
  const {source: from = "", target: to = "", examples = []} = modelChoice.chosen() ?? {};
  byId("from").textContent = from ? modelChoice.language(from) : "Text";
  byId("to").textContent = to ? modelChoice.language(to) : "Translation";
  field.lang = from;
  byId("translation").lang = to;
  byId("examples").hidden = !examples.length;
  byId("examples").querySelector("ul").replaceChildren(...examples.map(text =>
    element("li", element("button", text, {type: "button", lang: from, dir: "auto"}))));
}

function replaceText(text) {
  source.write(text);
  field.focus();
  translate();
}

function translateAfterPause() {
  clearTimeout(timer);
  timer = setTimeout(translate, TYPING_PAUSE);
}

field.addEventListener("input", ({isComposing}) => {
  cancel();
  source.update();
  if (!source.text().trim() || source.excess()) return rest(source.text());
  view.markStale();
  if (!isComposing) translateAfterPause();
});
field.addEventListener("compositionend", translateAfterPause);
document.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  translate();
});
byId("translate").addEventListener("click", translate);
byId("examples").addEventListener("click", ({target}) => {
  if (target.closest("button")) replaceText(target.textContent);
});
modelChoice.onChange(() => {
  showLanguages();
  translate();
});
history.start(({text, model}) => {
  if (modelChoice.choose(model)) showLanguages();
  replaceText(text);
});
view.onChoice(async word => {
  wordAttention.clear();
  if (!draft) return;
  if (!word) return inviteToChoose();
  const chosen = draft, text = draft.text;
  try {
    const attended = await chosen.attention(notify), at = chosen.locate(word.index);
    if (chosen !== draft || text !== draft.text || !view.isChosen(word.element)) return;
    wordAttention.show(word, at ?? chosen.locateIn(attended, word.index), attended);
    if (!at) return;
    attentionPanel.follow(at.index);
    alternativesPanel.follow(at.index);
    if (chosen.others) wordOptions.open(word, at, chosen, replaceSentence);
  } catch (error) {
    if (!chosen.signal.aborted) showFailure(error);
  }
});
alternativesPanel.onChoice(replaceSentence);
byId("undo").addEventListener("click", () => {
  draft.undo();
  showChanged(0);
});

const opening = new AbortController();
retrying(() => loadModels(opening.signal), opening.signal, notify).then(translate, showFailure);
