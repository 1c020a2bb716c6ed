// One network's page, by pointer and by keyboard, and a page of names that would like to be markup.
// An argument: only the cases whose names contain it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { bin, counted, frame, launch, marks, op, open, placeOf, rest, root, tool } from './browser.mjs';

const here = process.cwd(), browser = await launch();
tool('circle2circle', '--embed-origin=none', '--no-origin-json', `${root}/res/mobilenet_v2.origo`, 'net.tflite');
tool('circle2circle', '-O1', 'net.tflite', 'net.circle');
tool('origin-view', 'net.circle', '--source', 'net.tflite', '-o', 'net.html');
const map = JSON.parse(tool('origin-dump', '--json', 'net.circle'));
const rows = map.target.subgraphs[0].operators, ledger = map.ledger.filter(row => 'operator' in row);
assert(rows.length > 50 && map.source.subgraphs[0].operators.length > 200);
const cases = [];
const test = (name, run, options) => cases.push([name, run, options]);
// The same with everything that a page can take in.
tool('circle2circle', '-O1', '--history=net.history', 'net.tflite', 'again.circle');
assert(readFileSync('again.circle').equals(readFileSync('net.circle')), 'a history changes the result');
tool('circle-interpreter', '--seed=1', '--profile=net.trace', 'net.circle');
writeFileSync('npu.json', '{"target": "npu", "ops": {"CONV_2D": {}, "DEPTHWISE_CONV_2D": {}, "ADD": {}}}');
const errorRows = [{ subgraph: 0, tensor: 2, metrics: { MSE: 0.25, PSNR: null }, own: 0.125, inherited: 0.0625, name: 'stem', news: [1] }, { subgraph: 0, tensor: 7, metrics: { MSE: 4 } }];
writeFileSync('errors.json', JSON.stringify({ meta: { metric: 'MSE' }, errors: [...errorRows, { subgraph: 9, tensor: 1, metrics: { MSE: 1 } }, { tensor: -1 }, 'x', { subgraph: 0, tensor: 3, unmeasured: 'why' }] }));
const everything = ['net.circle', '--source', 'net.tflite', '--history', 'net.history', '--profile', 'net.trace', '--errors', 'errors.json', '--target', 'npu.json', '--constants'];
tool('origin-view', ...everything, '-o', 'full.html');

const second = JSON.parse(readFileSync('net.trace', 'utf8'));
for (const event of second.traceEvents) if (event.dur) event.dur *= 2, event.ts *= 2;
writeFileSync('second.trace', JSON.stringify(second));
tool('origin-view', 'net.circle', '--source', 'net.tflite', '--profile', 'net.trace', '--profile', 'second.trace', '-o', 'two.html');
tool('origin-view', 'net.tflite', '-o', 'one.html');

tool('circle2circle', '-O1', '--history=layers.history', `${root}/res/transformer.origo`, 'layers.circle');
tool('origin-view', 'layers.circle', '--source', `${root}/res/transformer.origo`, '--history', 'layers.history', '-o', 'layers.html');
tool('circle2circle', '-O1', `${root}/res/while.origo`, 'loop.circle');
tool('circle-interpreter', '--seed=1', '--runs=3', '--profile=loop.trace', 'loop.circle');
tool('origin-view', 'loop.circle', '--source', `${root}/res/while.origo`, '--profile', 'loop.trace', '-o', 'loop.html');
tool('origo', 'optimize', '--view', '--profile', '--no-run', 'net.tflite', 'timed.circle');
writeFileSync('sample.origo', readFileSync(`${root}/res/mobilenet_v2.origo`));
tool('circle2circle', '-O1', 'sample.origo', 'sample.circle');
tool('origin-view', 'sample.circle', '--source', 'sample.origo', '-o', 'sample.html');
tool('circle2circle', '-O1', `${root}/tests/view/signatures.origo`, 'signatures.circle');
tool('origin-view', 'signatures.circle', '--source', `${root}/tests/view/signatures.origo`, '-o', 'signatures.html');
tool('circle-quantizer', '--scheme', 'int8', '--input_data', 'random', 'net.tflite', 'quantized.circle');
tool('visq', '-f', 'net.tflite', '-q', 'quantized.circle', '--blame', '--engine=fast', '--records=1', '--json=quantized.json');
tool('origin-view', 'quantized.circle', '--source', 'net.tflite', '--errors', 'quantized.json', '--constants', '-o', 'quantized.html');

execFileSync('/usr/bin/python3', [`${root}/tests/onnx.py`, '--example', 'torch.onnx']);
tool('circle2circle', '-O1', '--history=torch.history', 'torch.onnx', 'torch.circle');
tool('circle-interpreter', '--seed=1', '--profile=torch.trace', 'torch.circle');
tool('origin-view', 'torch.circle', '--source', 'torch.onnx', '--history', 'torch.history', '--profile', 'torch.trace', '-o', 'torch.html');

test('says what it is and what was proven', async page => {
  assert.equal(await page.title(), 'net.circle ← net.tflite');
  assert.match(await page.textContent('#proof'), /checked against both files/);
  await page.click('#proof');
  const text = await page.textContent('#panel');
  assert(text.includes(map.source.fingerprint) && text.includes(map.target.fingerprint), text);
  const metrics = JSON.parse(tool('circle-metrics', '--json', 'net.circle'));
  for (const name of ['macs', 'bytes', 'live_bytes']) assert((await page.locator(`#total-${name}`).locator('..').getAttribute('title')).includes(`: ${metrics.model[name]}; of the source `), name);
  assert.equal(await page.textContent('#totals'), '65 operators −68 %56.3 M MACs14 MB constants −0.5 %1.11 MB memory −38 %');
});

test('highlights what is under the pointer on the other side, both ways', async page => {
  for (const index of [0, 10, rows.length - 1]) {
    await page.mouse.move(...await placeOf(page, op('result', index)));
    await frame(page);
    assert.deepEqual(await marks(page, 'source', 'hovered'), rows[index].origins);
    assert.deepEqual(await marks(page, 'result', 'hovered'), [index]);
  }
  const fused = rows.findIndex(row => row.origins.length > 2), origin = rows[fused].origins[1];
  await page.mouse.move(...await placeOf(page, op('source', origin)));
  await frame(page);
  assert.deepEqual(await marks(page, 'result', 'hovered'), rows.flatMap((row, i) => (row.origins.includes(origin) ? [i] : [])));
  // A diamond is a constant, a line a tensor.
  const at = await placeOf(page, op('result', fused)), scale = await page.evaluate(() => origo.panes.result.view.scale);
  await page.mouse.move(at[0] + (-200 / 2 + 14) * scale, at[1] - 20 * scale);
  await frame(page);
  const diamond = await page.evaluate(() => origo.hovered);
  assert(diamond.type === 'tensor' && diamond.side === 'result', JSON.stringify(diamond));
  const parents = [...map.target.subgraphs[0].constants, ...map.target.subgraphs[0].values].find(row => row.index === diamond.index).tensors;
  assert.deepEqual(await page.evaluate(() => origo.links.counterparts(origo.hovered).filter(item => item.type === 'tensor').map(item => item.index).sort((a, b) => a - b)), parents.slice().sort((a, b) => a - b));
  assert((await marks(page, 'source', 'hovered')).length > 0);
  await page.mouse.move(at[0], at[1] + 33 * scale);
  await frame(page);
  const line = await page.evaluate(() => origo.hovered);
  assert.deepEqual([line.type, line.side, await page.evaluate(() => origo.model.result.graphs[0].tensorName(origo.hovered.index))], ['tensor', 'result', rows[fused].outputs[0]]);
  assert((await marks(page, 'source', 'hovered')).length > 0);
  await page.mouse.move(5, 5);
  await frame(page);
  assert.deepEqual(await marks(page, 'result', 'hovered'), []);
});

