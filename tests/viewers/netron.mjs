// usage: node netron.mjs BIN SCRATCH WORK < LIST
// netron.sh calls it; the reader lies in SCRATCH/package, files of models in WORK.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { netron } from './reader.mjs';

const [bin, scratch, work] = process.argv.slice(2);
const at = (name) => path.join(work, name);
const run = (tool, ...args) =>
  execFileSync(path.join(bin, tool), args, { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] }).toString();

const open = netron(scratch);

let failures = 0, title = '';
function expect(condition, text) {
  if (condition) return;
  if (++failures <= 8) console.log(`FAILED ${title}: ${text}`.replace(/[^ -~]/g, '?'));
}
const counts = { models: 0, refused: 0, nodes: 0, items: 0 };

for (const source of fs.readFileSync(0, 'utf8').trim().split('\n')) {
  title = path.basename(source);
  const [before, after] = [at('before.tflite'), at('after.tflite')];
  try {
    run('circle2circle', '-O0', source, before);
    run('circle2circle', '-O1', source, after);
  } catch {
    ++counts.refused; // by us; other tests ask why
    continue;
  }
  let known = true;
  await open(before).catch(() => (known = false));
  if (!known) {
    ++counts.refused; // what is newer than this Netron
    continue;
  }
  // What was recognised may be newer than this Netron, too.
  const model = await open(after).catch((error) => (/Invalid built-in code/.test(error.message) ? void ++counts.refused : expect(false, error.message)));
  if (!model) continue;
  ++counts.models;
  const graph = model.graphs[0];
  run('circle-metrics', `--netron=${at('after.netron.json')}`, after);
  const metrics = JSON.parse(run('circle-metrics', '--json', after));
  const operators = metrics.operators.filter(({ subgraph }) => subgraph === 0);
  expect(graph.nodes.length === operators.length, `${graph.nodes.length} nodes, ${operators.length} operators`);
  const names = new Map();
  for (const [i, node] of graph.nodes.entries()) {
    ++counts.nodes;
    const values = [...node.inputs, ...node.outputs].flatMap((parameter) => parameter.arguments);
    for (const { name, location } of values) names.set(name.split('\n')[0], new Set(names.get(name.split('\n')[0])).add(location));
    const outputs = node.outputs.flatMap((parameter) => parameter.arguments.map(({ name }) => name));
    expect(outputs[0] === operators[i].outputs[0], `node ${i} makes ${outputs[0]}`);
  }
  const file = JSON.parse(fs.readFileSync(at('after.netron.json'), 'utf8'));
  const alone = metrics.subgraphs.length === 1;
  for (const { kind, target, identifier, name } of [...file.metadata, ...file.metrics]) {
    ++counts.items;
    if (kind === 'node') expect(graph.nodes[identifier]?.location === identifier, `no node ${identifier} for ${name}`);
    if (alone && kind === 'graph') expect(target === graph.name, `no graph ${target}`);
    // A tensor that nothing reads is in no picture.
    if (alone && (kind === 'value' || kind === 'tensor'))
      expect((names.get(target)?.size ?? 1) === 1, `${names.get(target)?.size} tensors are called ${target}`);
  }
}
console.log(`netron: ${counts.models} models opened, ${counts.refused} refused by us or too new for it; ${counts.nodes} nodes, ` +
  `${counts.items} items of attachments, ${failures} failures`);
process.exit(failures || !counts.models ? 1 : 0);
