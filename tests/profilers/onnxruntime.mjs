// usage: node onnxruntime.mjs BIN MODULES WORK networks|models < LIST
// Profiles ONNX models with ONNX Runtime itself, as the files are and optimised, and judges where origin-dump --join puts the rows of the
// imported network, before and after -O1: a row is called after a node of the file, or, where that became part of another, after a result.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fail, failures, join, refuses, run } from './joined.mjs';

const [bin, modules, work, which] = process.argv.slice(2);
const ort = createRequire(path.resolve(modules, 'x'))('onnxruntime-node');
const types = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float16: Uint16Array,
};
const at = (name) => path.join(work, name);

function* fields(bytes) {
  let i = 0;
  const varint = () => { let value = 0, scale = 1; for (;;) { const byte = bytes[i++]; value += (byte & 127) * scale; scale *= 128; if (byte < 128) return value; } };
  while (i < bytes.length) {
    const key = varint(), wire = key % 8, field = Math.floor(key / 8);
    if (wire === 2) { const size = varint(); yield [field, bytes.subarray(i, i += size)]; }
    else if (wire === 0) yield [field, varint()];
    else i += wire === 1 ? 8 : 4;
  }
}
const all = (bytes, wanted) => [...fields(bytes)].filter(([field]) => field === wanted).map(([, value]) => value);
const texts = (bytes, wanted) => all(bytes, wanted).map(String);
/** The nodes of a file's graph, each with its name, type, operands and results; and the names of nodes that are in nodes and in functions. */
function nodesOf(file) {
  const model = fs.readFileSync(file), inner = new Set();
  const enter = (nodes, outermost) => {
    for (const node of nodes) {
      if (!outermost) inner.add(texts(node, 3)[0]);
      for (const attribute of all(node, 5)) for (const graph of [...all(attribute, 6), ...all(attribute, 11)]) enter(all(graph, 1), false);
    }
  };
  const nodes = all(all(model, 7)[0], 1);
  enter(nodes, true);
  for (const body of all(model, 25)) enter(all(body, 7), false);
  return { inner, nodes: nodes.map((node) => ({ name: texts(node, 3)[0] ?? '', type: texts(node, 4)[0], operands: texts(node, 1), results: texts(node, 2) })) };
}

/** The node of a type whose result an activation, a normalisation or the like makes `last` of: together they are one kernel that is called after `last`. */
function fusedInto(nodes, last, type) {
  let node = last;
  for (let steps = 0; node && steps < 4; ++steps) {
    if (node.type === type) return node;
    node = nodes.find((one) => one.results.includes(node.operands[0]));
  }
  return last;
}

/** The events of two runs, or null where ONNX Runtime does not take the model. */
async function profile(model, level) {
  let session, file;
  try {
    session = await ort.InferenceSession.create(model, {
      enableProfiling: true, profileFilePrefix: at('profile'), graphOptimizationLevel: level, intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4,
    });
    const feeds = {};
    for (const { name, type, shape } of session.inputMetadata) {
      const dims = shape.map((dim) => (typeof dim === 'number' && dim > 0 ? dim : 1)), data = new types[type](dims.reduce((all, dim) => all * dim, 1));
      if (type === 'float32') data.forEach((_, i) => { data[i] = Math.sin(12.9898 * i); });
      feeds[name] = new ort.Tensor(type, data, dims);
    }
    for (let i = 0; i < 2; ++i) await session.run(feeds);
    file = true;
  } catch { /* which the file or the runtime is to blame for */ }
  session?.endProfiling();
  await session?.release();
  const [written] = fs.readdirSync(work).filter((name) => /^profile_.*\.json$/.test(name));
  if (written) fs.renameSync(at(written), at('profile.json'));
  return file && written ? JSON.parse(fs.readFileSync(at('profile.json'), 'utf8')) : null;
}

