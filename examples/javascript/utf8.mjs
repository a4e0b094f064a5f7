// Text as bytes. A byte order mark is a character like any other.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Half a character becomes U+FFFD. */
export function bytesOf(text) {
  return encoder.encode(text);
}

export function textOf(bytes) {
  return decoder.decode(bytes);
}

/** The text of bytes that a model has put together: each one that belongs to no character becomes U+FFFD. */
export function textOfAny(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes[at]);
    try {
      text += strict.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      text += "\ufffd";
      at += 1;
    }
  }
  return text;
}

/** How many bytes a character has that begins with this one. */
export function characterLength(byte) {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
