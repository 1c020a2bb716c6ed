// The first view of pages, nothing touched: each pane shows a good part of its graph, what corresponds stands at one height, text
// can be read, nothing lies upon another, and no two labels of different things are alike because they were cut.
// Some are looked at, each in a window of one size and in one more; ORIGO_THOROUGH: all, and who has more than a few operators in windows
// of all sizes.
// usage: run.sh BIN SCRATCH first.mjs networks|models [PART OF A NAME [WIDTHxHEIGHT]]     of samples and of the tree's networks, or of public models
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { launch, open, rest, root, tool } from './browser.mjs';

const [what, only = '', onlySize = ''] = rest, thorough = (process.env.ORIGO_THOROUGH ?? '0') !== '0';
const sweep = `source '${root}/tests/folder.sh'; folder_of ${what}; ${what === 'networks' ? `find '${root}/res' -name '*.origo' | sort;` : ''} ORIGO_THOROUGH=1 swept ${what} 1`;
const [folder, ...all] = execFileSync('bash', ['-c', sweep], { encoding: 'utf8' }).trim().split('\n');
// Models of an operator or a few are many.
const isSmall = file => /^(mini|recipes)\//.test(file.slice(folder.length + 1)), every = file => (isSmall(file) ? (what === 'networks' ? 72 : 120) : what === 'networks' ? 10 : 6);
const files = all.filter((file, i) => file.includes(only) && (only || thorough || file.endsWith('.origo') || i % every(file) === 0));
const sizes = [[1440, 900], [1920, 1080], [800, 1000], [390, 844], [3840, 2160]];
const browser = await launch(), here = process.cwd();

/** Notes what is written on a canvas, where and how large. */
const listen = () => {
  const write = CanvasRenderingContext2D.prototype.fillText;
  globalThis.texts = new Map();
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const { a, d } = this.getTransform(), size = parseFloat(/([\d.]+)px/.exec(this.font)[1]);
    if (!texts.has(this.canvas)) texts.set(this.canvas, []);
    texts.get(this.canvas).push({ text, size: size * Math.min(a, d) / devicePixelRatio });
    return write.call(this, text, x, y, ...more);
  };
  CanvasRenderingContext2D.prototype.fillRect = (fill => function (x, y, w, h) { // a frame begins with the whole canvas
    if (x === 0 && y === 0 && Math.abs(w - this.canvas.clientWidth) < 1 && Math.abs(h - this.canvas.clientHeight) < 1) texts.set(this.canvas, []);
    return fill.call(this, x, y, w, h);
  })(CanvasRenderingContext2D.prototype.fillRect);
};