test('keeps what is clicked, goes there on the other side, and has it in the address', async page => {
  const last = rows.length - 2;
  await page.mouse.click(...await placeOf(page, op('result', last)));
  await frame(page);
  assert.deepEqual(await marks(page, 'source', 'linked'), rows[last].origins);
  assert(await page.evaluate(id => { const pane = origo.panes.source; return pane.isVisible(origo.nodeOf(pane, origo.model.sourceItem('op', id))); }, rows[last].origins[0]));
  assert.equal(await page.evaluate(() => location.hash), `#op=${last}`);
  const text = await page.textContent('#panel');
  for (const words of [...rows[last].passes, `origin-dump net.circle --from 0:${last}`]) assert(text.includes(words), words);
  await page.mouse.click(...await placeOf(page, op('source', 0)));
  await frame(page);
  assert.deepEqual(await marks(page, 'result', 'linked'), [0]);
  assert.equal(await page.evaluate(() => location.hash), '#source-op=0');
  await page.keyboard.press('Escape');
  assert.deepEqual(await marks(page, 'result', 'linked'), []);
});

test('opens where the address says', async page => {
  assert.deepEqual(await marks(page, 'result', 'selected'), [7]);
  assert.deepEqual(await marks(page, 'source', 'linked'), rows[7].origins);
}, { hash: '#op=7' });

test('tells tensors and constants of both sides apart, and what they are', async page => {
  const constant = map.target.subgraphs[0].constants.find(row => row.tensors?.length > 1);
  assert(constant);
  await page.evaluate(index => origo.select({ side: 'result', type: 'tensor', graph: 0, index }), constant.index);
  const panel = await page.textContent('#panel');
  assert(panel.includes('Was computed from') && panel.includes(constant.name), panel);
  // The command beside it tells of the same.
  for (const item of [op('source', 5), op('result', 5), { ...op('source', 5), type: 'tensor' }, { ...op('result', 0), type: 'tensor', index: constant.index }, { ...op('result', 0), type: 'tensor', index: await page.evaluate(() => origo.model.result.graphs[0].results(3)[0]) }]) {
    await page.evaluate(item => origo.select(item), item);
    const command = await page.locator('#panel code').last().textContent(), { stdout } = spawnSync('sh', ['-c', `"${bin}"/${command}`], { encoding: 'utf8' });
    assert(command.startsWith('origin-dump net.circle ') && stdout.includes(await page.evaluate(item => { const graph = origo.model.graphOf(item); return item.type === 'op' ? graph.opName(item.index) : graph.tensorName(item.index); }, item)), `${command}: ${stdout}`);
  }
  await page.evaluate(index => origo.select({ side: 'result', type: 'tensor', graph: 0, index }), constant.index);
  assert.deepEqual(await page.evaluate(() => origo.linked.filter(item => item.type === 'tensor').map(item => item.index).sort((a, b) => a - b)), constant.tensors.slice().sort((a, b) => a - b));
});

test('finds by name, kind, number, pass and fate', async page => {
  const found = async query => {
    await page.fill('#search', query);
    return page.evaluate(() => origo.found.map(item => `${item.side} ${item.type} ${item.index}`));
  };
  const source = map.source.subgraphs[0].operators, of = (side, list) => list.map(index => `${side} op ${index}`);
  const kind = source.filter(row => row.op.includes('MUL')).map(row => row.id);
  assert(kind.length > 20);
  assert.deepEqual(await found('op:mul'), [...of('source', kind), ...of('result', rows.flatMap((row, i) => (row.op.includes('MUL') ? [i] : [])))]);
  assert.deepEqual(await found('#12'), ['source op 12', 'result op 12']);
  assert.deepEqual(await found('pass:fuse-activation op:DEPTHWISE'), of('result', rows.flatMap((row, i) => (row.passes?.includes('fuse-activation') && row.op.includes('DEPTHWISE') ? [i] : []))));
  assert.deepEqual(await found('fate:dead op:MUL'), of('source', ledger.filter(row => row.fate === 'dead').map(row => row.operator)));
  assert((await found('block3/expand/filter')).length >= 2);
  assert.deepEqual(await found('no such thing'), []);
  await page.fill('#search', 'op:softmax');
  await page.keyboard.press('Enter');
  assert.match(await page.textContent('#found'), /^1 of /);
  assert.equal(await page.evaluate(() => origo.selection.side), 'source');
});

test('has tables of which only the rows that are seen exist', async page => {
  await page.click('#tab-source');
  assert((await page.locator('.body [role=row]').count()) < 80);
  await page.fill('.filter input', 'softmax');
  assert.equal(await page.locator('.body [role=row]').count(), map.source.subgraphs[0].operators.filter(row => row.op === 'SOFTMAX' || row.outputs.some(name => name.includes('softmax'))).length);
  await page.fill('.filter input', '');
  await page.click('[role=columnheader] button:text-is("MACs")');
  const most = Math.max(...map.source.subgraphs[0].operators.map(row => row.macs));
  assert.equal((await page.locator('.body [role=row]').first().locator('[role=gridcell]').nth(4).textContent()).replaceAll(',', ''), String(most));
  // Rows that are drawn anew between the two halves of a click are not clicked, so it may take another.
  for (let clicks = 0; clicks < 20 && !(await page.evaluate(() => origo.selection)); ++clicks) {
    await frame(page);
    await page.locator('.body [role=row]').first().click();
    await frame(page);
  }
  assert.equal(map.source.subgraphs[0].operators[await page.evaluate(() => origo.selection.index)].macs, most);
  const tabs = await page.locator('[role=tab]').evaluateAll(list => list.filter(tab => !tab.hidden).map(tab => tab.id));
  assert(tabs.length >= 7);
  for (const tab of tabs) { await page.click(`#${tab}`); assert.equal(await page.getAttribute(`#${tab}`, 'aria-selected'), 'true'); assert((await page.textContent('#panel')).length > 20, tab); }
});

