// The three questions of docs/viewers.md, asked from the opened page in at most three clicks (what is typed, with Enter, is one):
// where did a layer go, why is it slow, what did quantisation break? Answers are read as a person reads them, text that lies in the
// window with nothing over it, and are those of origin-dump --where, of the profile and of visq.
// usage: run.sh BIN SCRATCH questions.mjs networks|models [SEED [PART OF A NAME]]     two networks drawn by the seed, ten with
// ORIGO_THOROUGH, and layers of others until some were fused, folded, dead and of loops
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { frame, launch, open, rest, root, tool } from './browser.mjs';

const [what, seed = '1', only = ''] = rest, thorough = (process.env.ORIGO_THOROUGH ?? '0') !== '0', wanted = thorough ? 10 : 2, layers = thorough ? 10 : 5;
const sweep = `source '${root}/tests/folder.sh'; folder_of ${what}; ${what === 'networks' ? `find '${root}/res' -name '*.origo' | sort;` : ''} ORIGO_THOROUGH=1 swept ${what} 1`;
const [folder, ...all] = execFileSync('bash', ['-c', sweep], { encoding: 'utf8' }).trim().split('\n');
// ONNX models lie beside public models.
const nodes = what === 'models' ? execFileSync('find', [`${folder}/../onnx`, '-maxdepth', '1', '-name', '*.onnx', '-size', '-6M'], { encoding: 'utf8' }).trim().split('\n').sort() : [];
const files = [...all, ...nodes].filter(file => file.includes(only) && !/^(mini|recipes)\//.test(file.slice(folder.length + 1)));

let state = Number(seed) * 2654435761 >>> 0 || 1;
const random = below => { state ^= state << 13; state ^= state >>> 17; state ^= state << 5; return (state >>> 0) % below; };
const shuffled = list => { const rest = [...list], drawn = []; while (rest.length) drawn.push(...rest.splice(random(rest.length), 1)); return drawn; };

/** Text of what a selector finds that lies in the window, one for each that does so wholly and with nothing over it. */
const seen = (page, selector) => page.evaluate(selector => [...document.querySelectorAll(selector)].filter(element => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return [...range.getClientRects()].filter(box => box.width > 1).every(box => {
    const there = document.elementFromPoint(box.left + 1, box.top + box.height / 2), end = document.elementFromPoint(box.right - 1, box.top + box.height / 2);
    return box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight && [there, end].every(one => one && (element.contains(one) || one.contains(element)));
  });
}).map(element => element.innerText.replaceAll(/\s+/g, ' ').trim()), selector);

