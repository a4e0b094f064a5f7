// The weights of one kind of attention. Rows are queries, the tokens that look; columns are keys, those looked at.

const KINDS = {
  "input-input": ["Input–Input", "The encoder reads: each token of the text looks at the tokens around it."],
  "output-output": ["Output–Output", "The decoder looks back at the translation so far. What comes later is hidden " +
    "from it: every weight right of the diagonal is 0."],
  "input-output": ["Input–Output", "The decoder looks into the text. A row is the token that it predicts next."],
};

export class AttentionKind {
  // shape: layers, heads, queries, keys. weights: that many numbers. notes: what to say of each query, or "".
  constructor({key, shape, queries, keys, weights, notes}) {
    [this.name, this.about] = KINDS[key];
    [this.layers, this.heads] = shape;
    Object.assign(this, {queries, keys, weights, notes});
  }

  weight(layer, head, row, column) {
    return this.weights[((layer * this.heads + head) * this.queries.length + row) * this.keys.length + column];
  }

  max(layer, head) {
    const size = this.queries.length * this.keys.length, first = (layer * this.heads + head) * size;
    return this.weights.slice(first, first + size).reduce((one, other) => Math.max(one, other));
  }
}
