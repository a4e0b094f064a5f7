// Elements by their name, and new ones. Text comes into the page by textContent alone.

export const byId = name => document.getElementById(name);

export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// Among such elements one is reached by Tab, the others from there.
export function stop(elements, chosen) {
  for (const each of elements) each.tabIndex = each === chosen ? 0 : -1;
}
