// What fails for a while is asked again: a server that is busy, one that is away, one that wants a token.

import {healthy, ServerError} from "./server.js";
import {askForToken} from "./token.js";

const LONGEST = 20;  // seconds between two attempts
const PULSE = 2;     // seconds between two looks whether it is back

// `tell` gets what to say meanwhile, and "" when it is over.
export async function patiently(attempt, signal, tell) {
  for (let busy = 0; ;) {
    try {
      const found = await attempt();
      tell("");
      return found;
    } catch (error) {
      if (signal.aborted || !(error instanceof ServerError)) throw error;
      if (error.busy) {
        await later(error.retryAfter, busy++, signal, tell);
      } else if (error.away) {
        tell("The server does not answer. Your text is safe here, and goes on as soon as the server is back.");
        await back(signal);
      } else if (error.locked) {
        await askForToken(signal);
      } else {
        throw error;
      }
    }
  }
}

// Each time twice as long, and not all at the same moment.
async function later(least, times, signal, tell) {
  const seconds = Math.min(least * 2 ** times, LONGEST) * (1 + Math.random() / 4);
  tell(`Many are asking at the moment. Trying again in ${Math.ceil(seconds)} s.`);
  await pause(seconds, signal);
}

async function back(signal) {
  do await pause(PULSE, signal);
  while (!await healthy(signal));
}

function pause(seconds, signal) {
  return new Promise((done, failed) => {
    const end = new AbortController();
    const waiting = setTimeout(() => {
      end.abort();
      done();
    }, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(waiting);
      failed(signal.reason);
    }, {signal: end.signal});
  });
}
