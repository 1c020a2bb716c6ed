// What the tests of pages share: commands, a browser that notes what must not happen, and where things are on the screen.
import { execFileSync } from 'node:child_process';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

export const [, , bin, root, executablePath, ...rest] = process.argv;
export const tool = (name, ...args) => execFileSync(`${bin}/${name}`, args, { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] });
export const launch = () => chromium.launch({ executablePath, args: ['--no-sandbox'] });

/** A page from the disk, nothing in it folded to fit unless `folded`. `done` fails if it asked for anything, or said anything on the console. */
export async function open(browser, file, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 }, reducedMotion: 'reduce', ...options });
  if (options.before) await page.addInitScript(options.before);
  const troubles = [];
  let requests = 0;
  page.on('console', message => troubles.push(`console: ${message.text()}`));
  page.on('pageerror', error => troubles.push(`error: ${error.stack}`));
  page.on('request', request => { ++requests; if (!request.url().startsWith(`file://${file}`)) troubles.push(`asks for ${request.url()}`); });
  await page.goto(`file://${file}${options.hash ?? ''}`);
  await page.waitForFunction(() => globalThis.origo?.panes.result.drawn > 0).catch(error => { throw new Error(`${file} does not open: ${troubles.join('; ')} ${error.message}`); });
  if (!options.folded) await page.evaluate(() => { const box = document.getElementById('scopes'); if (box?.checked) box.click(); });
  page.done = async () => {
    assert.deepEqual(troubles, []);
    assert.equal(requests, 1);
    await page.close();
  };
  return page;
}

/** What asks for a page to be clicked at, and counts. */
export function counted(page) {
  let count = 0;
  const click = async target => { ++count; if (Array.isArray(target)) await page.mouse.click(...target); else await page.locator(target).first().click({ position: { x: 9, y: 9 } }); await frame(page); };
  return { click, count: () => count };
}

/** Where the node of an item is on the screen; it is brought into view first. */
export async function placeOf(page, item) {
  await page.evaluate(item => { const pane = origo.panes[item.side]; pane.reveal(origo.nodeOf(pane, item)); }, item);
  await frame(page);
  return page.evaluate(item => {
    const pane = origo.panes[item.side], box = pane.canvas.getBoundingClientRect(), [x, y] = pane.place(origo.nodeOf(pane, item));
    return [box.left + x, box.top + y];
  }, item);
}
export const frame = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
/** Keys of the items whose nodes have a mark. */
export const marks = (page, side, mark) => page.evaluate(([side, mark]) => { const pane = origo.panes[side]; return [...pane.marks[mark]].flatMap(i => { const { item, members } = pane.display.nodes[i]; return members ? members.map(one => one.index) : [item?.index]; }).sort((a, b) => a - b); }, [side, mark]);
export const op = (side, index, graph = 0) => ({ side, type: 'op', graph, index });

/** Text of a network of blocks with branches, scopes and long skips. */
export function network(operators) {
  const lines = [], constants = [];
  let x = 'image', saved = x;
  for (let block = 0; lines.length < operators - 1; ++block) {
    const name = `stage${Math.floor(block / 20)}/block${block}`, c = (suffix, shape) => { constants.push(`  %${name}/${suffix}: f32[${shape}] = const seed ${constants.length + 1} normal 0 1`); return `%${name}/${suffix}`; };
    const add = (suffix, text) => { lines.push(`  %${name}/${suffix}: f32[1,4,4,4] = ${text}`); return `${name}/${suffix}`; };
    const conv = (suffix, from) => add(`${suffix}/relu`, `RELU(%${add(`${suffix}/shift`, `ADD(%${add(`${suffix}/scale`, `MUL(%${add(suffix, `CONV_2D(%${from}, ${c(`${suffix}/filter`, '4,1,1,4')}) {padding=SAME, stride_w=1, stride_h=1, dilation_w_factor=1, dilation_h_factor=1}`)}, ${c(`${suffix}/gamma`, '4')})`)}, ${c(`${suffix}/beta`, '4')})`)})`);
    const left = conv('left', x), right = conv('right', x);
    const sum = add('sum', `ADD(%${left}, %${right})`);
    x = add('out', `ADD(%${sum}, %${block % 25 === 24 ? saved : x})`);
    if (block % 25 === 24) saved = x;
  }
  lines.push(`  %y: f32[1,4,4,4] = TANH(%${x})`);
  return `origo 1\nmodel tflite version 3\nsubgraph @main(%image: f32[1,4,4,4]) -> (%y) {\n${constants.join('\n')}\n${lines.join('\n')}\n}\n`;
}
