// The text to translate and its length. A mirror behind the field gives it its height and shades words.

import {byId, element} from "./dom.js";

const field = byId("text"), mirror = byId("mirror"), count = byId("count"), notice = byId("excess");
let maxLength = Infinity;

export const text = () => field.value;

export function write(value) {
  field.value = value;
  update();
}

export function limit(characters) {
  maxLength = characters;
  update();
}

// How many characters it is too long.
export const excess = () => Math.max(0, length() - maxLength);

// Shade the words; shares: one for each word, or none.
export function shade(shares) {
  let word = 0;
  mirror.replaceChildren(...text().split(/(\s+)/).map(run => {
    if (!run.trim()) return run;
    const shaded = element("span", run), share = shares[word++] ?? 0;
    if (share >= 0.01) {
      shaded.className = "shaded";
      shaded.style.setProperty("--share", Math.min(1, share));
    }
    return shaded;
  }), "\u200b");  // which gives an empty last line its height
}

export function update() {
  shade([]);
  const over = excess() > 0;
  notice.textContent = over ? `The text is too long by ${grouped(excess())} characters: shorten it, or split it.` : "";
  count.textContent = maxLength === Infinity ? "" : `${grouped(length())} of ${grouped(maxLength)} characters`;
  count.classList.toggle("over", over);
  field.setAttribute("aria-invalid", over);
}

export const grouped = number => number.toLocaleString("en");

const length = () => [...text()].length;  // code points, as the server counts
