// The page: what is typed goes to the model, a line at a time, and back.

import { open } from "./translate.mjs";

const DEMO = "../../build/demo/models/fr-en/1/"; // where `make demo` leaves its model

const [form] = document.forms;
const [source, target, button, status] = ["#source", "#target", "button", "#status"].map((selector) =>
  document.querySelector(selector),
);

function tell(text) {
  status.textContent = text;
  status.classList.remove("wrong");
}

function fail(error) {
  status.textContent = error.message;
  status.classList.add("wrong");
}

/** Of the model that the address names: ?model=/models/fr-en/1/ */
function directory() {
  const named = new URLSearchParams(location.search).get("model") ?? DEMO;
  return new URL(named.endsWith("/") ? named : `${named}/`, location);
}

/** The languages, as far as the model knows them: "fr" is French. */
function introduce({ languages }) {
  const names = new Intl.DisplayNames("en", { type: "language" });
  for (const [id, language] of Object.entries(languages)) {
    const label = document.querySelector(`[for=${id}]`);
    label.textContent = /^[a-z]{2,3}$/.test(language) ? names.of(language) : language || label.textContent;
  }
}

async function start() {
  const begun = performance.now();
  const translator = await open(directory(), (name) => tell(`loading ${name} …`));
  introduce(translator.manifest);
  form.addEventListener("submit", () => translate(translator).catch(fail));
  source.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) button.click();
  });
  button.disabled = false;
  tell(`ready after ${Math.round(performance.now() - begun)} ms`);
}

async function translate(translator) {
  button.disabled = true;
  try {
    const begun = performance.now();
    const answers = await translator.translate(source.value.split("\n"));
    const tokens = answers.reduce((sum, { ids }) => sum + ids.length, 0);
    target.textContent = answers.map(({ text }) => text).join("\n");
    tell(`${tokens} tokens in ${Math.round(performance.now() - begun)} ms`);
  } finally {
    button.disabled = false;
  }
}

form.addEventListener("submit", (event) => event.preventDefault());
start().catch(fail);
