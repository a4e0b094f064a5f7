// What is behind a translation: asked when somebody wants to see it, and then once.

import {Attended} from "./attended.js";
import {patiently} from "./patience.js";
import {attention} from "./server.js";

export class Looking {
  #found = null;

  // `asked`: the text, and the version that has translated it.
  constructor(asked, signal) {
    this.asked = asked;
    this.signal = signal;
  }

  attended(tell) {
    this.#found ??= this.#ask(tell);
    return this.#found;
  }

  async #ask(tell) {
    try {
      return new Attended(await patiently(() => attention(this.asked, this.signal), this.signal, tell));
    } catch (error) {
      this.#found = null;  // the next one asks again
      throw error;
    }
  }
}
