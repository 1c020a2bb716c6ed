// What a page costs: writing it, its size, opening it, a frame. Networks of blocks with branches, scopes and long skips.
// usage: tests/view/run.sh BIN SCRATCH benchmark.mjs
import { writeFileSync, statSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { launch, open, tool, bin } from './browser.mjs';

function network(operators) {
  const lines = [], constants = [];
  let x = 'image', saved = x;
  for (let block = 0; lines.length < operators - 1; ++block) {
    const name = `stage${Math.floor(block / 20)}/block${block}`, c = (suffix, shape) => { constants.push(`  %${name}/${suffix}: f32[${shape}] = const seed ${constants.length + 1} normal 0 1`); return `%${name}/${suffix}`; };
    const add = (suffix, text) => { lines.push(`  %${name}/${suffix}: f32[1,4,4,4] = ${text}`); return `${name}/${suffix}`; };
    const conv = (suffix, from) => add(`${suffix}/relu`, `RELU(%${add(`${suffix}/shift`, `ADD(%${add(`${suffix}/scale`, `MUL(%${add(suffix, `CONV_2D(%${from}, ${c(`${suffix}/filter`, '4,1,1,4')}) {padding=SAME, stride_w=1, stride_h=1, dilation_w_factor=1, dilation_h_factor=1}`)}, ${c(`${suffix}/gamma`, '4')})`)}, ${c(`${suffix}/beta`, '4')})`)})`);
    const left = conv('left', x), right = conv('right', x);
    const sum = add('sum', `ADD(%${left}, %${right})`);
    x = add('out', `ADD(%${sum}, %${block % 25 === 24 ? saved : x})`);
    if (block % 25 === 24) saved = x;
  }
  lines.push(`  %y: f32[1,4,4,4] = TANH(%${x})`);
  return `origo 1\nmodel tflite version 3\nsubgraph @main(%image: f32[1,4,4,4]) -> (%y) {\n${constants.join('\n')}\n${lines.join('\n')}\n}\n`;
}

const browser = await launch(), here = process.cwd();
// Of the processor, best of some: other work on the machine counts little.
const cpu = (times, command) => Math.min(...Array.from({ length: times }, () => execFileSync('bash', ['-c', `TIMEFORMAT='%U %S'; { time ${command} >&2; } 2>&1`], { encoding: 'utf8' }).trim().split(' ').reduce((sum, part) => sum + Number(part), 0)));
const best = (times, run) => Math.min(...Array.from({ length: times }, () => { const begin = process.hrtime.bigint(); run(); return Number(process.hrtime.bigint() - begin) / 1e9; }));
console.log('| operators | written in | of the processor | plain file | with everything | history | bytes a rewrite | opened in | frame, all | frame, near | heap |\n|---|---|---|---|---|---|---|---|---|---|---|');
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
    page = await open(browser, `${here}/full.html`);
    opened = Math.min(opened, performance.now() - begin);
  }
  const { rows, all, near, heap } = await page.evaluate(async () => {
    const frames = async pane => { const times = []; for (let i = 0; i < 40; ++i) { pane.view.x += 3; const begin = performance.now(); pane.draw(); pane.context.getImageData(0, 0, 1, 1); times.push(performance.now() - begin); // drawn, not noted down for later
      await new Promise(done => setTimeout(done, 0)); } return times.sort((a, b) => a - b)[20]; };
    const pane = origo.panes.source;
    pane.fit();
    const all = await frames(pane);
    pane.start();
    const near = await frames(pane);
    return { rows: origo.history.rows.length, all, near, heap: performance.memory.usedJSHeapSize };
  });
  const bytes = statSync('net.history').size;
  console.log(`| ${operators} | ${written.toFixed(2)} s | ${processor.toFixed(2)} s | ${size('plain.html')} | ${size('full.html')} | ${size('net.history')} | ${(bytes / rows).toFixed(0)} | ${(opened / 1000).toFixed(2)} s | ${all.toFixed(1)} ms | ${near.toFixed(1)} ms | ${(heap / 1e6).toFixed(0)} MB |`);
  await page.close();
}
await browser.close();
