// An exported version in the browser: its files are fetched, and ONNX Runtime is WebAssembly in this page.

import { Translator } from "../javascript/translator.mjs";

/** From the address of a version directory; `tell` hears which file is being read. */
export async function open(directory, tell = () => {}) {
  const ort = await runtime();
  const read = async (name) => {
    tell(name);
    const url = new URL(name, directory);
    const response = await fetch(url);
    if (!response.ok) {
      throw new Error(
        `${url.pathname} is not there (status ${response.status}): ` +
          "name the directory of an exported version, as in ?model=/models/fr-en/1/",
      );
    }
    return new Uint8Array(await response.arrayBuffer());
  };
  return Translator.open(read, ort);
}

async function runtime() {
  // The build for WebAssembly alone; it looks for its .wasm file beside itself.
  const path = "../node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";
  const ort = await import(path).catch(() => {
    throw new Error("onnxruntime-web is not there: run npm ci --ignore-scripts in the folder examples");
  });
  ort.env.wasm.numThreads = 1; // more would need two headers that a plain static server does not send
  return ort;
}
