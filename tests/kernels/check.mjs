// check.mjs BIN ORACLE SCRATCH DOCUMENT FOLDER networks|models: what run.sh does, once the runtimes are there.
import fs from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { documentOf, isNear, isRight, measure, readDocument } from './accuracy.mjs';
import { eachOf, isExplained, judgeModels, operatorsOf } from './judge.mjs';
import { answerOf, folderOf, modelsOf, tap } from './taps.mjs';

const [bin, oracle, scratch, document, root, what] = process.argv.slice(2);
const generated = what === 'networks', bless = !generated && process.env.ORIGO_BLESS === '1';
const all = process.env.ORIGO_KERNELS === 'all' || bless;
const tool = name => path.join(bin, name), taps = path.join(scratch, 'taps');

// Of each model its name as in the document, and the file that the runtime can read.
const models = ['', 'mini', 'recipes'].filter(folder => fs.existsSync(path.join(root, folder))).flatMap(folder => modelsOf([path.join(root, folder)], ['.tflite', '.circle'])
  .map(file => ({ name: path.join(folder, path.basename(file)), file, size: fs.statSync(file).size })));
const results = {};
async function export_(model) {
  if (model.file.endsWith('.tflite')) return;
  const folder = path.join(scratch, 'exported', path.dirname(model.name) === '.' ? 'models' : path.dirname(model.name));
  const made = path.join(folder, `${path.basename(model.name)}.tflite`);
  fs.mkdirSync(folder, { recursive: true });
  try {
    const fresh = made.replace(/tflite$/, 'new.tflite');
    await promisify(execFile)(tool('circle2circle'), ['-O0', '--origin=ignore', '--embed-origin=none', '--no-origin-json', model.file, fresh]);
    // One that is the same keeps its age, and with it its taps.
    if (fs.existsSync(made) && fs.readFileSync(made).equals(fs.readFileSync(fresh))) fs.rmSync(fresh);
    else fs.renameSync(fresh, made);
    model.file = made;
  } catch (error) {
    if (error.code !== 1) throw error;
    results[model.name] = { unjudged: 'no .tflite file can say what they do' };
  }
}

// The runtime has been seen to compute with what models before it left in its memory: who fails is asked again, alone.
async function askAlone(model) {
  fs.rmSync(folderOf(taps, model.file), { recursive: true, force: true });
  await tap(oracle, taps, [model.file]);
}
async function judgeTwice(models) {
  const judge = () => judgeModels(tool('kernel_judge'), taps, models.map(model => model.file));
  const first = await judge();
  const failing = models.filter(model => first.failures.some(text =>
    !isExplained(text) && text.includes(`\t${path.basename(model.file)}: `)));
  for (const model of failing) await askAlone(model);
  return failing.length ? judge() : first;
}

// Which operators with which types there are.
await eachOf(models, async model => {
  const lines = await operatorsOf(tool('kernel_judge'), model.file);
  if (!lines) results[model.name] = { unjudged: 'refused by import' };
  model.keys = new Set((lines ?? []).filter(line => line.verdict !== 'control').map(({ op, types }) => `${op}\t${types}`));
});

// The smallest models that together have all of them; where the runtime refuses one, others are looked for.
const open = new Set(models.flatMap(model => [...model.keys])), every = open.size;
const judged = { exact: 0, within: 0, unsupported: 0, failed: [], operators: 0 };
// Thousands of tensors are too many to be shown.
let left = models.filter(model => !results[model.name] && !model.name.startsWith('ten_thousand')).sort((a, b) => a.size - b.size || (a.name < b.name ? -1 : 1));
let ran = 0, chosen = [];
for (let round = 0; round < (all ? 1 : 3); ++round) {
  const wanted = new Set(open);
  // Of what the tree makes the networks, too.
  const isNetwork = model => generated && path.dirname(model.name) === '.';
  const picked = all ? left : left.filter(model => [...model.keys].filter(key => wanted.delete(key)).length || isNetwork(model));
  left = left.filter(model => !picked.includes(model));
  await eachOf(picked, export_);
  const runnable = picked.filter(model => !results[model.name]);
  ran += await tap(oracle, taps, runnable.map(model => model.file));
  const { rows, failures } = await judgeTwice(runnable);
  for (const [key, row] of rows) {
    if (row.exact + row.within) open.delete(key);
    for (const word of ['exact', 'within', 'unsupported']) judged[word] += row[word];
  }
  judged.failed.push(...failures);
  chosen.push(...runnable);
}

// Whole models.
const verdictOf = result => result.bound ?? (result.refused ? 'refused' : 'unjudged');
let recorded = generated ? {} : readDocument(fs.readFileSync(document, 'utf8'));
// Of what is different docs/kernels.md says why; some of it is chance.
const isAsRecorded = name => generated ? isRight(results[name]) : recorded[name] === 'different' || (recorded[name] && isNear(recorded[name], verdictOf(results[name])));
async function judgeWhole(model) {
  results[model.name] = answerOf(taps, model.file).ok
    ? await measure(tool('circle-interpreter'), taps, model.file, scratch)
    : { unjudged: 'because no runtime runs them' };
}
await eachOf(chosen, judgeWhole);
for (const model of chosen.filter(({ name }) => !isAsRecorded(name))) {
  await askAlone(model);
  await judgeWhole(model);
}

const explained = judged.failed.filter(isExplained).length;
const problems = judged.failed.filter(text => !isExplained(text)).map(text => `operator: ${text}`);
if (bless) {
  fs.writeFileSync(`${document}.new`, documentOf(results));
  fs.renameSync(`${document}.new`, document);
}
if (!generated) recorded = readDocument(fs.readFileSync(document, 'utf8'));
for (const [name, result] of Object.entries(results))
  if (!isAsRecorded(name))
    problems.push(`${name}: ${verdictOf(result)}${result.refused ? ` (${result.refused})` : ''}` +
      (generated ? '' : `, ${document} says ${recorded[name] ?? 'nothing'}; ORIGO_BLESS=1 tests/kernels/run.sh writes it`));
for (const name of all && !generated ? Object.keys(recorded).filter(name => !results[name]) : []) problems.push(`${name}: is in ${document}, and no model`);

for (const problem of problems.sort()) console.log(`FAILED ${problem}`);
const covered = every - open.size;
console.log(`models: ${chosen.length} in the real runtime (${ran} anew), ${judged.exact} operators exact, ${judged.within} within their bound, ` +
  `${judged.unsupported} without a kernel, ${explained} accidents of the runtime; ${covered} of ${every} operators with their types judged, ${Object.values(results).filter(r => r.bound).length} models end to end`);
// What no runtime shows (foreign operators, types of circle) stays open.
if (generated ? covered < 100 || judged.exact < 300 : covered < 200 || judged.exact < 1000) {
  console.log('FAILED: too few operators were judged');
  problems.push('');
}
process.exitCode = problems.length ? 1 : 0;
