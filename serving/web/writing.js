// The text that is written, its length, and behind it a copy of it: that makes it as high as it has to be, and
// shades the words that were looked at.

import {byId, element} from "./dom.js";

const field = byId("text"), mirror = byId("mirror"), count = byId("count");
let most = Infinity;

export const text = () => field.value;

export function write(said) {
  field.value = said;
  changed();
}

export function limit(characters) {
  most = characters;
  changed();
}

// By how many characters it is too long.
export const excess = () => Math.max(0, length() - most);

// shares: one for each word, or none at all.
export function shade(shares) {
  let word = 0;
  mirror.replaceChildren(...text().split(/(\s+)/).map(run => {
    if (!run.trim()) return run;
    const shaded = element("span", run), share = shares[word++] ?? 0;
    if (share >= 0.01) {
      shaded.className = "seen";
      shaded.style.setProperty("--share", Math.min(1, share));
    }
    return shaded;
  }), "\u200b");  // so that a last line that is empty has its height
}

export function changed() {
  shade([]);
  const over = excess();
  count.textContent = most === Infinity ? "" : `${grouped(length())} of ${grouped(most)} characters`;
  count.classList.toggle("over", over > 0);
  field.setAttribute("aria-invalid", over > 0);
}

export const grouped = number => number.toLocaleString("en");

const length = () => [...text()].length;  // whole characters, as the server counts
