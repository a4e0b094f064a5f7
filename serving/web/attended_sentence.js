// The attention behind a sentence: its kinds, and what each word of the translation looked at.

import {AttentionKind} from "./attention_kind.js";
import {readable, START, words} from "./pieces.js";

class AttendedSentence {
  constructor(part) {
    this.source = words(part.source);
    this.target = words(part.target);
    const text = readable(part.source), predicted = readable(part.target);
    const read = readable([START, ...part.target.slice(0, -1)]);
    const notes = read.map((token, index) => `has read ${token}, predicts ${predicted[index]}`);
    const kind = (key, queries, keys, {shape, values}, notesOfQueries = queries.map(() => "")) =>
      new AttentionKind({key, shape, queries, keys, weights: values, notes: notesOfQueries});
    this.kinds = [
      kind("input-input", text, text, part.encoder),
      kind("output-output", read, read, part.decoder, notes),
      kind("input-output", predicted, text, part.cross, notes),
    ];
  }

  // The layer before the last, which is known to align best.
  get #layer() {
    return Math.max(0, this.kinds[2].layers - 2);
  }

  get alignedBy() {
    const {name, layers, heads} = this.kinds[2];
    return `${name}, layer ${this.#layer + 1} of ${layers}, mean of ${heads === 1 ? "its head" : `its ${heads} heads`}`;
  }

  // The words of the text, with the share of each in the weights of a target word; what is missing to 1 is the end's.
  looksOf({first, end}) {
    const cross = this.kinds[2];
    return this.source.map(word => {
      let share = 0;
      for (let column = word.first; column < word.end; column++)
        for (let row = first; row < end; row++)
          for (let head = 0; head < cross.heads; head++)
            share += cross.weight(this.#layer, head, row, column) / cross.heads / (end - first);
      return {text: word.text, share};
    });
  }
}

// The sentences of an answer of POST /attention.
export const sentencesOf = answer => answer.parts.map(part => new AttendedSentence(part));
