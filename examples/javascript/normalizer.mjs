// What a SentencePiece model does to a text before it is cut into pieces. The table is inside the model.

import { bytesOf, characterLength, textOf } from "./utf8.mjs";

const SPACE = 0x20;
const SPACE_SIGN = [0xe2, 0x96, 0x81]; // ▁

/** The table of replacements: the size of a trie, the trie, and strings that end with a zero byte. */
class CharacterMap {
  constructor(blob) {
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const size = blob.length ? view.getUint32(0, true) : 0;
    this.units = Uint32Array.from({ length: size / 4 }, (_, index) => view.getUint32(4 + 4 * index, true));
    this.strings = blob.subarray(4 + size);
  }

  /**
   * The longest entry that the bytes have at a place: { length, bytes: its replacement }, or null.
   *
   * The trie is a double array. A unit has 8 bits of the byte that leads to it, bit 8 if an entry ends here,
   * and the distance to its children in bits 10 to 30, times 256 if bit 9 is set; children are found with an
   * exclusive or. The unit behind byte 0 of an entry is the place of its replacement.
   */
  longest(bytes, start) {
    const { units } = this;
    if (!units.length) return null;
    let found = null;
    let place = children(units, 0);
    for (let at = start; at < bytes.length; at++) {
      place ^= bytes[at];
      if ((units[place] & 0x800000ff) !== bytes[at]) break;
      const ends = (units[place] >>> 8) & 1;
      place = children(units, place);
      if (ends) found = { length: at + 1 - start, string: units[place] & 0x7fffffff };
    }
    if (!found) return null;
    const end = this.strings.indexOf(0, found.string);
    return { length: found.length, bytes: this.strings.subarray(found.string, end) };
  }
}

function children(units, place) {
  const unit = units[place];
  return place ^ ((unit >>> 10) << ((unit & 0x200) >>> 6));
}

export class Normalizer {
  /** The model's settings, and the pieces that are never changed. */
  constructor(settings, keptPieces) {
    this.settings = settings;
    this.map = new CharacterMap(settings.charsmap);
    this.kept = keptPieces.map(bytesOf);
  }

  /** text -> what is cut into pieces: spellings made one, spaces as ▁. Half a character becomes U+FFFD. */
  normalize(text) {
    if (text === "") return "";
    const { addDummyPrefix, removeExtraSpaces } = this.settings;
    const input = bytesOf(text);
    const output = addDummyPrefix ? [...SPACE_SIGN] : [];
    let afterSpace = removeExtraSpaces;
    for (let at = 0; at < input.length; ) {
      const { length, bytes } = this.#next(input, at);
      at += length;
      const next = afterSpace ? withoutLeadingSpaces(bytes) : bytes;
      for (const byte of next) output.push(...(byte === SPACE ? SPACE_SIGN : [byte]));
      if (next.length) afterSpace = removeExtraSpaces && next.at(-1) === SPACE;
    }
    const normalized = textOf(Uint8Array.from(output));
    return removeExtraSpaces ? normalized.replace(/▁+$/, "") : normalized;
  }

  /** What comes next, and what it becomes. */
  #next(input, at) {
    const kept = this.kept.filter((piece) => piece.every((byte, index) => input[at + index] === byte));
    const length = Math.max(0, ...kept.map((piece) => piece.length));
    if (length) return { length, bytes: input.subarray(at, at + length) };
    const found = this.map.longest(input, at);
    if (found) return found;
    const one = characterLength(input[at]);
    return { length: one, bytes: input.subarray(at, at + one) };
  }
}

function withoutLeadingSpaces(bytes) {
  const first = bytes.findIndex((byte) => byte !== SPACE);
  return first < 0 ? [] : bytes.subarray(first);
}
