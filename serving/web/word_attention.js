// What one word of the translation looked at: named in a line, and shaded in the text.

import {byId, element} from "./dom.js";
import * as source from "./source_text.js";
import * as translation from "./translation_view.js";

const line = byId("looked");
const MAX_NAMED = 3, MIN_SHARE = 0.05;  // of the words that it looked at, how many are named, and from which share

export function clear() {
  line.replaceChildren();
  source.shade([]);
}

export function invite() {
  line.textContent = "Choose a word of the translation to see what it looked at.";
}

export function show({index, text}, answer) {
  if (answer.count("target") !== translation.countWords()) {
    line.textContent = "The tokens of this translation do not divide into its words; the tokens are shown below.";
    return;
  }
  const {before, looks, alignedBy} = answer.looksOf(index);
  const named = looks.filter(({share}) => share >= MIN_SHARE).sort((one, other) => other.share - one.share);
  line.replaceChildren(element("b", text), " looked at ", ...listed(named.slice(0, MAX_NAMED)),
    element("span", ` (${alignedBy}.)`, {class: "hint"}));
  const matches = source.text().split(/\s+/).filter(Boolean).length === answer.count("source");
  source.shade(matches ? [...Array(before).fill(0), ...looks.map(({share}) => share)] : []);
}

function listed(words) {
  if (!words.length) return ["the end of the sentence, and at no word in particular."];
  return words.flatMap(({text, share}, index) => [
    index ? ", " : "", element("b", text), ` ${Math.round(100 * share)} %`,
  ]).concat(".");
}
