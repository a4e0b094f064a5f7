// SentencePiece in plain JavaScript: text -> ids and back as the library does it, from a .model file.
// It needs no package and runs wherever there is a TextEncoder.

import { BytePairs } from "./bpe.mjs";
import { readModel, Type } from "./model.mjs";
import { Normalizer } from "./normalizer.mjs";
import { Unigram } from "./unigram.mjs";
import { bytesOf, textOfAny } from "./utf8.mjs";
import { Vocabulary, WRITTEN } from "./vocabulary.mjs";

const SPACE_SIGN = "▁";

export class SentencePiece {
  /** From the bytes of a .model file, and the id that ends every text. */
  constructor(bytes, end = 3) {
    const model = readModel(bytes);
    this.end = end;
    this.model = model;
    this.vocabulary = new Vocabulary(model.pieces);
    this.normalizer = new Normalizer(model.normalizer, this.vocabulary.userDefined);
    this.cutter = new (model.unigram ? Unigram : BytePairs)(this.vocabulary);
  }

  /** text -> ids, ending with the end; at most so many: the text is cut, and never its end. */
  encode(text, most = Infinity) {
    const { byteIds, unknown } = this.vocabulary;
    const ids = [];
    for (const [piece, id] of this.cutter.cut(this.normalizer.normalize(text))) {
      if (id !== unknown) ids.push(id);
      else if (this.model.byteFallback) ids.push(...Array.from(bytesOf(piece), (byte) => byteIds[byte]));
      else if (ids.at(-1) !== unknown) ids.push(unknown); // one for all that stand together
    }
    return [...ids.slice(0, most - 1), this.end];
  }

  /** text -> the names of its pieces; unknown ones that stand together are one. */
  pieces(text) {
    const { unknown } = this.vocabulary;
    const names = [];
    let before;
    for (const [piece, id] of this.cutter.cut(this.normalizer.normalize(text))) {
      if (id === unknown && before === unknown) names.push(names.pop() + piece);
      else names.push(piece);
      before = id;
    }
    return names;
  }

  /** ids -> text. Padding, start and end say nothing; bytes that are no UTF-8 become U+FFFD. */
  decode(ids) {
    return this.#text(ids.map((id) => this.#piece(id)));
  }

  /** Names of pieces, which this model need not have -> text. */
  join(names) {
    const { ids, pieces } = this.vocabulary;
    return this.#text(names.map((name) => pieces[ids.get(name)] ?? { type: Type.NORMAL, text: name }));
  }

  #text(pieces) {
    const { addDummyPrefix, removeExtraSpaces } = this.model.normalizer;
    let text = "";
    let bytes = []; // that are not yet text
    let atStart = addDummyPrefix || removeExtraSpaces; // where the space goes that is put before every text
    const flush = () => {
      text += textOfAny(Uint8Array.from(bytes));
      bytes = [];
    };
    for (const piece of pieces) {
      if (piece.type === Type.BYTE) bytes.push(piece.byte);
      else flush();
      if (piece.type === Type.UNKNOWN) text += this.model.unknownText;
      if (!WRITTEN.includes(piece.type)) continue;
      const leading = atStart && text === "" && piece.text.startsWith(SPACE_SIGN);
      text += piece.text.slice(leading ? 1 : 0).replaceAll(SPACE_SIGN, " ");
      if (leading && !removeExtraSpaces) atStart = false;
    }
    flush();
    return text;
  }

  #piece(id) {
    const { pieces } = this.vocabulary;
    if (pieces[id]) return pieces[id];
    throw new RangeError(`this vocabulary has the ids 0 to ${pieces.length - 1}; got ${id}`);
  }
}
