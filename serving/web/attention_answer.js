// The answer of POST /attention: the kinds of attention of each sentence, and what each word looked at.

import {AttentionKind} from "./attention_kind.js";
import {readable, START, words} from "./pieces.js";

class Sentence {
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

  // The share of each source word in the weights of a target word; what is missing to 1 is the end's.
  shares({first, end}) {
    const cross = this.kinds[2];
    return this.source.map(word => {
      let share = 0;
      for (let column = word.first; column < word.end; column++)
        for (let row = first; row < end; row++)
          for (let head = 0; head < cross.heads; head++)
            share += cross.weight(this.#layer, head, row, column) / cross.heads / (end - first);
      return share;
    });
  }
}

export class AttentionAnswer {
  constructor(answer) {
    this.sentences = answer.parts.map(part => new Sentence(part));
  }

  // How many words there are on a side, "source" or "target".
  count(side) {
    return this.sentences.reduce((sum, sentence) => sum + sentence[side].length, 0);
  }

  // What the target word of this index looked at: the words of its sentence with their shares, how many source words
  // precede them, and which layer and heads say so.
  looksOf(index) {
    let before = 0;
    for (const sentence of this.sentences) {
      if (index < sentence.target.length) {
        const shares = sentence.shares(sentence.target[index]);
        const looks = sentence.source.map(({text}, word) => ({text, share: shares[word]}));
        return {before, looks, alignedBy: sentence.alignedBy};
      }
      index -= sentence.target.length;
      before += sentence.source.length;
    }
    throw new RangeError("the translation has no such word");
  }
}
