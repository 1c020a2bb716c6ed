#!/usr/bin/env node
// Computes visq's figures again: from tensors that circle-interpreter wrote, with a reader of models and arithmetic of its
// own, and compares them with what visq says. Tensors of the first subgraph whose relation only quantises; or, of models
// without an origin map, by the order of operators.
//   figures.mjs BIN SCRATCH NAME=FLOAT:QUANTISED...   a line each; exit 1 where a figure is off by more than 1e-6
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';

const [bin, scratch, ...jobs] = process.argv.slice(2);
const records = 3, tolerance = 1e-6;
const tool = (name, ...args) => {
  const made = spawnSync(path.join(bin, name), args, { maxBuffer: 1 << 28, encoding: 'latin1' });
  return { ok: made.status === 0, text: made.stderr.split('\n')[0], status: made.status };
};

/** The tables of a flatbuffer, as far as wanted here. */
function readModel(file) {
  const data = fs.readFileSync(file), view = new DataView(data.buffer, data.byteOffset, data.length);
  const field = (table, slot) => {
    const vtable = table - view.getInt32(table, true);
    const size = view.getUint16(vtable, true), at = 4 + 2 * slot;
    const offset = at < size ? view.getUint16(vtable + at, true) : 0;
    return offset ? table + offset : 0;
  };
  const follow = at => at + view.getUint32(at, true);
  const list = (table, slot) => {
    const at = field(table, slot);
    if (!at) return { length: 0, start: 0 };
    const start = follow(at);
    return { length: view.getUint32(start, true), start: start + 4 };
  };
  const each = (table, slot, read) => {
    const { length, start } = list(table, slot);
    return Array.from({ length }, (_, i) => read(start, i));
  };
  const tables = (table, slot) => each(table, slot, (start, i) => follow(start + 4 * i));
  const ints = (table, slot) => each(table, slot, (start, i) => view.getInt32(start + 4 * i, true));
  const root = follow(0);
  const codes = tables(root, 1).map(code => {
    const old = field(code, 0), now = field(code, 3);
    return Math.max(old ? view.getInt8(old) : 0, now ? view.getInt32(now, true) : 0);
  });
  const graphs = tables(root, 2).map(graph => ({
    tensors: tables(graph, 0).map(tensor => {
      const type = field(tensor, 1), quantization = field(tensor, 4) && follow(field(tensor, 4));
      return {
        type: type ? view.getInt8(type) : 0,
        shape: ints(tensor, 0),
        scale: quantization ? each(quantization, 2, (start, i) => view.getFloat32(start + 4 * i, true)) : [],
        zero: quantization ? each(quantization, 3, (start, i) => Number(view.getBigInt64(start + 8 * i, true))) : [],
      };
    }),
    inputs: ints(graph, 1),
    operators: tables(graph, 3).map(op => ({
      code: codes[field(op, 0) ? view.getUint32(field(op, 0), true) : 0],
      inputs: ints(op, 1), outputs: ints(op, 2),
    })),
  }));
  return { graphs, signatures: tables(root, 7).length };
}

const arrays = { 0: Float32Array, 2: Int32Array, 3: Uint8Array, 4: BigInt64Array, 6: Uint8Array, 7: Int16Array, 9: Int8Array };
/** Real numbers of bare elements; null: a type, or a quantisation by channel, that is not for this. */
function realNumbers(bytes, tensor) {
  const Type = arrays[tensor.type];
  if (!Type || tensor.scale.length > 1) return null;
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const raw = Array.from(new Type(copy), Number);
  if (tensor.type === 0 || tensor.scale.length === 0) return raw;
  return raw.map(q => (q - (tensor.zero[0] ?? 0)) * tensor.scale[0]);
}

/** The random inputs of docs/kernels.md, and what of them an input that is quantised holds. */
function randomFloats(count, seed, stream) {
  let state = (Math.imul(seed, 0x9E3779B1) + Math.imul(stream, 0x85EBCA6B)) >>> 0;
  const numbers = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    state = (state + 0x6D2B79F5) >>> 0;
    let t = Math.imul(state ^ state >>> 15, state | 1);
    t ^= t + Math.imul(t ^ t >>> 7, t | 61);
    numbers[i] = ((t ^ t >>> 14) >>> 8) / 2 ** 23 - 1;
  }
  return numbers;
}
const limits = { 3: [0, 255], 7: [-32768, 32767], 9: [-128, 127] };
function quantised(numbers, tensor) {
  const [low, high] = limits[tensor.type];
  const round = x => Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
  const all = Array.from(numbers, x => Math.min(high, Math.max(low, round(x / tensor.scale[0] + tensor.zero[0]))));
  return Buffer.from(new arrays[tensor.type](all).buffer);
}

/** [tensor of the source, tensor of the result] of the first subgraph; the last of several is what counts. */
function pairs(file, source, result) {
  const found = new Map();
  const side = `${file}.origin.json`;
  const map = fs.existsSync(side) ? JSON.parse(fs.readFileSync(side, 'utf8')) : null;
  if (map) {
    const order = new Map();
    result.operators.forEach((op, i) => op.outputs.forEach(t => order.set(t, i + 1)));
    const values = map.target.subgraphs[0].values.map(v => ({ ...v, order: order.get(v.index) ?? 0 }));
    const first = new Map(map.source.subgraphs[0].tensors.map(t => [t.id, t.index]));
    const odd = new Set();
    for (const value of values.sort((a, b) => a.order - b.order || a.index - b.index))
      for (const { tensor, steps } of value.relations) {
        if (!first.has(tensor)) continue;
        if (steps.every(step => step.quantize)) found.set(first.get(tensor), value.index);
        else odd.add(first.get(tensor));
      }
    odd.forEach(tensor => found.delete(tensor));
    return found;
  }
  const bridge = op => op.code === 6 || op.code === 114;
  const before = source.operators.filter(op => !bridge(op));
  source.inputs.forEach((tensor, i) => found.set(tensor, result.inputs[i]));
  const standsFor = new Map(source.inputs.map((tensor, i) => [result.inputs[i], tensor]));
  let next = 0;
  for (const op of result.operators) {
    if (bridge(op)) {
      if (standsFor.has(op.inputs[0])) {
        standsFor.set(op.outputs[0], standsFor.get(op.inputs[0]));
        found.set(standsFor.get(op.inputs[0]), op.outputs[0]);
      }
      continue;
    }
    const twin = before[next++];
    if (twin?.code !== op.code) return new Map();
    op.outputs.forEach((tensor, i) => { found.set(twin.outputs[i], tensor); standsFor.set(tensor, twin.outputs[i]); });
  }
  return next === before.length ? found : new Map();
}