test('needs no pointer', async page => {
  const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.tagName);
  const seen = new Set();
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press('Tab');
    seen.add(await focus());
    assert.match(await page.evaluate(() => (document.activeElement === document.body ? 'solid' : getComputedStyle(document.activeElement).outlineStyle)), /solid|auto/, `it cannot be seen that ${await focus()} has the focus`);
  }
  for (const wanted of ['search', 'overlay', 'png', 'proof', 'tab-summary']) assert(seen.has(wanted), `${wanted}: ${[...seen]}`);
  assert([...seen].some(name => name.startsWith('Source graph')) && [...seen].some(name => name.startsWith('Result graph')));
  await page.focus('#resultPane canvas');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const at = await page.evaluate(() => origo.selection);
  assert.equal(at.side, 'result');
  assert.equal(at.index, 1);
  await page.keyboard.press('Enter');
  const across = await page.evaluate(() => origo.selection);
  assert.equal(across.side, 'source');
  assert(rows[1].origins.includes(across.index));
  assert.match(await focus(), /^Source graph/);
  const scale = await page.evaluate(() => origo.panes.source.view.scale);
  await page.keyboard.press('+');
  assert(await page.evaluate(() => origo.panes.source.view.scale) > scale);
  await page.keyboard.press('/');
  assert.equal(await focus(), 'search');
  await page.keyboard.type('op:softmax');
  await page.keyboard.press('Enter');
  assert.match(await page.textContent('#status'), /SOFTMAX/);
  await page.keyboard.press('Escape');
  await page.focus('#tab-details');
  await page.keyboard.press('ArrowRight');
  assert.equal(await focus(), 'tab-operators');
  await page.focus('.rows');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.deepEqual(await page.evaluate(() => origo.selection), op('result', 0));
  await page.focus('#sourcePane canvas');
  await page.keyboard.press('?');
  assert(await page.evaluate(() => document.getElementById('keys').open));
});

const moves = async page => page.evaluate(() => {
  const pane = origo.panes.result, before = pane.view.y;
  origo.select({ side: 'result', type: 'op', graph: 0, index: 60 });
  return pane.view.y !== before;
});
test('jumps where motion is not wanted', async page => assert(await moves(page)));
test('glides elsewhere', async page => {
  assert(!await moves(page));
  await page.waitForFunction(() => { const pane = origo.panes.result; return pane.isVisible(origo.nodeOf(pane, origo.selection)); });
}, { reducedMotion: 'no-preference' });

test('colours by whatever is known, and says by what', async page => {
  const names = await page.locator('#overlay option').evaluateAll(list => list.map(option => option.value));
  assert(names.length >= 14, names.join());
  const fills = new Map();
  for (const name of names) {
    await page.selectOption('#overlay', name);
    await frame(page);
    assert((await page.textContent('#legend')).length > 3, name);
    fills.set(name, await page.evaluate(() => { const pane = origo.panes.result; return pane.display.nodes.map(node => pane.paint(node).fill).join(); }));
  }
  for (const name of ['macs', 'pass', 'bytes', 'shape']) assert.notEqual(fills.get(name), fills.get('kind'), name);
  const { share, most } = await page.evaluate(() => {
    origo.setOverlay('macs');
    const graph = origo.model.result.graphs[0], macs = graph.data.metrics.macs, index = macs.indexOf(Math.max(...macs));
    return { most: origo.paint.of(macs[index]).fill, share: origo.paint.share(macs[index]) };
  });
  assert.equal(share, 1);
  assert.equal(most, '#fee838');
});

test('adds up scopes as circle-metrics does', async page => {
  const csv = tool('circle-metrics', '--per=scope', '--csv', '--source', 'net.tflite', 'net.circle').trim().split('\n').slice(1).map(line => /^(\d+),"(.*)",([\d,]*)$/.exec(line).slice(1));
  const scopes = await page.evaluate(() => origo.model.data.scopes.map(([level, key, macs, sparse, operations, parameters, bytes, own]) => [String(level), origo.model.strings[key], [macs, own ?? '', sparse, operations, parameters, bytes].join()]));
  assert(scopes.length > 50);
  assert.deepEqual(scopes, csv);
});

test('folds scopes', async page => {
  await page.uncheck('#fused');
  const before = await page.evaluate(() => origo.panes.source.display.nodes.length);
  await page.click('#tab-scopes');
  await page.fill('.filter input', 'block3/');
  await page.locator('.body [role=row]').first().click();
  await frame(page);
  const group = await page.evaluate(() => origo.panes.source.display.nodes.filter(node => node.members).map(node => [node.title, node.members.length]));
  const inside = map.source.subgraphs[0].operators.filter(row => row.outputs[0].startsWith('block3/')).length;
  assert.deepEqual(group, [['block3/', inside]]);
  // The node has the sum of what is in it.
  const sum = map.source.subgraphs[0].operators.filter(row => row.outputs[0].startsWith('block3/')).reduce((all, row) => all + row.macs, 0);
  await page.selectOption('#overlay', 'macs');
  await frame(page);
  assert.equal(await page.evaluate(() => { const pane = origo.panes.source, node = pane.display.nodes.find(one => one.members); pane.paint(node); return origo.sumOf(pane.graph, node.members); }), sum);
  assert.match(await page.evaluate(() => origo.panes.source.display.nodes.find(one => one.members).note), /^\d+(\.\d+)? [kM]$/);
  assert.equal(await page.evaluate(() => origo.panes.source.display.nodes.length), before - inside + 1);
  await page.locator('.body [role=row]').first().click();
  assert.equal(await page.evaluate(() => origo.panes.source.display.nodes.length), before);
});

test('folds what was fused, so that both sides stand alike', async page => {
  const look = () => page.evaluate(() => ['source', 'result'].map(side => { const { display } = origo.panes[side]; return [display.rows, display.nodes.length]; }));
  const [source, result] = await look();
  assert.equal(source[0], result[0]);
  assert.equal(source[1], result[1]);
  // Each node of the source is what the operator beside it does the work of.
  const unlike = await page.evaluate(() => {
    const { source, result } = origo.panes;
    return result.display.nodes.filter(node => node.item?.type === 'op').filter(node => { const there = new Set(origo.links.origins(node.item).map(index => origo.nodeOf(source, { side: 'source', type: 'op', graph: 0, index }))); const [one] = there; return there.size !== 1 || source.display.nodes[one].row !== node.row || source.display.nodes[one].x !== node.x; }).length;
  });
  assert.equal(unlike, 0);
  await page.uncheck('#fused');
  const open = await look();
  assert.equal(open[0][1], map.source.subgraphs[0].operators.length + 2);
  assert.equal(open[0][0], open[1][0]);
  await page.check('#fused');
  assert.deepEqual(await look(), [source, result]);
  // A double click shows what is in one.
  await page.mouse.dblclick(...await placeOf(page, op('source', 1)));
  assert.equal((await look())[0][1], open[0][1]);
});

