// The pictures of docs/viewers.md and of the README: networks of different kinds, in few colours so that the files are small.
// usage: ORIGO_MODELS=DIR/models tests/view/run.sh BIN SCRATCH pictures.mjs [FOLDER]     DIR: as tests/models.sh lays out public
// models; FOLDER: docs/pictures where none is given
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { frame, launch, network, open, rest, root, tool } from './browser.mjs';

const folder = rest[0] ?? `${root}/docs/pictures`, here = process.cwd(), models = process.env.ORIGO_MODELS, most = 80e3;
const browser = await launch(), paper = await browser.newPage();

/** An indexed PNG of few colours. */
async function small(png) {
  const { width, height, palette, pixels } = await paper.evaluate(async base64 => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob()), { width, height } = bitmap, c = new OffscreenCanvas(width, height).getContext('2d');
    c.drawImage(bitmap, 0, 0);
    const { data } = c.getImageData(0, 0, width, height), counts = new Map(), key = i => (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
    for (let i = 0; i < data.length; i += 4) counts.set(key(i), (counts.get(key(i)) ?? 0) + 1);
    const common = [...counts].sort((a, b) => b[1] - a[1]).map(entry => entry[0]);
    const far = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + ((a >> 8 & 255) - (b >> 8 & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
    // The commonest of those that differ.
    const palette = [];
    for (const colour of common) if (palette.length < 64 && palette.every(other => far(colour, other) > 240)) palette.push(colour);
    const nearest = new Map(palette.map((colour, i) => [colour, i]));
    for (const colour of counts.keys()) if (!nearest.has(colour)) nearest.set(colour, palette.reduce((best, other, i) => (far(colour, other) < far(colour, palette[best]) ? i : best), 0));
    let pixels = '';
    for (let i = 0; i < data.length; i += 4) pixels += String.fromCharCode(nearest.get(key(i)));
    return { width, height, palette, pixels: btoa(pixels) };
  }, png.toString('base64'));
  const raw = Buffer.from(pixels, 'base64'), rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; ++y) raw.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width);
  const chunk = (type, data) => { const body = Buffer.concat([Buffer.from(type, 'latin1'), data]), out = Buffer.alloc(body.length + 8); out.writeUInt32BE(data.length); body.copy(out, 4); out.writeUInt32BE(crc(body), body.length + 4); return out; };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width), header.writeUInt32BE(height, 4), header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', header), chunk('PLTE', Buffer.from(palette.flatMap(colour => [colour >> 16, colour >> 8 & 255, colour & 255]))), chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
const crcs = Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1; return n >>> 0; });
const crc = data => { let c = ~0; for (const byte of data) c = crcs[(c ^ byte) & 255] ^ (c >>> 8); return ~c >>> 0; };

/** `source` after -O1, or after the commands of `make`, with what `more` says; `act` runs in the page. */
async function picture(name, source, act, { more = [], make, ...options } = {}) {
  if (make) make();
  else {
    tool('circle2circle', '--embed-origin=none', '--no-origin-json', source, 'net.tflite');
    tool('circle2circle', '-O1', '--history=net.history', 'net.tflite', 'net.circle');
  }
  tool('origin-view', 'net.circle', '--source', 'net.tflite', ...(make ? [] : ['--history', 'net.history']), '--constants', ...more, '-o', `${name}.html`);
  const page = await open(browser, `${here}/${name}.html`, { viewport: { width: 1200, height: 680 }, ...options });
  await page.evaluate(act);
  await frame(page);
  const bytes = await small(await page.screenshot());
  await page.done();
  assert(bytes.length <= most, `${name}.png has ${bytes.length} bytes`);
  writeFileSync(`${folder}/${name}.png`, bytes);
  console.log(`${name}.png: ${(bytes.length / 1000).toFixed(0)} kB`);
}

await picture('page', `${root}/res/mobilenet_v2.origo`, () => origo.select({ side: 'result', type: 'op', graph: 0, index: 3 }));
await picture('rewrites', `${root}/res/mobilenet_v2.origo`, () => origo.setStep(8));
await picture('chain', `${models}/cifar10_f32.tflite`, () => { origo.setOverlay('macs'); origo.fit('source'); origo.select({ side: 'source', type: 'op', graph: 0, index: 1 }); });
await picture('residual', `${root}/res/resnet_preact.origo`, () => origo.select({ side: 'result', type: 'op', graph: 0, index: 4 }));
await picture('branches', `${models}/pose_hourglass_v1_f32.tflite`, () => { origo.setOverlay('activation_bytes'); origo.fit('source'); origo.openTab('operators'); }, { viewport: { width: 1400, height: 800 } });
await picture('transformer', `${root}/res/transformer.origo`, () => { document.getElementById('blocks').click(); origo.openTab('stayed'); }, { colorScheme: 'dark' });
await picture('loop', `${root}/res/while.origo`, () => { const graph = origo.model.result.graphs[0]; origo.showGraph('result', graph.callees([...Array(graph.ops).keys()].find(op => graph.callees(op).length))[1]); origo.select(null); });
await picture('detection', `${models}/yunet_f32.tflite`, () => { origo.setOverlay('live_bytes'); origo.fit('source'); origo.openTab('scopes'); });
await picture('folded', `${models}/style_transfer_384_f16w.tflite`, () => origo.select(null), { folded: true });
await picture('phone', `${models}/blazeface_front_f32.tflite`, () => origo.select(null), { folded: true, viewport: { width: 390, height: 844 } });
writeFileSync('big.origo', network(5000));
await picture('big', 'big.origo', () => { origo.setOverlay('macs'); origo.openTab('scopes'); origo.fit('source'); });
await picture('errors', '', () => { origo.setOverlay(origo.overlays.find(one => one.title.includes('own')).name); origo.openTab('errors'); origo.table.at = 0; origo.table.choose(); }, {
  more: ['--errors', 'errors.json'],
  make() {
    tool('circle2circle', '--embed-origin=none', '--no-origin-json', `${root}/res/mobilenet_v2.origo`, 'net.tflite');
    tool('circle-quantizer', '--scheme', 'int8', '--input_data', 'random', 'net.tflite', 'net.circle');
    tool('visq', '-f', 'net.tflite', '-q', 'net.circle', '--blame', '--engine=fast', '--records=1', '--json=errors.json');
  },
});
await browser.close();
