#!/usr/bin/env node
// Lets the real runtime run .tflite models and tap each tensor of subgraph 0.
//   taps.mjs ORACLE OUT MODELS...
// makes OUT/NAME/{input,output,tensor}_I.npy for each model, and OUT/NAME/run.json, which says what ran it or why
// nothing did. A model that has a run.json newer than itself is left as it is.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const folderOf = (out, model) =>
  path.join(out, `${path.basename(path.dirname(path.resolve(model)))}-${path.basename(model, '.tflite')}`);

/** What run.json says; { ok: false } without one. */
export const answerOf = (out, model) => {
  const file = path.join(folderOf(out, model), 'run.json');
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)) : { ok: false };
};

/** One run of the oracle over models whose folders are empty. */
async function runAll(oracle, out, models, options) {
  // Integers are mostly indices, which must be small to be in range.
  const child = spawn('node', [path.join(oracle, 'tflite-oracle.mjs'), '--batch', '--engine', 'auto', '--kernels', 'reference', '--seed', '1',
    '--int-range', '0,1', '--jobs', '2', '--timeout', '300', ...options], { stdio: ['pipe', 'pipe', 'inherit'] });
  for (const model of models) {
    fs.rmSync(folderOf(out, model), { recursive: true, force: true });
    fs.mkdirSync(folderOf(out, model), { recursive: true });
    child.stdin.write(JSON.stringify({ model, outputs: folderOf(out, model) }) + '\n');
  }
  child.stdin.end();
  let done = 0;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line);
    fs.writeFileSync(path.join(folderOf(out, answer.model), 'run.json'), line + '\n');
    ++done;
  }
  if (done !== models.length) throw new Error(`taps: the oracle answered for ${done} of ${models.length} models`);
}

/** How many models had to be run. */
export async function tap(oracle, out, models) {
  const fresh = model => {
    const run = path.join(folderOf(out, model), 'run.json');
    return fs.existsSync(run) && fs.statSync(run).mtimeMs > fs.statSync(model).mtimeMs;
  };
  const wanted = models.filter(model => !fresh(model));
  if (wanted.length) await runAll(oracle, out, wanted, ['--tap', 'all']);
  // Some tensors cannot be shown; then at least the outputs.
  const failed = wanted.filter(model => !answerOf(out, model).ok);
  if (failed.length) await runAll(oracle, out, failed, []);
  return wanted.length;
}

/** Model files with one of these endings, of folders (not of those inside) or given themselves. */
export const modelsOf = (given, endings) => given.flatMap(item => fs.statSync(item).isDirectory()
  ? fs.readdirSync(item).sort().filter(file => endings.includes(path.extname(file))).map(file => path.join(item, file))
  : [item]);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [oracle, out, ...given] = process.argv.slice(2);
  if (!given.length) {
    console.error('usage: taps.mjs ORACLE OUT MODELS...');
    process.exit(2);
  }
  const models = modelsOf(given, ['.tflite']);
  console.error(`taps: ${models.length} models, ${await tap(oracle, out, models)} run`);
}
