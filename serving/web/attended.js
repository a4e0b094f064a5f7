// The answer of /attention: weights by layer, head, row and column; and what a word looked at.

import {readable, START, words} from "./pieces.js";

const KINDS = [
  ["encoder", "Input–Input", "The encoder reads: each token of the text looks at the tokens around it."],
  ["decoder", "Output–Output", "The decoder looks back at what it has read of the translation so far. What comes " +
    "later is hidden from it: everything right of the diagonal is 0."],
  ["cross", "Input–Output", "The decoder looks into the text. A row is the token that it is about to say."],
];

class Kind {
  constructor(name, about, rows, columns, {shape, values}) {
    Object.assign(this, {name, about, rows, columns, values});
    [this.layers, this.heads] = shape;
  }

  weight(layer, head, row, column) {
    return this.values[((layer * this.heads + head) * this.rows.length + row) * this.columns.length + column];
  }
}

// One sentence.
class Part {
  constructor(part) {
    this.source = words(part.source);
    this.target = words(part.target);
    const said = readable(part.target), read = readable([START, ...part.target.slice(0, -1)]);
    const text = readable(part.source);
    const sides = {encoder: [text, text], decoder: [read, read], cross: [said, text]};
    this.kinds = KINDS.map(([key, name, about]) => new Kind(name, about, ...sides[key], part[key]));
  }

  // The share of each word of the source in what a word of the translation looked at; the rest is the end's.
  // In the layer before the last, which is known to align best, its heads together.
  shares({first, end}) {
    const cross = this.kinds[2], layer = Math.max(0, cross.layers - 2);
    const shares = this.source.map(() => 0);
    this.source.forEach((word, index) => {
      for (let column = word.first; column < word.end; column++)
        for (let row = first; row < end; row++)
          for (let head = 0; head < cross.heads; head++)
            shares[index] += cross.weight(layer, head, row, column) / cross.heads / (end - first);
    });
    return shares;
  }
}

export class Attended {
  constructor(answer) {
    this.parts = answer.parts.map(part => new Part(part));
  }

  count(side) {
    return this.parts.reduce((sum, part) => sum + part[side].length, 0);
  }

  // What the word of this number looked at: the words of its sentence, and the number of the first of them.
  looks(number) {
    let before = 0;
    for (const part of this.parts) {
      if (number < part.target.length) {
        const shares = part.shares(part.target[number]);
        return {before, words: part.source.map(({text}, index) => ({text, share: shares[index]}))};
      }
      number -= part.target.length;
      before += part.source.length;
    }
    throw new RangeError("there is no such word");
  }
}
