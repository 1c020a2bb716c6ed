// What the search field finds: words in names, #number, and op: type: fate: pass: name: line: is:

/** Words of a query; quotes keep spaces together. */
export function parse(query) {
  return (query.match(/(?:[^\s"]|"[^"]*")+/g) ?? []).map(word => {
    word = word.replaceAll('"', '');
    const colon = /^(op|type|fate|pass|name|is|shape|line):(.*)$/i.exec(word);
    if (colon) return { what: colon[1].toLowerCase(), text: colon[2].toLowerCase() };
    if (/^#\d+$/.test(word)) return { what: 'number', text: word.slice(1) };
    return { what: 'any', text: word.toLowerCase() };
  });
}

/** Operators of a side that a query finds, and tensors (other than operators' results) whose names it finds. */
export function find(model, links, fates, query) {
  const words = parse(query),
    found = [];
  if (!words.length) return found;
  for (const side of [model.source, model.result])
    for (const graph of side?.graphs ?? []) {
      for (let op = 0; op < graph.ops; ++op) {
        const item = { side: side.name, type: 'op', graph: graph.index, index: op };
        if (words.every(word => matches(model, links, fates, graph, item, word))) found.push(item);
      }
      if (words.some(word => !['any', 'name', 'type', 'shape'].includes(word.what))) continue;
      for (let tensor = 0; tensor < graph.tensors; ++tensor) {
        if (graph.maker[tensor] >= graph.inputs.length) continue;
        const text = {
          any: graph.tensorName(tensor),
          name: graph.tensorName(tensor),
          type: graph.type(tensor),
          shape: graph.shape(tensor),
        };
        if (words.every(word => text[word.what].toLowerCase().includes(word.text)))
          found.push({ side: side.name, type: 'tensor', graph: graph.index, index: tensor });
      }
    }
  // Whose name it is comes first, as `origo where` has it.
  const exact = query.trim(),
    wanted = exact.replaceAll('"', '').toLowerCase(),
    fits = found.map((item, i) => [Math.max(...namesOf(model, item).map(name => fitOf(name, exact, wanted))), i, item]);
  return fits.sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(row => row[2]);
}

/** Of an operator its own, such as an ONNX node has, and those of what it makes. */
function namesOf(model, item) {
  const graph = model.graphOf(item);
  if (item.type !== 'op') return [graph.tensorName(item.index)];
  const results = graph.results(item.index).filter(tensor => tensor >= 0);
  return [graph.opName(item.index), ...results.map(tensor => graph.tensorName(tensor))];
}
function fitOf(name, exact, wanted) {
  if (name === exact) return 4;
  const lower = name.toLowerCase();
  return lower === wanted ? 3 : lower.split(';').includes(wanted) ? 2 : lower.startsWith(wanted) ? 1 : 0;
}

/** "model.py:25 forward" is of "model.py:25" and "model.py", and not of "model.py:2". */
const isOfLine = (line, text) =>
  !!text && line.includes(text) && !(/:\d+$/.test(text) && /^\d/.test(line.slice(line.indexOf(text) + text.length)));

function matches(model, links, fates, graph, item, { what, text }) {
  const op = item.index,
    has = value => value.toLowerCase().includes(text),
    results = graph.results(op).filter(tensor => tensor >= 0);
  switch (what) {
    case 'op':
      return has(graph.kind(op));
    case 'number':
      return String(item.side === 'source' ? model.sourceId(item) : op) === text;
    case 'type':
      return results.some(tensor => has(graph.type(tensor)));
    case 'shape':
      return results.some(tensor => has(graph.shape(tensor)));
    case 'fate':
      return has(links.fate(item)?.fate ?? '') || fates.of(item) === text;
    case 'pass':
      return item.side === 'result' ? has(links.passes(item)) : has(links.fate(item)?.pass ?? '');
    case 'is':
      return text === 'gone'
        ? !!links.fate(item)
        : text === 'synthetic' || text === 'new'
          ? item.side === 'result' && !!links.synthetic(item)
          : text === 'unchanged'
            ? item.side === 'result' && !!links.map && !links.passes(item)
            : item.side === 'result' && !!text && graph.doubts?.[op] === text;
    case 'line':
      return (item.side === 'source' ? [item] : links.origins(item).map(id => model.sourceItem('op', id))).some(one => {
        const of = model.graphOf(one);
        return of && [of.line(one.index), ...of.lines(one.index)].some(line => isOfLine(line.toLowerCase(), text));
      });
    case 'name':
      return namesOf(model, item).some(has);
    default:
      return has(graph.kind(op)) || namesOf(model, item).some(has);
  }
}
