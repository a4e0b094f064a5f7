// Unigram: a text is cut into the pieces with the highest sum of scores.

import { Type } from "./model.mjs";
import { bytesOf } from "./utf8.mjs";

const UNKNOWN_PENALTY = 10;

export class Unigram {
  constructor(vocabulary) {
    const { pieces, ids } = vocabulary;
    const scores = pieces.filter(({ type }) => type === Type.NORMAL).map(({ score }) => score);
    const lowest = scores.reduce((one, other) => Math.min(one, other));
    this.vocabulary = vocabulary;
    this.unknownScore = Math.fround(lowest - UNKNOWN_PENALTY);
    this.longest = [...ids.keys()].reduce((longest, piece) => Math.max(longest, piece.length), 0);
  }

  /**
   * A normalized text -> its pieces and their ids: [[text, id], ...].
   *
   * Of equal sums the one whose last piece is the longest. Sums are rounded to float32, as in the library: the
   * rounding decides between sums that would be equal without it.
   */
  cut(text) {
    const { ids, unknown } = this.vocabulary;
    const best = [{ score: 0 }]; // the best way to each place
    const offer = (start, end, id, score) => {
      const sum = Math.fround(best[start].score + score);
      if (!best[end] || sum > best[end].score) best[end] = { start, id, score: sum };
    };
    for (let start = 0, next; start < text.length; start = next) {
      next = start + String.fromCodePoint(text.codePointAt(start)).length;
      let known = false;
      for (let end = next; end <= Math.min(start + this.longest, text.length); end++) {
        const id = ids.get(text.slice(start, end));
        if (id === undefined || this.vocabulary.is(Type.UNUSED, id)) continue;
        offer(start, end, id, this.#score(id));
        known ||= end === next;
      }
      if (!known) offer(start, next, unknown, this.unknownScore);
    }
    const result = [];
    for (let end = text.length; end > 0; end = best[end].start) {
      result.push([text.slice(best[end].start, end), best[end].id]);
    }
    return result.reverse();
  }

  /** A user-defined piece is better than any that is learned, and the longer the better. */
  #score(id) {
    const { text, type, score } = this.vocabulary.pieces[id];
    return type === Type.USER_DEFINED ? Math.fround(0.1 * (bytesOf(text).length - 1)) : score;
  }
}
