// Pieces of a vocabulary as people read them: words, and tokens with a name.

const BYTE = /^<0x([0-9A-F]{2})>$/, SPACE = "▁";
export const START = "<s>";
const LANGUAGE = /^>>.+<<$/;  // the code of a target language, which the server puts before a source
const END = "</s>", NAMES = {[START]: "⟨start⟩", [END]: "⟨end⟩"};

// Tokens: ▁ as ␣, bytes as the part of a character that they are.
export function readable(pieces) {
  const shown = pieces.map(piece => NAMES[piece] ?? piece.replaceAll(SPACE, "␣"));
  for (const {first, bytes} of runs(pieces)) shown.splice(first, bytes.length, ...characters(bytes));
  return shown;
}

// Words: [{text, first, end}], the code of a language and the end of the sentence left out.
export function words(pieces) {
  const found = [], texts = [...pieces];
  for (const {first, bytes} of runs(pieces)) {
    const text = new TextDecoder().decode(Uint8Array.from(bytes));
    texts.splice(first, bytes.length, text, ...Array(bytes.length - 1).fill(""));
  }
  texts.forEach((text, index) => {
    if (pieces[index] === END || index === 0 && LANGUAGE.test(text)) return;
    if (text.startsWith(SPACE) || !found.length) found.push({text: "", first: index});
    const word = found.at(-1);
    word.text += text.replaceAll(SPACE, "");
    word.end = index + 1;
  });
  return found.filter(word => word.text);
}

function runs(pieces) {
  const found = [];
  pieces.forEach((piece, index) => {
    const byte = BYTE.exec(piece);
    if (!byte) return;
    const last = found.at(-1), value = parseInt(byte[1], 16);
    if (last && last.first + last.bytes.length === index) last.bytes.push(value);
    else found.push({first: index, bytes: [value]});
  });
  return found;
}

function characters(bytes) {
  const names = [], decoder = new TextDecoder("utf-8", {fatal: true});
  while (names.length < bytes.length) {
    const rest = bytes.slice(names.length), lead = rest[0];
    const size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    try {
      const text = decoder.decode(Uint8Array.from(rest.slice(0, size)));
      names.push(...rest.slice(0, size).map((_, part) => size > 1 ? `${text} ${part + 1}/${size}` : text));
    } catch {  // no character at all
      names.push(`byte ${lead.toString(16).toUpperCase().padStart(2, "0")}`);
    }
  }
  return names;
}