test('opens on what became of the model, in words, each of which leads there', async page => {
  const text = await page.textContent('#panel'), lives = new Map();
  for (const row of rows) for (const id of row.origins) lives.set(id, row.origins.length);
  const fused = [...lives.values()].filter(count => count > 1).length, several = rows.filter(row => row.origins.length > 1).length;
  for (const words of ['65 operators of 204', `${fused} fused into ${several} operators`, '0 removed', '0 new', '0.5 % smaller', 'as much as before (56.3 M MACs)', '38 % less memory', 'checked against both files']) assert(text.includes(words), `${words}: ${text}`);
  assert(!text.includes('Nothing is selected'));
  await page.locator('#panel button.link', { hasText: `${several} operators` }).click();
  assert.equal(await page.evaluate(() => origo.found.length), several);
  assert.equal(await page.textContent('#found'), `${several} found`);
  // What the legend counts it finds, and again: no more.
  const swatch = page.locator('#legend .swatch', { hasText: 'fused' });
  assert.match(await swatch.textContent(), new RegExp(`^fused${fused}$`));
  await swatch.click();
  assert.deepEqual(await page.evaluate(() => [origo.found.length, origo.panes.source.dims]), [fused, true]);
  await swatch.click();
  assert.deepEqual(await page.evaluate(() => [origo.found.length, origo.panes.source.dims]), [0, false]);
  // So it does of what is drawn beside colours, and tells of marks as they come.
  const marks = () => page.locator('#marks button').evaluateAll(list => list.filter(one => one.checkVisibility()).map(one => one.innerText.replaceAll(/\s+/g, ' ')));
  const constants = map.target.subgraphs[0].constants.length;
  const [first, ...others] = await marks();
  assert.match(first, /^constant \d+$/);
  assert(Number(first.split(' ')[1]) > constants);
  assert.deepEqual(others.map(text => text.replace(/\d+$/, '')), ['input, output ', 'several ']);
  const folded = page.locator('#marks button', { hasText: 'several' });
  await folded.click();
  assert.deepEqual(await page.evaluate(() => [origo.found.length, origo.panes.source.dims]), [fused, true]);
  await folded.click();
  await page.fill('#search', 'op:CONV');
  const selected = { side: 'result', type: 'op', graph: 0, index: 3 };
  await page.evaluate(item => origo.select(item), selected);
  assert.deepEqual((await marks()).slice(-3).map(text => text.replace(/\d+$/, '')), ['selected ', 'tied to it ', 'found ']);
  await page.locator('#marks button', { hasText: 'tied to it' }).click();
  assert.deepEqual(await page.evaluate(() => origo.found.map(item => item.side)), rows[3].origins.map(() => 'source'));
});
test('says which layers are slow, and goes there', async page => {
  const times = await page.evaluate(() => [...origo.measured.profiles[0].timing.result[0]].sort((a, b) => b[1] - a[1]).slice(0, 5).map(row => row[0]));
  assert.match(await page.textContent('#panel'), /Slowest: \d+ % of [\d.]+ m?s in 5 operators/);
  await page.locator('#panel h3:has-text("Slowest") + ol button').first().click();
  assert.equal(await page.evaluate(() => origo.selection.index), times[0]);
}, { file: 'full.html' });
test('says that times are means of runs', async page => assert.match(await page.textContent('#panel'), /this machine, mean of 10 runs\./), { file: 'timed.html' });
test('says that times are means of runs, of which each goes round a loop', async page => assert.match(await page.textContent('#panel'), /loop.trace, mean of 3 runs\./), { file: 'loop.html' });
test('says which layers add error', async page => {
  const worst = JSON.parse(readFileSync('quantized.json')).errors.filter(row => row.own > 0).sort((a, b) => b.own - a.own)[0];
  await page.locator('#panel h3:has-text("Adds most error") + ol button').first().click();
  assert.equal(await page.evaluate(() => { const { item } = { item: origo.selection }; return origo.model.graphOf(item).results(item.index)[0]; }), worst.tensor);
}, { file: 'quantized.html' });

test('keeps where the divider was', async page => {
  const width = () => page.evaluate(() => document.querySelector('aside').getBoundingClientRect().width), before = await width(), box = await page.locator('#divider').boundingBox();
  await page.mouse.move(box.x + 3, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x - 197, box.y + 200);
  await page.mouse.up();
  assert(Math.abs(await width() - before - 200) < 12, `${before} → ${await width()}`);
  await page.focus('#divider');
  await page.keyboard.press('ArrowLeft');
  const after = await width();
  assert(after > before + 220);
  assert.equal(await page.evaluate(() => Number(localStorage.getItem('origo.side'))), after);
  await page.evaluate(() => localStorage.clear());
});
test('has tables of what the search finds', async page => {
  await page.click('#tab-source');
  await page.fill('#search', 'op:softmax');
  assert.equal(await page.textContent('.filter output'), '1 of 204');
  await page.fill('#search', '');
  assert.equal(await page.textContent('.filter output'), '204');
});
test('saves a table as CSV, in which no name is a formula', async page => {
  await page.click('#tab-source');
  const [saved] = await Promise.all([page.waitForEvent('download'), page.click('.filter button:text-is("CSV")')]);
  assert.equal(saved.suggestedFilename(), 'Operators-of-the-source.csv');
  const lines = readFileSync(await saved.path(), 'utf8').trim().split('\n');
  assert.equal(lines.length, 205);
  assert.match(lines[0], /^#,Operator,Name,Became,MACs/);
  assert.match(lines[1], /^0,CONV_2D,stem,fused,\d+,/);
  const first = await page.evaluate(() => {
    origo.table.columns[2].of = () => '=1+"x"';
    return origo.table.csv().split('\n')[1].split(',')[2];
  });
  assert.equal(first, `"'=1+""x"""`);
});
test('checks again by the command that it prints, for a source that is text too', async page => {
  await page.click('#proof');
  const command = await page.locator('#panel code').last().textContent();
  assert(!(await page.textContent('#panel')).includes('not at hand'));
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `"${bin}"/${command}`], { encoding: 'utf8' });
  assert.deepEqual([command, status, stdout, stderr], ['origin-dump --check sample.circle --source sample.origo', 0, 'ok\n', '']);
}, { file: 'sample.html' });
test('goes to the counterpart of a subgraph', async page => {
  for (const [side, other] of [['source', 'result'], ['result', 'source']])
    for (let index = 0; index < 3; ++index) {
      await page.click(`#${side}Pane .graphs [role=tab] >> nth=${index}`);
      const [a, b, sources] = await page.evaluate(([side, other]) => [origo.shown[side], origo.shown[other], origo.model.result.graphs.map(graph => graph.data.sources[0])], [side, other]);
      assert.equal(a, index);
      assert.equal(side === 'source' ? sources[b] : b, side === 'source' ? a : sources[a]);
    }
}, { file: 'loop.html' });

