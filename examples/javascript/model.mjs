// Reading a SentencePiece .model file: a protobuf message, of which this is what a tokenizer needs.
// Its fields are named in sentencepiece_model.proto, which comes with the library.

import { textOf } from "./utf8.mjs";

const UNIGRAM = 1;
const BPE = 2;

export const Type = { NORMAL: 1, UNKNOWN: 2, CONTROL: 3, USER_DEFINED: 4, UNUSED: 5, BYTE: 6 };

/** bytes -> { pieces: [{ text, score, type }], unigram, byteFallback, unknownText, normalizer }. */
export function readModel(bytes) {
  const pieces = [];
  let trainer = {};
  let normalizer = {};
  let denormalizer = {};
  for (const [number, value] of fields(bytes)) {
    if (number === 1) pieces.push(piece(Object.fromEntries(fields(value))));
    if (number === 2) trainer = Object.fromEntries(fields(value));
    if (number === 3) normalizer = Object.fromEntries(fields(value));
    if (number === 5) denormalizer = Object.fromEntries(fields(value));
  }
  const kind = trainer[3] ?? UNIGRAM;
  if (!pieces.some(({ type }) => type === Type.UNKNOWN)) throw damaged(bytes, "it has no unknown piece");
  if (kind !== UNIGRAM && kind !== BPE) {
    throw new Error(`model_type must be 1 (unigram) or 2 (bpe); got ${kind}`);
  }
  if (trainer[24]) throw unknown("treat_whitespace_as_suffix");
  if (denormalizer[2]?.length) throw unknown("denormalization_rule_tsv");
  return {
    pieces,
    unigram: kind === UNIGRAM,
    byteFallback: Boolean(trainer[35]),
    unknownText: trainer[44] ? textOf(trainer[44]) : " \u2047 ",
    normalizer: {
      charsmap: normalizer[2] ?? new Uint8Array(),
      addDummyPrefix: Boolean(normalizer[3] ?? 1),
      removeExtraSpaces: Boolean(normalizer[4] ?? 1),
    },
  };
}

function piece({ 1: name, 2: score = 0, 3: type = Type.NORMAL }) {
  const text = textOf(name);
  return { text, score, type, byte: type === Type.BYTE ? Number(text.slice(1, -1)) : undefined }; // <0x0A>
}

/** Each field of a message: its number, and a number or, of strings and messages, their bytes. */
function* fields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (size) => {
    if (at + size > bytes.length) throw damaged(bytes, "it ends too early");
    at += size;
    return at - size;
  };
  const varint = () => {
    let value = 0;
    for (let scale = 1, more = true; more; scale *= 128) {
      const byte = bytes[take(1)];
      value += (byte & 127) * scale;
      more = byte > 127;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = varint();
    const [number, wire] = [Math.floor(tag / 8), tag % 8];
    if (wire === 0) yield [number, varint()];
    else if (wire === 1) yield [number, view.getFloat64(take(8), true)];
    else if (wire === 5) yield [number, view.getFloat32(take(4), true)];
    else if (wire === 2) {
      const size = varint();
      const start = take(size);
      yield [number, bytes.subarray(start, start + size)];
    } else throw damaged(bytes, `a field has the wire type ${wire}`);
  }
}

function damaged(bytes, reason) {
  return new Error(`these ${bytes.length} bytes are not a SentencePiece model: ${reason}`);
}

function unknown(setting) {
  return new Error(`${setting} is not known here: train the model without it`);
}