/** Layers of all fates in turn, of all subgraphs. */
function drawn(map) {
  const groups = new Map(), lost = new Map(map.ledger.filter(row => 'operator' in row).map(row => [row.operator, row.fate]));
  const ends = new Map();
  for (const graph of map.target.subgraphs) for (const row of graph.operators) for (const id of row.origins ?? []) ends.set(id, row.origins.length > 1 ? 'fused' : ends.has(id) ? 'decomposed' : 'lives');
  map.source.subgraphs.forEach((graph, g) => {
    for (const op of graph.operators) {
      const key = `${g ? 'loop ' : ''}${lost.get(op.id) ?? ends.get(op.id) ?? 'folded'}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push({ ...op, fate: key });
    }
  });
  const lists = [...groups.values()].map(shuffled), list = [];
  for (let i = 0; list.length < layers && lists.some(one => one.length > i); ++i) for (const one of lists) if (one[i] && list.length < layers) list.push(one[i]);
  return list;
}
/** What origin-dump --where says of an operator: its head, and what is below. */
function answerOf(text, id) {
  const lines = text.split('\n'), at = lines.findIndex(line => new RegExp(`^source operator ${id}( |$)`).test(line));
  assert(at >= 0, `${id}: ${text}`);
  const end = lines.findIndex((line, i) => i > at && !line.startsWith('  '));
  return lines.slice(at, end).map(line => line.trim().replaceAll(/\s+/g, ' '));
}

let net, quantized; // the extension tells the format
const browser = await launch(), here = process.cwd(), faults = [], asked = new Map(), most = [0, 0, 0];
const size = { folded: true, viewport: { width: 1440, height: 900 } };
/** What is to be asked of at least. */
const missing = () => ['fused', 'folded', 'dead', 'loop'].filter(kind => ![...asked.keys()].some(key => key.startsWith(kind)));
async function whereTo(name, map, chosen) {
  const names = new Map();
  for (const graph of map.source.subgraphs) for (const op of graph.operators) for (const one of op.outputs) names.set(one, (names.get(one) ?? 0) + 1);
  for (const op of chosen) {
    const page = await open(browser, `${here}/net.html`, size), layer = op.outputs.find(Boolean) ?? '';
    let clicks = 2;
    const typed = names.get(layer) === 1 && /^[\x21-\x7e]+$/.test(layer) && !/^\d+$|["#]|^\w+:|^-/.test(layer) && layer.length < 110 ? layer : `#${op.id}`;
    await page.click('#search');
    await page.keyboard.type(typed);
    await page.keyboard.press('Enter');
    await frame(page);
    const expected = answerOf(tool('origin-dump', '--where', typed.startsWith('#') ? String(op.id) : typed, net), op.id), lines = await seen(page, '.where p'), at = lines.indexOf(expected[0]);
    if (at < 0 || expected.some((line, i) => lines[at + i] !== line)) faults.push(`${name}: ${typed} (${op.fate}): ${JSON.stringify(expected)} is not what is seen: ${JSON.stringify(lines).slice(0, 300)}`);
    asked.set(op.fate, (asked.get(op.fate) ?? 0) + 1);
    most[0] = Math.max(most[0], clicks);
    await page.done();
  }
}
/** Is there a row that ends as this one's name does, and has its figure? */
async function has(page, kind, name, figure) {
  const rows = await seen(page, '.summary li, .rows .body [role=row]'), end = name.split(';')[0].split('/').at(-1).slice(-12);
  return rows.some(row => (!kind || row.includes(kind)) && row.includes(end) && figure(row));
}
const near = (row, value, scales) => [...row.matchAll(/([\d.,]+(?:e-?\d+)?) ?(\D)?/g)].some(([, digits, unit]) => { const number = Number(digits.replaceAll(',', '')); return [1, ...scales].some(scale => Math.abs(number * scale - value) <= Math.abs(value) * 0.02); });
async function slow(name) {
  const rows = new Map();
  const events = JSON.parse(readFileSync('net.trace', 'utf8')).traceEvents.filter(event => event.cat === 'operator'), own = new Map(events.map(event => [event, event.dur]));
  // What an operator calls does not count for it.
  const callers = events.filter(event => /^(WHILE|IF|CALL|CALL_ONCE|STABLEHLO_COMPOSITE)$/.test(event.name));
  for (const event of events) {
    const around = callers.filter(one => one !== event && one.ts <= event.ts && one.ts + one.dur >= event.ts + event.dur);
    if (around.length) { const inner = around.reduce((a, b) => (b.dur < a.dur ? b : a)); own.set(inner, own.get(inner) - event.dur); }
  }
  for (const event of events) { const { args, name: kind } = event, dur = own.get(event); const key = `${args.subgraph}:${args.operator}`, row = rows.get(key) ?? { us: 0, kind, args }; row.us += dur; rows.set(key, row); }
  const all = [...rows.values()].filter(row => row.us > 0);
  if (!all.length) return;
  const first = all.reduce((a, b) => (b.us > a.us ? b : a)), page = await open(browser, `${here}/net.html`, size);
  const said = () => has(page, first.kind, first.args.output ?? '', row => near(row, first.us, [1e6, 1e3, 1e-3]));
  let clicks = 0;
  if (!(await said())) (++clicks, await page.click('#tab-profile-0'), await frame(page));
  if (!(await said())) faults.push(`${name}: the slowest is ${first.kind} ${first.args.output} with ${first.us.toFixed(1)} µs, which is not seen: ${JSON.stringify((await seen(page, '.rows .body [role=row]')).slice(0, 3))}`);
  most[1] = Math.max(most[1], clicks);
  asked.set('slow', (asked.get('slow') ?? 0) + 1);
  await page.done();
}
async function broken(file, name) {
  try {
    tool('circle-quantizer', '--scheme', 'int8', '--input_data', 'random', file, quantized);
    tool('visq', '-f', file, '-q', quantized, '--blame', '--engine=fast', '--records=1', '--json=errors.json');
    tool('origin-view', quantized, '--source', file, '--errors', 'errors.json', '-o', 'quantized.html');
  } catch {
    return; // it is quantised already, or its operators have no kernels
  }
  const all = JSON.parse(readFileSync('errors.json', 'utf8')).errors.filter(row => typeof row.own === 'number');
  if (!all.length) return;
  const first = all.reduce((a, b) => (b.own > a.own ? b : a)), page = await open(browser, `${here}/quantized.html`, size);
  // A node of ONNX has a name of its own.
  const made = JSON.parse(tool('origin-dump', '--json', quantized)).source.subgraphs.flatMap(graph => graph.operators).find(op => op.outputs.includes(first.name));
  const said = () => has(page, '', made?.name ?? first.name ?? '', row => near(row, first.own, [1e12, 1e9, 1e6, 1e3]));
  let clicks = 0;
  if (!(await said())) (++clicks, await page.click('#tab-errors'), await frame(page));
  if (!(await said())) faults.push(`${name}: most error comes from ${first.name} with ${first.own}, which is not seen: ${JSON.stringify((await seen(page, '.rows .body [role=row]')).slice(0, 3))}`);
  most[2] = Math.max(most[2], clicks);
  asked.set('broken', (asked.get('broken') ?? 0) + 1);
  await page.done();
}

let networks = 0, more = 0;
for (const file of shuffled(files)) {
  const enough = networks === wanted;
  if (enough && (!missing().length || ++more > 40)) break;
  const name = file.split('/').at(-1), format = name.endsWith('.tflite') ? 'tflite' : 'circle';
  [net, quantized] = [`net.${format}`, `quantized.${format}`];
  try {
    tool('circle2circle', '-O1', '--origin=restart', '--history=net.history', file, net);
    if (!enough) tool('circle-interpreter', '--seed=1', '--profile=net.trace', net);
  } catch {
    continue; // refused, or not executed: every_model knows which
  }
  const map = JSON.parse(tool('origin-dump', '--json', net)), chosen = drawn(map).filter(op => !enough || missing().some(kind => op.fate.startsWith(kind)));
  if (!chosen.length) continue;
  tool('origin-view', net, '--source', file, '--history', 'net.history', ...(enough ? [] : ['--profile', 'net.trace']), '-o', 'net.html');
  await whereTo(name, map, chosen);
  if (enough) continue;
  ++networks;
  await slow(name);
  await broken(file, name);
}
await browser.close();
for (const fault of faults) console.log(`FAILED: ${fault}`);
assert(only || networks === wanted, `${networks} networks`);
assert(only || what === 'models' || !missing().length, `no layer was ${missing()}`);
const questions = [...asked.values()].reduce((a, b) => a + b, 0);
console.log(`view: ${questions} questions to ${networks} networks (${[...asked].map(([key, count]) => `${count} ${key}`).join(', ')}), ${faults.length} without an answer; at most ${most.join(', ')} clicks`);
process.exit(faults.length ? 1 : 0);
