// usage: node rules.mjs BIN SCRATCH < LIST
// Optimises each model of LIST, has files for viewers written, and looks things up in them the way the viewers do. What
// is found has to be what circle-metrics --json and the side file say of the same operator or tensor.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const [bin, scratch] = process.argv.slice(2);
const run = (tool, ...args) =>
  execFileSync(path.join(bin, tool), args, { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const read = (name) => JSON.parse(fs.readFileSync(path.join(scratch, name), 'utf8'));
const fractions = ['sparsity', 'block_sparsity', 'intensity'];

let failures = 0, shown = 0, title = '';
function expect(condition, text) {
  if (condition) return;
  ++failures;
  if (++shown <= 8) console.log(`FAILED ${title}: ${text}`.replace(/[^ -~]/g, '?'));
}
const counts = { netron: 0, nodes: 0, entries: 0, unchanged: 0, visq: 0, dot: 0, ghosts: 0 };

/** Netron: every item finds one thing, and says of it what is so. */
function netron(metrics, side) {
  const file = read('m.netron.json');
  expect(file.signature === 'netron:attachment', 'signature');
  const operators = metrics.operators.filter(({ subgraph }) => subgraph === 0);
  const byOutput = new Map(metrics.operators.filter((op) => op.outputs.length).map((op) => [op.outputs[0], op]));
  const tensors = new Map();
  for (const tensor of metrics.tensors) {
    const key = tensor.name.split('\n')[0];
    tensors.set(key, [...tensors.get(key) ?? [], tensor]);
  }
  const described = new Set();
  for (const section of ['metadata', 'metrics']) {
    const seen = new Set();
    for (const item of file[section]) {
      ++counts.netron;
      const key = `${item.kind}::${item.target ?? ''}::${item.identifier ?? ''}::${item.name}`;
      expect(!seen.has(key), `netron: ${key} is there twice`);
      seen.add(key);
      expect(['string', 'number', 'boolean'].includes(typeof item.value) && Number.isFinite(Number(item.value)) ||
        typeof item.value === 'string', `netron: the value of ${key}`);
      let truth;
      if (item.kind === 'model') truth = metrics.model;
      else if (item.kind === 'graph') {
        const named = metrics.subgraphs.filter(({ name, index }) =>
          (name || (metrics.subgraphs.length > 1 ? String(index) : '')) === item.target);
        expect(named.length === 1, `netron: graph "${item.target}"`);
        truth = named[0];
      } else if (item.kind === 'node') {
        truth = operators[Number(item.identifier)];
        expect(item.target === undefined && truth && String(truth.index) === item.identifier, `netron: ${key}`);
        if (item.name === 'origin') described.add(item.identifier);
        if (item.name === 'origin.ids')
          expect(item.value === side.map[item.identifier].join(' '), `netron: origins of ${item.identifier}`);
      } else {
        const found = tensors.get(item.target) ?? [];
        expect(found.length === 1, `netron: ${found.length} tensors are called "${item.target}"`);
        expect((found[0]?.kind === 'constant') === (item.kind === 'tensor'), `netron: the kind of "${item.target}"`);
        // An operator of another subgraph is told by its output, which has figures of its own.
        truth = item.name.startsWith('operator.') ? byOutput.get(found[0]?.name) : found[0];
      }
      if (section === 'metrics') expect(truth?.[item.name.replace('operator.', '')] === item.value, `netron: ${key} is ${item.value}`);
    }
  }
  expect(described.size === operators.length, `netron: ${operators.length - described.size} nodes without origin`);
}

/** Model Explorer's two readers: the names that lead to nodes, and the nodes' numbers. */
function explorerGraphs(metrics) {
  const graphs = new Map();
  for (const graph of metrics.subgraphs) {
    const circle = metrics.model.format === 'circle';
    if (circle && graph.index > 0) break;
    const operators = metrics.operators.filter(({ subgraph }) => subgraph === graph.index);
    const tensors = metrics.tensors.filter(({ subgraph }) => subgraph === graph.index);
    const nodeOf = new Map();
    let next = operators.length + 1;
    for (const tensor of tensors) {
      if (tensor.kind === 'input') nodeOf.set(tensor.name, String(operators.length));
      else if (tensor.kind !== 'activation') nodeOf.set(tensor.name, String(next++));
    }
    for (const op of operators)
      for (const name of circle ? op.outputs.slice(0, 1) : op.outputs) nodeOf.set(name, String(op.index));
    const id = circle ? 'main' : graph.name || (graph.index ? `subgraph_${graph.index}` : 'main');
    if (!graphs.has(id)) graphs.set(id, { operators, nodeOf, outputs: next, tensors });
  }
  return graphs;
}

function modelExplorer(metrics, skips) {
  const graphs = explorerGraphs(metrics);
  for (const name of fs.readdirSync(path.join(scratch, 'explorer')).filter((name) => name.includes('.nodedata.'))) {
    const file = read(`explorer/${name}`);
    const metric = name.split('.').at(-3);
    expect(!('results' in file) || 'results' in file.results, `${name}: would be taken for one graph`);
    for (const [id, data] of Object.entries(file)) {
      const graph = graphs.get(id) ?? [...graphs.values()][metrics.subgraphs.length === 1 ? 0 : -1];
      if (!graph) continue; // named by a signature
      const hit = new Set();
      const values = [];
      for (const [key, { value }] of Object.entries(data.results)) {
        ++counts.nodes;
        const node = graph.nodeOf.get(key) ?? key;
        const op = graph.operators[Number(node)];
        expect(op && String(op.index) === node, `${name}: "${key}" leads to node ${node}`);
        expect(!hit.has(node), `${name}: two keys for node ${node}`);
        hit.add(node);
        if (metric === 'origins') continue;
        expect(op?.[metric] === value && Number.isFinite(value), `${name}: node ${node} has ${value}`);
        values.push(value);
      }
      const wanted = graph.operators.filter((op) => metric === 'origins' || op[metric] !== null).length;
      expect(hit.size === wanted || skips, `${name}: ${hit.size} of ${wanted} operators`);
      const range = new Set(values).size;
      expect(!data.gradient === (range < 2), `${name}: a gradient over ${range} values`);
      for (const { bgColor } of [...data.gradient ?? [], ...data.thresholds ?? []])
        expect(/^#[0-9a-f]{6}$/.test(bgColor), `${name}: ${bgColor}`);
      if (data.gradient) expect(data.gradient.map(({ stop }) => stop).join() === '0,1', `${name}: stops`);
      if (data.thresholds) expect(values.every((v) => data.thresholds.some((t) => v <= t.value)), `${name}: thresholds`);
      if (fractions.includes(metric)) expect(data.hideAggregatedStats?.[0] === 'sum', `${name}: a sum of fractions`);
    }
  }
  return graphs;
}

/** The split pane: later entries overwrite earlier ones, so a node may be in one only. */
function sync(metrics, side, graphs) {
  if (!side.target.subgraphs[0].source.includes(0)) return;
  const file = read('explorer/m.sync.json');
  expect(file.disableMappingFallback === true, 'sync: unmapped nodes would select their number');
  const partners = { left: new Map(), right: new Map() };
  for (const { leftNodeIds, rightNodeIds } of file.mappingEntries) {
    ++counts.entries;
    for (const [pane, own, other] of [['left', leftNodeIds, rightNodeIds], ['right', rightNodeIds, leftNodeIds]])
      for (const node of own) {
        expect(typeof node === 'string' && !partners[pane].has(node), `sync: ${pane} ${node} is in two entries`);
        partners[pane].set(node, other);
      }
  }
  const source = side.source.subgraphs[0];
  const ids = new Map(source.operators.map(({ id, index }) => [id, String(index)]));
  for (const row of side.target.subgraphs[0].operators)
    for (const id of row.origins ?? [])
      if (ids.has(id)) {
        expect(partners.right.get(String(row.index))?.includes(ids.get(id)), `sync: ${row.index} is not from ${id}`);
        expect(partners.left.get(ids.get(id))?.includes(String(row.index)), `sync: ${id} is not in ${row.index}`);
      }
  const right = [...partners.right.keys()].filter((node) => Number(node) < side.target.subgraphs[0].operators.length);
  for (const node of right)
    expect(side.target.subgraphs[0].operators[node].origins?.some((id) => ids.has(id)), `sync: ${node} has no origin`);
  if (side.source.format === 'circle' && metrics.model.format === 'circle') {
    const constants = source.tensors.filter(({ id, kind }) => kind !== 'input' && kind !== 'activation');
    const outputs = String(source.operators.length + 1 + constants.length);
    expect(partners.left.get(String(source.operators.length))?.[0] === String(graphs.get('main').operators.length) &&
      partners.left.get(outputs)?.[0] === String(graphs.get('main').outputs), 'sync: inputs and outputs');
  }
}

/** In a model that stays as it is each node is its own partner, those of all inputs and all outputs too. */
function unchanged(model) {
  const tflite = model.endsWith('.tflite') || fs.readFileSync(model).subarray(0, 40).includes('model tflite');
  const same = path.join(scratch, tflite ? 'same.tflite' : 'same.circle');
  run('circle2circle', '-O0', model, same);
  run('circle-metrics', `--model-explorer=${path.join(scratch, 'same')}`, same);
  for (const name of fs.readdirSync(path.join(scratch, 'same')).filter((name) => name.endsWith('.sync.json')))
    for (const { leftNodeIds, rightNodeIds } of read(`same/${name}`).mappingEntries) {
      ++counts.unchanged;
      expect(`${leftNodeIds}` === `${rightNodeIds}`, `${name}: ${leftNodeIds} became ${rightNodeIds}`);
    }
}

/** Visquv takes the value of an operator's last output, and slots without their ends. */
function visq(metrics, skips) {
  if (!fs.existsSync(path.join(scratch, 'm.visq.json'))) return;
  const { meta, error } = read('m.visq.json');
  expect(meta.model === 'm.circle' && meta.metric === 'operations' && error.length === 1, 'visq: head');
  meta.colorscheme.forEach(({ b, e, c }, i) => {
    expect(b < e && /^#[0-9a-f]{6}$/.test(c), `visq: slot ${i}`);
    expect(i === 0 || meta.colorscheme[i - 1].e === b, `visq: a gap before slot ${i}`);
  });
  for (const op of metrics.operators.filter(({ subgraph }) => subgraph === 0)) {
    const value = error[0][op.outputs.filter((name) => name !== null).at(-1)];
    if (value === undefined) {
      expect(op.operations === null || !op.outputs.length || skips, `visq: operator ${op.index} has no value`);
      continue;
    }
    ++counts.visq;
    expect(value === op.operations, `visq: operator ${op.index} has ${value}`);
    expect(meta.colorscheme.filter(({ b, e }) => b <= value && value < e).length === 1, `visq: colour of ${value}`);
  }
}

/** The statements of a DOT file as Graphviz splits them: words, quoted strings, HTML strings. */
function dot(text, what) {
  const id = String.raw`(?:[A-Za-z_][A-Za-z_0-9]*|"(?:[^"\\\n]|\\.)*")`;
  const attributes = String.raw`(?: \[(?:[a-z]+=(?:${id}|<<.*>>)[ ,]*)+\])?`;
  const node = new RegExp(`^(${id})${attributes};$`), edge = new RegExp(`^(${id}) -> (${id})${attributes};$`);
  const nodes = new Map(), edges = [];
  for (const line of text.trimEnd().split('\n').map((line) => line.trim())) {
    const asEdge = edge.exec(line), asNode = node.exec(line);
    expect(!/[^ -~]/.test(line) || !/[\x00-\x1f\x7f]/.test(line), `${what}: a control character in ${line}`);
    if (asEdge) edges.push(asEdge);
    else if (asNode && !/^(node|rankdir)$/.test(asNode[1])) {
      expect(!nodes.has(asNode[1]), `${what}: node ${asNode[1]} is there twice`);
      nodes.set(asNode[1], line);
    } else
      expect(/^(\}|digraph .* \{|subgraph [a-z_]+ \{|label="[a-z]+";|rankdir=LR;|node \[shape=box\];)$/.test(line),
        `${what}: ${line}`);
  }
  for (const [, from, to] of edges) expect(nodes.has(from) && nodes.has(to), `${what}: an edge from ${from} to ${to}`);
  counts.dot += nodes.size;
  return { nodes, edges };
}

function originDot(side) {
  const { nodes, edges } = dot(run('origin-dump', '--dot', path.join(scratch, 'm.circle')), 'origin-dump --dot');
  const gone = side.ledger.filter(({ operator }) => operator !== undefined);
  const ghosts = [...nodes.values()].filter((line) => line.startsWith('s') && line.includes('style=dashed'));
  counts.ghosts += ghosts.length;
  expect(ghosts.length === gone.length, `origin-dump --dot: ${ghosts.length} ghosts of ${gone.length}`);
  const origins = side.target.subgraphs.flatMap(({ operators }) => operators.flatMap((row) => row.origins ?? []));
  expect(edges.filter(([line]) => !line.includes('[style=')).length === origins.length, 'origin-dump --dot: origins');
}

/** What Netron shows of metadata that it does not know. */
function summary() {
  const texts = fs.readFileSync(path.join(scratch, 'm.circle')).toString('latin1').match(/Origo: [ -~]*/g) ?? [];
  expect(texts.length === 1 && texts[0].length < 256, `the summary is there ${texts.length} times`);
}

const models = fs.readFileSync(0, 'utf8').split('\n').filter(Boolean);
let refused = 0, done = 0;
for (const model of models) {
  title = path.basename(model);
  shown = 0;
  fs.rmSync(scratch, { recursive: true });
  fs.mkdirSync(scratch);
  const at = (name) => path.join(scratch, name);
  try {
    run('circle2circle', '-O1', model, at('m.circle'));
  } catch {
    ++refused; // every_model.py looks at these
    continue;
  }
  ++done;
  try {
    const metrics = JSON.parse(run('circle-metrics', '--json', at('m.circle')));
    const side = read('m.circle.origin.json');
    const names = metrics.tensors.map(({ subgraph, name }) => `${subgraph} ${name}`);
    const skips = names.some((name) => /^\d+ $|\ufffd/.test(name)) || new Set(names).size < names.length;
    run('circle-metrics', `--netron=${at('m.netron.json')}`, `--model-explorer=${at('explorer')}`, at('m.circle'));
    if (metrics.operators.some(({ subgraph, operations }) => subgraph === 0 && operations !== null)) {
      run('circle-metrics', '--metric=operations', `--visq=${at('m.visq.json')}`, `--dot=${at('m.dot')}`, at('m.circle'));
      dot(fs.readFileSync(at('m.dot'), 'utf8'), 'dot');
    }
    netron(metrics, side);
    sync(metrics, side, modelExplorer(metrics, skips));
    unchanged(model);
    visq(metrics, skips);
    originDot(side);
    summary();
  } catch (error) {
    expect(false, `${error.message} ${error.stderr ?? ''}`.slice(0, 500));
  }
}
console.log(`viewers: ${done} models, ${refused} refused; ${counts.netron} items for Netron, ${counts.nodes} values and ` +
  `${counts.entries} entries for Model Explorer, ${counts.visq} values for visq, ${counts.dot} nodes in DOT, ` +
  `${counts.ghosts} of them gone; ${failures} failures`);
const nothing = Object.entries(counts).filter(([, count]) => count < 2);
for (const [name, count] of nothing) console.log(`FAILED only ${count} of ${name}`);
process.exitCode = failures || nothing.length || done < models.length / 2 ? 1 : 0;
