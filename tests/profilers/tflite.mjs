// TFLite's own profile, from its WebAssembly build of 2022, which XNNPACK is in.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';

export class Profiler {
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

  /** The summary of some runs; throws where the runtime does not take the model. */
  async profile(model, runs) {
    if (!this.#module) await this.#start();
    try {
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
      runner.delete?.();
      this.#module._free(at);
      return summary;
    } catch (error) {
      this.#module = null; // which may have aborted
      throw error;
    }
  }
}
