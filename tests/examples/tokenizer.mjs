// Asked in JSON lines, { model, texts, most } or { model, rows }; answers { ids }, { texts } or { error }.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { SentencePiece } from "../../examples/javascript/sentencepiece.mjs";

const opened = {};

function answer({ model, texts, most, rows }) {
  const tokenizer = (opened[model] ??= new SentencePiece(readFileSync(model)));
  if (rows) return { texts: rows.map((row) => tokenizer.decode(row)) };
  return { ids: texts.map((text) => tokenizer.encode(text, most)) };
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = answer(JSON.parse(line));
  } catch (error) {
    said = { error: error.message };
  }
  console.log(JSON.stringify(said));
}
