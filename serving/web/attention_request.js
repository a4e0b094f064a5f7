// The attention behind a translation: requested when it is needed for the first time, and then kept.

import {attention} from "./api.js";
import {AttentionAnswer} from "./attention_answer.js";
import {retrying} from "./retry.js";

export class AttentionRequest {
  #answer = null;

  // `fields`: the text, and the version that has translated it.
  constructor(fields, signal) {
    this.fields = fields;
    this.signal = signal;
  }

  // A promise of the AttentionAnswer; after a failure the next call requests it again.
  answer(notify) {
    this.#answer ??= this.#request(notify);
    return this.#answer;
  }

  async #request(notify) {
    try {
      return new AttentionAnswer(await retrying(() => attention(this.fields, this.signal), this.signal, notify));
    } catch (error) {
      this.#answer = null;
      throw error;
    }
  }
}
