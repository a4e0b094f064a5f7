// A translation that the user edits: the model's own, until sentences of it are replaced.

import {attention, translate} from "./api.js";
import {sentencesOf} from "./attended_sentence.js";
import {retrying} from "./retry.js";

export const wordsOf = text => text.match(/\S+/g) ?? [];

export class Draft {
  #source;
  #fields;           // of a request, without its text
  #own = [];         // the model's own sentences, once they are known: [{source, target, attended}]
  #sentences = [];   // the sentences as they stand; attended: an AttendedSentence, or null until it is needed
  #gaps;             // the white space around their targets
  #attended = null;  // a promise of all AttendedSentences

  // `fields`: the version that has translated the text. `others`: how many other translations it gives at once.
  constructor(source, target, fields, others, signal) {
    this.#source = source;
    this.#gaps = [target];
    this.#fields = fields;
    this.others = others;
    this.signal = signal;
  }

  get text() {
    return this.#gaps.reduce((text, gap, index) => text + this.#sentences[index - 1].target + gap);
  }

  get isChanged() {
    return this.#sentences.some(({target}, index) => target !== this.#own[index].target);
  }

  // The sentences, [{source, target}]: none before their attention is known, or if it does not tell them apart.
  get sentences() {
    return this.#sentences;
  }

  // A promise of an AttendedSentence for each sentence; after a failure the next call requests it again.
  attention(notify) {
    const promise = this.#attended ??= this.#attend(notify).catch(error => {
      if (this.#attended === promise) this.#attended = null;
      throw error;
    });
    return promise;
  }

  // Where a word is, {index, place}: the sentence, and the word in it. Null if the sentences are not known.
  locate(word) {
    return placeOf(word, this.#sentences.map(({target}) => wordsOf(target).length));
  }

  // The same in the sentences of the attention. Null if these have not the words of the text.
  locateIn(attended, word) {
    const counts = attended.map(({target}) => target.length);
    return sum(counts) === wordsOf(this.text).length ? placeOf(word, counts) : null;
  }

  // The index of the word at a place, among all words.
  indexOf({index, place}) {
    return this.#sentences.slice(0, index).reduce((sum, {target}) => sum + wordsOf(target).length, place);
  }

  // What else can stand at a place, the best first: [{word, target}]. The word is "" where the sentence ends. Answers that
  // go on within the word before the place are left out.
  async wordsAt({index, place}, signal, notify) {
    const {source, target} = this.#sentences[index], seen = new Set([wordsOf(target)[place]]);
    const prefix = beginning(target, place), before = wordsOf(prefix).join(" ");
    const fields = {q: source, prefix, alternatives: this.others, alternatives_at_prefix: true};
    const {translatedText, alternatives} = await this.#translate(fields, signal, notify);
    return [translatedText, ...alternatives]
      .filter(other => wordsOf(other).slice(0, place).join(" ") === before)
      .map(other => ({word: wordsOf(other)[place] ?? "", target: other}))
      .filter(({word}) => !seen.has(word) && seen.add(word));
  }

  // The best translations of a sentence, the best first: [{target, score}].
  async alternatives(index, signal, notify) {
    const fields = {q: this.#sentences[index].source, alternatives: this.others, scores: true};
    const {translatedText, alternatives, scores} = await this.#translate(fields, signal, notify);
    return [translatedText, ...alternatives].map((target, at) => ({target, score: scores[at]}));
  }

  // The sentence up to a place, followed by the words that the user has written.
  async continued({index, place}, written, signal, notify) {
    const {source, target} = this.#sentences[index];
    const prefix = [beginning(target, place), written].filter(Boolean).join(" ");
    return (await this.#translate({q: source, prefix}, signal, notify)).translatedText;
  }

  replace(index, target) {
    const own = this.#own[index], {source} = own;
    this.#sentences[index] = target === own.target ? own : {source, target, attended: null};
    this.#attended = null;
  }

  undo() {
    this.#sentences = [...this.#own];
    this.#attended = null;
  }

  async #attend(notify) {
    if (!this.#own.length) {
      const found = await this.#request({q: this.#source}, notify);
      if (!this.#divide(found)) return found;
    }
    return Promise.all(this.#sentences.map(async sentence => {
      const {source, target} = sentence;
      sentence.attended ??= (await this.#request({q: source, prefix: target}, notify))[0];
      return sentence.attended;
    }));
  }

  // Divide text and translation as the server has; return whether their words allow it.
  #divide(found) {
    if (!found.length) return false;
    const sources = divided(this.#source, found.map(({source}) => source.length));
    const targets = divided(this.#gaps[0], found.map(({target}) => target.length));
    if (!sources || !targets) return false;
    this.#gaps = targets.gaps;
    this.#own = found.map((attended, index) =>
      ({source: sources.parts[index], target: targets.parts[index], attended}));
    this.#sentences = [...this.#own];
    return true;
  }

  async #request(fields, notify) {
    const attempt = () => attention({...fields, ...this.#fields}, this.signal);
    return sentencesOf(await retrying(attempt, this.signal, notify));
  }

  #translate(fields, signal, notify) {
    return retrying(() => translate({...fields, ...this.#fields}, signal), signal, notify);
  }
}

// Where a word is among sentences of so many words, {index, place}, or null.
function placeOf(word, counts) {
  for (const [index, count] of counts.entries()) {
    if (word < count) return {index, place: word};
    word -= count;
  }
  return null;
}

const sum = numbers => numbers.reduce((one, other) => one + other, 0);

// The text up to the end of the word before a place.
function beginning(text, place) {
  const before = [...text.matchAll(/\S+/g)].slice(0, place).at(-1);
  return before ? text.slice(0, before.index + before[0].length) : "";
}

// Divide a text into parts of so many words and the gaps around them, or return null if it has more or fewer words.
// A single part is the text without the space around it, whatever its words are.
function divided(text, counts) {
  const words = [...text.matchAll(/\S+/g)], all = counts.length === 1 ? [words.length] : counts;
  if (!Math.min(...all) || sum(all) !== words.length) return null;
  const parts = [], gaps = [];
  let end = 0;
  for (const count of all) {
    const own = words.splice(0, count), start = own[0].index;
    gaps.push(text.slice(end, start));
    end = own.at(-1).index + own.at(-1)[0].length;
    parts.push(text.slice(start, end));
  }
  return {parts, gaps: [...gaps, text.slice(end)]};
}
