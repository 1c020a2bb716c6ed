// usage: node run.mjs BIN MODULES SCRATCH SEEDS < LIST     what rewrites make computes what was there before
// BIN holds circle2circle, MODULES the runtimes of package.json, LIST the .tflite and .origo files. Each is run with as
// many different inputs as SEEDS says. Exits with 1 if a rewritten model computes something else, or nothing any more.
import { execFile, execFileSync, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const [bin, modules, scratch, seedCount] = process.argv.slice(2);
const seeds = Array.from({ length: Number(seedCount) }, (_, i) => i + 1);
const circle2circle = path.join(bin, 'circle2circle');
// -O1, and rewrites outside it wherever they apply; with ORIGO_ORACLE_PASSES=all each pass by itself that changes no results.
const variants = ['-O1', '--passes=decompose-hard-swish', '--passes=merge-duplicate-constants', '--passes=unroll-sequence-lstm'];
if (process.env.ORIGO_ORACLE_PASSES === 'all') {
  const listed = execFileSync(circle2circle, ['--list-passes'], { encoding: 'utf8' }).split('\n');
  const names = listed.filter((line) => /^\S/.test(line) && !line.includes('changes results')).map((line) => line.split(' ')[0]);
  variants.splice(0, variants.length, ...names.map((name) => `--passes=${name}`));
}
const secondsEach = 120 * seeds.length;
/** Of the models that -O1 leaves as they are, one in four is run, which a hash of its name draws; with ORIGO_THOROUGH=1 all. */
const isDrawn = (model) => (process.env.ORIGO_THOROUGH ?? '0') !== '0' || createHash('md5').update(path.basename(model)).digest()[0] % 4 === 0;

/** Writes the model after the option, and says what it did. */
async function write(option, model, output) {
  const trace = `${output}.trace`;
  await promisify(execFile)(circle2circle,
    [option, '--origin=ignore', '--embed-origin=none', '--no-origin-json', `--trace=${trace}`, model, output]);
  return fs.readFileSync(trace, 'utf8');
}

/** The rewritten models that are to be compared with this one. */
async function cases(model, number) {
  const file = (name) => path.join(scratch, `${number}.${name}.tflite`);
  const converted = file('converted');
  try {
    await write('-O0', model, converted);
  } catch {
    return { refused: true, list: [] }; // every_model.py looks at these
  }
  const same = (a, b) => fs.readFileSync(a).equals(fs.readFileSync(b));
  // A sample in text form is made a file by converting it.
  const before = model.endsWith('.tflite') ? model : converted;
  const list = [];
  for (const option of variants) {
    const after = file(option.replace(/^-+(passes=)?/, ''));
    const trace = await write(option, model, after);
    // A list of passes drops what is not used too, which is no reason to run the model.
    const fired = trace.includes(`"pass":"${option.replace(/.*=/, '')}"`);
    const changed = option === '-O1' ? !same(after, converted) : fired;
    if (changed || (option === '-O1' && isDrawn(model))) list.push({ name: path.basename(model), option, before, after, changed });
  }
  return { list };
}

class Lane {
  /** Runs one comparison in a process of its own, which is used again unless it dies. */
  ask(job) {
    this.child ??= fork(new URL('compare.mjs', import.meta.url), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    return new Promise((resolve) => {
      let state = 'not runnable';
      const done = (verdict, dead) => {
        clearTimeout(limit);
        this.child.removeAllListeners();
        if (dead) {
          this.child.kill('SIGKILL');
          this.child = null;
        }
        resolve(verdict);
      };
      const late = () => done({ state, reason: `takes more than ${secondsEach} s` }, true);
      const limit = setTimeout(late, 1000 * secondsEach);
      this.child.on('exit', () => done({ state, reason: 'the runtime dies' }, true));
      this.child.on('message', (message) => {
        if (message.verdict) done(message.verdict, false);
        else state = 'broken';
      });
      this.child.send(job);
    });
  }
}

/**
 * Neither runtime can run everything, and one that ran the model before has to run the one after. With several seeds,
 * what a rewrite changed is run in two.
 */
async function compare(lane, { option, before, after, changed }) {
  const verdicts = [];
  const enough = changed && seeds.length > 1 ? 2 : 1;
  // The oldest one leaves out what is fused into TRANSPOSE_CONV.
  const engines = option === '--passes=separate-activation' ? ['litert', 'xnnpack'] : ['tflite', 'litert', 'xnnpack'];
  for (const engine of engines) {
    if (verdicts.filter(({ state }) => state === 'equal').length === enough) break;
    verdicts.push({ engine, ...await lane.ask({ engine, modules, before, after, seeds }) });
    // One that reads what it did not write, such as by a wrong index, has no meaning to be kept elsewhere either.
    if (verdicts.at(-1).state === 'unsound') break;
  }
  const failed = verdicts.find(({ state }) => state === 'different' || state === 'broken');
  if (failed) return failed;
  const equal = verdicts.filter(({ state }) => state === 'equal');
  const unstable = verdicts.find(({ state }) => state === 'unstable');
  if (!equal.length && unstable) return { ...unstable, state: 'broken' };
  if (!equal.length) return { ...verdicts[0], reason: verdicts.at(-1).reason, state: 'not runnable' };
  const error = Math.max(...equal.map((verdict) => verdict.error));
  return { state: 'equal', engine: equal.map(({ engine }) => engine).join(' and '), error };
}

const models = fs.readFileSync(0, 'utf8').split('\n').filter(Boolean);
const done = [];
let next = 0, refused = 0;
async function work() {
  const lane = new Lane();
  while (next < models.length) {
    const number = next++;
    const { list, refused: isRefused } = await cases(models[number], number);
    if (isRefused) ++refused;
    for (const one of list) done.push({ ...one, ...await compare(lane, one) });
    const used = fs.readdirSync(scratch).filter((name) => name.startsWith(`${number}.`));
    used.forEach((name) => fs.rmSync(path.join(scratch, name)));
  }
  lane.child?.disconnect();
}
await Promise.all(Array.from({ length: os.availableParallelism() }, work));

function classOf(reason) {
  if (/unresolved custom op|Select TensorFlow op/.test(reason)) return 'an operator without a kernel';
  if (/type (tf_)?string/.test(reason)) return 'strings as inputs';
  return printable(reason.replace(/^third_party\S* /, ''));
}
/** Names come from files of other people. */
const printable = (text) => text.replace(/[^ -~]/g, '?').slice(0, 200);

done.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name));
const title = ({ name, option }) => printable(`${name} ${option}`);
for (const one of done.filter(({ state, changed }) => state === 'equal' && changed)) {
  const how = one.error ? `largest error ${one.error.toExponential(1)} of the range` : 'all bits';
  console.log(`equal ${title(one)}: ${how} in ${one.engine}`);
}
const classes = new Map();
for (const one of done.filter(({ state }) => state === 'not runnable'))
  classes.set(classOf(one.reason), [...classes.get(classOf(one.reason)) ?? [], one]);
for (const [reason, list] of [...classes].sort(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`not runnable in the runtimes, ${reason}: ${list.map(title).join(', ')}`);
const bad = done.filter(({ state }) => state === 'different' || state === 'broken');
for (const one of bad) console.log(`FAILED ${title(one)}: ${one.state} in ${one.engine}: ${printable(one.reason)}`);
const count = (which, changed) => done.filter((one) => one.state === which && one.changed === changed).length;
console.log(`models: ${models.length} files in the real runtimes, ${seeds.length} inputs each: ` +
  `${count('equal', true)} rewritten and ${count('equal', false)} unchanged compute the same, ` +
  `${count('not runnable', true)} rewritten and ${count('not runnable', false)} unchanged are not runnable, ` +
  `${refused} refused, ${bad.length} failed`);
process.exitCode = bad.length || !count('equal', true) ? 1 : 0;
