// One file alone: all that Netron shows of it, its page shows. Netron's own reader says what that is: of the file, of each node
// its kind, options and operands, and of each tensor its name, type, shape, quantisation and elements; text of the panel is
// what is looked in. Ten files, with ORIGO_THOROUGH all that this Netron, of 2020, can read.
// usage: run.sh BIN SCRATCH netron.mjs networks|models [PART OF A NAME]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { launch, open, rest, root, tool } from './browser.mjs';

const { netron } = await import(`${root}/tests/viewers/reader.mjs`);
const [what, only = ''] = rest, thorough = (process.env.ORIGO_THOROUGH ?? '0') !== '0', wanted = thorough ? Infinity : 10, elements = 10000, least = 1000; // of a constant: Netron shows so many, and a page so many at least where it has not room for all
const read = netron(new URL('../netron', import.meta.url).pathname);
const sweep = `source '${root}/tests/folder.sh'; ORIGO_THOROUGH=1 swept ${what} 1`;
const files = execFileSync('bash', ['-c', sweep], { encoding: 'utf8' }).trim().split('\n').filter(file => file.endsWith('.tflite') && !/\/(mini|recipes)\//.test(file) && file.includes(only));
const every = thorough || only ? 1 : Math.max(Math.floor(files.length / 14), 1);
const browser = await launch(), here = process.cwd(), faults = [], counts = { files: 0, nodes: 0, options: 0, tensors: 0, elements: 0 };

/** Words of the panel for each operator and tensor that is asked for, and of what the file says of itself. */
const texts = asked => {
  const words = node => (node.nodeType === Node.TEXT_NODE ? node.data : [...node.childNodes].map(words).join(node.tagName === 'LI' || node.tagName === 'P' ? '' : '\n'));
  const panel = document.getElementById('panel'), of = item => (panel.replaceChildren(...origo.details.of(item).flat(3).filter(Boolean)), words(panel));
  origo.openTab('about');
  const about = words(panel);
  return { about, of: asked.map(of) };
};
const circle = { adj_x: 'adjoint_lhs', adj_y: 'adjoint_rhs' }; // the names of one format for both
const isOld = /^new_(height|width)$/; // which the format has no more
const plain = text => text.replaceAll('_', '').toLowerCase();
const shown = name => /^[\x21-\x7e]+$/.test(name);

/** [text that has to be there, what it is] of a tensor. */
function ofTensor({ name, type, quantization, initializer }) {
  const list = [[type.dataType.replace('boolean', 'bool').toUpperCase().replace('?', ''), 'type'], [type.shape.dimensions.join('×'), 'shape']];
  if (shown(name) && name.length < 400) list.push([name, 'name']);
  const q = /^(?:(\S+) ≤ )?(?:(\S+) \* (?:q|\(q - (-?\d+)\)))?q?(?: ≤ (\S+))?$/.exec(quantization ?? '');
  if (q?.[2]) list.push([`scale ${Math.fround(q[2])}`, 'scale'], [`zero point ${q[3] ?? 0}`, 'zero point']);
  return list;
}
/** Elements of a constant as Netron reads them, those that it has; those of 16 bits it reads with their bytes exchanged. */
function elementsOf(tensor) {
  const context = tensor?._context();
  if (!context || context.state || tensor.type.dataType === 'int16') return [];
  context.limit = elements;
  try {
    return [tensor._decode(context, 0)].flat(Infinity).filter(value => value !== '...' && value !== undefined).slice(0, elements);
  } catch (error) {
    assert.equal(error.name, 'RangeError');
    return [];
  }
}
const isSame = (text, value) => text === String(value) || (typeof value === 'number' && (Number(text) === value || Math.fround(Number(text)) === Math.fround(value))) || text === `"${value}"` || (typeof value === 'number' && text === String(!!value));

async function compare(name, file, model) {
  tool('origin-view', file, '-o', 'page.html');
  const page = await open(browser, `${here}/page.html`, { folded: true }), fault = text => faults.push(`${name}: ${text}`);
  const asked = [], checks = [];
  const ask = (item, check) => { asked.push({ side: 'result', ...item }); checks.push(check); };
  model.graphs.forEach((graph, g) => {
    const tensors = new Map();
    for (const one of [...graph.inputs, ...graph.outputs, ...graph.nodes.flatMap(node => [...node.inputs, ...node.outputs])].flatMap(parameter => parameter.arguments)) tensors.set(Number(one.location), one);
    graph.nodes.forEach((node, index) => ask({ type: 'op', graph: g, index }, text => {
      ++counts.nodes;
      if (!plain(text).startsWith(plain(node.type)) && !plain(text).includes(plain(`custom:${node.type}`))) fault(`node ${index} is ${node.type}: ${text.slice(0, 40)}`);
      for (const { name: option, value } of node.attributes.filter(one => one.visible && one.name !== 'custom' && !isOld.test(one.name))) {
        ++counts.options;
        const said = new RegExp(`\\b${circle[option] ?? option}=(\\[[^\\]]*\\]|[^,}\\s]+)`).exec(text)?.[1]?.replace(/[[\]]/g, '').replaceAll(', ', ',');
        const is = String(value?.dimensions ?? value);
        if (option.endsWith('subgraph_index') && said?.startsWith('@') && text.includes(`subgraph ${is} “`)) continue;
        if (Number.isInteger(value) && /^[A-Z_]+$/.test(said)) continue; // a word of an enumeration that this Netron has as a number
        if (said === undefined ? is !== '' : plain(said) !== plain(is) && Math.fround(said) !== Math.fround(is) && plain(said) !== plain(is.toUpperCase())) fault(`node ${index} ${node.type} has ${option}=${is}: ${said}`);
      }
      for (const { type } of node.chain ?? []) if (!plain(text).includes(plain(`fused_activation_function=${type}`).replace('relun1to1', 'reluN1to1'.toLowerCase()))) fault(`node ${index} computes ${type} behind: ${text.slice(0, 200)}`);
      for (const parameter of node.inputs) for (const one of parameter.arguments) if (shown(one.name) && one.name.length < 80 && !new RegExp(`[\\w]+: (tensor|constant) ${one.location} `).test(text) && !text.includes(`tensor ${one.location} `) && !text.includes(`constant ${one.location} `)) fault(`node ${index} takes ${one.name}`);
    }));
    for (const [index, tensor] of tensors) ask({ type: 'tensor', graph: g, index }, text => {
      ++counts.tensors;
      const near = text.replace(/scale (\S+),/, (_, scale) => `scale ${Math.fround(scale)},`);
      for (const [words, is] of ofTensor(tensor)) if (!near.includes(words)) fault(`tensor ${index} has the ${is} ${words}: ${text.slice(0, 300)}`);
      const list = elementsOf(tensor.initializer), said = /(?:Elements|The first [\d,]+ (?:stored )?elements?)\n(.*)/.exec(text)?.[1];
      if (!list.length) return;
      const read = tensor.type.dataType === 'string' ? [...(said ?? '').matchAll(/"(.*?)"(?= |$)/g)].map(one => one[0]) : (said ?? '').split(' '), many = said?.length && list.length > least ? Math.max(least, Math.min(read.length, list.length)) : list.length, wrong = list.slice(0, many).findIndex((value, i) => !isSame(read[i], value));
      counts.elements += many;
      if (wrong >= 0) fault(`element ${wrong} of tensor ${index} (${tensor.type}) is ${list[wrong]}: ${read[wrong]}`);
    });
  });
  const { about, of } = await page.evaluate(texts, asked);
  of.forEach((text, i) => checks[i](text));
  const words = [model.format.replace('TensorFlow Lite v', 'tflite, version '), model.runtime?.replaceAll('\0', '').trim(), model.name, model.version, model.author, model.license, ...model.graphs.map(graph => graph.name)];
  words.push(...(model.description ?? '').split(' '));
  for (const { name: input, arguments: [one] } of [...model.graphs[0].inputs, ...model.graphs[0].outputs]) words.push(shown(input) && input.length < 80 ? input : '', one.type.denotation, ...(one.description ?? '').slice(0, 200).split(/\s+/).slice(0, 12));
  for (const word of words) if (word && !about.replaceAll('\0', '').includes(word)) fault(`the file says ${word}: ${about.slice(0, 400)}`);
  await page.done();
}

for (const [i, file] of files.entries()) {
  if (counts.files >= wanted) break;
  if (i % every) continue;
  const model = await read(file).catch(() => null);
  if (!model) continue; // what is newer than this Netron
  await compare(file.split('/').at(-1), realpathSync(file), model);
  ++counts.files;
}
await browser.close();
for (const fault of faults.slice(0, 20)) console.log(`FAILED: ${fault}`);
assert(only || counts.files >= Math.min(wanted, 10), `${counts.files} files`);
console.log(`view: of ${counts.files} files, ${counts.nodes} nodes, ${counts.options} options, ${counts.tensors} tensors and ${counts.elements} elements that Netron shows, ${faults.length} are not shown`);
process.exit(faults.length ? 1 : 0);
