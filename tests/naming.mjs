// The page's rules for names of layers, held against tests/naming.tsv, as those of C++ and C are in origin_reader_test.cpp.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [root] = process.argv.slice(2);
const { layerOfName, ownScope } = await import(pathToFileURL(`${root}/view/page/place.js`));
let wrong = 0,
  rows = 0;
for (const line of readFileSync(`${root}/tests/naming.tsv`, 'utf8').split('\n')) {
  if (!line || line.startsWith('#')) continue;
  const [, name, scopes, leaf] = line.split('\t'),
    made = layerOfName(name),
    told = made.scopes.map(scope => scope.slice(0, -1)).join(' ');
  ++rows;
  if (told === scopes && made.leaf === leaf) continue;
  ++wrong;
  console.error(`${name}: scopes "${told}", leaf "${made.leaf}", and the table has "${scopes}", "${leaf}"`);
}
if (ownScope('/encoder/conv1') !== 'encoder/conv1/') wrong += console.error('the scope of what is in /encoder/conv1') ?? 1;
const begin = performance.now();
for (const name of ['/', ';', '1', 'jit(', '_output_1', 'a::', '__1', '.0'].map(part => part.repeat(1e6 / part.length))) layerOfName(name);
if (performance.now() - begin > 5000) wrong += console.error('long names take too long') ?? 1;
console.log(`${rows} names, ${wrong} wrong`);
process.exit(wrong || rows < 80 ? 1 : 0);
