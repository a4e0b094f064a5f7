// An exported version, used as it is: text -> ids -> onnx/translate.onnx -> ids -> text.
// Node and the browser share it; they differ in how a file is read and in which ONNX Runtime they have.

import { NumberedPieces } from "./numbered.mjs";
import { SentencePiece } from "./sentencepiece.mjs";
import { textOf } from "./utf8.mjs";

const FORMAT = 1;
const VOCABULARY = "tokenizer/vocabulary.json";

export class Translator {
  /** read(name) gives the bytes of a file of the version; ort is onnxruntime-node or onnxruntime-web. */
  static async open(read, ort) {
    const manifest = JSON.parse(textOf(await read("manifest.json")));
    if (manifest.format !== FORMAT) {
      throw new Error(
        `manifest.json has format ${manifest.format}, and this reads ${FORMAT}: ` +
          "use the example that came with what wrote it",
      );
    }
    const { end } = manifest.special_ids;
    const numbered = VOCABULARY in manifest.files; // an imported model
    const names = numbered && JSON.parse(textOf(await read(VOCABULARY)));
    const tokenizer = async (name) => {
      const sentencePiece = new SentencePiece(await read(`tokenizer/${name}.model`), end);
      return numbered ? new NumberedPieces(sentencePiece, names[name], end) : sentencePiece;
    };
    const { joint } = manifest.vocabulary;
    const source = await tokenizer(joint ? "shared" : "source");
    const target = joint ? source : await tokenizer("target");
    const session = await ort.InferenceSession.create(await read("onnx/translate.onnx"));
    return new Translator(manifest, source, target, session, ort);
  }

  constructor(manifest, source, target, session, ort) {
    Object.assign(this, { manifest, source, target, session, ort });
  }

  /**
   * Of each text { text, ids, score }: the translation, its ids with the end, and their mean log-probability.
   * Each is translated as it would be alone; a text that says nothing has no ids, and the score 0.
   */
  async translate(texts) {
    const rows = texts.map((text) => this.source.encode(text, this.manifest.limits.source_tokens));
    const { target, score } = await this.session.run({ source: this.#batch(rows) });
    const [, length] = target.dims;
    return texts.map((_, row) => {
      const ids = withoutPadding([...target.data.subarray(row * length, (row + 1) * length)]);
      return { text: this.target.decode(ids), ids, score: score.data[row] };
    });
  }

  /** Rows of ids as one tensor, filled up with 0. */
  #batch(rows) {
    const length = Math.max(...rows.map((row) => row.length));
    const ids = new Int32Array(rows.length * length);
    rows.forEach((row, number) => ids.set(row, number * length));
    return new this.ort.Tensor("int32", ids, [rows.length, length]);
  }
}

function withoutPadding(ids) {
  return ids.slice(0, ids.findLastIndex((id) => id !== 0) + 1);
}