test('knows the nodes of ONNX, their lines, and what was made of them', async page => {
  await page.click('#tab-lines');
  const times = new Map(['line', 'file'].flatMap(by => tool('origin-dump', '--join', 'torch.trace', `--by=${by}`, '--csv', 'torch.circle').trim().split('\n').slice(1).map(row => { const [key, ns] = row.replaceAll('"', '').split(','); return [key, Number(ns)]; })));
  const shown = await page.evaluate(() => origo.table.shown.map(row => [row.text, ...origo.table.columns.slice(0, 1).map(column => column.of(row))]));
  assert(times.size > 4 && shown.length >= times.size, JSON.stringify(shown));
  assert(shown.every(([, ms], i) => !i || shown[i - 1][1] >= ms || ms === null), JSON.stringify(shown));
  for (const [key, ms] of shown) assert(Math.abs((ms ?? 0) * 1e6 - (times.get(key) ?? 0)) < 2, `${key}: ${ms} ms, and ${times.get(key)} ns`);
  // A click finds what a line made, on both sides.
  await page.locator('.rows .body [role=row]', { hasText: 'net.py:25' }).click();
  await frame(page);
  const found = await page.evaluate(() => origo.found.map(item => [item.side, origo.model.graphOf(item).kind(item.index)]));
  assert(found.some(([side]) => side === 'source') && found.some(([side, kind]) => side === 'result' && kind === 'CONV_2D'), JSON.stringify(found));
  const conv = await page.evaluate(() => { const { nodes } = origo.panes.source.display, node = nodes.find(one => one.title === 'Conv'); return [origo.model.source.graphs[0].options(node.item.index), node.detail]; });
  assert.match(conv[0], /^\{pads=\[ ?1, 1, 1, 1 ?\]\}$/);
  assert.equal(conv[1], '3×3');
  // From the nodes to the result, by what they were read as.
  const ends = await page.evaluate(() => { const { history, model } = origo, kinds = step => [...history.state(step).live.values()].map(op => op.kind).sort(), graph = model.result.graphs[0]; return [kinds(0), kinds(1), kinds(history.last), Array.from({ length: graph.ops }, (_, i) => graph.kind(i)).sort()]; });
  assert(ends[0].every(kind => kind.startsWith('CUSTOM:onnx.')) && ends[1].every(kind => !kind.startsWith('CUSTOM:onnx.')), JSON.stringify(ends));
  assert.deepEqual(ends[2], ends[3]);
  for (let step = 0; step <= 3; ++step) {
    await page.evaluate(step => origo.setStep(step), step);
    await frame(page);
    if (step) assert(await page.evaluate(() => { const { display } = origo.panes.result; return display.nodes.every((node, i) => node.state === 'io' ? node.title === 'input' || display.preds[i].length > 0 : true); }), `step ${step}: an output hangs on nothing`);
  }
}, { file: 'torch.html' });

test('shows the source as it was at a rewrite, whatever is folded', async page => {
  const { last } = await page.evaluate(() => ({ last: origo.history.last }));
  for (const step of [1, last >> 1, last]) {
    await page.evaluate(step => origo.setStep(step), step);
    await frame(page);
    assert(await page.evaluate(() => Object.values(origo.panes).every(pane => pane.display.edges.every(edge => edge.route === null || Array.isArray(edge.route)))), `step ${step}`);
  }
}, { file: 'full.html', folded: true });

