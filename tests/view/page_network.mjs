// The network whose page is looked at, by itself and with everything that a page can take in, and a few others; cases about their pages.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { launch, root, tool } from './browser.mjs';

export const here = process.cwd(), browser = await launch();
tool('circle2circle', '--embed-origin=none', '--no-origin-json', `${root}/res/mobilenet_v2.origo`, 'net.tflite');
tool('circle2circle', '-O1', 'net.tflite', 'net.circle');
tool('origin-view', 'net.circle', '--source', 'net.tflite', '-o', 'net.html');
export const map = JSON.parse(tool('origin-dump', '--json', 'net.circle'));
export const rows = map.target.subgraphs[0].operators, ledger = map.ledger.filter(row => 'operator' in row);
assert(rows.length > 50 && map.source.subgraphs[0].operators.length > 200);
export const cases = [];
export const test = (name, run, options) => cases.push([name, run, options]);
// The same with everything that a page can take in.
tool('circle2circle', '-O1', '--history=net.history', 'net.tflite', 'again.circle');
assert(readFileSync('again.circle').equals(readFileSync('net.circle')), 'a history changes the result');
tool('circle-interpreter', '--seed=1', '--profile=net.trace', 'net.circle');
writeFileSync('npu.json', '{"target": "npu", "ops": {"CONV_2D": {}, "DEPTHWISE_CONV_2D": {}, "ADD": {}}}');
export const errorRows = [{ subgraph: 0, tensor: 2, metrics: { MSE: 0.25, PSNR: null }, own: 0.125, inherited: 0.0625, name: 'stem', news: [1] }, { subgraph: 0, tensor: 7, metrics: { MSE: 4 } }];
writeFileSync('errors.json', JSON.stringify({ meta: { metric: 'MSE' }, errors: [...errorRows, { subgraph: 9, tensor: 1, metrics: { MSE: 1 } }, { tensor: -1 }, 'x', { subgraph: 0, tensor: 3, unmeasured: 'why' }] }));
const everything = ['net.circle', '--source', 'net.tflite', '--history', 'net.history', '--profile', 'net.trace', '--errors', 'errors.json', '--target', 'npu.json', '--constants'];
tool('origin-view', ...everything, '-o', 'full.html');

const second = JSON.parse(readFileSync('net.trace', 'utf8'));
for (const event of second.traceEvents) if (event.dur) event.dur *= 2, event.ts *= 2;
writeFileSync('second.trace', JSON.stringify(second));
tool('origin-view', 'net.circle', '--source', 'net.tflite', '--profile', 'net.trace', '--profile', 'second.trace', '-o', 'two.html');
tool('origin-view', 'net.tflite', '-o', 'one.html');

tool('circle2circle', '-O1', '--history=layers.history', `${root}/res/transformer.origo`, 'layers.circle');
tool('origin-view', 'layers.circle', '--source', `${root}/res/transformer.origo`, '--history', 'layers.history', '-o', 'layers.html');
tool('circle2circle', '-O1', `${root}/res/while.origo`, 'loop.circle');
tool('circle-interpreter', '--seed=1', '--runs=3', '--profile=loop.trace', 'loop.circle');
tool('origin-view', 'loop.circle', '--source', `${root}/res/while.origo`, '--profile', 'loop.trace', '-o', 'loop.html');
tool('origo', 'optimize', '--view', '--profile', '--no-run', 'net.tflite', 'timed.circle');
writeFileSync('sample.origo', readFileSync(`${root}/res/mobilenet_v2.origo`));
tool('circle2circle', '-O1', 'sample.origo', 'sample.circle');
tool('origin-view', 'sample.circle', '--source', 'sample.origo', '-o', 'sample.html');
tool('circle2circle', '-O1', `${root}/tests/view/signatures.origo`, 'signatures.circle');
tool('origin-view', 'signatures.circle', '--source', `${root}/tests/view/signatures.origo`, '-o', 'signatures.html');
tool('circle-quantizer', '--scheme', 'int8', '--input_data', 'random', 'net.tflite', 'quantized.circle');
tool('visq', '-f', 'net.tflite', '-q', 'quantized.circle', '--blame', '--engine=fast', '--records=1', '--json=quantized.json');
tool('origin-view', 'quantized.circle', '--source', 'net.tflite', '--errors', 'quantized.json', '--constants', '-o', 'quantized.html');

execFileSync('/usr/bin/python3', [`${root}/tests/onnx.py`, '--example', 'torch.onnx']);
tool('circle2circle', '-O1', '--history=torch.history', 'torch.onnx', 'torch.circle');
tool('circle-interpreter', '--seed=1', '--profile=torch.trace', 'torch.circle');
tool('origin-view', 'torch.circle', '--source', 'torch.onnx', '--history', 'torch.history', '--profile', 'torch.trace', '-o', 'torch.html');
