// How near whole models come to the real runtime, and docs/records/accuracy.md, which records it.
import fs from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { answerOf, folderOf } from './taps.mjs';

/** The elements of a .npy file as bytes. */
const elementsOf = file => {
  const bytes = fs.readFileSync(file);
  return bytes.subarray(10 + bytes.readUInt16LE(8));
};

const readers = { float32: [4, 'readFloatLE'], int8: [1, 'readInt8'], uint8: [1, 'readUInt8'], int16: [2, 'readInt16LE'] };

/** 0 for the same bits; of floats the largest difference, as a part of the range; of quantised numbers in steps. */
function distance(dtype, got, want) {
  if (got.equals(want)) return 0;
  if (got.length !== want.length || !readers[dtype]) return Infinity;
  const [size, read] = readers[dtype];
  let low = Infinity, high = -Infinity, most = 0;
  for (let i = 0; i < want.length; i += size) {
    const a = want[read](i), b = got[read](i);
    if (Number.isFinite(a)) [low, high] = [Math.min(low, a), Math.max(high, a)];
    if (a !== b && !(Number.isNaN(a) && Number.isNaN(b))) most = Math.max(most, Number.isNaN(a - b) ? Infinity : Math.abs(a - b));
  }
  if (dtype !== 'float32') return most;
  return most / (high > low ? high - low : Math.max(Math.abs(high), 1e-30));
}

/** "exact", a power of ten that the distance is below, or whole steps. Below 1e-7 it is the last bit. */
function boundOf(dtype, d) {
  if (d === 0) return 'exact';
  if (!Number.isFinite(d) || (dtype === 'float32' && d > 1)) return 'different';
  return dtype === 'float32' ? `1e${Math.max(-7, Math.ceil(Math.log10(d)))}` : `${d} step${d > 1 ? 's' : ''}`;
}
const rank = bound => bound === 'exact' ? -8 : bound === 'different' ? 99 : /^1e/.test(bound) ? Number(bound.slice(2)) : Number.parseInt(bound);

/** { bound } or { refused }: of a model that the runtime has run. */
export async function measure(interpreter, taps, model, scratch) {
  const answer = answerOf(taps, model), folder = folderOf(taps, model);
  const out = fs.mkdtempSync(path.join(scratch, 'run-'));
  try {
    for (let k = 0; fs.existsSync(path.join(folder, `input_${k}.npy`)); ++k)
      fs.writeFileSync(path.join(out, `in${k}`), elementsOf(path.join(folder, `input_${k}.npy`)));
    await promisify(execFile)(interpreter, [model, path.join(out, 'in'), path.join(out, 'out')], { timeout: 900000 });
    const bounds = answer.outputs.map(({ dtype }, k) =>
      boundOf(dtype, distance(dtype, fs.readFileSync(path.join(out, `out${k}`)), elementsOf(path.join(folder, `output_${k}.npy`)))));
    return { bound: bounds.reduce((a, b) => rank(b) > rank(a) ? b : a, 'exact'), engine: answer.engine };
  } catch (error) {
    if (error.code !== 1) throw new Error(`${model}: ${error.signal ?? error.message}`);
    return { refused: error.stderr.split('\n')[0].replace(/^.*?: error: /, '').replaceAll(model, '').replace(/^: /, '') };
  } finally {
    fs.rmSync(out, { recursive: true, force: true });
  }
}

/** Whether a measured bound may stand for a recorded one: floats may move by one power, with another libm. */
export const isNear = (recorded, measured) => recorded === measured ||
  ([recorded, measured].every(b => b === 'exact' || b.startsWith('1e')) && Math.abs(rank(recorded) - rank(measured)) <= 1);

/** Whether what is recorded nowhere may stand: floats within 1e-5 of their range, integers within a step, or no runtime to compare with. */
export const isRight = ({ bound, unjudged }) => Boolean(unjudged) || ['exact', '1 step'].includes(bound) || (/^1e-/.test(bound) && rank(bound) <= -5);

const sections = { '': 'Networks', mini: 'mini/', recipes: 'recipes/' };
const column = { litert: 'LiteRT', tfjs: 'older' };

