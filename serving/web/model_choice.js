// The choice of a model: its languages, its version, and what it was trained on.

import {byId, element} from "./dom.js";

const select = byId("model"), names = new Intl.DisplayNames(["en"], {type: "language"});
const GREEDY = ". It decodes greedily: it offers no other words and translations";
let choices = [];

// The chosen version, or undefined: {name, version, isDefault, source, target, targets, precision, maxBeam, corpus, examples}.
// A model of several target languages is a choice for each of them.
export const chosen = () => choices[select.value];

export function language(code) {
  try {
    return names.of(code);
  } catch {  // it is not the code of a language
    return code;
  }
}

// Offer the versions that are served, and keep the choice if it is still there.
export function show(models) {
  const before = chosen();
  choices = models.flatMap(model => model.versions
    .filter(({state}) => state === "serving")
    .map(version => ({...version, name: model.name, isDefault: version.version === model.default}))
    .sort((one, other) => other.isDefault - one.isDefault || other.version - one.version)
    .flatMap(version => version.targets.length
      ? version.targets.map(target => ({...version, target})) : [version]));
  select.replaceChildren(...choices.map((choice, index) => element("option", title(choice), {value: index})));
  select.disabled = choices.length < 2;
  const same = choices.findIndex(({name, version, isDefault, target}) => before
    && name === before.name && target === before.target && (isDefault ? before.isDefault : version === before.version));
  if (choices.length) select.value = Math.max(0, same);
  describe();
}

// Choose a model by its name, and return whether it is there.
export function choose(name) {
  const index = choices.findIndex(choice => choice.name === name);
  if (index >= 0 && chosen().name !== name) select.value = index;
  describe();
  return index >= 0;
}

// The fields of a request. A default version is requested by its model alone: another may have become the default.
export const fieldsOf = ({name, version, isDefault, target, targets}) => ({
  model: name, ...(isDefault ? {} : {version}), ...(targets.length ? {target} : {}),
});

export const onChange = action => select.addEventListener("change", () => {
  describe();
  action();
});

function describe() {
  const choice = chosen(), corpus = choice?.corpus ? `, trained on ${choice.corpus}` : "";
  byId("about-model").textContent = choice
    ? `Version ${choice.version} in ${choice.precision}${corpus}${choice.maxBeam > 1 ? "" : GREEDY}`
    : "No model is served at present.";
}

function title({source, target, targets, name, version, isDefault}) {
  const from = source && `${language(source)} `;
  const pair = target && (source || targets.length) ? `${from}to ${language(target)} · ` : "";
  return `${pair}${name}${isDefault ? "" : `, version ${version}`}`;
}
