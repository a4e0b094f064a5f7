// The token of a server that asks for one.

import {byId} from "./dom.js";
import {keepToken} from "./server.js";

const dialog = byId("key"), field = byId("token");
let said = false;

dialog.querySelector("form").addEventListener("submit", event => {
  event.preventDefault();
  said = true;
  keepToken(field.value.trim());
  dialog.close();
});

export function askForToken(signal) {
  byId("key-told").textContent = said ? "It does not know that one. Another, please." : "";
  field.value = "";
  if (!dialog.open) dialog.showModal();
  return new Promise((done, failed) => {
    dialog.addEventListener("close", done, {once: true, signal});
    signal.addEventListener("abort", () => failed(signal.reason));
  });
}