/** `results`: of each model, as "mini/add.tflite", what measure() gave, or { unjudged: why }. */
export function documentOf(results) {
  let text = `# How exact runs are

Made by \`tests/kernels/run.sh\`, which compares it with what it measures and writes it anew with \`ORIGO_BLESS=1\`: random
inputs, all operators of a model one after another, and the outputs beside those of the
real TFLite runtime with its reference kernels, of [public models](../../CONTRIBUTING.md#public-models). *exact*: bit for bit. A power of ten: no float differs by more than this
part of the output's range. Steps are those of quantised numbers; thousands of them, or *different*, are an accident of the
runtime that [kernels](../kernels.md) names. *older*: only the runtime of 2023 runs the model (variable tensors, shapes that
depend on data), with fast kernels that round in their own way. There a step is no error, but in a network that quantises on
its way one step at the beginning may become a good part of a small output.
\`x.circle\` is judged after \`circle2circle -O0 x.circle x.tflite\`.

Where floats add up over many operators, the last bit of exp, tanh or a sum in another order grows on its way: behind
softmax and normalisation of long rows most, where a difference is divided by a small number.

## Where runtimes differ

LiteRT changes what its kernels compute, and its own back ends do not agree. What is computed here is what LiteRT's source of
August 2026 does with its own kernels, in both engines; \`tests/regressions/runtime/\` has a model of each with the right numbers.

| operator | here | other runtimes |
|---|---|---|
| UNIDIRECTIONAL_SEQUENCE_LSTM of int8 | the zero point of the hidden state is added | TFLite of 2022 and before takes it off; with zero point 0 all agree |
| CAST of floats to integers | cut off, then the nearest number that there is; NaN the largest one | LiteRT before August 2026: NaN 0, or whatever the processor makes of it |
| ARG_MAX, ARG_MIN | pass over NaN | before July 2026 a NaN in front is the largest and the least |
| SIGN | NaN stays | before June 2026: 0 |
| RELU, RELU6 and their like, fused ones, too | NaN stays | before June 2025: 0; XNNPACK: a bound |
| MAXIMUM, MINIMUM, MAX_POOL_2D, REDUCE_MAX, REDUCE_MIN | NaN is passed over, but as the second operand of the first two | XNNPACK: any of the two |
| SQRT of int8 | steps above the zero point are cut off | none before July 2025 |
| EQUAL, NOT_EQUAL of int16 | real numbers are compared where both have a scale | before September 2025: the integers; so LESS and its like still do |
| MAX_POOL_2D, AVERAGE_POOL_2D whose result has another scale | the integers as they are | TFLM and XNNPACK refuse such models |
| FULLY_CONNECTED of int16 and int8 | with a bias of 64 bits, or none, sums have 64 bits | without a bias LiteRT's optimised kernel and LiteRT.js add up in 32 bits, which wrap, unless the option \`quantized_bias_type\` is INT64 |
| FULLY_CONNECTED of floats and weights with a scale for each block | the input is quantised asymmetrically, whatever its option says | LiteRT without XNNPACK gives the bias alone |
| CONV_2D of floats and int8 whose several scales are equal | the input is quantised symmetrically, as with one scale | XNNPACK: always asymmetrically |
| RESHAPE of empty tensors | −1 beside a size of 0 is what the sizes that are not 0 leave | before July 2026: 0 |
| TOPK_V2 with k below 0 | nothing | before March 2026: refused, or a negative size |
| broadcasts of more than 8 dimensions, results with another scale in CONCATENATION of int8, PACK, UNPACK, MIRROR_PAD | computed | refused, or the process stops |

[Kernels](../kernels.md) has what LiteRT does by accident, and is not followed in.
`;
  for (const [folder, title] of Object.entries(sections)) {
    const of = Object.entries(results).filter(([name]) => path.dirname(name) === (folder || '.')).sort(([a], [b]) => a < b ? -1 : 1);
    const short = name => `\`${path.basename(name)}\``;
    const list = (title, found) => found.length ? `\n${title} (${found.length}): ${found.map(([name]) => short(name)).join(', ')}.\n` : '';
    const near = of.filter(([, r]) => r.bound && r.bound !== 'exact');
    text += `\n## ${title}\n`;
    if (near.length) text += '\n| model | bound | runtime |\n|---|---|---|\n';
    for (const [name, r] of near) text += `| ${short(name)} | ${r.bound} | ${column[r.engine]} |\n`;
    text += list('Exact', of.filter(([, r]) => r.bound === 'exact'));
    const refused = of.filter(([, r]) => r.refused);
    if (refused.length) text += '\nRefused here, though the runtime runs them:\n\n';
    for (const [name, r] of refused) text += `- ${short(name)}: ${r.refused}\n`;
    for (const why of [...new Set(of.map(([, r]) => r.unjudged).filter(Boolean))].sort())
      text += list(`Not judged, ${why}`, of.filter(([, r]) => r.unjudged === why));
  }
  return text;
}

/** What a document says of each model: a bound, 'refused' or 'unjudged'. */
export function readDocument(text) {
  const found = {};
  let folder = '';
  for (const line of text.split('\n')) {
    const heading = /^## (.*)/.exec(line)?.[1];
    if (heading) folder = Object.entries(sections).find(([, title]) => title === heading)?.[0] ?? '';
    const name = file => path.join(folder, file);
    const row = /^\| `([^`]+)` \| ([^|]+) \|/.exec(line), item = /^- `([^`]+)`: /.exec(line), list = /^(Exact|Not judged).*? \(\d+\): (.*)/.exec(line);
    if (row) found[name(row[1])] = row[2];
    if (item) found[name(item[1])] = 'refused';
    if (list) for (const [, file] of list[2].matchAll(/`([^`]+)`/g)) found[name(file)] = list[1] === 'Exact' ? 'exact' : 'unjudged';
  }
  return found;
}
