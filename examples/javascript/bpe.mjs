// Byte-pair encoding: of neighbours that are a piece together, those with the highest score are joined first.

import { Type } from "./model.mjs";

export class BytePairs {
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
  }

  /** A normalized text -> its pieces and their ids: [[text, id], ...]. */
  cut(text) {
    const { vocabulary } = this;
    const symbols = linked(text, vocabulary.userDefined);
    const agenda = new Agenda();
    const parts = new Map(); // what each piece that is only passed through was joined from
    const consider = (left, right) => {
      if (!left || !right || left.whole || right.whole) return;
      const joined = left.text + right.text;
      const id = vocabulary.ids.get(joined);
      if (id === undefined) return;
      agenda.push({ left, right, joined, score: vocabulary.pieces[id].score });
      if (vocabulary.is(Type.UNUSED, id)) parts.set(joined, [left.text, right.text]);
    };
    for (const symbol of symbols) consider(symbol, symbol.next);
    for (let pair = agenda.pop(); pair; pair = agenda.pop()) {
      const { left, right, joined } = pair;
      if (left.gone || right.gone || left.text.length + right.text.length !== joined.length) continue;
      left.text = joined;
      left.next = right.next;
      if (right.next) right.next.previous = left;
      right.gone = true;
      consider(left.previous, left);
      consider(left, left.next);
    }
    const spoken = (piece) => {
      const id = vocabulary.ids.get(piece) ?? vocabulary.unknown;
      if (!vocabulary.is(Type.UNUSED, id)) return [[piece, id]];
      return parts.get(piece)?.flatMap(spoken) ?? [[piece, vocabulary.unknown]];
    };
    return symbols.filter(({ gone }) => !gone).flatMap((symbol) => spoken(symbol.text));
  }
}

/** The characters of a text, each with those beside it. A user-defined piece is one that is never joined. */
function linked(text, userDefined) {
  const symbols = [];
  for (let at = 0; at < text.length; at += symbols.at(-1).text.length) {
    const whole = userDefined.filter((piece) => text.startsWith(piece, at)).sort(longestFirst)[0];
    const character = String.fromCodePoint(text.codePointAt(at));
    symbols.push({ text: whole ?? character, whole: whole !== undefined, place: at, gone: false });
  }
  symbols.forEach((symbol, index) => {
    symbol.previous = symbols[index - 1];
    symbol.next = symbols[index + 1];
  });
  return symbols;
}

function longestFirst(one, other) {
  return other.length - one.length;
}

/** Pairs that may be joined, the best first: a binary heap. */
class Agenda {
  #heap = [];

  push(pair) {
    const heap = this.#heap;
    let at = heap.length;
    for (; at > 0 && before(pair, heap[(at - 1) >> 1]); at = (at - 1) >> 1) heap[at] = heap[(at - 1) >> 1];
    heap[at] = pair;
  }

  pop() {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!heap.length) return first;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++;
      if (!before(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

/** The higher score, and of equal ones the leftmost. */
function before(one, other) {
  return one.score > other.score || (one.score === other.score && one.left.place < other.left.place);
}
