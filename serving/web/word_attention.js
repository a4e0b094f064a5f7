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

export function invite(offersWords) {
  line.textContent = `Choose a word of the translation to see what it looked at${offersWords ? ", and what else can stand there" : ""}.`;
}

// Show the looks of a word {text} at {index, place}, or at null; `attended`: the sentences of the text.
export function show({text}, at, attended) {
  const sentence = attended[at?.index], target = sentence?.target[at.place];
  if (target?.text !== text) {
    line.textContent = "The tokens of this translation do not divide into its words; the tokens are shown below.";
    return;
  }
  const looks = sentence.looksOf(target);
  const named = looks.filter(({share}) => share >= MIN_SHARE).sort((one, other) => other.share - one.share);
  line.replaceChildren(element("b", text), " looked at ", ...listed(named.slice(0, MAX_NAMED)),
    element("span", ` (${sentence.alignedBy}.)`, {class: "hint"}));
  const counts = attended.map(({source}) => source.length), before = sum(counts.slice(0, at.index));
  const matches = source.text().split(/\s+/).filter(Boolean).length === sum(counts);
  source.shade(matches ? [...Array(before).fill(0), ...looks.map(({share}) => share)] : []);
}

const sum = numbers => numbers.reduce((one, other) => one + other, 0);

function listed(words) {
  if (!words.length) return ["the end of the sentence, and at no word in particular."];
  return words.flatMap(({text, share}, index) => [
    index ? ", " : "", element("b", text), ` ${Math.round(100 * share)} %`,
  ]).concat(".");
}
