// Which models there are: from which language to which, their versions, and what these were trained on.

import {byId, element} from "./dom.js";

const select = byId("model"), names = new Intl.DisplayNames(["en"], {type: "language"});
let choices = [];

export const chosen = () => choices[select.value];

export function language(code) {
  try {
    return names.of(code);
  } catch {  // no code of a language
    return code;
  }
}

export function show(found) {
  const before = chosen();
  choices = found.flatMap(model => model.versions
    .filter(each => each.state === "serving")
    .sort((one, other) => isDefault(model, other) - isDefault(model, one) || other.version - one.version)
    .map(each => ({...each, name: model.name, usual: isDefault(model, each)})));
  select.replaceChildren(...choices.map((each, index) => element("option", title(each), {value: index})));
  select.disabled = choices.length < 2;
  const same = choices.findIndex(each => before && each.name === before.name
    && (each.usual ? before.usual : each.version === before.version));
  if (choices.length) select.value = Math.max(0, same);
  describe();
}

// -> whether it is there
export function choose(name) {
  const index = choices.findIndex(each => each.name === name);
  if (index >= 0 && chosen().name !== name) select.value = index;
  describe();
  return index >= 0;
}

// What a request says: of a default version only its model, since another may have become that meanwhile.
export const named = ({name, version, usual}) => usual ? {model: name} : {model: name, version};

export function describe() {
  const one = chosen();
  const trained = one?.corpus ? `, trained on ${one.corpus}` : "";
  byId("about").textContent = one
    ? `Version ${one.version} in ${one.precision}${trained}`
    : "There is no model at present.";
}

export const changed = action => select.addEventListener("change", action);

const isDefault = (model, {version}) => version === model.default;

function title({source, target, name, version, usual}) {
  const pair = source && target ? `${language(source)} to ${language(target)} · ` : "";
  return `${pair}${name}${usual ? "" : `, version ${version}`}`;
}
