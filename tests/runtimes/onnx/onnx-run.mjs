// Runs ONNX models in ONNX Runtime, as the files are. Standard input has a line of JSON for each: {"model": FILE, "inputs": {NAME: FILE.npy},
// "outputs": FOLDER}. All outputs of the model become FOLDER/I.npy, in order; the answer is a line: {"outputs": [NAME…]} or {"error": TEXT}.
// usage: node onnx-run.mjs NODE_MODULES < LIST
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const ort = createRequire(path.resolve(process.argv[2], 'x'))('onnxruntime-node');
const types = {
  float32: ['<f4', Float32Array], float64: ['<f8', Float64Array], int8: ['|i1', Int8Array], uint8: ['|u1', Uint8Array], bool: ['|b1', Uint8Array],
  int16: ['<i2', Int16Array], uint16: ['<u2', Uint16Array], int32: ['<i4', Int32Array], uint32: ['<u4', Uint32Array],
  int64: ['<i8', BigInt64Array], uint64: ['<u8', BigUint64Array], float16: ['<f2', Uint16Array],
};

function read(file) {
  const data = fs.readFileSync(file), end = 10 + data.readUInt16LE(8), header = data.toString('latin1', 10, end);
  const descr = /'descr': '([^']*)'/.exec(header)[1];
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').filter(d => d.trim()).map(Number);
  const [type, [, Elements]] = Object.entries(types).find(([, [name]]) => name === descr);
  return new ort.Tensor(type, new Elements(Uint8Array.from(data.subarray(end)).buffer), shape);
}

function write(file, tensor) {
  const shape = tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(', ');
  const header = `{'descr': '${types[tensor.type][0]}', 'fortran_order': False, 'shape': (${shape}), }`;
  const padded = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.alloc(10);
  head.write('\x93NUMPY\x01\0', 'latin1');
  head.writeUInt16LE(padded.length, 8);
  fs.writeFileSync(file, Buffer.concat([head, Buffer.from(padded), Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength)]));
}

async function run({ model, inputs, outputs, optimize = 'disabled', save, runs = 0 }) {
  const options = { graphOptimizationLevel: optimize, ...(save && { optimizedModelFilePath: save }), intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 };
  const session = await ort.InferenceSession.create(model, options);
  try {
    const feeds = Object.fromEntries(Object.entries(inputs).map(([name, file]) => [name, read(file)]));
    const results = await session.run(feeds), times = [];
    for (let i = 0; i < runs; ++i) {
      const begin = performance.now();
      await session.run(feeds);
      times.push(performance.now() - begin);
    }
    const names = session.outputNames.filter(name => types[results[name]?.type]);
    names.forEach((name, i) => write(path.join(outputs, `${i}.npy`), results[name]));
    return { outputs: names, ...(runs && { ms: Math.min(...times) }) };
  } finally {
    await session.release();
  }
}

for await (const line of readline.createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await run(JSON.parse(line)).catch(error => ({ error: error.message }))));
