// quantised.mjs BIN ORACLE SCRATCH FOLDER networks|models [PAGE]: what quantised.sh does, once the runtimes are there.
import fs from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eachOf, isExplained, judgeModels } from './judge.mjs';
import { answerOf, modelsOf, tap } from './taps.mjs';

const [bin, oracle, scratch, root, what, page] = process.argv.slice(2);
const tool = name => path.join(bin, name), taps = path.join(scratch, 'taps');
const schemes = { int8: ['--input_data', 'random'], int16x8: ['--input_data', 'random'], dynamic: [], weights: [], float16: [] };

// Of public ones a few small networks of many operators, unless all are asked for.
const few = ['mobilenet_v1_025_128_f32', 'resnet8_cifar_f32', 'vww_96_f32', 'textcls_wordvec_f32', 'sdpa_composite_f32', 'mtcnn_rnet_f32',
  'mnist_lstm_f32'];
const floats = modelsOf([root], ['.tflite']).filter(file => path.basename(file).endsWith('_f32.tflite') &&
  (what === 'networks' || process.env.ORIGO_THOROUGH === '1' || few.includes(path.basename(file, '.tflite'))));

// Where the runtime rounds a tie in its own way, integers are a step off, which is rare. Operators that stayed float are judged by
// check.mjs. The runtime finds memory too small, which it has set aside itself.
const isStep = text => {
  const [, some, all] = /; (\d+) of (\d+) differ, most by 1\.000e\+00,/.exec(text) ?? [];
  return some && 1000 * some <= all;
};
const isFloat = text => /f32 -> f32\t/.test(text);
const isKnown = text => text.startsWith('ultraface_rfb320_f32 int16x8: the runtime refuses it') && text.includes('Custom allocation is too small');

const problems = [], refused = [];
const made = floats.flatMap(source => Object.keys(schemes).map(scheme =>
  ({ source, scheme, file: path.join(scratch, scheme, path.basename(source)), name: `${path.basename(source, '.tflite')} ${scheme}` })));
await eachOf(made, async item => {
  fs.mkdirSync(path.dirname(item.file), { recursive: true });
  try {
    await promisify(execFile)(tool('circle-quantizer'), ['--scheme', item.scheme, ...schemes[item.scheme], item.source, item.file], { timeout: 600000 });
    item.made = true;
  } catch (error) {
    refused.push(item);
    item.why = (error.stderr ?? String(error)).split('\n')[0];
  }
});

// What the runtime does not run as floats, it need not run quantised; what we could not make, it has to be unable to run.
await tap(oracle, taps, floats);
const runs = made.filter(item => item.made && answerOf(taps, item.source).ok);
for (const item of refused) if (answerOf(taps, item.source).ok) problems.push(`${item.name}: ${item.why}`);
await tap(oracle, taps, runs.map(item => item.file));
for (const item of runs.filter(item => !answerOf(taps, item.file).ok))
  problems.push(`${item.name}: the runtime refuses it: ${String(answerOf(taps, item.file).error ?? '').split('\n')[0]}`);

let table = '| scheme | networks | run there | operators the same | … within their bound | … a step off here and there |\n|---|---|---|---|---|---|\n';
let exact = 0;
for (const scheme of Object.keys(schemes)) {
  const files = runs.filter(item => item.scheme === scheme).map(item => item.file);
  const { rows, failures } = await judgeModels(tool('kernel_judge'), taps, files);
  problems.push(...failures.filter(text => !isExplained(text) && !isStep(text) && !isFloat(text)));
  const total = word => [...rows.values()].reduce((sum, row) => sum + row[word], 0);
  const ran = files.filter(file => answerOf(taps, file).ok).length;
  exact += total('exact');
  table += `| ${scheme} | ${files.length} | ${ran} | ${total('exact')} | ${total('within')} | ${failures.filter(isStep).length || ''} |\n`;
}

const known = problems.filter(isKnown);
for (const text of known) console.log(`known: ${text}`);
problems.splice(0, problems.length, ...problems.filter(text => !isKnown(text)));
for (const problem of problems.sort()) console.log(`FAILED ${problem}`);
console.log(`models: ${runs.length} results of ${floats.length} float networks in ${Object.keys(schemes).length} schemes; ` +
  `${refused.length} could not be made, of networks that the runtime cannot run either`);
console.log(table);
if (page) {
  const text = fs.readFileSync(page, 'utf8'), marks = ['<!-- runtime -->\n', '<!-- end of runtime -->\n'];
  fs.writeFileSync(page, text.split(marks[0])[0] + marks[0] + table + marks[1] + text.split(marks[1])[1]);
}
if (runs.length < 25 || exact < 400) {
  console.log('FAILED: too little was judged');
  problems.push('');
}
process.exitCode = problems.length ? 1 : 0;
