// TFLite's own profile, from its WebAssembly build of 2022, which XNNPACK is in. It runs in a thread that can be ended: a part of a
// network may be a loop that does not end.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

class Runtime {
  #folder;
  #module = null;

  constructor(modules) {
    this.#folder = path.join(modules, '@tensorflow/tfjs-tflite/wasm');
  }

  async #start() {
    const file = path.join(this.#folder, 'tflite_web_api_cc_simd.js');
    const wrapped = `(function(exports, require, module, __filename, __dirname) {${fs.readFileSync(file, 'utf8')}
return tflite_web_api_ModuleFactory; })`;
    const module = { exports: {} };
    const factory = vm.runInThisContext(wrapped, { filename: file })(module.exports, createRequire(file), module, file, this.#folder);
    this.#module = await factory({ print() {}, printErr() {}, wasmBinary: fs.readFileSync(file.replace(/js$/, 'wasm')) });
  }

  /** The summary of some runs, after so many bytes of the heap; throws where the runtime does not take the model. */
  async #profileBehind(padding, model, runs) {
    if (!this.#module) await this.#start();
    try {
      if (padding) this.#module._malloc(padding);
      const bytes = fs.readFileSync(model), at = this.#module._malloc(bytes.length);
      this.#module.HEAPU8.set(bytes, at);
      const made = this.#module.TFLiteWebModelRunner.CreateFromBufferAndOptions(at, bytes.length, {
        numThreads: 1, enableWebNNDelegate: false, webNNDevicePreference: 0, enableProfiling: true, maxProfilingBufferEntries: 100000,
      });
      if (!made.ok()) throw new Error('no interpreter');
      const runner = made.value(), inputs = runner.GetInputs();
      for (let k = 0; k < inputs.size(); ++k) {
        const data = inputs.get(k).data();
        if (data instanceof Float32Array) for (let i = 0; i < data.length; ++i) data[i] = Math.sin(i * 12.9898);
      }
      for (let k = 0; k < runs; ++k) if (!runner.Infer()) throw new Error('no run');
      const summary = runner.GetProfilingSummary();
      if (!summary) throw new Error('no profile');
      runner.delete?.();
      this.#module._free(at);
      return summary;
    } catch (error) {
      this.#module = null; // which may have aborted
      throw error;
    }
  }

  /** Where the model lies in memory decides whether there is a profile at all: some places are tried, in new instances. */
  async profile(model, runs) {
    let failure;
    for (const padding of [0, 8, 4096, 65536]) {
      try {
        return await this.#profileBehind(padding, model, runs);
      } catch (error) {
        failure = error;
        if (padding && error.message !== 'no profile') break;
      }
    }
    throw failure;
  }
}

/** The same in a thread, which gets so many seconds a model. */
export class Profiler {
  #modules;
  #worker = null;
  #pending = null;

  constructor(modules) {
    this.#modules = modules;
  }

  #settle(answer) {
    const pending = this.#pending;
    this.#pending = null;
    clearTimeout(pending?.timer);
    if (answer.error) pending?.reject(new Error(answer.error));
    else pending?.resolve(answer.summary);
  }
  #give(error) {
    this.#worker?.terminate();
    this.#worker = null;
    this.#settle({ error });
  }

  profile(model, runs, seconds = 30) {
    if (!this.#worker) {
      const worker = new Worker(new URL(import.meta.url), { workerData: this.#modules });
      worker.on('message', (answer) => this.#worker === worker && this.#settle(answer));
      worker.on('error', (error) => this.#worker === worker && this.#give(String(error)));
      this.#worker = worker;
    }
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject, timer: setTimeout(() => this.#give('does not end'), 1000 * seconds) };
      this.#worker.postMessage({ model, runs });
    });
  }
}

if (!isMainThread) {
  const runtime = new Runtime(workerData);
  parentPort.on('message', async ({ model, runs }) => {
    try {
      parentPort.postMessage({ summary: await runtime.profile(model, runs) });
    } catch (error) {
      parentPort.postMessage({ error: String(error) });
    }
  });
}
