// A process that runs a model before and after a rewrite on the same inputs and says how far the outputs are apart.
// The runtimes may trap, hang or run out of memory: run.mjs, which starts this, survives that and starts another one.
import fs from 'node:fs';
import { engines, unstable } from './engines.mjs';

/** Element types by the names that both runtimes use. */
const types = {
  float32: { size: 4, write: 'writeFloatLE', read: 'readFloatLE', real: true },
  float64: { size: 8, write: 'writeDoubleLE', read: 'readDoubleLE', real: true },
  int8: { size: 1, write: 'writeInt8', bits: 8, low: -128 },
  uint8: { size: 1, write: 'writeUInt8', bits: 8, low: 0 },
  int16: { size: 2, write: 'writeInt16LE', bits: 16, low: -32768 },
  uint16: { size: 2, write: 'writeUInt16LE', bits: 16, low: 0 },
  bool: { size: 1, write: 'writeUInt8', bits: 1, low: 0 },
  // Often indices, sizes or axes, so small and not negative.
  int32: { size: 4, write: 'writeInt32LE', index: true },
  uint32: { size: 4, write: 'writeUInt32LE', index: true },
  int64: { size: 8, write: 'writeBigInt64LE', index: true, big: true },
  uint64: { size: 8, write: 'writeBigUInt64LE', index: true, big: true },
};
const indexRanges = [[0, 1], [1, 1]];

/** A linear congruential generator; its upper bits are the good ones. */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomInput(input, seed, [low, high]) {
  const type = types[input.type];
  if (!type) throw new Error(`no values for an input of type ${input.type}`);
  const count = input.shape.reduce((product, size) => product * size, 1);
  if (!(count >= 0)) throw new Error('an input of unknown size');
  const bytes = Buffer.alloc(count * type.size);
  const next = numbers(seed);
  for (let i = 0; i < count; ++i) {
    const random = next();
    let value;
    if (type.real) value = 2 * random - 1;
    else if (type.index) value = low + Math.floor(random * (high - low + 1));
    else value = type.low + Math.floor(random * 2 ** type.bits);
    bytes[type.write](type.big ? BigInt(value) : value, i * type.size);
  }
  return bytes;
}

const inputsOf = (entry, seed, range) => entry.inputs.map((input, i) => randomInput(input, seed * 1000 + i, range));

/** Throws where two outputs are not equal but for rounding; else the largest error, relative to the tensor's range. */
function difference(before, after) {
  const say = (what) => { throw new Error(`output ${before.name}: ${what}`); };
  const kind = (output) => `${output.name} ${output.type} [${output.shape}]`;
  if (kind(before) !== kind(after)) say(`was ${kind(before)}, is ${kind(after)}`);
  const type = types[before.type];
  if (before.bytes.equals(after.bytes)) return 0;
  if (before.bytes.length !== after.bytes.length) say('has another size');
  if (!type?.real) {
    const at = before.bytes.findIndex((byte, i) => byte !== after.bytes[i]);
    say(`${before.type} differs from byte ${at} of ${before.bytes.length} on`);
  }
  let lowest = 0, highest = 0, largest = 0;
  for (let at = 0; at < before.bytes.length; at += type.size) {
    const [x, y] = [before, after].map((output) => output.bytes[type.read](at));
    if (Number.isFinite(x)) [lowest, highest] = [Math.min(lowest, x), Math.max(highest, x)];
    if (Object.is(x, y) || x === y) continue;
    if (!Number.isFinite(x) || !Number.isFinite(y)) say(`element ${at / type.size} was ${x}, is ${y}`);
    largest = Math.max(largest, Math.abs(x - y));
  }
  const error = largest === 0 ? 0 : largest / (highest - lowest);
  if (!(error <= 1e-4)) say(`differs by ${error.toExponential(1)} of its range`);
  return error;
}

/** What the model computes: for each entry and seed the outputs. */
function compute(engine, file, seeds, inputs) {
  const model = engine.open(fs.readFileSync(file));
  const results = model.entries.map((entry) => ({
    name: entry.name, runs: seeds.map((seed) => entry.run(inputs(entry, seed))),
  }));
  model.close();
  return results;
}

const running = {};

async function fresh(name, modules) {
  return running[name] ??= await engines[name].create(modules);
}

async function computeBefore({ engine, modules, before, seeds }) {
  for (const range of indexRanges) {
    const known = {};
    let indices = false;
    const inputs = (entry, seed) => {
      indices ||= entry.inputs.some((input) => types[input.type]?.index);
      return known[`${entry.name} ${seed}`] = inputsOf(entry, seed, range);
    };
    try {
      return { results: compute(await fresh(engine, modules), before, seeds, inputs), known };
    } catch (error) {
      error.message = reason(error, running[engine]);
      delete running[engine]; // after a trap it is not to be trusted
      if (!indices || range === indexRanges.at(-1)) throw error;
    }
  }
}

function reason(error, engine) {
  const line = engine?.log.find((text) => /^ERROR: (?!\[)/.test(text));
  return (line ?? error.message ?? String(error)).replace(/^ERROR: /, '').split('\n')[0];
}

/** Runs a model on inputs that the model before ran on, and judges what it computes. */
async function judge({ engine, modules, seeds }, { results, known }, file) {
  let after;
  try {
    after = compute(await fresh(engine, modules), file, seeds, (entry, seed) => known[`${entry.name} ${seed}`]);
  } catch (error) {
    const message = reason(error, running[engine]);
    delete running[engine];
    return { state: message === unstable ? 'unstable' : 'broken', reason: message };
  }
  try {
    const names = (list) => list.map((entry) => entry.name).join();
    if (names(results) !== names(after)) throw new Error('has other signatures');
    let error = 0, outputs = 0;
    results.forEach((entry, e) => entry.runs.forEach((run, r) => {
      if (run.length !== after[e].runs[r].length) throw new Error('has another number of outputs');
      outputs += run.length;
      run.forEach((output, o) => { error = Math.max(error, difference(output, after[e].runs[r][o])); });
    }));
    if (!outputs) return { state: 'not runnable', reason: 'no outputs' };
    return { state: 'equal', error };
  } catch (error) {
    return { state: 'different', reason: error.message };
  }
}

async function compare(job) {
  let before;
  try {
    before = await computeBefore(job);
  } catch (error) {
    return { state: error.message === unstable ? 'unsound' : 'not runnable', reason: error.message };
  }
  process.send({ stage: 'after' });
  const verdict = await judge(job, before, job.after);
  if (verdict.state === 'equal' || verdict.state === 'not runnable') return verdict;
  // A model that does not agree with itself says nothing about the one after; what was in memory may be the same by chance.
  for (let i = 0; i < (verdict.state === 'unstable' ? 8 : 1); ++i) {
    const control = await judge(job, before, job.before);
    if (control.state !== 'equal') return { state: 'unsound', reason: `not the same twice: ${control.reason}` };
  }
  return verdict;
}

process.on('message', async (job) => process.send({ verdict: await compare(job) }));