const sums = { right: 0, wrong: 0, unnamed: 0, own: 0, none: 0 };
let profiled = 0, foreign = null;
function judge(what, events, { nodes, inner }, model) {
  const ran = events.filter((event) => event.name.endsWith('_kernel_time'));
  // Of a node that runs others inside, such as If, what these take is theirs.
  const outermost = ran.filter((one) => !ran.some((other) => other !== one && other.tid === one.tid && other.dur > one.dur && other.ts <= one.ts && one.ts < other.ts + other.dur));
  const baseOf = (name) => name.replace(/(_nchwc|_nhwc)$/, ''), isOf = (node, name) => node.name === name || node.results.includes(name);
  // Of rows that are called after nothing of the file, none need match.
  const isNamed = ran.some(({ name }) => nodes.some((node) => isOf(node, baseOf(name.replace(/_kernel_time$/, '')))));
  if (!isNamed && run(bin, 'origin-dump', ['--join', at('profile.json'), model]).stderr.includes('foreign profile')) return;
  const joined = join(bin, what, 'onnxruntime', at('profile.json'), model, outermost.reduce((all, event) => all + 1000 * event.dur, 0));
  if (!joined) return;
  ++profiled;
  // Operators of the source are numbered as they can run, nodes of a file may stand in another order: they are told by their results.
  const source = JSON.parse(fs.readFileSync(`${model}.origin.json`, 'utf8')).source.subgraphs[0].operators;
  const isNode = (id, node) => source.find((one) => one.id === id)?.outputs.some((output) => output && node.results.includes(output));
  const types = new Map(ran.map((event) => [event.name.replace(/_kernel_time$/, ''), event.args.op_name]));
  for (const row of joined.rows) {
    const name = row.raw_name;
    if (!row.ns || inner.has(name)) continue;
    const base = baseOf(name), type = types.get(name);
    const named = nodes.map((node, i) => i).filter((i) => nodes[i].name && nodes[i].name === name && nodes[i].type === type);
    const making = nodes.map((node, i) => i).filter((i) => isOf(nodes[i], base));
    if (named.length === 1) { // that node alone
      const right = row.match === 'exact' && row.share.length === 1 && isNode(row.share[0][0], nodes[named[0]]) && row.share[0][1] === row.ns;
      ++sums[right ? 'right' : 'wrong'];
      if (!right) fail(`${what}: ${name} is ${row.match} on ${JSON.stringify(row.share)}, not on ${named[0]}`);
      continue;
    }
    if (row.match === 'exact') fail(`${what}: ${name} is exact, and no node of the file is called so`);
    const does = making.length === 1 && [nodes[making[0]], fusedInto(nodes, nodes[making[0]], type)];
    const isRight = () => row.origins.some((id) => does.some((node) => isNode(id, node)));
    if (process.env.ORIGO_THOROUGH === '2' && does && !isRight())
      console.log(`${what}: ${name} (${type}) is ${row.match} on ${row.origins}, and not on what computes ${nodes[making[0]].results}`);
    if (making.length !== 1) ++sums[row.origins.length ? 'unnamed' : 'own']; // of a file without names, or what the runtime does for itself
    else ++sums[!row.origins.length ? 'none' : isRight() ? 'right' : 'wrong'];
  }
  // Another network's model gets nothing of it.
  if (foreign && nodes.length > 20) refuses(bin, `${what} in another network`, at('profile.json'), foreign);
}

foreign = at('foreign.circle');
fs.writeFileSync(at('foreign.origo'), 'origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,4]) -> (%y) {\n  %y: f32[1,4] = ELU(%x)\n}\n');
if (run(bin, 'circle2circle', ['-O0', at('foreign.origo'), foreign]).status) fail('no other network');
for (const source of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const imported = at('imported.circle'), rewritten = at('rewritten.circle');
  if (run(bin, 'onnx2circle', [source, imported]).status || run(bin, 'circle2circle', ['-O1', source, rewritten]).status) continue;
  const nodes = nodesOf(source);
  for (const level of ['disabled', 'all']) {
    const events = await profile(source, level);
    if (!events?.some((event) => event.name.endsWith('_kernel_time') && event.dur)) continue;
    for (const model of [imported, rewritten]) judge(`${path.basename(source)}, ${level}, ${path.basename(model)}`, events, nodes, model);
  }
}
const { right, wrong, unnamed, own, none } = sums, judged = Math.max(1, right + wrong + none);
console.log(`${which}: ${profiled} profiles of ONNX Runtime; of ${judged} rows that say what they are about ${(100 * right / judged).toFixed(2)} % are on that, ${wrong} on other nodes, ${none} on none; of the others ${unnamed} on nodes, ${own} on none`);
if (wrong > 0.02 * judged) fail(`${wrong} of ${judged} rows are on other nodes`);
const least = which === 'networks' ? 100 : 10;
if (profiled < least) fail(`only ${profiled} profiles`);
process.exit(failures.length ? 1 : 0);
