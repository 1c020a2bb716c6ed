// What a page costs: writing it, its size, opening it, a frame. Networks of blocks with branches, scopes and long skips.
// Fails where one is beyond its limit; with ORIGO_BLESS=1 in the environment, docs/viewers.md has the table anew.
// usage: tests/view/run.sh BIN SCRATCH benchmark.mjs
import { readFileSync, writeFileSync, statSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { bin, launch, network, open, root, tool } from './browser.mjs';

const browser = await launch(), here = process.cwd();
// Of the processor, best of some: other work on the machine counts little.
const cpu = (times, command) => Math.min(...Array.from({ length: times }, () => execFileSync('bash', ['-c', `TIMEFORMAT='%U %S'; { time ${command} >&2; } 2>&1`], { encoding: 'utf8' }).trim().split(' ').reduce((sum, part) => sum + Number(part), 0)));
const best = (times, run) => Math.min(...Array.from({ length: times }, () => { const begin = process.hrtime.bigint(); run(); return Number(process.hrtime.bigint() - begin) / 1e9; }));
const table = ['| operators | written in | of the processor | plain file | with everything | history | bytes a rewrite | opened in | frame, all | frame, near | heap | after use |', '|---|---|---|---|---|---|---|---|---|---|---|---|'], beyond = [];
// Seconds of the processor, MB plain and with everything, seconds to open, ms a frame of all of it, MB of heap.
const limits = { 2000: [0.3, 1, 2.5, 0.5, 16, 60], 10000: [1.5, 1, 2.5, 2, 80, 120], 20000: [1.5, 2, 5, 2, 80, 200] };
for (const operators of [2000, 10000, 20000]) {
  writeFileSync('net.origo', network(operators));
  tool('circle2circle', 'net.origo', '--embed-origin=none', '--no-origin-json', 'net.tflite');
  tool('circle2circle', '-O1', '--history=net.history', 'net.tflite', 'net.circle');
  execFileSync('sh', ['-c', `${bin}/circle-interpreter --seed=1 --profile=net.trace net.circle >/dev/null`]);
  const plain = ['net.circle', '--source', 'net.tflite', '-o', 'plain.html'];
  const written = best(5, () => tool('origin-view', ...plain));
  const processor = cpu(5, `${bin}/origin-view ${plain.join(' ')}`);
  tool('origin-view', 'net.circle', '--source', 'net.tflite', '--history', 'net.history', '--profile', 'net.trace', '--constants', '-o', 'full.html');
  const size = file => `${(statSync(file).size / 1e6).toFixed(2)} MB`;
  let opened = Infinity, page;
  for (let i = 0; i < 3; ++i) {
    await page?.close();
    const begin = performance.now();
    page = await open(browser, `${here}/full.html`, { folded: true });
    opened = Math.min(opened, performance.now() - begin);
  }
  const client = await page.context().newCDPSession(page), heapNow = async () => { await client.send('HeapProfiler.collectGarbage'); return (await client.send('Runtime.getHeapUsage')).usedSize; }, heap = await heapNow();
  const { rows, all, near } = await page.evaluate(async () => {
    document.getElementById('scopes').click(); // all of it
    const frames = async pane => { const times = []; for (let i = 0; i < 40; ++i) { pane.view.x += 3; const begin = performance.now(); pane.draw(); pane.context.getImageData(0, 0, 1, 1); times.push(performance.now() - begin); // drawn, not noted down for later
      await new Promise(done => setTimeout(done, 0)); } return times.sort((a, b) => a - b)[20]; };
    const pane = origo.panes.source;
    pane.fit();
    const all = await frames(pane);
    pane.start();
    const near = await frames(pane);
    return { rows: origo.history.rows.length, all, near };
  });
  // What somebody does in an hour.
  await page.evaluate(async () => {
    const ops = origo.model.result.graphs[0].ops;
    for (let i = 0; i < 500; ++i) { origo.select({ side: i % 2 ? 'source' : 'result', type: 'op', graph: 0, index: i * 37 % ops }); if (i % 20 === 0) for (const pane of Object.values(origo.panes)) pane.draw(), await new Promise(done => setTimeout(done, 0)); }
    for (const { name } of origo.overlays) origo.setOverlay(name), origo.panes.source.draw();
    for (let i = 0; i < 20; ++i) origo.setStep(Math.floor(origo.history.last * i / 20));
    origo.setStep(origo.history.last);
    for (const key of origo.views.keys()) origo.openTab(key);
    for (const word of ['conv', 'add', 'fate:dead', '']) document.getElementById('search').value = word, origo.search();
  });
  const used = await heapNow();
  const bytes = statSync('net.history').size;
  const is = [processor, statSync('plain.html').size / 1e6, statSync('full.html').size / 1e6, opened / 1000, all, used / 1e6];
  is.forEach((value, i) => { if (value > limits[operators][i]) beyond.push(`${operators} operators: figure ${i + 1} is ${value.toFixed(3)}, beyond ${limits[operators][i]}`); });
  table.push(`| ${operators} | ${written.toFixed(2)} s | ${processor.toFixed(2)} s | ${size('plain.html')} | ${size('full.html')} | ${size('net.history')} | ${(bytes / rows).toFixed(0)} | ${(opened / 1000).toFixed(2)} s | ${all.toFixed(1)} ms | ${near.toFixed(1)} ms | ${(heap / 1e6).toFixed(0)} MB | ${(used / 1e6).toFixed(0)} MB |`);
  await page.close();
}
await browser.close();
console.log(table.join('\n'));
for (const line of beyond) console.log(`FAILED: ${line}`);
if (process.env.ORIGO_BLESS && !beyond.length) {
  const page = `${root}/docs/viewers.md`;
  writeFileSync(page, readFileSync(page, 'utf8').replace(/(<!-- tests\/view\/benchmark.mjs -->\n)[^]*?\n\n/, (_, mark) => `${mark}${table.join('\n')}\n\n`));
}
process.exit(beyond.length ? 1 : 0);