function sums(want, have) {
  let absolute = 0, squares = 0, most = 0, low = Infinity, high = -Infinity;
  for (let i = 0; i < want.length; i++) {
    if (!Number.isFinite(want[i]) || !Number.isFinite(have[i])) continue;
    const off = Math.abs(want[i] - have[i]);
    absolute += off;
    squares += off * off;
    most = Math.max(most, off);
    low = Math.min(low, want[i]);
    high = Math.max(high, want[i]);
  }
  return { absolute, squares: squares / want.length, peak: low <= high ? most / (high - low + 1e-6) : 0 };
}

let failed = 0;
for (const job of jobs) {
  const [name, files] = job.split('='), [float, other] = files.split(':');
  const { graphs: [source], signatures } = readModel(float), { graphs: [result] } = readModel(other);
  const say = text => console.log(`${name}: ${text}`);
  // visq runs all of them, and the first subgraph perhaps several times.
  if (signatures > 1) { say('NOT RUN: several signatures'); continue; }
  const floats = source.inputs.every(t => source.tensors[t].type === 0);
  const json = path.join(scratch, `${name}.json`);
  const visq = tool('visq', '-f', float, '-q', other, '--engine=reference', `--records=${records}`, `--json=${json}`);
  if (!visq.ok) { say(`NOT RUN: ${visq.text}`); continue; }
  const said = JSON.parse(fs.readFileSync(json, 'utf8')).errors.filter(row => row.subgraph === 0);
  const paired = pairs(other, source, result), all = new Map();
  let why = paired.size ? '' : 'nothing is paired';
  for (let record = 1; record <= records && !why; record++) {
    const taps = {};
    for (const [side, file, graph] of [['f', float, source], ['q', other, result]]) {
      taps[side] = path.join(scratch, `${name}.${side}`);
      fs.rmSync(taps[side], { recursive: true, force: true });
      // Where the result stores its inputs otherwise, it is given files.
      const stored = graph.inputs.some((t, i) => graph.tensors[t].type !== source.tensors[source.inputs[i]].type);
      const inputs = `${taps[side]}.in`, outputs = `${taps[side]}.out`;
      if (stored && !floats) { why = 'inputs of two types'; break; }
      if (stored)
        graph.inputs.forEach((t, i) => {
          const count = graph.tensors[t].shape.reduce((a, b) => a * Math.max(b, 1), 1);
          const random = randomFloats(count, record, i);
          fs.writeFileSync(inputs + i, graph.tensors[t].type === 0 ? Buffer.from(random.buffer) : quantised(random, graph.tensors[t]));
        });
      const words = stored ? [file, inputs, outputs] : [`--seed=${record}`, file, outputs];
      const run = tool('circle-interpreter', `--tap=${taps[side]}`, ...words);
      if (!run.ok) why = run.text;
    }
    for (const [from, to] of paired) {
      const tap = (side, tensor) => path.join(taps[side], `0_${tensor}`);
      if (why || !fs.existsSync(tap('f', from)) || !fs.existsSync(tap('q', to))) continue;
      const want = realNumbers(fs.readFileSync(tap('f', from)), source.tensors[from]);
      const have = realNumbers(fs.readFileSync(tap('q', to)), result.tensors[to]);
      if (!want?.length || !have || want.length !== have.length) continue;
      all.set(from, [...(all.get(from) ?? []), sums(want, have)]);
    }
  }
  if (why) { say(`NOT RUN: ${why}`); continue; }
  const mean = (list, of) => list.reduce((sum, one) => sum + of(one), 0) / list.length;
  let compared = 0, worst = 0, unsaid = 0, told = 0;
  for (const [tensor, list] of all) {
    const row = said.find(one => one.tensor === tensor);
    if (!row?.metrics || row.recovered) { unsaid++; continue; }
    const mse = mean(list, one => one.squares), scale = result.tensors[paired.get(tensor)].scale[0];
    const figures = { MPEIR: mean(list, one => one.peak), MSE: mse, TAE: mean(list, one => one.absolute) };
    if (scale && result.tensors[paired.get(tensor)].type !== 0) figures.SRMSE = Math.sqrt(mse) / scale;
    for (const [metric, value] of Object.entries(figures)) {
      const off = Math.abs(value - row.metrics[metric]) / Math.max(Math.abs(value), 1e-30);
      if (!(off <= tolerance)) {
        failed++;
        if (++told <= 3) say(`FAILED: ${metric} of "${row.name}" is ${row.metrics[metric]}, computed here as ${value}`);
      }
      worst = Math.max(worst, off);
    }
    compared++;
  }
  if (unsaid) { failed++; say(`FAILED: visq has no figures of ${unsaid} tensors`); }
  say(`OK: ${compared} tensors, at most ${worst.toExponential(1)} off`);
}
process.exitCode = failed ? 1 : 0;
