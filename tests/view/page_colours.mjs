// Whether what is written can be read, and colours told apart, in all states.
import assert from 'node:assert/strict';
import { test } from './page_network.mjs';

const contrasts = async page => {
  const pairs = await page.evaluate(() => {
    const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue(name).trim();
    const list = ['--text', '--soft', '--accent', '--mark', '--good', '--bad', '--edge'].flatMap(ink => ['--back', '--pane'].map(back => [ink, value(ink), value(back)]));
    for (const overlay of origo.overlays) {
      origo.setOverlay(overlay.name);
      for (const pane of Object.values(origo.panes)) for (const node of pane.display.nodes) { const { fill, ink } = pane.paint(node); list.push([overlay.name, ink, fill]); }
    }
    return list;
  });
  const light = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  assert(pairs.length > 2000);
  for (const [what, a, b] of pairs) {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y), contrast = (high + 0.05) / (low + 0.05);
    assert(contrast >= (what === '--edge' ? 3 : 4.5), `${what}: ${a} on ${b} is ${contrast.toFixed(2)}`);
  }
};

// All states of the page: what is written, on what is behind it, in the document and on its canvases.

const hear = () => {
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, how) { return getContext.call(this, kind, { willReadFrequently: true, ...how }); };
  const write = CanvasRenderingContext2D.prototype.fillText, light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
  const dot = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }), faint = (globalThis.faint = new Map());
  globalThis.pairs = 0;
  const note = (what, ink, back, least) => { ++pairs; const is = contrast(ink, back); if (is < least) faint.set(what, is.toFixed(2)); };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    if (this.globalAlpha === 1 && globalThis.state && text.trim()) {
      const m = this.getTransform(), px = m.a * x + m.e, py = m.d * y + m.f, wide = Math.min(this.measureText(text).width, more[0] ?? Infinity) * m.a, left = this.textAlign === 'right' ? px - wide : px, { data } = this.getImageData(left, py - 3, Math.max(wide, 1), 6), counts = new Map();
      for (let i = 0; i < data.length; i += 4) { const key = `${data[i]},${data[i + 1]},${data[i + 2]}`; counts.set(key, (counts.get(key) ?? 0) + 1); }
      const [back] = [...counts].sort((a, b) => b[1] - a[1])[0];
      dot.fillStyle = this.fillStyle, dot.fillRect(0, 0, 1, 1);
      if (left > -1 && py > 0 && left < this.canvas.width && py < this.canvas.height) note(`${state}: “${text}” on a canvas`, [...dot.getImageData(0, 0, 1, 1).data], back.split(',').map(Number), 4.5);
    }
    return write.call(this, text, x, y, ...more);
  };
  globalThis.lookAt = state => {
    globalThis.state = state;
    for (const pane of Object.values(origo.panes)) pane.draw();
    globalThis.state = null;
    const layers = element => (element ? [...layers(element.parentElement), getComputedStyle(element).backgroundColor] : ['#ffffff']);
    const look = (element, colour, text) => {
      const style = getComputedStyle(element), size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      for (const layer of layers(element)) (dot.fillStyle = layer), dot.fillRect(0, 0, 1, 1);
      const back = [...dot.getImageData(0, 0, 1, 1).data];
      dot.fillStyle = colour, dot.fillRect(0, 0, 1, 1);
      note(`${state}: “${text.trim().slice(0, 30)}” in ${element.tagName}`, [...dot.getImageData(0, 0, 1, 1).data], back, large ? 3 : 4.5);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) { const { data, parentElement: element } = walker.currentNode; if (data.trim() && element.checkVisibility() && !element.closest('script, noscript')) look(element, getComputedStyle(element).color, data); }
    for (const input of document.querySelectorAll('input[placeholder]')) if (input.checkVisibility()) look(input, getComputedStyle(input, '::placeholder').color, input.placeholder);
  };
};

const states = async page => {
  const at = (state, act = () => {}, arg) => page.evaluate(act, arg).then(() => page.evaluate(state => lookAt(state), state));
  for (const name of await page.locator('#overlay option').evaluateAll(list => list.map(option => option.value))) await at(`colours ${name}`, name => origo.setOverlay(name), name);
  await at('what it opens with', () => origo.setOverlay(origo.overlays[0].name));
  for (const name of await page.evaluate(() => [...origo.views.keys()].filter(key => key !== 'details'))) {
    await at(`tab ${name}`, name => origo.openTab(name), name);
    const row = page.locator('.body [role=row]').first();
    if (!(await row.count())) continue;
    await row.hover();
    await at(`tab ${name}, pointed at`);
    await at(`tab ${name}, chosen`, () => { origo.table.at = 0; origo.table.choose(); });
  }
  for (const [type, index] of [['op', 3], ['tensor', 2]]) for (const side of await page.evaluate(() => Object.keys(origo.panes))) await at(`${side} ${type}`, item => { origo.select(null); origo.select(item); }, { side, type, graph: 0, index });
  await at('a legend that filters', () => { origo.select(null); document.querySelector('#legend .swatch').click(); });
  await at('marks that filter', () => document.querySelector('#marks .swatch').click());
  for (const what of ['#legend .swatch', '#tabs button', 'header button', '#panel button.link']) { const first = page.locator(`${what}:visible`).first(); if (await first.count()) await first.hover(); await at(`${what}, pointed at`); }
  if (await page.evaluate(() => !!origo.history)) { await at('an early rewrite', () => origo.setStep(8)); await page.evaluate(() => origo.setStep(origo.history.last)); }
  await at('keys', () => origo.help());
  await at('saving', () => { document.getElementById('keys').close(); origo.save(); });
  const { pairs, faint } = await page.evaluate(() => ({ pairs, faint: [...globalThis.faint] }));
  assert(pairs > 1000, String(pairs));
  assert.deepEqual(faint, []);
};

test('can be read in all states, in light', states, { file: 'full.html', colorScheme: 'light', before: hear });

test('can be read in all states, in the dark', states, { file: 'full.html', colorScheme: 'dark', before: hear });

test('can be read quantised, folded, in the dark', states, { file: 'quantized.html', folded: true, colorScheme: 'dark', before: hear });

test('can be read alone, on a phone', states, { file: 'one.html', folded: true, colorScheme: 'light', viewport: { width: 390, height: 844 }, before: hear });

test('can be read in light', contrasts, { colorScheme: 'light' });

test('can be read in the dark', contrasts, { colorScheme: 'dark' });

// Colours of classes, as those see them who see no red, no green or no blue (Machado and others, 2009), differ.

const told = async page => {
  const swatches = await page.evaluate(() => origo.swatches());
  const eyes = { all: [1, 0, 0, 0, 1, 0, 0, 0, 1], red: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998], green: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881], blue: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039] };
  const lab = (text, m) => {
    const linear = [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    const [r, g, b] = [0, 3, 6].map(i => Math.min(Math.max(m[i] * linear[0] + m[i + 1] * linear[1] + m[i + 2] * linear[2], 0), 1));
    const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(t => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  for (const [who, m] of Object.entries(eyes))
    swatches.forEach((a, i) => swatches.slice(0, i).forEach(b => { const [p, q] = [lab(a, m), lab(b, m)], far = Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]); assert(far > 11, `who sees no ${who}: ${a} and ${b} are ${far.toFixed(1)} apart`); }));
};

test('has colours that all can tell apart, in light', told, { colorScheme: 'light' });

test('has colours that all can tell apart, in the dark', told, { colorScheme: 'dark' });
