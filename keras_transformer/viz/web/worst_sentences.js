// Sort, filter and search the sentences.

const controls = document.querySelector("nav"), list = document.querySelector("ol.sentences");
const [order, filter, search] = controls.querySelectorAll("select, input");
const count = controls.querySelector("[role=status]");
const sentences = [...list.children].map(item => ({
  item,
  line: Number(item.dataset.line),
  chrf: Number(item.dataset.chrf),
  ahead: Number(item.dataset.ahead),
  text: folded([...item.querySelectorAll("dd")].map(({textContent}) => textContent).join("\n")),
}));
const filters = {
  all: () => true,
  low: ({chrf}) => chrf < 30,
  middle: ({chrf}) => chrf >= 30 && chrf < 60,
  high: ({chrf}) => chrf >= 60,
  behind: ({ahead}) => ahead < 0,
  ahead: ({ahead}) => ahead > 0,
};

// Ignore case and accents.
function folded(text) {
  return text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase();
}

function show() {
  const wanted = folded(search.value.trim());
  let shown = 0;
  for (const sentence of sentences) {
    sentence.item.hidden = !(filters[filter.value](sentence) && sentence.text.includes(wanted));
    shown += !sentence.item.hidden;
  }
  count.textContent = `${shown} of ${sentences.length} shown`;
}

order.addEventListener("change", () => {
  list.append(...sentences.sort((one, other) => one[order.value] - other[order.value]).map(({item}) => item));
});
filter.addEventListener("change", show);
search.addEventListener("input", show);
controls.hidden = !sentences.length;
show();
