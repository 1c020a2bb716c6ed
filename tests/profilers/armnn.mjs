// usage: node armnn.mjs BIN PROGRAM WORK networks|models < LIST
// Profiles .tflite models with Arm NN itself before and after -O1, and judges where origin-dump --join puts the rows. The layers of Arm NN's
// network are called after subgraph and index of their operator ("Conv2D:0:3:RELU"), and run as its picture lists them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fail, failures, join, operatorsOf, refuses, run } from './joined.mjs';

const [bin, program, work, which] = process.argv.slice(2);
const runs = 2, mostBytes = 20e6;
const at = (name) => path.join(work, name);

/** Those that write events: names and types. Of a constant they tell nothing, and of Quantize this version writes none. */
const layersOf = (dot) => [...dot.matchAll(/LayerName : ([^\\]*)\\lLayerType : (\w+)/g)].map(([, name, type]) => ({ name, type })).filter(({ type }) => !['Input', 'Output', 'Constant', 'Quantize'].includes(type));

/** "folded-Pad:0:0-into-Conv2D:0:1" has the work of both; "const4" of none. */
const truthOf = (layer) => [...layer.name.matchAll(/:0:(\d+)/g)].map(([, index]) => Number(index));

/** The time of workloads in nanoseconds, digit for digit. */
function timeOf(json) {
  let total = 0n;
  const walk = (events) => {
    for (const [key, event] of Object.entries(events)) {
      if (event?.type !== 'Event') continue;
      if (!/Workload_Execute_#\d+$/.test(key)) { walk(event); continue; }
      const [, raw] = Object.entries(event).find(([name]) => name.startsWith('Wall clock time_#'));
      if (raw.unit !== 'us') throw new Error(raw.unit);
      for (const time of raw.raw) { const [whole, part] = time.split('.'); total += BigInt(whole) * 1000n + BigInt(part.padEnd(3, '0').slice(0, 3)); }
    }
  };
  // Numbers as texts, for they have more digits than fit.
  walk(JSON.parse(json.replace(/^(\s*)(\d+\.\d+)(,?)$/gm, '$1"$2"$3')).ArmNN);
  return Number(total);
}

function judge(name, model) {
  const said = spawnSync(program, [model, String(runs), at('profile.json'), at('layers.dot')], { encoding: 'utf8', timeout: 60e3 });
  if (said.status !== 0) return null; // a version of 2020, which has not all operators
  const json = fs.readFileSync(at('profile.json'), 'utf8'), layers = layersOf(fs.readFileSync(at('layers.dot'), 'utf8'));
  if (!layers.length) return null; // nothing but constants
  const joined = join(bin, name, 'armnn', at('profile.json'), model, timeOf(json));
  if (!joined) return null;
  const rows = joined.rows.filter((row) => row.raw_name.endsWith('Workload_Execute') && !row.raw_name.includes('Constant'));
  if (rows.length !== layers.length || rows.some((row, i) => !row.raw_name.includes(layers[i].type))) return void fail(`${name}: the picture is of another order: ${rows.map((row) => row.raw_name)}; ${layers.map(({ type }) => type)}`), null;
  const sums = { right: 0, wrong: 0, none: 0, extra: 0 };
  rows.forEach((row, i) => {
    const truth = truthOf(layers[i]), operators = operatorsOf(row);
    if (row.match === 'exact') fail(`${name}: ${row.raw_name} is exact`);
    // What Arm NN does so that shapes fit is no operator's, or of the one that it is for.
    const verdict = !operators.length ? (/^Reshape_for|^const/.test(layers[i].name) || !truth.length ? 'extra' : 'none') : operators.every((index) => truth.includes(index)) ? 'right' : 'wrong';
    ++sums[verdict];
    if ((verdict === 'wrong' || verdict === 'none') && process.env.ORIGO_THOROUGH === '2') console.log(`${name}: ${layers[i].name} (${row.raw_name}) is on ${operators}, ${row.match}`);
  });
  return sums;
}

let profiled = 0;
const all = { right: 0, wrong: 0, none: 0, extra: 0 };
for (const source of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  if (fs.statSync(source).size > mostBytes) continue;
  for (const level of ['-O0', '-O1']) {
    if (run(bin, 'circle2circle', [level, '--origin=ignore', '--no-origin-json', source, at('model.tflite')]).status) continue; // every_model.py looks at these
    const sums = judge(`${path.basename(source)} ${level}`, at('model.tflite'));
    if (!sums) continue;
    ++profiled;
    for (const key of Object.keys(all)) all[key] += sums[key];
  }
}
const share = (part) => `${(100 * part / Math.max(1, all.right + all.wrong + all.none)).toFixed(2)} %`;
console.log(`${which}: ${profiled} profiles of Arm NN; of the rows of operators ${share(all.right)} on theirs, ${share(all.wrong)} on others, ${share(all.none)} on none; ${all.extra} more of no operator`);
if (all.wrong + all.none > 0.02 * (all.right + all.wrong + all.none)) fail(`${all.wrong} rows are on other operators, and ${all.none} on none`);
const least = which === 'networks' ? 30 : 8;
if (profiled < least) fail(`only ${profiled} profiles`);
process.exit(failures.length ? 1 : 0);
