// The pieces of a SentencePiece model, and how they are found.

import { Type } from "./model.mjs";

/** The types of pieces whose name is the text that they stand for. */
export const WRITTEN = [Type.NORMAL, Type.USER_DEFINED, Type.UNUSED];

export class Vocabulary {
  constructor(pieces) {
    this.pieces = pieces;
    this.ids = new Map(); // of the pieces that a text can be cut into
    this.byteIds = []; // of each byte
    pieces.forEach(({ text, type, byte }, id) => {
      if (WRITTEN.includes(type)) this.ids.set(text, id);
      if (type === Type.BYTE) this.byteIds[byte] = id;
    });
    this.unknown = pieces.findIndex(({ type }) => type === Type.UNKNOWN);
    this.userDefined = pieces.filter(({ type }) => type === Type.USER_DEFINED).map(({ text }) => text);
  }

  is(type, id) {
    return this.pieces[id].type === type;
  }
}
