#!/usr/bin/env node
// Lets the real runtime run every .tflite model below the given folders and tap each tensor of subgraph 0.
//   taps.mjs ORACLE OUT MODELS...
// makes OUT/NAME/{input,output,tensor}_I.npy for each model, and OUT/NAME/run.json, which says what ran it or why
// nothing did. A model that has a run.json newer than itself is left as it is.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { spawn } from 'node:child_process';

const [oracle, out, ...folders] = process.argv.slice(2);
if (!folders.length) {
  console.error('usage: taps.mjs ORACLE OUT MODELS...');
  process.exit(2);
}
const models = folders.flatMap(given => fs.statSync(given).isDirectory()
  ? fs.readdirSync(given).sort().filter(file => file.endsWith('.tflite')).map(file => path.join(given, file))
  : [given]);
const folderOf = model => path.join(out, `${path.basename(path.dirname(path.resolve(model)))}-${path.basename(model, '.tflite')}`);
const fresh = model => {
  const run = path.join(folderOf(model), 'run.json');
  return fs.existsSync(run) && fs.statSync(run).mtimeMs > fs.statSync(model).mtimeMs;
};
const wanted = models.filter(model => !fresh(model));
console.error(`taps: ${models.length} models, ${wanted.length} to run`);
if (wanted.length) {
  // The random numbers of the second seed; integers are mostly indices, which must be small to be in range.
  const child = spawn('node', [path.join(oracle, 'tflite-oracle.mjs'), '--batch', '--engine', 'auto', '--kernels', 'reference', '--seed', '1',
    '--int-range', '0,1', '--tap', 'all', '--jobs', '2', '--timeout', '120'], { stdio: ['pipe', 'pipe', 'inherit'] });
  for (const model of wanted) {
    fs.rmSync(folderOf(model), { recursive: true, force: true });
    fs.mkdirSync(folderOf(model), { recursive: true });
    child.stdin.write(JSON.stringify({ model, outputs: folderOf(model) }) + '\n');
  }
  child.stdin.end();
  let done = 0;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line);
    fs.writeFileSync(path.join(folderOf(answer.model), 'run.json'), line + '\n');
    ++done;
  }
  if (done !== wanted.length) {
    console.error(`taps: the oracle answered for ${done} of ${wanted.length} models`);
    process.exit(1);
  }
}
