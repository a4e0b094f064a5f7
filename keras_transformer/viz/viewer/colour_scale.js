// The colours of weights, from the steps of base.css, which know light and dark.

const STEPS = 6, LEVELS = 256;
let colours = [], inks = [];

// Read the scale again after a change of the theme.
export function readScale() {
  const probe = document.createElement("i");
  document.body.append(probe);
  const steps = Array.from({length: STEPS}, (_, index) => {
    probe.style.color = `var(--weight-${index})`;
    return getComputedStyle(probe).color.match(/\d+/g).map(Number);
  });
  probe.remove();
  colours = Array.from({length: LEVELS}, (_, level) => {
    const position = level / (LEVELS - 1) * (STEPS - 1), below = Math.min(Math.floor(position), STEPS - 2);
    return steps[below].map((start, channel) =>
      Math.round(start + (steps[below + 1][channel] - start) * (position - below)));
  });
  inks = colours.map(colour => {
    const [red, green, blue] = colour.map(channel => (channel / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff";
  });
}

const levelOf = (weight, max) => Math.round(weight / max * (LEVELS - 1));

// Red, green and blue of a weight, where `max` has the last colour.
export const channelsOf = (weight, max) => colours[levelOf(weight, max)];

// Colour the background of an element, and its text in black or white, whichever has more contrast.
export function tint(target, weight, max) {
  target.style.backgroundColor = `rgb(${channelsOf(weight, max)})`;
  target.style.color = inks[levelOf(weight, max)];
}
