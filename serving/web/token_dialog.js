// The dialog that asks for the access token of a server.

import {keepToken} from "./api.js";
import {byId} from "./dom.js";

const dialog = byId("token-dialog"), field = byId("token");
let refused = false;

dialog.querySelector("form").addEventListener("submit", event => {
  event.preventDefault();
  refused = true;
  keepToken(field.value.trim());
  dialog.close();
});

export function askForToken(signal) {
  byId("token-notice").textContent = refused ? "The server does not know this token. Try another one." : "";
  field.value = "";
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve, reject) => {
    dialog.addEventListener("close", resolve, {once: true, signal});
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
