// One word: what it looked at, said and shaded in the text.

import {byId, element} from "./dom.js";
import * as output from "./output.js";
import * as writing from "./writing.js";

const place = byId("looked");
const MOST = 3, LEAST = 0.05;  // of the words that it looked at, so many are named, if they had that share

export function clear() {
  place.replaceChildren();
  writing.shade([]);
}

export function invite() {
  place.textContent = "Choose a word of the translation, and see what it looked at.";
}

export function show({number, text}, attended) {
  if (attended.count("target") !== output.count()) {
    place.textContent = "The words of this translation cannot be told from its tokens; these are shown below.";
    return;
  }
  const {before, words} = attended.looks(number);
  const most = words.filter(({share}) => share >= LEAST).sort((one, other) => other.share - one.share);
  place.replaceChildren(element("b", text), " looked at ", ...listed(most.slice(0, MOST)));
  const apart = writing.text().split(/\s+/).filter(Boolean).length === attended.count("source");
  writing.shade(apart ? [...Array(before).fill(0), ...words.map(({share}) => share)] : []);
}

function listed(words) {
  if (!words.length) return ["the end of the sentence, and at no word in particular."];
  return words.flatMap(({text, share}, index) => [
    index ? ", " : "", element("b", text), ` ${Math.round(100 * share)} %`,
  ]).concat(".");
}
