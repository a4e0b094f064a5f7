// The contents of the walkthrough: open where there is room beside the examples, and marked where one is.

const contents = document.getElementById("contents"), here = document.getElementById("here");
const wide = matchMedia("(min-width: 74rem)");
const links = [...contents.querySelectorAll("a")], sections = links.map(({hash}) => document.querySelector(hash));

function fold() {
  contents.open = wide.matches;
}

// The example whose beginning has passed the upper third of the window last.
function mark() {
  const current = sections.findLastIndex(section => section.getBoundingClientRect().top < innerHeight / 3);
  here.textContent = links[current]?.lastChild.textContent ?? "";
  links.forEach((link, index) => index === current
    ? link.setAttribute("aria-current", "location") : link.removeAttribute("aria-current"));
}

addEventListener("scroll", mark, {passive: true});
addEventListener("resize", mark);
wide.addEventListener("change", fold);
contents.addEventListener("click", ({target}) => {
  if (target.closest("a") && !wide.matches) contents.open = false;
});
fold();
mark();