test('saves pictures, of what is seen and of everything, and gives a link', async page => {
  await page.evaluate(() => origo.select({ side: 'result', type: 'op', graph: 0, index: 7 }));
  const before = await page.evaluate(() => JSON.stringify(origo.panes.result.view)), sizes = [];
  for (const [text, at] of [['PNG', 0], ['SVG', 0], ['PNG', 1], ['SVG', 1]]) {
    await page.click('#png');
    assert.match(await page.inputValue('dialog input'), /net.html#op=7$/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator(`dialog button:text-is("${text}")`).nth(at).click()]), bytes = readFileSync(await download.path());
    await page.keyboard.press('Escape');
    if (text === 'PNG') {
      assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
      assert(bytes.readUInt32BE(16) > 400 && bytes.length > 5000);
      sizes.push(bytes.readUInt32BE(20));
      continue;
    }
    const drawn = await page.evaluate(text => { const parsed = new DOMParser().parseFromString(text, 'image/svg+xml'); return { root: parsed.documentElement.nodeName, bad: parsed.querySelectorAll('parsererror, script, image').length, texts: [...parsed.querySelectorAll('text')].map(one => one.textContent), titles: origo.panes.result.display.nodes.map(node => node.title) }; }, bytes.toString());
    assert.deepEqual([drawn.root, drawn.bad], ['svg', 0]);
    if (at) for (const title of drawn.titles) assert(drawn.texts.includes(title), title); else assert(drawn.texts.length > 20);
  }
  assert(sizes[1] > sizes[0] * 2, sizes.join());
  assert.equal(await page.evaluate(() => JSON.stringify(origo.panes.result.view)), before);
});

test('slides through the rewrites, and nodes keep their places', async page => {
  const history = readFileSync('net.history', 'utf8').trim().split('\n').map(line => JSON.parse(line)).filter(Array.isArray);
  assert(history.length > 100);
  assert.equal(await page.getAttribute('#step', 'max'), String(history.length));
  const look = () => page.evaluate(() => ({ text: document.getElementById('stepText').textContent, places: origo.panes.result.display.nodes.map(node => [node.title, node.subtitle, node.row, node.x]), changed: [...origo.panes.result.marks.changed].length, consumed: [...origo.panes.source.marks.changed].length }));
  await page.evaluate(() => origo.setStep(0));
  assert.equal((await look()).places.length, map.source.subgraphs[0].operators.length + 2);
  let before = await look(), steps = 0;
  for (const row of history.slice(0, 20)) {
    await page.keyboard.press(']');
    await frame(page);
    const now = await look();
    assert.match(now.text, new RegExp(`^rewrite ${row[0]}: `));
    assert.equal(now.places.length, before.places.length - row[4].length + row[5].length);
    assert.equal(now.changed, row[5].length);
    assert(now.consumed >= row[4].length);
    const kept = new Set(before.places.map(String));
    assert(now.places.filter(place => !kept.has(String(place))).length <= row[5].length, 'a node that nothing changed has moved');
    before = now, ++steps;
  }
  assert.equal(steps, 20);
  await page.keyboard.press('[');
  assert.match((await look()).text, new RegExp(`^rewrite ${history[18][0]}: `));
  await page.check('#bypass');
  assert(Number(await page.getAttribute('#step', 'max')) < history.length);
  await page.evaluate(() => origo.setStep(origo.history.last));
  assert.equal((await look()).places.length, rows.length + 2);
}, { file: 'full.html' });

test('adds up times to the digit, on both sides', async page => {
  const join = JSON.parse(tool('origin-dump', '--join', 'net.trace', '--source', 'net.tflite', '--json', 'net.circle'));
  const sums = await page.evaluate(() => {
    const [profile] = origo.measured.profiles, sum = values => [...values].reduce((a, b) => a + b, 0);
    return { total: profile.total, result: sum(profile.timing.result[0].values()), source: sum(profile.timing.source.values()) + profile.synthetic + profile.unattributed };
  });
  assert(sums.total > 0 && sums.result === sums.total && sums.source === sums.total, JSON.stringify(sums));
  assert.equal(sums.total, join.rows.reduce((sum, row) => sum + (row.ns), 0));
  await page.click('#tab-profile-0');
  assert((await page.locator('.body [role=row]').count()) > 10);
}, { file: 'full.html' });

test('shows errors, what a back end cannot take, and histograms', async page => {
  await page.evaluate(() => origo.select({ side: 'source', type: 'op', graph: 0, index: 0 }));
  const text = await page.textContent('#panel');
  for (const words of ['MSE', '0.25', 'own MSE', '0.125', 'inherited MSE', '0.0625', 'Time of its work']) assert(text.includes(words), `${words}: ${text}`);
  assert(!text.includes('PSNR'));
  await page.click('#tab-errors');
  assert.equal(await page.locator('.body [role=row]').count(), errorRows.length);
  const check = spawnSync(`${bin}/circle-check`, ['--target', 'npu.json', '--json', 'net.circle'], { encoding: 'utf8' });
  const refused = JSON.parse(check.stdout).violations.map(row => row.op_index).filter(index => index !== undefined && index !== null);
  assert(refused.length > 2, check.stdout.slice(0, 300));
  assert.deepEqual(await page.evaluate(() => [...origo.measured.refused.keys()].map(key => Number(key.split(':')[1]))), [...new Set(refused)]);
  const { histogram, statistics } = await page.evaluate(() => origo.model.result.graphs[0].data);
  const constants = Object.keys(histogram);
  assert(constants.length > 50);
  for (const index of constants) assert.equal(histogram[index].reduce((a, b) => a + b), statistics[index][0] - statistics[index][2] - statistics[index][3]);
  await page.evaluate(index => origo.select({ side: 'result', type: 'tensor', graph: 0, index }), Number(constants[0]));
  assert.equal(await page.locator('canvas.histogram').count(), 1);
  for (const tab of await page.locator('[role=tab]').evaluateAll(list => list.filter(one => !one.hidden).map(one => one.id))) await page.click(`#${tab}`);
  for (const overlay of await page.locator('#overlay option').evaluateAll(list => list.map(one => one.value))) await page.selectOption('#overlay', overlay);
}, { file: 'full.html' });

test('says of what stayed why, as --explain does', async page => {
  const rows = JSON.parse(tool('origin-dump', '--json', 'layers.circle')).target.subgraphs[0].operators, stayed = rows.flatMap((row, i) => (!row.passes?.length && !row.synthetic ? [i] : []));
  assert(stayed.length > 10);
  for (const index of stayed.slice(0, 8)) {
    const [id] = rows[index].origins, { stderr } = spawnSync(`${bin}/circle2circle`, ['-O1', `--explain=${id}`, '--embed-origin=none', '--no-origin-json', `${root}/res/transformer.origo`, 'explained.circle'], { encoding: 'utf8' });
    const told = [...stderr.matchAll(/^  (\S+ \/ .*) at \S+: declined, (.*?)(?: \(\d+ times\))?$/gm)].map(match => `${match[1]}: ${match[2]}`);
    assert(told.length > 0, stderr);
    const said = await page.evaluate(index => origo.reasons.of({ side: 'result', type: 'op', graph: 0, index }, origo.model, origo.links).map(({ pass, rule, reason }) => `${pass} / ${rule}: ${reason}`), index);
    assert.deepEqual(said.sort(), [...new Set(told)].sort());
  }
  await page.click('#tab-stayed');
  assert.equal(await page.textContent('.filter output'), String(stayed.length));
  const words = await page.locator('.body [role=row]').first().locator('[role=gridcell]').nth(2).textContent();
  assert.match(words, /^[a-z-]+ \/ .*: ./);
  await page.locator('.body [role=row]').first().click({ position: { x: 9, y: 9 } });
  await page.click('#tab-details');
  assert((await page.textContent('#panel')).includes('Why it stayed'));
}, { file: 'layers.html' });

test('folds blocks that repeat', async page => {
  const layers = await page.evaluate(() => { const ops = [...Array(origo.model.source.graphs[0].ops).keys()].map(op => origo.model.source.graphs[0].opName(op)); return ['layer1/', 'layer2/'].map(scope => ops.filter(name => name.startsWith(scope)).length); });
  assert(layers[0] > 30 && layers[0] === layers[1], JSON.stringify(layers));
  await page.uncheck('#fused');
  const before = await page.evaluate(() => origo.panes.source.display.nodes.length);
  await page.check('#blocks');
  const folded = () => page.evaluate(() => origo.panes.source.display.nodes.filter(node => node.members).map(node => [node.title, node.members.length]));
  assert.deepEqual(await folded(), [['layer1/', layers[0]], ['layer2/', layers[1]]]);
  assert.equal(await page.evaluate(() => origo.panes.source.display.nodes.length), before - 2 * layers[0] + 2);
  assert.match(await page.textContent('#status'), /^2 blocks of the source and 2 of the result/);
  // A double click shows what is in one of them, and so does a key.
  await page.mouse.dblclick(...await placeOf(page, { side: 'source', type: 'op', graph: 0, index: await page.evaluate(() => origo.panes.source.display.nodes.find(node => node.members).members[0].index) }));
  assert.deepEqual(await folded(), [['layer2/', layers[1]]]);
  await page.evaluate(() => origo.select(origo.panes.source.display.nodes.find(node => node.members).members[0]));
  await page.focus('#sourcePane canvas');
  await page.keyboard.press(' ');
  assert.deepEqual(await folded(), []);
  await page.uncheck('#blocks');
  assert.equal(await page.evaluate(() => origo.panes.source.display.nodes.length), before);
}, { file: 'layers.html' });

test('shows what a call calls, and who calls', async page => {
  const [caller, callee] = await page.evaluate(() => { const graph = origo.model.result.graphs[0], op = [...Array(graph.ops).keys()].find(op => graph.callees(op).length); return [op, graph.callees(op)[0]]; });
  const shown = () => page.evaluate(() => [origo.shown.source, origo.shown.result]);
  assert.deepEqual(await shown(), [0, 0]);
  await page.mouse.click(...await placeOf(page, op('result', caller)));
  await page.locator('#panel button.link', { hasText: `(subgraph ${callee})` }).first().click();
  assert.equal((await shown())[1], callee);
  await page.keyboard.press('Escape');
  assert((await page.textContent('#panel')).includes(`Subgraph ${callee} of the result is called by`));
  await page.click('#resultPane .graphs [role=tab] >> nth=0');
  assert.equal((await shown())[1], 0);
  assert(!(await page.textContent('#panel')).includes('of the result is called by'));
  await page.keyboard.press('ArrowRight');
  assert.equal((await shown())[1], 1);
  assert.equal(await page.getAttribute('#resultPane .graphs [role=tab] >> nth=1', 'aria-selected'), 'true');
  await page.click('#resultPane .graphs [role=tab] >> nth=0');
  await page.mouse.dblclick(...await placeOf(page, op('result', caller)));
  assert.equal((await shown())[1], callee);
}, { file: 'loop.html' });

test('shows which inputs and outputs are of which signature', async page => {
  const expected = { double: [['input', 'a', 'x'], ['output', 'b', 'twice']], negate: [['input', 'value', 'x'], ['output', 'negative', 'minus']] };
  await page.click('#tab-signatures');
  assert.equal(await page.locator('.body [role=row]').count(), 8);
  for (const [i, [key, entries]] of Object.entries(expected).entries()) {
    await page.selectOption('[aria-label="Signature of the result"]', String(i));
    for (const side of ['source', 'result']) {
      assert.deepEqual(await page.evaluate(side => { const { key, entries } = origo.signature[side]; return [key, entries.map(({ direction, name, item }) => [direction, name, origo.model.graphOf(item).tensorName(item.index)])]; }, side), [key, entries]);
      const ringed = await page.evaluate(side => { const pane = origo.panes[side]; return [...pane.marks.signature].map(i => pane.display.nodes[i].subtitle).sort(); }, side);
      assert.deepEqual(ringed, entries.map(row => row[2]).sort());
    }
    assert.equal(await page.locator('.body [role=row]').count(), 4);
  }
  await page.evaluate(() => origo.select({ side: 'result', type: 'tensor', graph: 0, index: origo.model.result.graphs[0].inputs[0] }));
  await page.click('#tab-details');
  assert((await page.textContent('#panel')).includes('Signature negate input “value”.'));
}, { file: 'signatures.html' });

test('shows two profiles beside each other', async page => {
  assert.match(await page.textContent('#panel'), /second.trace takes [\d.]+ m?s where net.trace takes [\d.]+ m?s: 100 % more/);
  await page.click('button.link:text-is("Which layers")');
  const cells = await page.locator('.body [role=row]').first().locator('[role=gridcell]').evaluateAll(list => list.map(one => one.textContent));
  const times = await page.evaluate(() => origo.measured.profiles.map(profile => [...profile.timing.result[0].values()].map(ns => ns / profile.runs / 1e6))), most = Math.max(...times[1].map((ns, i) => ns - times[0][i]));
  assert(Math.abs(Number(cells[0].replace('+', '')) / most - 1) < 0.01 && cells[3] === '2', cells.join(' '));
}, { file: 'two.html' });

test('shows of one file what it says of itself', async page => {
  await page.click('#tab-about');
  const text = await page.innerText('#panel');
  for (const words of ['net.tflite', 'tflite, version 3', 'operators', '204', 'Inputs', 'FLOAT32 1×96×96×3', 'Operators by kind', 'DEPTHWISE_CONV_2D']) assert(text.includes(words), `${words}: ${text}`);
}, { file: 'one.html' });

// The three questions of docs/viewers.md: in a few clicks each.
test('tells why an operator is slow', async page => {
  const { click, count } = counted(page);
  await click('#tab-profile-0');
  await click('.body [role=row]');
  const slowest = await page.evaluate(() => { const times = origo.measured.profiles[0].timing.result[0]; return [...times.keys()].reduce((a, b) => (times.get(a) >= times.get(b) ? a : b)); });
  assert.equal(await page.evaluate(() => origo.selection.index), slowest);
  await click('#tab-details');
  const text = await page.textContent('#panel');
  for (const words of ['Why is it slow?', 'number 1 of 65 by time', 'MACs a second', 'Time', ' ms, ', ' %', 'multiply-accumulates', 'Takes', 'FLOAT32']) assert(text.includes(words), `${words}: ${text}`);
  await click('h3:text-is("Does the work of") + ul button');
  assert.deepEqual(await page.evaluate(() => [origo.selection.side, origo.selection.index]), ['source', rows[slowest].origins[0]]);
  assert((await page.textContent('#panel')).includes('Time of its work'));
  assert(count() <= 4);
}, { file: 'full.html' });

test('tells where a layer went', async page => {
  const { click, count } = counted(page), gone = map.ledger.find(row => row.fate === 'fused-away' && row.into?.operators?.length && row.rewrite > 3), name = await page.evaluate(id => origo.model.source.graphs[0].tensorName(id), gone.tensor);
  await click('#search');
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  const text = await page.textContent('#panel');
  for (const words of [gone.pass, `rewrite ${gone.rewrite}`, 'it went into', 'no longer exists: the operator that made it was fused']) assert(text.includes(words), `${words}: ${text}`);
  await click(`button:text-is("Show rewrite ${gone.rewrite}")`);
  assert.match(await page.textContent('#stepText'), new RegExp(`^rewrite ${gone.rewrite}: ${gone.pass}`));
  await page.locator('.where button').filter({ hasText: `operator ${gone.into.operators[0][1]} ` }).first().click();
  assert.deepEqual(await page.evaluate(() => [origo.selection.side, origo.selection.index]), ['result', gone.into.operators[0][1]]);
  assert(count() <= 5);
}, { file: 'full.html' });

test('tells what quantisation broke', async page => {
  // Where the error rises is marked, in the graph and in the legend; the summary has the line.
  assert.equal(await page.locator('.summary canvas').count(), 1);
  assert.equal(await page.evaluate(() => origo.panes.source.marks.rises.size), 1);
  assert.match(await page.locator('#marks button', { hasText: 'error rises' }).innerText(), /1$/);
  const { click, count } = counted(page), own = errors => Math.max(...errors.map(row => row.own ?? -1)), all = JSON.parse(readFileSync('quantized.json')).errors;
  await click('#tab-errors');
  await click('.body [role=row]');
  const worst = await page.evaluate(() => origo.selection.index);
  assert.equal(all.find(row => row.tensor === worst).own, own(all));
  await click('#tab-details');
  const text = await page.textContent('#panel');
  for (const words of ['What did quantisation break?', 'own ', 'inherited ']) assert(text.includes(words), `${words}: ${text}`);
  await click('.where p:has-text("is tensor") button');
  assert.match(await page.textContent('#panel'), /quantisation.*scale/);
  assert(count() <= 4);
}, { file: 'quantized.html' });

const contrasts = async page => {
  const pairs = await page.evaluate(() => {
    const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue(name).trim();
    const list = ['--text', '--soft', '--accent', '--mark', '--good', '--bad', '--edge'].flatMap(ink => ['--back', '--pane'].map(back => [ink, value(ink), value(back)]));
    for (const overlay of origo.overlays) {
      origo.setOverlay(overlay.name);
      for (const pane of Object.values(origo.panes)) for (const node of pane.display.nodes) { const { fill, ink } = pane.paint(node); list.push([overlay.name, ink, fill]); }
    }
    return list;
  });
  const light = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  assert(pairs.length > 2000);
  for (const [what, a, b] of pairs) {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y), contrast = (high + 0.05) / (low + 0.05);
    assert(contrast >= (what === '--edge' ? 3 : 4.5), `${what}: ${a} on ${b} is ${contrast.toFixed(2)}`);
  }
};
// All states of the page: what is written, on what is behind it, in the document and on its canvases.
const hear = () => {
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, how) { return getContext.call(this, kind, { willReadFrequently: true, ...how }); };
  const write = CanvasRenderingContext2D.prototype.fillText, light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
  const dot = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }), faint = (globalThis.faint = new Map());
  globalThis.pairs = 0;
  const note = (what, ink, back, least) => { ++pairs; const is = contrast(ink, back); if (is < least) faint.set(what, is.toFixed(2)); };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    if (this.globalAlpha === 1 && globalThis.state && text.trim()) {
      const m = this.getTransform(), px = m.a * x + m.e, py = m.d * y + m.f, wide = Math.min(this.measureText(text).width, more[0] ?? Infinity) * m.a, left = this.textAlign === 'right' ? px - wide : px, { data } = this.getImageData(left, py - 3, Math.max(wide, 1), 6), counts = new Map();
      for (let i = 0; i < data.length; i += 4) { const key = `${data[i]},${data[i + 1]},${data[i + 2]}`; counts.set(key, (counts.get(key) ?? 0) + 1); }
      const [back] = [...counts].sort((a, b) => b[1] - a[1])[0];
      dot.fillStyle = this.fillStyle, dot.fillRect(0, 0, 1, 1);
      if (left > -1 && py > 0 && left < this.canvas.width && py < this.canvas.height) note(`${state}: “${text}” on a canvas`, [...dot.getImageData(0, 0, 1, 1).data], back.split(',').map(Number), 4.5);
    }
    return write.call(this, text, x, y, ...more);
  };
  globalThis.lookAt = state => {
    globalThis.state = state;
    for (const pane of Object.values(origo.panes)) pane.draw();
    globalThis.state = null;
    const layers = element => (element ? [...layers(element.parentElement), getComputedStyle(element).backgroundColor] : ['#ffffff']);
    const look = (element, colour, text) => {
      const style = getComputedStyle(element), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      for (const layer of layers(element)) (dot.fillStyle = layer), dot.fillRect(0, 0, 1, 1);
      const back = [...dot.getImageData(0, 0, 1, 1).data];
      dot.fillStyle = colour, dot.fillRect(0, 0, 1, 1);
      note(`${state}: “${text.trim().slice(0, 30)}” in ${element.tagName}`, [...dot.getImageData(0, 0, 1, 1).data], back, large ? 3 : 4.5);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) { const { data, parentElement: element } = walker.currentNode; if (data.trim() && element.checkVisibility() && !element.closest('script, noscript')) look(element, getComputedStyle(element).color, data); }
    for (const input of document.querySelectorAll('input[placeholder]')) if (input.checkVisibility()) look(input, getComputedStyle(input, '::placeholder').color, input.placeholder);
  };
};
const states = async page => {
  const at = (state, act = () => {}, arg) => page.evaluate(act, arg).then(() => page.evaluate(state => lookAt(state), state));
  for (const name of await page.locator('#overlay option').evaluateAll(list => list.map(option => option.value))) await at(`colours ${name}`, name => origo.setOverlay(name), name);
  await at('what it opens with', () => origo.setOverlay(origo.overlays[0].name));
  for (const name of await page.evaluate(() => [...origo.views.keys()].filter(key => key !== 'details'))) {
    await at(`tab ${name}`, name => origo.openTab(name), name);
    const row = page.locator('.body [role=row]').first();
    if (!(await row.count())) continue;
    await row.hover();
    await at(`tab ${name}, pointed at`);
    await at(`tab ${name}, chosen`, () => { origo.table.at = 0; origo.table.choose(); });
  }
  for (const [type, index] of [['op', 3], ['tensor', 2]]) for (const side of await page.evaluate(() => Object.keys(origo.panes))) await at(`${side} ${type}`, item => { origo.select(null); origo.select(item); }, { side, type, graph: 0, index });
  await at('a legend that filters', () => { origo.select(null); document.querySelector('#legend .swatch').click(); });
  await at('marks that filter', () => document.querySelector('#marks .swatch').click());
  for (const what of ['#legend .swatch', '#tabs button', 'header button', '#panel button.link']) { const first = page.locator(`${what}:visible`).first(); if (await first.count()) await first.hover(); await at(`${what}, pointed at`); }
  if (await page.evaluate(() => !!origo.history)) { await at('an early rewrite', () => origo.setStep(8)); await page.evaluate(() => origo.setStep(origo.history.last)); }
  await at('keys', () => origo.help());
  await at('saving', () => { document.getElementById('keys').close(); origo.save(); });
  const { pairs, faint } = await page.evaluate(() => ({ pairs, faint: [...globalThis.faint] }));
  assert(pairs > 1000, String(pairs));
  assert.deepEqual(faint, []);
};
test('can be read in all states, in light', states, { file: 'full.html', colorScheme: 'light', before: hear });
test('can be read in all states, in the dark', states, { file: 'full.html', colorScheme: 'dark', before: hear });
test('can be read quantised, folded, in the dark', states, { file: 'quantized.html', folded: true, colorScheme: 'dark', before: hear });
test('can be read alone, on a phone', states, { file: 'one.html', folded: true, colorScheme: 'light', viewport: { width: 390, height: 844 }, before: hear });

