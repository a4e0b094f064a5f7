// Requests to the server, and how they fail.

const NO_ANSWER = 0;  // the status of a request without a complete answer
const KEY = "token";

let token = sessionStorage.getItem(KEY);

export function keepToken(value) {
  token = value;
  sessionStorage.setItem(KEY, value);
}

export class ServerError extends Error {
  constructor(status, message, retryAfter = 1) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;  // seconds
  }

  get busy() {
    return this.status === 429;
  }

  get away() {  // 499: the server stopped during the request; 502: a proxy says that it is away
    return [NO_ANSWER, 499, 502, 503].includes(this.status);
  }

  get unauthorized() {
    return this.status === 401;
  }
}

export const models = signal => parsed(request("models", signal));

export const translate = (fields, signal) => parsed(request("translate", signal, fields));

export const attention = (fields, signal) => parsed(request("attention", signal, fields));

export async function healthy(signal) {
  try {
    return (await fetch("healthz", {signal, cache: "no-store"})).ok;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

// Yield the events of a translation: {kind: "piece", text} and at the end {kind: "done", translatedText, ...}.
export async function* translation(fields, signal) {
  const response = await request("translate/stream", signal, fields);
  try {
    for await (const event of events(response)) {
      if (event.kind === "error") throw new ServerError(event.status, event.error);
      yield event;
      if (event.kind === "done") return;
    }
  } catch (error) {
    throw signal.aborted || error instanceof ServerError ? error : brokenOff();
  }
  throw brokenOff();
}

// Parse server-sent events; the browser's own EventSource cannot POST.
async function* events(response) {
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

async function request(path, signal, fields) {
  const headers = token ? {Authorization: `Bearer ${token}`} : {};
  const body = fields && {method: "POST", body: JSON.stringify(fields)};
  if (fields) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {signal, headers, cache: "no-store", ...body});
  } catch (error) {
    throw signal.aborted ? error : new ServerError(NO_ANSWER, "the server does not answer");
  }
  if (response.ok) return response;
  const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
  throw new ServerError(response.status, await errorOf(response), retryAfter);
}

async function errorOf(response) {
  try {
    return (await response.json()).error;
  } catch {  // a proxy in front of the server does not answer in JSON
    return response.statusText;
  }
}

async function parsed(promise) {
  const response = await promise;
  try {
    return await response.json();
  } catch (error) {
    throw error.name === "AbortError" ? error : brokenOff();
  }
}

const brokenOff = () => new ServerError(NO_ANSWER, "the answer is incomplete");
