// The tokenizer of one side of an imported model: SentencePiece cuts the text, and a vocabulary numbers the pieces.

const UNKNOWN = 1;
const LAST_SPECIAL = 3; // padding, unknown, start and end come first

export class NumberedPieces {
  /** From a SentencePiece, the names of all pieces in the order of their ids, and the id that ends every text. */
  constructor(sentencePiece, names, end) {
    this.sentencePiece = sentencePiece;
    this.names = names;
    this.end = end;
    this.ids = new Map(names.map((name, id) => [name, id]));
  }

  /** text, perhaps after the code of a target language as in ">>fra<< Hello." -> ids, at most so many. */
  encode(text, most = Infinity) {
    const [code] = /^>>.*?<</s.exec(text) ?? [""];
    const language = this.ids.has(code) ? code : "";
    const pieces = this.sentencePiece.pieces(text.slice(language.length));
    const ids = [...(language ? [language] : []), ...pieces].map((piece) => this.ids.get(piece) ?? UNKNOWN);
    return [...ids.slice(0, most - 1), this.end];
  }

  /** ids -> text. Special ids and unknown pieces say nothing. */
  decode(ids) {
    const names = ids.filter((id) => id > LAST_SPECIAL).map((id) => this.names[id]);
    return this.sentencePiece.join(names).replaceAll("▁", " ").trim();
  }
}
