// What graphs show and how one goes about in them: by pointer and by keyboard, folded, in subgraphs, rewrite by rewrite.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { bin, frame, marks, op, open, placeOf } from './browser.mjs';
import { test, map, rows } from './page_network.mjs';

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

test('goes to the counterpart of a subgraph', async page => {
  for (const [side, other] of [['source', 'result'], ['result', 'source']])
    for (let index = 0; index < 3; ++index) {
      await page.click(`#${side}Pane .graphs [role=tab] >> nth=${index}`);
      const [a, b, sources] = await page.evaluate(([side, other]) => [origo.shown[side], origo.shown[other], origo.model.result.graphs.map(graph => graph.data.sources[0])], [side, other]);
      assert.equal(a, index);
      assert.equal(side === 'source' ? sources[b] : b, side === 'source' ? a : sources[a]);
    }
}, { file: 'loop.html' });

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
