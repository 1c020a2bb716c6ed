// Pages of files that belong to something else, are broken, hostile, or of which there is no map.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { bin, frame, marks, op, open, placeOf, root, tool } from './browser.mjs';
import { here, browser, map, rows } from './page_network.mjs';

export let failed = 0;
// Files that belong to something else, or are broken. Not all of the rewrites, so that something stays.
tool('circle2circle', '-O1', '--fuel=40', '--history=part.history', 'net.tflite', 'part.circle');
const history = readFileSync('part.history', 'utf8'), last = history.trim().split('\n').at(-1);
const broken = { cut: history.slice(0, -last.length - 1), other: history.replace('"operators":204', '"operators":205'), wild: history.replace(/^\[1,0,1,0,\[1,0\]/m, '[1,0,1,0,[1,99999]'), word: 'x', why: history.replace(/^\{"stayed":\[\[\d+,1/m, '{"stayed":[[999999,1'), often: history.replace(/^(\{"stayed":.*\n)/m, '$1'.repeat(300)), tried: history.replace(/^\{"attempt":\[\d+/m, '{"attempt":[99999'), end: history.replace(/"final":\[\[\d+,1/, '"final":[[0,9') };
for (const [name, text] of Object.entries(broken)) {
  assert.notEqual(text, history, name);
  writeFileSync('broken', text);
  const { status, stderr } = spawnSync(`${bin}/origin-view`, ['part.circle', '--source', 'net.tflite', '--history', 'broken', '-o', 'broken.html'], { encoding: 'utf8' });
  if (status !== 1 || !/^origin-view: error: broken: .*\n$/.test(stderr)) ++failed, console.log(`FAILED: a history that is broken (${name}): ${status} ${stderr}`);
}
// One that replaces in a circle is one that can be looked at.
const circle = history.trim().split('\n'), at = circle.findIndex(line => line.startsWith('[')), turned = JSON.parse(circle[at]);
circle[at] = JSON.stringify([...turned.slice(0, 6), [1, 2, 2, 1, 3, 3]]);
writeFileSync('circle.history', circle.join('\n'));
tool('origin-view', 'part.circle', '--source', 'net.tflite', '--history', 'circle.history', '-o', 'circle.html');
const round = await open(browser, `${here}/circle.html`);
await round.evaluate(() => origo.setStep(20));
await round.done();
// A map of other bytes is shown for what it is.
tool('circle2circle', '-O1', '--skip=fuse-activation', '--embed-origin=none', '--no-origin-json', 'net.tflite', 'stale.circle');
tool('origin-view', 'stale.circle', '--origin-map', 'net.circle.origin.json', '-o', 'stale.html');
const stale = await open(browser, `${here}/stale.html`);
assert(await stale.evaluate(() => document.getElementById('proof').classList.contains('bad')), 'a stale map is shown as if it were true');
await stale.done();

// So is one that lies about its own files.
tool('circle2circle', '-O1', '--embed-origin=none', 'net.tflite', 'plain.circle');
const lie = JSON.parse(readFileSync('plain.circle.origin.json', 'utf8'));
lie.target.subgraphs[0].operators[1].origins = [0];
writeFileSync('lie.json', JSON.stringify(lie));
tool('origin-view', 'plain.circle', '--origin-map', 'lie.json', '--source', 'net.tflite', '-o', 'lie.html');
const liar = await open(browser, `${here}/lie.html`);
assert.match(await liar.textContent('#proof.bad'), /breaks \d+ laws/);
await liar.click('#proof');
assert.match(await liar.textContent('#panel'), /^The map is not true.*law \d+: /);
await liar.done();
// Or about fewer subgraphs than there are.
tool('circle2circle', '-O1', '--embed-origin=none', `${root}/res/while.origo`, 'plain.circle');
const fewer = JSON.parse(readFileSync('plain.circle.origin.json', 'utf8'));
fewer.target.subgraphs.length = 1;
fewer.target.subgraphs[0].operators.length = 0;
writeFileSync('fewer.json', JSON.stringify(fewer));
tool('origin-view', 'plain.circle', '--origin-map', 'fewer.json', '-o', 'fewer.html');
const short = await open(browser, `${here}/fewer.html`);
assert(await short.evaluate(() => document.getElementById('proof').classList.contains('bad')));
for (let graph = 0; graph < 3; ++graph) await short.evaluate(graph => origo.select({ side: 'result', type: 'op', graph, index: 0 }), graph);
for (const tab of await short.locator('#tabs [role=tab]').evaluateAll(list => list.filter(one => !one.hidden).map(one => one.id))) await short.click(`#${tab}`);
await short.done();
// Without the source, what the map knows of it.
tool('origin-view', 'net.circle', '-o', 'alone.html');
const alone = await open(browser, `${here}/alone.html`);
assert.match(await alone.textContent('#proof'), /checked, without the source/);
await alone.mouse.move(...await placeOf(alone, op('result', 3)));
await frame(alone);
assert.deepEqual(await marks(alone, 'source', 'hovered'), rows[3].origins);
await alone.click('#proof');
assert((await alone.textContent('#panel')).includes('Not covered'));
assert(!(await alone.textContent('#panel')).includes('exact arithmetic'));
await alone.done();
// What the run has proved of its rewrites.
tool('circle2circle', '-O1', '--verify-algebra', 'net.tflite', 'proved.circle');
tool('origin-view', 'proved.circle', 'net.tflite', '-o', 'proved.html');
const proved = await open(browser, `${here}/proved.html`);
assert.match(await proved.textContent('#proof'), /checked against both files, rewrites proved/);
await proved.click('#proof');
assert.match(await proved.textContent('#panel'), /equal: \d+ tensors equal; modulo 2305843009213693951 and \d+, seed 1.*origin-dump --prove net\.tflite proved\.circle/s);
await proved.done();
// A run before it that has proved nothing leaves its rewrites unproved.
tool('circle2circle', '-O1', '--verify-algebra', 'net.circle', 'half.circle');
tool('origin-view', 'half.circle', 'net.tflite', '-o', 'half.html');
const half = await open(browser, `${here}/half.html`);
assert.doesNotMatch(await half.textContent('#proof'), /proved/);
await half.done();
// Without a map, but with a source: what can be inferred, which says that it is.
tool('circle2circle', '-O1', '--embed-origin=none', '--no-origin-json', 'net.tflite', 'bare.circle');
tool('origin-view', 'bare.circle', 'net.tflite', '-o', 'guess.html');
const guess = await open(browser, `${here}/guess.html`);
assert.match(await guess.textContent('#proof'), /checked against both files/);
assert.match(await guess.textContent('#panel'), /No origin map ties these files: it was inferred from what operators compute, as origo infer does; 65 of 65 operators are related to the source, 65 proved/);
await guess.evaluate(() => origo.select({ side: 'result', type: 'op', graph: 0, index: 3 }));
assert.match(await guess.textContent('#panel'), /Its origins were inferred, and proved/);
const guessed = await guess.evaluate(() => Array.from({ length: 65 }, (_, index) => origo.links.origins({ side: 'result', type: 'op', graph: 0, index })));
assert.deepEqual(guessed, rows.map(row => row.origins));
await guess.done();
// What is of another type is not as it was, whether or not a pass says so.
tool('circle-quantizer', '--scheme', 'int8', '--input_data', 'random', '--embed-origin=none', '--no-origin-json', 'net.tflite', 'bare.tflite');
tool('origin-view', 'bare.tflite', 'net.tflite', '-o', 'types.html');
const types = await open(browser, `${here}/types.html`);
assert.deepEqual(await types.evaluate(() => { const graph = origo.model.result.graphs[0]; return [origo.fates.count('result', 'changed') > 20, Array.from({ length: graph.ops }, (_, index) => index).filter(index => graph.type(graph.results(index)[0]) === 'INT8' && origo.fates.of({ side: 'result', type: 'op', graph: 0, index }) === 'unchanged')]; }), [true, []]);
await types.done();
// Errors of what ONNX nodes were read as are those of the nodes' tensors.
tool('circle-quantizer', '--scheme', 'int8', '--input_data', 'random', 'torch.onnx', 'nodes.circle');
tool('visq', '-f', 'torch.onnx', '-q', 'nodes.circle', '--blame', '--engine=fast', '--records=1', '--json=nodes.json');
tool('origin-view', 'nodes.circle', '--source', 'torch.onnx', '--errors', 'nodes.json', '-o', 'nodes.html');
const nodes = await open(browser, `${here}/nodes.html`), told = JSON.parse(readFileSync('nodes.json', 'utf8')).errors.filter(row => typeof row.own === 'number');
const errorsShown = await nodes.evaluate(() => [...origo.measured.errors].map(([id, values]) => { const item = origo.model.sourceItem('tensor', id); return [origo.model.graphOf(item).tensorName(item.index), values[origo.measured.ownFigure()]]; }).filter(row => row[1] !== undefined));
assert(errorsShown.length > 3);
for (const [name, own] of errorsShown) assert.equal(told.find(row => row.name === name)?.own, own, name);
await nodes.done();
// What follows from structure alone is marked.
tool('circle2circle', '-O1', '--embed-origin=none', '--no-origin-json', `${root}/res/while.origo`, 'bare.circle');
tool('circle2circle', '--embed-origin=none', '--no-origin-json', `${root}/res/while.origo`, 'while.circle');
tool('origin-view', 'bare.circle', 'while.circle', '-o', 'unproved.html');
const unproved = await open(browser, `${here}/unproved.html`), doubts = await unproved.evaluate(() => origo.model.data.map.doubts.map(([graph, op, word]) => [graph, op, origo.model.strings[word]]));
assert(doubts.length > 0);
for (const [graph, index, word] of doubts) {
  await unproved.evaluate(item => origo.select(item), op('result', index, graph));
  assert.match(await unproved.textContent('#panel'), { unproved: /not proved/, ambiguous: /ambiguous/, unknown: /Nothing of the source was found/ }[word]);
  assert(await unproved.evaluate(item => { const pane = origo.panes.result; return pane.display.nodes[origo.nodeOf(pane, item)].title.endsWith(' ?'); }, op('result', index, graph)));
}
await unproved.done();
// Models that have nothing in common are paired by names, which is a guess, and so is one beside itself.
for (const [file, source] of [['loop.circle', 'net.tflite'], ['net.tflite', 'loop.circle'], ['net.tflite', 'net.tflite']]) {
  tool('circle2circle', '--origin=restart', '--embed-origin=none', '--no-origin-json', file, 'other.circle');
  tool('origin-view', 'other.circle', source, '-o', 'other.html');
  const other = await open(browser, `${here}/other.html`);
  if (file !== source) assert.match(await other.textContent('#panel'), /could not be inferred.*by names.*that is a guess, and nothing was checked/);
  for (const tab of await other.locator('#tabs [role=tab]').evaluateAll(list => list.filter(one => !one.hidden).map(one => one.id))) await other.click(`#${tab}`);
  await other.done();
}
// Without a map, the model.
tool('origin-view', 'net.tflite', '-o', 'model.html');
const model = await open(browser, `${here}/model.html`);
assert.deepEqual(await model.evaluate(() => Object.keys(origo.panes)), ['result']);
await model.done();

// Names that would be markup if anything took them for it.
tool('circle2circle', '-O1', `${root}/tests/view/hostile.origo`, 'hostile.circle');
tool('origin-view', 'hostile.circle', '--source', `${root}/tests/view/hostile.origo`, '-o', 'hostile.html');
const hostile = await open(browser, `${here}/hostile.html`);
export const names = JSON.parse(tool('origin-dump', '--json', 'hostile.circle')).target.subgraphs[0].operators.flatMap(row => row.outputs);
assert(names.length >= 9 && names.some(name => name.includes('</style>')));
for (const tab of await hostile.locator('[role=tab]').evaluateAll(list => list.filter(one => !one.hidden).map(one => one.id))) await hostile.click(`#${tab}`);
for (const overlay of await hostile.locator('#overlay option').evaluateAll(list => list.map(one => one.value))) await hostile.selectOption('#overlay', overlay);
for (let i = 0; i < names.length; ++i) {
  await hostile.evaluate(i => origo.select({ side: 'result', type: 'op', graph: 0, index: i }), i);
  await hostile.evaluate(i => origo.select({ side: 'source', type: 'tensor', graph: 0, index: i }), i);
}
assert.deepEqual(await hostile.evaluate(() => [globalThis.hacked, document.scripts.length, document.images.length, document.querySelectorAll('svg, b b, [onfocus], [onerror]').length]), [undefined, 2, 0, 0]);
assert.deepEqual(await hostile.evaluate(() => { const graph = origo.model.result.graphs[0]; return Array.from({ length: graph.ops }, (_, i) => graph.opName(i)); }), names);
// Nor would it get far.
const refused = await hostile.evaluate(() => new Promise(done => {
  const seen = [];
  document.addEventListener('securitypolicyviolation', event => { seen.push(event.effectiveDirective); if (seen.length === 3) done(seen.sort()); });
  document.body.append(Object.assign(document.createElement('script'), { textContent: 'globalThis.hacked = 1' }));
  document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.org/x.png' }));
  fetch('https://example.org/').catch(() => 0);
}));
assert.deepEqual(refused, ['connect-src', 'img-src', 'script-src-elem']);
assert.equal(await hostile.evaluate(() => globalThis.hacked), undefined);
// In a notebook: a part of another page, which it may not touch. It has no address of its own there.
const escaped = readFileSync('net.html', 'utf8').replace(/&/g, '&amp;').replace(/"/g, '&quot;');
writeFileSync('notebook.html', `<!doctype html><iframe srcdoc="${escaped}" sandbox="allow-scripts" width="1200" height="700"></iframe>`);
const notebook = await browser.newPage({ viewport: { width: 1400, height: 800 } }), said = [];
notebook.on('pageerror', error => said.push(error.stack));
await notebook.goto(`file://${here}/notebook.html`);
const inside = await (await notebook.waitForSelector('iframe')).contentFrame();
await inside.waitForFunction(() => globalThis.origo?.panes.result.drawn > 0);
await inside.evaluate(() => origo.select({ side: 'result', type: 'op', graph: 0, index: 3 }));
assert((await inside.textContent('#panel')).includes('origin-dump net.circle --from 0:3'));
assert.deepEqual(said, []);
await notebook.close();
