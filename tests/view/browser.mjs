// What the tests of pages share: commands, a browser that notes what must not happen, and where things are on the screen.
import { execFileSync } from 'node:child_process';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

export const [, , bin, root, executablePath, ...rest] = process.argv;
export const tool = (name, ...args) => execFileSync(`${bin}/${name}`, args, { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] });
export const launch = () => chromium.launch({ executablePath, args: ['--no-sandbox'] });

/** A page from the disk. `done` fails if it asked for anything, or said anything on the console. */
export async function open(browser, file, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 }, reducedMotion: 'reduce', ...options });
  const troubles = [];
  let requests = 0;
  page.on('console', message => troubles.push(`console: ${message.text()}`));
  page.on('pageerror', error => troubles.push(`error: ${error.stack}`));
  page.on('request', request => { ++requests; if (!request.url().startsWith(`file://${file}`)) troubles.push(`asks for ${request.url()}`); });
  await page.goto(`file://${file}${options.hash ?? ''}`);
  await page.waitForFunction(() => globalThis.origo?.panes.result.drawn > 0).catch(error => { throw new Error(`${file} does not open: ${troubles.join('; ')} ${error.message}`); });
  page.done = async () => {
    assert.deepEqual(troubles, []);
    assert.equal(requests, 1);
    await page.close();
  };
  return page;
}

/** Where the node of an item is on the screen; it is brought into view first. */
export async function placeOf(page, item) {
  await page.evaluate(item => { const pane = origo.panes[item.side]; pane.reveal(origo.nodeOf(pane, item)); }, item);
  await frame(page);
  return page.evaluate(item => {
    const pane = origo.panes[item.side], node = pane.display.nodes[origo.nodeOf(pane, item)], box = pane.canvas.getBoundingClientRect(), [width, height] = pane.size();
    return [box.left + width / 2 + (node.x - pane.view.x) * pane.view.scale, box.top + height / 2 + (node.row * 66 - pane.view.y) * pane.view.scale];
  }, item);
}
export const frame = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
/** Keys of the items whose nodes have a mark. */
export const marks = (page, side, mark) => page.evaluate(([side, mark]) => { const pane = origo.panes[side]; return [...pane.marks[mark]].map(i => pane.display.nodes[i].item?.index).sort((a, b) => a - b); }, [side, mark]);
export const op = (side, index, graph = 0) => ({ side, type: 'op', graph, index });
