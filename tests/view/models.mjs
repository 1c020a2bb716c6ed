// usage: run.sh BIN SCRATCH models.mjs networks|models
// Model files after -O1: the page of each opens, says of each operator, tensor and loss what origin-dump says, and its history ends with
// the graph of the result. Every sixth network is taken, of models of few operators every thirtieth, of those that the tree makes every 120th;
// ORIGO_THOROUGH=1 in the environment takes them all. Samples go with networks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { launch, open, rest, root, tool } from './browser.mjs';

const [what] = rest, every = what === 'networks' ? 120 : 30;
const sweep = `source '${root}/tests/folder.sh'; folder_of ${what}; ${what === 'networks' ? `find '${root}/res' -name '*.origo' | sort;` : ''} ORIGO_THOROUGH=1 swept ${what} 1`;
const [folder, ...all] = execFileSync('bash', ['-c', sweep], { encoding: 'utf8' }).trim().split('\n');
const files = all.filter((file, i) => process.env.ORIGO_THOROUGH === '1' || i % (/^(mini|recipes)\//.test(file.slice(folder.length + 1)) ? every : 6) === 0);
const refused = readFileSync(`${root}/docs/refused-models.md`, 'utf8');
const browser = await launch(), here = process.cwd();
let models = 0, operators = 0, failed = 0, rewrites = 0, historyBytes = 0;

/** What the page says, in the words of the side file. */
const said = () => {
  const { model, links } = origo, filled = object => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== '' && value !== 0 && !(Array.isArray(value) && !value.length)));
  const names = (graph, i) => graph.results(i).map(tensor => (tensor < 0 ? '' : graph.tensorName(tensor)));
  const target = model.result.graphs.map((graph, g) => ({
    operators: Array.from({ length: graph.ops }, (_, index) => {
      const item = { side: 'result', type: 'op', graph: g, index };
      return filled({ kind: graph.kind(index), outputs: names(graph, index), origins: links.origins(item), passes: links.passes(item), synthetic: links.synthetic(item), serves: links.serves(item), wide: links.wide(item), calls: links.calls(item) });
    }),
    tensors: Array.from({ length: graph.tensors }, (_, index) => {
      const facts = links.tensorFacts({ side: 'result', type: 'tensor', graph: g, index });
      return facts && filled({ name: graph.tensorName(index), relations: facts.relations.map(([tensor, , exact]) => [tensor, exact]), tensors: facts.tensors, operators: facts.operators });
    }),
  }));
  const source = model.source.graphs.map(graph => Array.from({ length: graph.ops }, (_, i) => filled({ kind: graph.kind(i), outputs: names(graph, i) })));
  const lost = type => [...links.lost[type].keys()].map(id => {
    const { fate, pass, run, rewrite, was, into } = links.fate(model.sourceItem(type, id));
    return [id, fate, pass, run, rewrite, was, into.map(item => [item.type, item.graph, item.index])];
  });
  return { target, source, ledger: { op: lost('op'), tensor: lost('tensor') } };
};

/** Operators and edges after the last rewrite, and those of the result; and what the history holds. */
const ends = () => {
  const { history, model } = origo;
  if (!history) return { live: [], ops: [], edges: [], expected: [], rows: 0, made: 0 };
  const { live, alias } = history.state(history.last), now = value => { while (alias.has(value)) value = alias.get(value); return value; };
  const name = id => { const item = history.survivors.get(id); return item ? `${item.graph}:${item.index} ${live.get(id).kind}` : `lost ${id}`; };
  const maker = new Map(), edges = new Set();
  for (const [id, op] of live) for (const value of op.out) maker.set(value, id);
  for (const [id, op] of live) for (const value of op.in) if (maker.has(now(value))) edges.add(`${name(maker.get(now(value)))} → ${name(id)}`);
  const expected = new Set(), ops = [];
  for (const graph of model.result.graphs) {
    const word = node => `${graph.index}:${graph.opOfNode(node)} ${graph.kind(graph.opOfNode(node))}`;
    for (let op = 0; op < graph.ops; ++op) ops.push(`${graph.index}:${op} ${graph.kind(op)}`);
    for (const { from, to } of graph.edges) if (graph.isOp(from) && graph.isOp(to)) expected.add(`${word(from)} → ${word(to)}`);
  }
  for (let step = 0; step <= history.last; step += Math.max(Math.floor(history.last / 5), 1)) origo.setStep(step);
  return { live: [...live.keys()].map(name).sort(), edges: [...edges].sort(), ops: ops.sort(), expected: [...expected].sort(), rows: history.rows.length, made: history.rows.reduce((sum, row) => sum + row.made.length, 0) };
};

