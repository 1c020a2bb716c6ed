// The two runtimes, as WebAssembly: LiteRT with its own kernels, and the TFLite interpreter of 2023 with XNNPACK, which
// has variable tensors and outputs whose shape depends on data. Both are made for browsers; this starts them in Node,
// below their JavaScript interfaces, which know three element types.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';

const require = createRequire(import.meta.url);

/** Evaluates an emscripten script and starts what it defines. */
async function start(script, factory, print) {
  const around = ['module', 'exports', 'require', '__filename', '__dirname', 'navigator'];
  const body = `(function (${around}) {${fs.readFileSync(script)}\n;return ${factory}; })`;
  const module = { exports: {} };
  const make = vm.runInThisContext(body, { filename: script })(
    module, module.exports, require, script, path.dirname(script), { hardwareConcurrency: 1 });
  const wasmBinary = fs.readFileSync(script.replace(/js$/, 'wasm'));
  return make({ wasmBinary, print, printErr: print });
}

function copyIn(wasm, bytes) {
  const at = wasm._malloc(bytes.length);
  if (!at) throw new Error('out of memory');
  wasm.HEAPU8.set(bytes, at);
  return at;
}

function toArray(vector) {
  const list = Array.from({ length: vector.size() }, (_, i) => vector.get(i));
  vector.delete();
  return list;
}

/** An engine opens models; a model has entries (signatures); an entry has inputs and runs. */
class Engine {
  log = [];
  onLine = null;

  print = (line) => {
    this.log.push(line);
    this.onLine?.();
  };

  /**
   * Runs twice over different contents of memory: LiteRT leaves outputs that no operator computes as they were
   * allocated, and kernels read out of bounds where an index is wrong.
   */
  stable(sizes, run) {
    const [first, second] = [0x5a, 0xa5].map((pattern) => {
      this.fillFreeMemory(pattern, sizes);
      return run();
    });
    if (first.some((output, i) => !output.bytes.equals(second[i].bytes))) throw new Error(unstable);
    return first;
  }

  fillFreeMemory(pattern, sizes) {
    const blocks = sizes.flatMap((size) => Array.from({ length: size < 4096 ? 256 : 4 }, () => {
      const at = this.wasm._malloc(size + 64);
      this.wasm.HEAPU8.fill(pattern, at, at + size + 64);
      return at;
    }));
    blocks.forEach((at) => this.wasm._free(at));
  }
}

export const unstable = 'an output depends on what was in memory before';

class Litert extends Engine {
  static async create(modules) {
    const engine = new this();
    // Without relaxed SIMD, so that every processor computes the same bits.
    const script = path.join(modules, '@litertjs/core/wasm/litert_wasm_compat_internal.js');
    engine.wasm = await start(script, 'module.exports', engine.print);
    engine.wasm.setupLogging();
    engine.environment = engine.wasm.LiteRtEnvironment.create(null);
    engine.types = Object.fromEntries(Object.entries(engine.wasm.ElementType)
      .filter(([, type]) => type?.value !== undefined).map(([name, type]) => [type.value, name.toLowerCase()]));
    return engine;
  }

  open(bytes) {
    const { wasm, environment } = this;
    this.log.length = 0;
    const at = copyIn(wasm, bytes);
    const model = wasm.loadModel(environment, at, bytes.length);
    const compiled = this.compile(model);
    const entries = Array.from({ length: model.getNumSignatures() }, (_, i) => this.entry(model, compiled, i));
    const close = () => {
      compiled.delete();
      model.delete();
      wasm._free(at);
    };
    return { entries, close };
  }

  /**
   * LiteRT takes its processor options as a text, into which the binding writes the number of threads and nothing else.
   * An impossible number marks that text; when the compiler logs its first line, it is overwritten with the choice of
   * LiteRT's own kernels. XNNPACK's are not exact for integers, and in models of dense and sparse weights their results
   * depend on what was in memory before.
   */
  compile(model) {
    const numThreads = 2000000001;
    const marked = Buffer.from(`num_threads = ${numThreads}\n`);
    let found = false;
    this.onLine = () => {
      const memory = Buffer.from(this.wasm.HEAPU8.buffer);
      for (let at = memory.indexOf(marked); at >= 0; at = memory.indexOf(marked, at + 1)) {
        memory.write('kernel_mode = "builtin"'.padEnd(marked.length - 1), at);
        this.onLine = null;
      }
    };
    const compiled = this.compileWith(model, numThreads);
    if (this.onLine) throw new Error('LiteRT did not take the choice of kernels');
    return compiled;
  }

  compileWith(model, numThreads) {
    return this.wasm.compileModel(this.environment, model, {
      accelerator: 'wasm', environment: { liteRtEnvironment: this.environment },
      cpuOptions: { numThreads }, gpuOptions: {}, webNNOptions: {},
    });
  }

