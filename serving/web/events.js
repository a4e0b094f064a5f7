// Server-sent events of an answer to POST, which the browser's own EventSource cannot ask for.

export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const {value, done} = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [kind, data] = block.split("\n");
      yield {kind: kind.slice("event: ".length), ...JSON.parse(data.slice("data: ".length))};
    }
  }
}
