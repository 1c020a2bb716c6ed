// Pages in a browser: cases about one network's page, then files of all kinds.
// An argument: only the cases whose names contain it.
import { open, rest } from './browser.mjs';
import { browser, cases, here } from './page_network.mjs';
import './page_graphs.mjs';
import './page_tables.mjs';
import './page_colours.mjs';

let failed = 0;
for (const [name, run, options] of cases.filter(([name]) => name.includes(rest[0] ?? ''))) {
  const page = await open(browser, `${here}/${options?.file ?? 'net.html'}`, options);
  try {
    await run(page);
    await page.done();
  } catch (error) {
    ++failed;
    console.log(`FAILED: ${name}: ${error.stack}`);
  }
}
const files = await import('./page_files.mjs');
failed += files.failed;
await browser.close();
console.log(`view: ${cases.length} cases, ${failed} failed; ${files.names.length} hostile names`);
process.exit(failed ? 1 : 0);
