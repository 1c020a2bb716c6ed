// The lines and files of the program that a model comes from, where its exporter wrote them: what each costs, as --by=line and
// --by=file of origin-dump --join and of visq have it.
import { clean, keyOf } from './data.js';

/** Rows {text, isFile, ops: items of the source}: a file, then its lines; last what has none. */
function rowsOf(model) {
  const rows = new Map(),
    add = (text, isFile, item) => {
      if (!rows.has(text)) rows.set(text, { text, isFile, ops: [] });
      rows.get(text).ops.push(item);
    };
  for (const graph of model.source.graphs)
    for (let index = 0; index < graph.ops; ++index) {
      const item = { side: 'source', type: 'op', graph: graph.index, index },
        line = graph.line(index);
      if (line) (add(line.replace(/:\d+$/, ''), true, item), add(line, false, item));
      else add('(no line)', false, item);
    }
  const number = row => Number(/:(\d+)$/.exec(row.text)?.[1] ?? -1),
    file = row => (row.text === '(no line)' ? '\uffff' : row.text.replace(/:\d+$/, ''));
  return [...rows.values()].sort((a, b) => (file(a) < file(b) ? -1 : file(a) > file(b) ? 1 : number(a) - number(b)));
}
const sum = values => {
  const known = values.filter(value => value !== null && value !== undefined);
  return known.length ? known.reduce((all, value) => all + value, 0) : null;
};

export const hasLines = model => !!model.source?.graphs.some(graph => graph.data.line);

/** A table; `table` as in tabs(), `choose(row)` finds what a row is of. */
export function linesView(model, links, measured, table, choose) {
  const own = measured.ownFigure(),
    error = item => measured.errorOf(item)?.[own] ?? null,
    columns = [
      ...measured.profiles.map((profile, i) => ({
        title: measured.profiles.length > 1 ? `${i + 1}: ms` : 'ms',
        width: '66px',
        numeric: true,
        of: row => sum(row.ops.map(item => measured.time(profile, item)).map(ns => (ns === null ? null : ns / profile.runs / 1e6))),
        text: value => String(Number(value.toPrecision(3))),
        says: profile.name,
      })),
      ...(own
        ? [
            {
              title: 'own',
              width: '76px',
              numeric: true,
              of: row => row.ops.reduce((most, item) => Math.max(most ?? 0, error(item) ?? 0), null),
              text: value => String(Number(value.toPrecision(3))),
              says: `${own}: the most that one operator adds`,
            },
          ]
        : []),
      { title: 'Line', width: 'minmax(170px, 1fr)', end: true, of: row => clean(row.text) },
      { title: 'Operators', width: '80px', numeric: true, of: row => row.ops.length, says: 'Of the source' },
      {
        title: 'Live in',
        width: '70px',
        numeric: true,
        of: row => new Set(row.ops.flatMap(item => (links.opsOf.get(model.sourceId(item)) ?? []).map(keyOf))).size,
        says: 'Operators of the result that do their work',
      },
      { title: 'MACs', width: '96px', numeric: true, of: row => sum(row.ops.map(item => model.graphOf(item).metric('macs', item.index))) },
    ];
  return {
    title: 'Lines',
    make: table(
      'What each line costs',
      columns,
      () => rowsOf(model),
      () => null,
      { choose, among: undefined },
      { sort: measured.profiles.length || own ? 0 : -1, note: 'Files and lines of the program; a click finds what one made' },
    ),
  };
}