  describe(type) {
    const layout = type.layout();
    const tensor = { type: this.types[type.elementType().value], shape: toArray(layout.dimensions()) };
    layout.delete();
    return tensor;
  }

  entry(model, compiled, index) {
    const signature = model.getSignature(index);
    const list = (names, typeOf) => names.map((name, i) => {
      const type = typeOf.call(model, index, i);
      const tensor = { name, ...this.describe(type) };
      type.delete();
      return tensor;
    });
    const inputs = list(toArray(signature.inputNames()), model.getInputTensorType);
    const outputs = list(toArray(signature.outputNames()), model.getOutputTensorType);
    const name = signature.key();
    signature.delete();
    const once = (data) => this.invoke(compiled, index, inputs, outputs, data);
    const run = (data) => {
      const sizes = [...new Set(once(data).map((output) => output.bytes.length))];
      return this.stable(sizes, () => once(data));
    };
    return { name, inputs, run };
  }

  invoke(compiled, index, inputs, outputs, data) {
    const { wasm } = this;
    const buffers = inputs.map((input, i) => {
      const dimensions = new wasm.VectorInt32();
      input.shape.forEach((size) => dimensions.push_back(size));
      const layout = wasm.LiteRtLayout.create(dimensions);
      const type = wasm.LiteRtRankedTensorType.create(wasm.ElementType[input.type.toUpperCase()], layout);
      const memory = wasm.LiteRtTensorBufferType.HOST_MEMORY;
      const buffer = wasm.LiteRtTensorBuffer.createManaged(this.environment, memory, type, type.bytes());
      wasm.HEAPU8.set(data[i], buffer.lock(wasm.LiteRtTensorBufferLockMode.WRITE));
      buffer.unlock();
      [dimensions, layout, type].forEach((object) => object.delete());
      return buffer;
    });
    const results = compiled.run(index, buffers);
    const made = results.map((buffer, i) => {
      const type = buffer.tensorType();
      const at = buffer.lock(wasm.LiteRtTensorBufferLockMode.READ);
      const bytes = Buffer.from(wasm.HEAPU8.slice(at, at + buffer.packedSize()));
      buffer.unlock();
      const output = { name: outputs[i].name, ...this.describe(type), bytes };
      type.delete();
      return output;
    });
    [...buffers, ...results].forEach((buffer) => buffer.delete());
    const error = this.log.find((line) => line.startsWith('ERROR:'));
    if (error) throw new Error(error);
    return made;
  }
}

class Tflite extends Engine {
  static async create(modules) {
    const engine = new this();
    const script = path.join(modules, '@tensorflow/tfjs-tflite/wasm/tflite_web_api_cc_simd.js');
    engine.wasm = await start(script, 'tflite_web_api_ModuleFactory', engine.print);
    return engine;
  }

  open(bytes) {
    const { wasm } = this;
    this.log.length = 0;
    const at = copyIn(wasm, bytes);
    const create = () => {
      const made = wasm.TFLiteWebModelRunner.CreateFromBufferAndOptions(at, bytes.length, {
        numThreads: 1, enableWebNNDelegate: false, webNNDevicePreference: 0, enableProfiling: false,
        maxProfilingBufferEntries: 0,
      });
      if (!made.ok()) throw new Error(made.errorMessage());
      return made.value();
    };
    const describe = (tensor) => ({
      name: tensor.name, type: tensor.dataType,
      shape: tensor.shape === '' ? [] : tensor.shape.split(',').map(Number),
    });
    const view = (tensor) => {
      const data = tensor.data();
      return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    };
    const first = create();
    const inputs = toArray(first.GetInputs()).map(describe);
    first.delete();
    // A runner of its own each time, as one may have a state.
    const once = (data) => {
      const runner = create();
      toArray(runner.GetInputs()).forEach((input, i) => data[i].copy(view(input)));
      if (!runner.Infer()) throw new Error('invoke failed');
      const outputs = toArray(runner.GetOutputs());
      const results = outputs.map((output) => ({ ...describe(output), bytes: Buffer.from(view(output)) }));
      runner.delete();
      return results;
    };
    const run = (data) => this.stable([1 << 16, 1 << 20], () => once(data));
    return { entries: [{ name: 'subgraph 0', inputs, run }], close: () => wasm._free(at) };
  }
}

/** Custom operators of MediaPipe have kernels in XNNPACK only. */
class LitertWithXnnpack extends Litert {
  compile(model) {
    return this.compileWith(model, 1);
  }
}

export const engines = { litert: Litert, tflite: Tflite, xnnpack: LitertWithXnnpack };
