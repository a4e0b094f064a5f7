// Requests that are repeated: while the server is busy, while it is away, and after it has asked for a token.

import {healthy, ServerError} from "./api.js";
import {askForToken} from "./token_dialog.js";

const MAX_DELAY = 20;    // seconds between two attempts
const POLL_INTERVAL = 2; // seconds between two checks of an absent server

// Return what `attempt` returns; `notify` gets a message while waiting, and "" when that is over.
export async function retrying(attempt, signal, notify) {
  for (let busy = 0; ;) {
    try {
      const result = await attempt();
      notify("");
      return result;
    } catch (error) {
      if (signal.aborted || !(error instanceof ServerError)) throw error;
      if (error.busy) {
        await delay(error.retryAfter, busy++, signal, notify);
      } else if (error.away) {
        notify("The server does not answer. Your text is kept, and is translated as soon as the server is back.");
        await untilBack(signal);
      } else if (error.unauthorized) {
        await askForToken(signal);
      } else {
        throw error;
      }
    }
  }
}

// Twice as long after each attempt, with jitter.
async function delay(retryAfter, attempts, signal, notify) {
  const seconds = Math.min(retryAfter * 2 ** attempts, MAX_DELAY) * (1 + Math.random() / 4);
  notify(`The server is busy at the moment. Trying again in ${Math.ceil(seconds)} s.`);
  await pause(seconds, signal);
}

async function untilBack(signal) {
  do await pause(POLL_INTERVAL, signal);
  while (!await healthy(signal));
}

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const end = AbortSignal.any([signal, AbortSignal.timeout(1000 * seconds)]);
  end.addEventListener("abort", () => signal.aborted ? reject(signal.reason) : resolve());
});
