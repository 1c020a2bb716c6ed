// A page in Firefox, opened from the disk: it draws, its tables have rows, and nothing is said on the console. Firefox is driven
// by its own protocol, Marionette: lengths and JSON on a socket.
// usage: tests/view/run.sh BIN SCRATCH firefox.mjs [FILE…]     pages of these models, too
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { rest, root, tool } from './browser.mjs';

const here = process.cwd(), profile = mkdtempSync(`${here}/profile`);
const port = await new Promise(done => { const server = createServer().listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => done(port)); }); });
writeFileSync(`${profile}/user.js`, Object.entries({ 'marionette.port': port, 'browser.shell.checkDefaultBrowser': false, 'datareporting.policy.dataSubmissionEnabled': false, 'app.update.enabled': false, 'network.proxy.type': 1, 'network.proxy.http': '127.0.0.1', 'network.proxy.http_port': 9, 'network.proxy.ssl': '127.0.0.1', 'network.proxy.ssl_port': 9, 'browser.startup.page': 0 }).map(([key, value]) => `user_pref(${JSON.stringify(key)}, ${JSON.stringify(value)});\n`).join(''));
const firefox = spawn(process.argv[4], ['--headless', '--marionette', '--remote-allow-system-access', '--no-remote', '--profile', profile], { stdio: 'ignore', env: { ...process.env, HOME: profile } });
process.on('exit', () => firefox.kill('SIGKILL'));

async function connect() {
  for (let tries = 0; tries < 600; ++tries) {
    const socket = await new Promise(done => { const one = createConnection(port, '127.0.0.1', () => done(one)); one.on('error', () => done(null)); });
    if (socket) return socket;
    assert.equal(firefox.exitCode, null, 'Firefox does not start');
    await new Promise(done => setTimeout(done, 200));
  }
  throw new Error('Firefox does not listen');
}
const socket = await connect(), waiting = new Map();
let received = Buffer.alloc(0), next = 0;
socket.on('data', data => {
  received = Buffer.concat([received, data]);
  for (;;) {
    const colon = received.indexOf(':'), size = Number(received.subarray(0, colon));
    if (colon < 0 || received.length < colon + 1 + size) return;
    const message = JSON.parse(received.subarray(colon + 1, colon + 1 + size));
    received = received.subarray(colon + 1 + size);
    if (!Array.isArray(message)) continue; // its greeting
    const [, id, error, result] = message, { done, fail } = waiting.get(id);
    if (error) fail(new Error(`${error.error}: ${error.message}`)); else done(result);
  }
});
const ask = (command, parameters = {}) => new Promise((done, fail) => {
  const text = JSON.stringify([0, ++next, command, parameters]);
  waiting.set(next, { done, fail });
  socket.write(`${Buffer.byteLength(text)}:${text}`);
});
const run = async (script, args = []) => (await ask('WebDriver:ExecuteScript', { script, args, sandbox: null })).value;

await ask('WebDriver:NewSession', { capabilities: { alwaysMatch: { acceptInsecureCerts: false } } });
const files = [];
for (const [name, source] of [['net', `${root}/res/mobilenet_v2.origo`], ['loop', `${root}/res/while.origo`], ['hostile', `${root}/tests/view/hostile.origo`], ...rest.map((file, i) => [`more${i}`, file])]) {
  const out = `${name}.${source.endsWith('.tflite') ? 'tflite' : 'circle'}`;
  tool('circle2circle', '-O1', '--origin=restart', `--history=${name}.history`, source, out);
  tool('origin-view', out, '--source', source, '--history', `${name}.history`, '--constants', '-o', `${name}.html`);
  files.push(`${here}/${name}.html`);
}
let operators = 0;
for (const file of files) {
  await ask('WebDriver:Navigate', { url: `file://${file}` });
  for (let tries = 0; (await run('return document.documentElement.dataset.drawn')) !== 'yes'; ++tries) {
    assert(tries < 300, `${file} is not drawn`);
    await new Promise(done => setTimeout(done, 100));
  }
  const seen = await run(`
    for (const tab of document.querySelectorAll('#tabs [role=tab]')) tab.click();
    document.getElementById('tab-operators').click();
    const canvas = document.querySelector('#resultPane canvas'), { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), colours = new Set();
    for (let i = 0; i < data.length; i += 4) colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return { title: document.title, rows: document.querySelectorAll('.body [role=row]').length, colours: colours.size, hacked: String(window.wrappedJSObject?.hacked ?? window.hacked), address: location.protocol };`);
  assert.equal(seen.address, 'file:');
  assert(seen.rows > 0 && seen.colours > 3, JSON.stringify(seen));
  assert.equal(seen.hacked, 'undefined');
  operators += seen.rows;
}
const said = async () => {
  await ask('Marionette:SetContext', { value: 'chrome' });
  const list = await run(`return Services.console.getMessageArray().map(one => String(one)).filter(text => text.includes('file://'));`);
  await ask('Marionette:SetContext', { value: 'content' });
  return list;
};
assert.deepEqual(await said(), []);
// It would be heard: a script that is not the page's own is refused.
writeFileSync('other.html', readFileSync('net.html', 'utf8').replace('new App(', 'new  App('));
await ask('WebDriver:Navigate', { url: `file://${here}/other.html` });
assert.notEqual((await said()).length, 0);
assert.notEqual(await run('return document.documentElement.dataset.drawn'), 'yes');
await ask('Marionette:Quit', { flags: ['eForceQuit'] }).catch(() => 0);
socket.destroy();
console.log(`view: ${files.length} pages open in Firefox; their tables show ${operators} operators`);
