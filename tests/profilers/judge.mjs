// usage: node judge.mjs BIN MODULES WORK networks|models < LIST
// Exits with 1 where rows of delegates are put on operators that have no row of that type alone, or fewer rows, where times do not add up, or
// where too few networks give such rows at all. ORIGO_THOROUGH=2 tells each profile's shares, and rows of which nothing is known.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Profiler } from './tflite.mjs';

const [bin, modules, work, which] = process.argv.slice(2);
const { ORIGO_THOROUGH = '0' } = process.env, thorough = ORIGO_THOROUGH !== '0';
const runs = 3, mostOperators = thorough ? 1000 : 450, mostBytes = 20e6;
const tool = (name, args) => execFileSync(path.join(bin, name), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 });
const profiler = new Profiler(modules);
const failures = [];
const fail = (what) => { failures.push(what); console.log(`FAILED: ${what}`); };

/** Of what is not merged. */
function shares({ right, wrong, unknown, none }) {
  const share = (part) => `${(100 * part / Math.max(1, right + wrong + none + unknown)).toFixed(2)} %`;
  return `${share(right)} on operators of that type, ${share(unknown)} on operators that have no row alone, ${share(wrong)} on others, ${share(none)} on none`;
}

/** A type without the order of dimensions: a sparse network is run with channels first as a whole, in kernels for that, a part of it is not. */
const plain = (kind) => kind.replace(/\((N[CHW]+2)?N[CHW]+, /, '(').replace(/ SPMM$/, ' GEMM').replace(/ Conv2D HWC2CHW$/, ' IGEMM');

/** Of each operator of a subgraph, itself and those in front of it that compute its constants: DENSIFY, DEQUANTIZE. */
function withConstants(model, subgraph) {
  const lines = tool('circledump', [model]).split('\n}')[subgraph].split('\n'), producers = new Map(), operators = [];
  const name = '%(?:"(?:[^"\\\\]|\\\\.)*"|[^\\s,)]+?)';
  const inputs = new Set(/\((.*?)\) -> /.exec(lines.find((line) => line.startsWith('subgraph ')))?.[1].match(new RegExp(`${name}(?=: )`, 'g')));
  for (const line of lines) {
    const found = /^ {2}(%.*?) = [A-Z][\w.]*\((.*)\)/.exec(line);
    if (!found) continue;
    const operands = found[2].match(new RegExp(`${name}(?=[,)]|$)`, 'g')) ?? [], made = operands.filter((one) => producers.has(one)).map((one) => producers.get(one));
    const constant = operands.length > 0 && !operands.some((one) => inputs.has(one)) && made.every((one) => operators[one].constant);
    for (const result of found[1].match(new RegExp(`${name}(?=: )`, 'g')) ?? []) producers.set(result, operators.length);
    operators.push({ constant, part: [...new Set([...made.filter((one) => operators[one].constant).flatMap((one) => operators[one].part), operators.length])] });
  }
  return operators.map(({ part }) => part.sort((a, b) => a - b));
}

/** The types of the rows that operators of a subgraph have together, a row each; null if they cannot be cut out or run. */
async function kindsOfPart(model, subgraph, part) {
  try {
    tool('circle-opselector', ['--by_id', part.map((index) => `${subgraph}:${index}`).join(','), model, path.join(work, 'part.tflite')]);
    const summary = (await profiler.profile(path.join(work, 'part.tflite'), 10)).replace(/Top by[^]*?(?=Run Order|$)/g, ''); // which lists some again
    return [...summary.matchAll(/Delegate\/(.*):\d+$/gm)].map((found) => plain(found[1]));
  } catch {
    return null;
  }
}

/** Looks up, or finds and keeps. */
async function kept(known, key, find) {
  if (!known.has(key)) known.set(key, await find());
  return known.get(key);
}

/** The types of the rows that an operator has alone; none if the delegate does not take it so, or it takes no time. */
function kindsOf(model, subgraph, index, known) {
  return kept(known, `${subgraph}:${index}`, async () => {
    let kinds = await kindsOfPart(model, subgraph, [index]);
    if (!kinds?.length) { // weights may be computed, which is not taken
      const part = (await kept(known, `parts of ${subgraph}`, () => withConstants(model, subgraph)))[index];
      if (part?.length > 1) kinds = await kindsOfPart(model, subgraph, part);
    }
    return kinds ?? [];
  });
}

/** The types of the rows that are more with an operator behind those in front of it: shapes may be known only there. */
function kindsBehind(model, subgraph, index, known) {
  return kept(known, `behind ${subgraph}:${index}`, async () => {
    const first = (count) => kindsOfPart(model, subgraph, [...Array(count).keys()]);
    const more = await first(index + 1), before = index ? await first(index) : [];
    if (!more || !before) return [];
    for (const kind of before) if (more.includes(kind)) more.splice(more.indexOf(kind), 1);
    return more;
  });
}

async function judge(name, model) {
  let summary;
  try {
    summary = await profiler.profile(model, runs);
  } catch {
    return null; // this runtime is of 2022 and has not all operators
  }
  if (!summary.includes('Delegate/')) return null;
  const file = path.join(work, 'summary.txt');
  fs.writeFileSync(file, summary);
  let joined;
  try {
    joined = JSON.parse(tool('origin-dump', ['--join', file, '--json', model]));
  } catch (error) {
    fail(`${name}: is not joined`);
    return null;
  }
  // Rows are judged by their number, for how long each takes differs from run to run; their time is told.
  const sums = { right: 0, wrong: 0, unknown: 0, none: 0, merged: 0 }, times = { ...sums };
  const count = (verdict, row) => { ++sums[verdict]; times[verdict] += row.ns; };
  const known = new Map(), nodes = (summary.split('Delegate internal')[0].split('Top by')[0].match(/\tTfLiteXNNPackDelegate\t| TfLiteXNNPackDelegate\t/g) ?? []).length;
  const places = [], rowsOf = new Map();
  let total = 0;
  for (const row of joined.rows) {
    total += row.ns;
    const found = /^Delegate\/(.*):(\d+)$/.exec(row.raw_name);
    if (!found) continue;
    if (row.match === 'exact') fail(`${name}: ${row.raw_name} is exact`);
    const operators = row.partition ?? (row.op_index === null ? [] : [row.op_index]);
    if (!operators.length) {
      count('none', row);
      continue;
    }
    const kinds = [], subgraph = row.subgraph ?? 0;
    for (const index of operators) kinds.push(await kindsOf(model, subgraph, index, known));
    const fits = () => kinds.some((rows) => rows.includes(plain(found[1])));
    for (let i = 0; row.match !== 'merged' && i < kinds.length && !fits(); ++i)
      if (!kinds[i].length) kinds[i] = await kindsBehind(model, subgraph, operators[i], known);
    const untold = kinds.some((rows) => !rows.length);
    if (row.match === 'merged') {
      count('merged', row);
      if (!fits() && !untold) fail(`${name}: ${row.raw_name} is merged over ${operators}, none of which is of that type`);
      continue;
    }
    // A row more than alone is another operator's.
    const whose = `${subgraph}:${operators}`, rows = (rowsOf.get(whose) ?? 0) + 1;
    rowsOf.set(whose, rows);
    const right = fits() && (untold || rows <= kinds.flat().length);
    count(right ? 'right' : untold ? 'unknown' : 'wrong', row);
    if (!right && (!untold || ORIGO_THOROUGH === '2')) console.log(`${name}: ${row.raw_name} is row ${rows} of ${whose}, which have ${kinds.join('; ')}`);
    if (!subgraph) places.push([Number(found[2]), Math.max(...operators)]);
  }
  if (total !== joined.total_ns || joined.attributed_ns + joined.synthetic_ns + joined.unattributed_ns !== total)
    fail(`${name}: the times do not add up`);
  if (sums.wrong + sums.none > 0.02 * (sums.right + sums.wrong + sums.none + sums.unknown))
    fail(`${name}: of ${sums.right + sums.wrong + sums.none + sums.unknown} rows, ${sums.wrong} are on wrong operators and ${sums.none} on none`);
  // Within one node, rows go with operators.
  places.sort((a, b) => a[0] - b[0]);
  if (nodes === 1 && places.some(([, operator], i) => i && operator < places[i - 1][1])) fail(`${name}: rows change their order`);
  return { sums, times };
}

let profiled = 0;
const all = { right: 0, wrong: 0, unknown: 0, none: 0, merged: 0 }, allTime = { ...all };
for (const source of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  if (fs.statSync(source).size > mostBytes) continue;
  const before = path.join(work, 'before.tflite'), after = path.join(work, 'after.tflite');
  const write = (level, output) => spawnSync(path.join(bin, 'circle2circle'), [level, '--origin=ignore', '--no-origin-json', source, output], { encoding: 'utf8' });
  const written = write('-O0', before);
  if (written.status || write('-O1', after).status) continue; // every_model.py looks at these
  if (Number(/ (\d+) operators/.exec(written.stderr)?.[1] ?? 0) > mostOperators) continue;
  for (const [level, model] of [['-O0', before], ['-O1', after]]) {
    const judged = await judge(`${path.basename(source)} ${level}`, model);
    if (!judged) continue;
    ++profiled;
    for (const key of Object.keys(all)) { all[key] += judged.sums[key]; allTime[key] += judged.times[key]; }
    if (ORIGO_THOROUGH === '2') console.log(`${path.basename(source)} ${level}: ${shares(judged.times)}`);
  }
}
console.log(`${which}: ${profiled} profiles with rows of delegates; of the rows that are not merged ${shares(all)}; of their time ${shares(allTime)}`);
const least = which === 'networks' ? 20 : thorough ? 50 : 8;
for (const [what, { right, wrong, unknown, none }] of [['rows', all], ['time', allTime]])
  if (right < 0.98 * (right + wrong + unknown + none)) fail(`less than 98 % of the ${what} is on operators of that type`);
if (profiled < least) fail(`only ${profiled} profiles have rows of delegates`);
process.exit(failures.length ? 1 : 0);
