// What the server is asked, and how it fails.

import {events} from "./events.js";

const AWAY = 0;  // in the place of a status: nobody answered, or not to the end
const KEY = "token";

let token = sessionStorage.getItem(KEY);

export function keepToken(said) {
  token = said;
  sessionStorage.setItem(KEY, said);
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

  get away() {  // 499: it went at that very moment; 502: so says what stands before it
    return [AWAY, 499, 502, 503].includes(this.status);
  }

  get locked() {
    return this.status === 401;
  }
}

export const models = signal => answered(ask("models", signal));

export const attention = (asked, signal) => answered(ask("attention", signal, asked));

export async function healthy(signal) {
  try {
    return (await fetch("healthz", {signal, cache: "no-store"})).ok;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

// Pieces, and at the end the whole.
export async function* translation(asked, signal) {
  const response = await ask("translate/stream", signal, asked);
  for await (const event of unbroken(events(response), signal)) {
    if (event.kind === "error") throw new ServerError(event.status, event.error);
    yield event;
    if (event.kind === "done") return;
  }
  throw new ServerError(AWAY, "the answer broke off");
}

async function ask(path, signal, body) {
  const headers = token ? {Authorization: `Bearer ${token}`} : {};
  const posted = body && {method: "POST", body: JSON.stringify(body)};
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {signal, headers, cache: "no-store", ...posted});
  } catch (error) {
    throw signal.aborted ? error : new ServerError(AWAY, "nobody answers");
  }
  if (response.ok) return response;
  const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
  throw new ServerError(response.status, await told(response), retryAfter);
}

async function told(response) {
  try {
    return (await response.json()).error;
  } catch {  // what stands before the server has words of its own
    return response.statusText;
  }
}

async function answered(asking) {
  const response = await asking;
  try {
    return await response.json();
  } catch (error) {
    throw error.name === "AbortError" ? error : new ServerError(AWAY, "the answer broke off");
  }
}

async function* unbroken(found, signal) {
  try {
    yield* found;
  } catch (error) {
    throw signal.aborted ? error : new ServerError(AWAY, "the answer broke off");
  }
}
