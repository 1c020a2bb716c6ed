#!/usr/bin/env node
// Judges each operator of each model against the tensors that taps.mjs collected.
//   judge.mjs JUDGE TAPS [--op NAME] [--details] [--work-list FILE] MODELS...
// prints a row for each operator with its types; --details names the operators that failed and why. The work list has
// what is unsupported or failed, the most frequent first.
import fs from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { answerOf, folderOf, modelsOf } from './taps.mjs';

const run = promisify(execFile);
const words = ['exact', 'within', 'failed', 'unsupported', 'untapped', 'control'];

// What docs/kernels.md says of accidents of the runtime, and of quantised tensors without a scale, which it takes for 0. Only the
// runtime of 2023 runs LSTMs, and takes the zero point of an int8 hidden state off; tests/regressions/runtime has the right numbers.
export const isExplained = text => /has no scale$/.test(text) || /^SLICE\t.* (is cut beyond its end|must have a number for each dimension|begin or size of another length than the rank|the shape of result 0 is not known)$/.test(text) ||
  /^UNIDIRECTIONAL_SEQUENCE_LSTM\ti8, /.test(text) || /^BATCH_MATMUL\ti16, i8 -> i16\t.* instead of 0\.00$/.test(text);

/** Calls `work` with each item, two at a time. */
export async function eachOf(items, work) {
  let next = 0;
  const lane = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all([lane(), lane()]);
}

/** A line for each operator: { op, types, verdict, reason }; null where import refuses the model. */
export async function operatorsOf(judge, model, args = []) {
  let text;
  try {
    text = (await run(judge, [model, ...args], { maxBuffer: 1 << 28, timeout: 300000 })).stdout;
  } catch (error) {
    // A model that import refuses is no failure of a kernel; a crash or a hang is.
    if (error.code === 1) return null;
    text = `${error.stdout ?? ''}(process)\t\tfailed\t${error.signal ?? error.code}\n`;
  }
  return text.split('\n').filter(Boolean).map(line => {
    const [op, types, verdict, reason] = line.split('\t');
    return { op, types, verdict, reason };
  });
}

/** Rows by operator and types, the failures, and how many models there were. */
export async function judgeModels(judge, taps, models, op) {
  const rows = new Map(), failures = [], counts = { judged: 0, untapped: 0, refused: 0 };
  await eachOf(models, async model => {
    const answer = answerOf(taps, model);
    const lines = await operatorsOf(judge, model, [...(answer.ok ? ['--taps', folderOf(taps, model)] : []),
      ...(answer.engine === 'tfjs' ? ['--loose'] : []), ...(op ? ['--op', op] : [])]);
    counts.untapped += !answer.ok;
    counts[lines ? 'judged' : 'refused'] += 1;
    for (const { op, types, verdict, reason } of lines ?? []) {
      const key = `${op}\t${types}`;
      if (!rows.has(key)) rows.set(key, { op, types, models: new Set(), ...Object.fromEntries(words.map(word => [word, 0])) });
      const row = rows.get(key);
      row[verdict] += 1;
      row.models.add(path.basename(model));
      if (verdict === 'failed') failures.push(`${op}\t${types}\t${path.basename(model)}: ${reason}`);
    }
  });
  return { rows, failures: failures.sort(), counts };
}

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: {
    op: { type: 'string' }, details: { type: 'boolean' }, 'work-list': { type: 'string' } } });
  const [judge, taps, ...given] = positionals;
  if (!given.length) {
    console.error('usage: judge.mjs JUDGE TAPS [--op NAME] [--details] [--work-list FILE] MODELS...');
    process.exit(2);
  }
  const { rows, failures, counts } = await judgeModels(judge, taps, modelsOf(given, ['.tflite', '.circle']), values.op);
  const shorten = types => types.replace(/(\b\w+)(, \1){3,}/g, (all, type) => `${type} ×${all.split(',').length}`);
  const line = row => [row.op, shorten(row.types), ...words.map(word => row[word] || '·'), row.models.size].join('\t');
  const header = ['operator', 'types', ...words, 'models'].join('\t');
  console.log(header);
  for (const row of [...rows.values()].sort((a, b) => a.op < b.op ? -1 : a.op > b.op ? 1 : a.types < b.types ? -1 : 1)) console.log(line(row));
  const total = Object.fromEntries(words.map(word => [word, [...rows.values()].reduce((sum, row) => sum + row[word], 0)]));
  console.log(`${counts.judged} models judged (${counts.untapped} without taps), ${counts.refused} refused by import; ${JSON.stringify(total)}`);
  if (values.details) for (const failure of failures) console.log(failure);
  if (values['work-list']) {
    const todo = [...rows.values()].filter(row => row.failed || row.unsupported)
      .sort((a, b) => b.failed + b.unsupported - a.failed - a.unsupported || (a.op < b.op ? -1 : 1));
    fs.writeFileSync(values['work-list'], [header, ...todo.map(line)].join('\n') + '\n');
  }
  process.exitCode = total.exact + total.within > 0 ? 0 : 1;
}
if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
