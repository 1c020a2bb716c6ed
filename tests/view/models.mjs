// Every model file after -O1: its page opens, and says of each operator, tensor and loss what origin-dump says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { launch, open, root, tool } from './browser.mjs';

const folders = [`${process.env.ORIGO_SHARED}/models`, `${root}/res`];
const files = execFileSync('find', [...folders, '-path', '*/hostile', '-prune', '-o', '(', '-name', '*.tflite', '-o', '-name', '*.circle', '-o', '-name', '*.origo', ')', '-print'], { encoding: 'utf8' }).trim().split('\n').sort();
const browser = await launch(), here = process.cwd();
let models = 0, operators = 0, failed = 0;

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
    tool('circle2circle', '-O1', file, out);
  } catch (error) {
    continue; // refused: every_model knows which
  }
  try {
    const hasModel = !what.endsWith('.origo');
    tool('origin-view', out, '--source', file, '-o', 'page.html');
    const map = JSON.parse(tool('origin-dump', '--json', out)), page = await open(browser, `${here}/page.html`);
    const from = expected(map), to = await page.evaluate(said);
    assert.deepEqual(to.target, from.target);
    assert.deepEqual(to.source, from.source);
    assert.deepEqual(to.ledger, from.ledger);
    assert.match(await page.textContent('#proof'), hasModel ? /ten laws hold/ : /laws hold/);
    operators += from.target.reduce((sum, graph) => sum + graph.operators.length, 0);
    await page.done();
    ++models;
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${what}: ${error.message.slice(0, 1500)}`);
  }
}
await browser.close();
console.log(`models: ${models} pages of ${files.length} models say what the side file says of ${operators} operators; ${failed} do not`);
process.exit(failed || models < 40 ? 1 : 0);