test('can be read in light', contrasts, { colorScheme: 'light' });
test('can be read in the dark', contrasts, { colorScheme: 'dark' });

// Colours of classes, as those see them who see no red, no green or no blue (Machado and others, 2009), differ.
const told = async page => {
  const swatches = await page.evaluate(() => origo.swatches());
  const eyes = { all: [1, 0, 0, 0, 1, 0, 0, 0, 1], red: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998], green: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881], blue: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039] };
  const lab = (text, m) => {
    const linear = [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    const [r, g, b] = [0, 3, 6].map(i => Math.min(Math.max(m[i] * linear[0] + m[i + 1] * linear[1] + m[i + 2] * linear[2], 0), 1));
    const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(t => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  for (const [who, m] of Object.entries(eyes))
    swatches.forEach((a, i) => swatches.slice(0, i).forEach(b => { const [p, q] = [lab(a, m), lab(b, m)], far = Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]); assert(far > 11, `who sees no ${who}: ${a} and ${b} are ${far.toFixed(1)} apart`); }));
};
test('has colours that all can tell apart, in light', told, { colorScheme: 'light' });
test('has colours that all can tell apart, in the dark', told, { colorScheme: 'dark' });

let failed = 0;
for (const [name, run, options] of cases.filter(([name]) => name.includes(rest[0] ?? ''))) {
  const page = await open(browser, `${here}/${options?.file ?? 'net.html'}`, options);
  try {
    await run(page);
    await page.done();
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${name}: ${error.stack}`);
  }
}

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
await alone.done();
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
const names = JSON.parse(tool('origin-dump', '--json', 'hostile.circle')).target.subgraphs[0].operators.flatMap(row => row.outputs);
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
await browser.close();
console.log(`view: ${cases.length} cases, ${failed} failed; ${names.length} hostile names`);
process.exit(failed ? 1 : 0);
