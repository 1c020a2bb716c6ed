// What the page says: the summary, tables, colours of figures, profiles, errors, and the three questions of docs/viewers.md.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { bin, counted, frame, marks, op, root, tool } from './browser.mjs';
import { test, map, rows, ledger, errorRows } from './page_network.mjs';

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
  // Why what they were read as stayed.
  const stayed = await page.evaluate(() => { const graph = origo.model.result.graphs[0], of = (side, index) => origo.reasons.of({ side, type: 'op', graph: 0, index }, origo.model, origo.links); return Array.from({ length: graph.ops }, (_, index) => ({ index, why: of('result', index), nodes: origo.links.origins({ side: 'result', type: 'op', graph: 0, index }).map(id => of('source', id)) })).filter(row => row.why.length); });
  assert(stayed.length > 0 && stayed.every(row => row.nodes.some(list => row.why.every(one => list.some(other => other.reason === one.reason)))), JSON.stringify(stayed));
  for (let step = 0; step <= 3; ++step) {
    await page.evaluate(step => origo.setStep(step), step);
    await frame(page);
    if (step) assert(await page.evaluate(() => { const { display } = origo.panes.result; return display.nodes.every((node, i) => node.state === 'io' ? node.title === 'input' || display.preds[i].length > 0 : true); }), `step ${step}: an output hangs on nothing`);
  }
}, { file: 'torch.html' });

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
