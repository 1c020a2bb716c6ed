// usage: node v8.mjs BROWSER NAME      in a folder with NAME.wasm, a generated network
// Leaves there what V8 samples of it while it runs, NAME.trace.json and NAME.pftrace by Chromium and NAME.cpuprofile by Node.js, and the profile of Chromium.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const [executable, name] = process.argv.slice(2);
// Compiled well before samples are taken.
const prepare = `(async () => {
  const bytes = Uint8Array.from(atob('${fs.readFileSync(`${name}.wasm`).toString('base64')}'), (c) => c.charCodeAt(0));
  globalThis.net = (await WebAssembly.instantiate(bytes)).instance.exports;
  for (const end = performance.now() + 300; performance.now() < end;) net.net_run();
})()`;
const program = `for (const end = performance.now() + 700; performance.now() < end;) for (let i = 0; i < 100; ++i) net.net_run();`;

/** Chromium's protocol of development tools, over pipes. */
class Browser {
  #process;
  #folder = fs.mkdtempSync(path.resolve('browser-'));
  #next = 0;
  #pending = new Map();
  #events = new Map();
  #rest = '';

  constructor() {
    this.#process = spawn(executable, ['--headless', '--no-sandbox', '--remote-debugging-pipe', `--user-data-dir=${this.#folder}`], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.ended = new Promise((done) => this.#process.on('exit', (code, signal) => {
      for (const { reject } of this.#pending.values()) reject(new Error(`the browser ended: ${signal ?? code}`));
      done();
    }));
    this.#process.stdio[3].on('error', () => {}); // whoever waits for an answer is told by its end
    this.#process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (this.#rest + text).split('\0');
      this.#rest = messages.pop();
      for (const { id, method, params, error, result } of messages.map((message) => JSON.parse(message))) {
        if (!id) this.#events.get(method)?.(params);
        else if (error) this.#pending.get(id).reject(new Error(error.message));
        else this.#pending.get(id).resolve(result);
      }
    });
  }
  send(method, params = {}, sessionId) {
    const id = ++this.#next;
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }
  on(method) { return new Promise((done) => this.#events.set(method, done)); }
  async close() {
    this.send('Browser.close').catch(() => {}); // its end may come before its answer
    await this.ended;
  }
}

const browser = new Browser();
const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank' });
const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true });
const evaluate = async (expression) => {
  const { exceptionDetails } = await browser.send('Runtime.evaluate', { awaitPromise: true, expression }, sessionId);
  if (exceptionDetails) throw new Error(exceptionDetails.text);
};
await evaluate(prepare);
for (const [streamFormat, file] of [['json', `${name}.trace.json`], ['proto', `${name}.pftrace`]]) {
  const traceConfig = { includedCategories: ['disabled-by-default-v8.cpu_profiler'], excludedCategories: ['*'] };
  await browser.send('Tracing.start', { transferMode: 'ReturnAsStream', streamFormat, traceConfig });
  await evaluate(program);
  const complete = browser.on('Tracing.tracingComplete'), parts = [];
  await browser.send('Tracing.end');
  const { stream: handle } = await complete;
  for (let eof = false; !eof;) {
    const part = await browser.send('IO.read', { handle });
    parts.push(Buffer.from(part.data, part.base64Encoded ? 'base64' : 'utf8'));
    eof = part.eof;
  }
  fs.writeFileSync(file, Buffer.concat(parts));
}
await browser.close();
execFileSync(process.execPath, ['--cpu-prof', `--cpu-prof-name=${name}.cpuprofile`, '--cpu-prof-interval=200', '-e', `${prepare}.then(() => { ${program} })`]);