/** What is wrong with the first view. */
const look = () => {
  const faults = [], boxes = [], seen = {}, { model } = origo;
  for (const [name, pane] of Object.entries(origo.panes)) {
    const box = pane.canvas.getBoundingClientRect(), [width, height] = pane.size(), { x, y } = pane.view, across = pane.across(), down = pane.down();
    const rects = pane.display.nodes.map((node, i) => {
      const w = (node.w ?? 168) * across, h = (node.h ?? 40) * down, middle = width / 2 + (node.x - x) * across, at = height / 2 + (node.row * (pane.pitch ?? 62) + (node.dy ?? 0) - y) * down;
      return { i, node, left: middle - w / 2, right: middle + w / 2, top: at - h / 2, bottom: at + h / 2, at: at + box.top };
    });
    const whole = rects.filter(one => one.left >= -1 && one.right <= width + 1 && one.top >= -1 && one.bottom <= height + 1), part = rects.filter(one => one.right > 0 && one.left < width && one.bottom > 0 && one.top < height);
    seen[name] = { whole: new Map(whole.map(one => [one.i, one])), pane };
    if (!whole.length) { faults.push(`${name}: nothing is wholly seen`); continue; }
    const broad = (Math.max(...whole.map(one => one.right)) - Math.min(...whole.map(one => one.left))) / width, high = (Math.max(...whole.map(one => one.bottom)) - Math.min(...whole.map(one => one.top))) / height;
    boxes.push({ name, broad, covers: broad * high, all: whole.length === rects.length });
    if (whole.length < Math.min(12, rects.length)) faults.push(`${name}: ${whole.length} of ${rects.length} nodes are wholly seen`);
    const rows = rects.filter(one => one.top >= -1 && one.bottom <= height + 1), beyond = rows.filter(one => one.left < -1 || one.right > width + 1);
    if (beyond.length) faults.push(`${name}: ${beyond.length} of ${rows.length} nodes are cut by the edge or beyond it, such as ${beyond[0].node.title} “${beyond[0].node.subtitle}”`);
    const most = Math.max(...rects.map(one => one.node.members?.length ?? 0));
    if (most * 3 > pane.graph.ops) faults.push(`${name}: a block holds ${most} of ${pane.graph.ops} operators`);
    for (const a of part) for (const b of part) if (a.i < b.i && a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5) faults.push(`${name}: ${a.node.title} “${a.node.subtitle}” and ${b.node.title} “${b.node.subtitle}” lie upon each other`);
    const written = texts.get(pane.canvas) ?? [], least = Math.min(...written.map(one => one.size));
    if (!written.length || least < 9.99) faults.push(`${name}: ${written.length} texts, the smallest has ${least.toFixed(1)} pixels`);
    const cut = new Map();
    for (const { text, full } of pane.written) if (text !== full) cut.set(text, (cut.get(text) ?? new Set()).add(full));
    for (const [text, names] of cut) if (names.size > 1) faults.push(`${name}: labels of different things are “${text}”: ${[...names].slice(0, 2).join(', ')}`);
  }
  // Words beside the graphs, too.
  const links = [...document.querySelectorAll('#panel button[title]')].filter(one => one.checkVisibility()), said = new Map();
  for (const { textContent, title } of links) said.set(textContent, (said.get(textContent) ?? new Set()).add(title));
  for (const [text, titles] of said) if (titles.size > 1) faults.push(`the panel: “${text}” is ${[...titles].slice(0, 2).join(' and ')}`);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) { const { data, parentElement: element } = walker.currentNode; if (data.trim() && element.checkVisibility() && parseFloat(getComputedStyle(element).fontSize) < 10) faults.push(`“${data.trim().slice(0, 30)}” has less than 10 pixels`); }
  // Both panes have one scale. Where all is wholly seen, and one graph is as broad as its pane, neither can be larger.
  const largest = boxes.every(one => one.all) && boxes.some(one => one.broad > 0.8);
  for (const { name, covers } of boxes) if (covers < 0.25 && !largest) faults.push(`${name}: the box around the nodes covers ${Math.round(covers * 100)} %`);
  const { source, result } = seen;
  if (!source || !result) return faults;
  // Who stands beside whom: one of those that share an origin does.
  const shown = (side, item) => { const at = origo.nodeOf(side.pane, item); return at === undefined ? null : side.whole.get(at); };
  const graph = result.pane.graph, from = source.pane.graph, nodesOf = (side, items) => items.map(item => origo.nodeOf(side.pane, item)).filter(node => node !== undefined);
  /** Where one can get to from a node. */
  const reached = (begin, ways) => {
    const seen = new Set(), rest = [...begin];
    while (rest.length) for (const next of ways[rest.pop()]) if (!seen.has(next)) { seen.add(next); rest.push(next); }
    return seen;
  };
  /** Two that changed places, such as an activation and what pools: in what became of them, what used the one is above it. */
  const changedPlaces = (item, origins) => {
    const behind = reached(nodesOf(source, origins), source.pane.display.succs), own = new Set(nodesOf(source, origins));
    const members = node => { const { item, members } = result.pane.display.nodes[node]; return members ?? (item?.type === 'op' ? [item] : []); };
    return [...reached(nodesOf(result, [item]), result.pane.display.preds)].some(node => members(node).some(one => nodesOf(source, origo.links.counterparts(one)).some(was => behind.has(was) && !own.has(was))));
  };
  let pairs = 0, all = 0;
  for (let index = 0; index < graph.ops; ++index) {
    const item = { side: 'result', type: 'op', graph: graph.index, index }, origins = origo.links.origins(item).map(id => model.sourceItem('op', id)).filter(one => one.graph === from.index);
    if (origins.length) ++all;
    const to = shown(result, item), ends = origins.map(one => shown(source, one)).filter(Boolean);
    if (!to || !ends.length) continue;
    ++pairs;
    if (to.node.state === 'beside') continue;
    const equals = origins.flatMap(one => origo.links.counterparts(one)).filter(one => one.side === 'result' && one.graph === graph.index), twins = equals.map(one => shown(result, one)).filter(Boolean);
    if (twins.length < equals.length) continue; // it may be one of the others that stands there
    if (!ends.some(end => twins.some(twin => Math.abs(twin.at - end.at) <= 1)) && !changedPlaces(item, origins)) faults.push(`operator ${index} (${to.node.title}) stands ${Math.round(Math.min(...ends.map(end => Math.abs(end.at - to.at))))} pixels from what it was`);
  }
  if (pairs < Math.min(5, all)) faults.push(`${pairs} of ${all} pairs are seen`);
  return faults;
};

let pages = 0, views = 0, wrong = 0;
for (const file of files) {
  const name = file.split('/').at(-1), out = name.endsWith('.tflite') ? 'after.tflite' : 'after.circle';
  try {
    tool('circle2circle', '-O1', '--origin=restart', file, out);
  } catch (error) {
    if (error.status !== 1 || !/error: /.test(error.stderr)) throw error;
    continue; // refused: every_model knows which
  }
  tool('origin-view', out, '--source', file, '-o', 'page.html');
  const which = onlySize ? [onlySize.split('x').map(Number)] : thorough && !isSmall(file) ? sizes : [sizes[0], sizes[1 + (pages % (sizes.length - 1))]];
  for (const [i, [width, height]] of which.entries()) {
    const page = await open(browser, `${here}/page.html`, { folded: true, viewport: { width, height }, colorScheme: (pages + i) % 2 ? 'dark' : 'light', before: listen });
    await page.evaluate(() => new Promise(done => setTimeout(() => { for (const pane of Object.values(origo.panes)) pane.draw(); done(); }, 50)));
    const faults = await page.evaluate(look);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${width}.png` });
    await page.done();
    ++views;
    if (!faults.length) continue;
    ++wrong;
    console.log(`FAILED: ${name} at ${width}×${height}: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}: ${faults.slice(0, 4).join('; ')}`);
  }
  ++pages;
}
await browser.close();
assert(only || pages > 12, `${pages} pages`);
console.log(`view: ${views} first views of ${pages} pages; ${wrong} have faults`);
process.exit(wrong ? 1 : 0);