/** The same of the side file. */
function expected(map) {
  const filled = object => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && !value.length)));
  const kind = row => (row.custom_code ? `${row.op}:${row.custom_code}` : row.op);
  const target = map.target.subgraphs.map(graph => {
    const tensors = [];
    for (const row of [...graph.constants, ...graph.values])
      tensors[row.index] = filled({ name: row.name, relations: (row.relations ?? []).map(relation => [relation.tensor, relation.exact === false ? 0 : 1]), tensors: row.tensors, operators: row.operators });
    return {
      operators: graph.operators.map(row => filled({ kind: kind(row), outputs: row.outputs.map(name => name ?? ''), origins: row.origins, passes: row.passes?.join(', '), synthetic: row.synthetic?.reason, serves: row.synthetic?.serves, wide: row.wide, calls: row.calls })),
      tensors: Array.from(tensors, row => row ?? null),
    };
  });
  const source = map.source.subgraphs.map(graph => graph.operators.map(row => filled({ kind: kind(row), outputs: row.outputs.map(name => name ?? '') })));
  const lost = (key, id) => map.ledger.filter(row => key in row).map(row => [row[key], row.fate, row.pass ?? '', row.run ?? 0, row.rewrite ?? 0, row.was ?? '',
    [...(row.into?.operators ?? []).map(pair => ['op', ...pair]), ...(row.into?.tensors ?? []).map(pair => ['tensor', ...pair])]]);
  return { target, source, ledger: { op: lost('operator'), tensor: lost('tensor') } };
}

for (const file of files) {
  const what = file.split('/').at(-1), out = what.endsWith('.tflite') ? 'after.tflite' : 'after.circle';
  try {
    tool('circle2circle', '-O1', '--origin=restart', '--history=run.history', file, out);
  } catch (error) {
    if (refused.includes(`\`${file.slice(folder.length + 1)}\``)) continue;
    ++failed;
    console.log(`FAILED: ${what}: circle2circle: ${error.message.slice(0, 300)}`);
    continue;
  }
  try {
    const hasModel = !what.endsWith('.origo');
    tool('origin-view', out, '--source', file, '--history', 'run.history', '-o', 'page.html');
    const map = JSON.parse(tool('origin-dump', '--json', out)), page = await open(browser, `${here}/page.html`);
    const from = expected(map), to = await page.evaluate(said);
    assert.deepEqual(to.target, from.target);
    assert.deepEqual(to.source, from.source);
    assert.deepEqual(to.ledger, from.ledger);
    assert.match(await page.textContent('#proof'), hasModel ? /checked against both files/ : /checked/);
    const end = await page.evaluate(ends), lines = readFileSync('run.history', 'utf8').trim().split('\n');
    // Why something stayed comes behind the rewrites, which have a budget.
    const size = [...lines.slice(0, lines.findLastIndex(line => line.startsWith('[')) + 1 || 1), lines.at(-1)].reduce((sum, line) => sum + line.length + 1, 0);
    assert.deepEqual(end.live, end.ops);
    assert.deepEqual(end.edges, end.expected);
    assert(size <= 300 + 200 * end.rows + 40 * end.made, `a history of ${size} bytes for ${end.rows} rewrites that made ${end.made} operators`);
    rewrites += end.rows;
    historyBytes += size;
    operators += from.target.reduce((sum, graph) => sum + graph.operators.length, 0);
    await page.done();
    ++models;
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${what}: ${error.message.slice(0, 1500)}`);
  }
}
await browser.close();
console.log(`models: ${models} pages of ${files.length} models say what the side file says of ${operators} operators; ${failed} do not; ${historyBytes} bytes of histories for ${rewrites} rewrites`);
process.exit(failed || models < 20 ? 1 : 0);
