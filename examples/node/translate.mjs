// Lines of text in, their translations out: node translate.mjs [--json] VERSION_DIR < lines

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { parseArgs } from "node:util";

import ort from "onnxruntime-node";

import { Translator } from "../javascript/translator.mjs";

const LINES_AT_ONCE = 16;

async function main() {
  const options = { json: { type: "boolean" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (positionals.length !== 1) {
    console.error("usage: node translate.mjs [--json] VERSION_DIR < lines");
    process.exitCode = 2;
    return;
  }
  const translator = await Translator.open((name) => readFile(join(positionals[0], name)), ort);
  const text = new TextDecoder("utf-8", { fatal: true }).decode(await buffer(process.stdin));
  const lines = text.split("\n"); // only a line feed ends one
  if (lines.at(-1) === "") lines.pop();
  for (let first = 0; first < lines.length; first += LINES_AT_ONCE) {
    const answers = await translator.translate(lines.slice(first, first + LINES_AT_ONCE));
    for (const answer of answers) console.log(values.json ? JSON.stringify(answer) : answer.text);
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
