#!/usr/bin/env node
// Judges each operator of each model against the tensors that taps.mjs collected.
//   judge.mjs JUDGE TAPS [--op NAME] [--details] [--work-list FILE] MODELS...
// prints a row for each operator with its types; --details names the operators that failed and why. The work list has
// what is unsupported or failed, the most frequent first.
import fs from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';

const { values, positionals } = parseArgs({ allowPositionals: true, options: {
  op: { type: 'string' }, details: { type: 'boolean' }, 'work-list': { type: 'string' } } });
const [judge, taps, ...folders] = positionals;
if (!folders.length) {
  console.error('usage: judge.mjs JUDGE TAPS [--op NAME] [--details] [--work-list FILE] MODELS...');
  process.exit(2);
}
const run = promisify(execFile);
const models = folders.flatMap(given => fs.statSync(given).isDirectory()
  ? fs.readdirSync(given).sort().filter(file => /\.(tflite|circle)$/.test(file)).map(file => path.join(given, file))
  : [given]);

const rows = new Map(), failures = [];
let judged = 0, untapped = 0, refused = 0, next = 0;
const words = ['exact', 'within', 'failed', 'unsupported', 'untapped', 'control'];
async function lane() {
  while (next < models.length) {
    const model = models[next++], name = path.basename(model);
    const folder = path.join(taps, `${path.basename(path.dirname(path.resolve(model)))}-${path.basename(model, '.tflite')}`);
    const answer = fs.existsSync(path.join(folder, 'run.json')) ? JSON.parse(fs.readFileSync(path.join(folder, 'run.json'))) : { ok: false };
    const args = [model, ...(answer.ok ? ['--taps', folder] : []), ...(answer.engine === 'tfjs' ? ['--loose'] : []),
      ...(values.op ? ['--op', values.op] : [])];
    untapped += !answer.ok;
    let text;
    try {
      text = (await run(judge, args, { maxBuffer: 1 << 28, timeout: 300000 })).stdout;
    } catch (error) {
      // A model that import refuses is no failure of a kernel; a crash or a hang is.
      if (error.code === 1) { ++refused; continue; }
      text = `${error.stdout ?? ''}(process)\t\tfailed\t${error.signal ?? error.code}\n`;
    }
    ++judged;
    for (const line of text.split('\n').filter(Boolean)) {
      const [op, types, verdict, reason] = line.split('\t'), key = `${op}\t${types}`;
      if (!rows.has(key)) rows.set(key, { op, types, models: new Set(), ...Object.fromEntries(words.map(word => [word, 0])) });
      const row = rows.get(key);
      row[verdict] += 1;
      row.models.add(name);
      if (verdict === 'failed') failures.push(`${op}\t${types}\t${name}: ${reason}`);
    }
  }
}
await Promise.all([lane(), lane()]);

const shorten = types => types.replace(/(\b\w+)(, \1){3,}/g, (all, type) => `${type} ×${all.split(',').length}`);
const line = row => [row.op, shorten(row.types), ...words.map(word => row[word] || '·'), row.models.size].join('\t');
const header = ['operator', 'types', ...words, 'models'].join('\t');
console.log(header);
for (const row of [...rows.values()].sort((a, b) => a.op < b.op ? -1 : a.op > b.op ? 1 : a.types < b.types ? -1 : 1)) console.log(line(row));
const total = Object.fromEntries(words.map(word => [word, [...rows.values()].reduce((sum, row) => sum + row[word], 0)]));
console.log(`${judged} models judged (${untapped} without taps), ${refused} refused by import; ${JSON.stringify(total)}`);
if (values.details) for (const failure of failures.sort()) console.log(failure);
if (values['work-list']) {
  const todo = [...rows.values()].filter(row => row.failed || row.unsupported)
    .sort((a, b) => b.failed + b.unsupported - a.failed - a.unsupported || (a.op < b.op ? -1 : 1));
  fs.writeFileSync(values['work-list'], [header, ...todo.map(line)].join('\n') + '\n');
}
process.exitCode = total.exact + total.within > 0 ? 0 : 1;
