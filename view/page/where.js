// What became of something of the source, in the words of `origo where`.
import { CONSTANT } from './data.js';
import { h } from './table.js';

const utf8 = new TextEncoder(),
  hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u,
  LISTED = 8; // of a list, as report/origin/Words.cpp has it

/** As the command line prints a name: what does not show is in digits, and what is long is cut. */
export function printable(text, limit = 120) {
  let result = '',
    size = 0;
  for (const character of text) {
    if (size >= limit) return `${result}…`;
    const part = hidden.test(character)
      ? [...utf8.encode(character)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
      : `${character === '"' || character === '\\' ? '\\' : ''}${character}`;
    result += part;
    size += utf8.encode(part).length;
  }
  return result;
}

export class Where {
  constructor(model, links, go) {
    Object.assign(this, { model, links, go });
  }
  named(name) {
    return name ? ` "${printable(name)}"` : '';
  }
  kind(graph, op) {
    const [kind, ...code] = graph.kind(op).split(':');
    return printable(kind) + (code.length ? `:${printable(code.join(':'))}` : '');
  }
  /** "source operator 3 (RELU "relu1")", "constant 1 "stem/filter"". */
  words(item) {
    const graph = this.model.graphOf(item);
    if (!graph || !this.model.exists(item))
      return `${item.side === 'source' ? 'source ' : ''}${item.type === 'op' ? 'operator' : 'tensor'} ${item.index}`;
    const op = item.type === 'op',
      is = op ? ` (${this.kind(graph, item.index)}${this.named(graph.opName(item.index))}` : '';
    if (item.side === 'source') {
      const line = op && graph.line(item.index);
      const id = this.model.sourceId(item);
      return op ? `source operator ${id}${is}${line ? `, ${printable(line)}` : ''})` : `source tensor ${id}${this.named(graph.tensorName(item.index))}`;
    }
    const of = this.model.result.graphs.length > 1 ? ` of subgraph ${item.graph}` : '';
    return op
      ? `operator ${item.index}${is})${of}`
      : `${graph.tensorKind(item.index) === CONSTANT ? 'constant' : 'tensor'} ${item.index}${this.named(graph.tensorName(item.index))}${of}`;
  }
  link(item) {
    return h('button', { class: 'link', onclick: () => this.go(item) }, this.words(item));
  }
  /** Links, and behind each what `extra` says. */
  list(items, extra = () => '') {
    const shown = items.length <= LISTED + 1 ? items : items.slice(0, LISTED),
      parts = shown.flatMap((item, i) => [i ? ', ' : '', this.link(item), extra(i)]);
    return shown.length < items.length ? [...parts, `, and ${items.length - shown.length} more`] : parts;
  }
  lost(item) {
    const fate = this.links.fate(item);
    if (!fate) return null;
    return [
      fate.words,
      fate.fate === 'dead' && fate.was ? ` (${printable(fate.was)} at first)` : '',
      fate.with.length ? [', together with ', this.list(fate.with.map(id => this.model.sourceItem('op', id)))] : '',
      fate.fate === 'elsewhere' ? `, ${printable(fate.part)}${fate.print ? ` (${printable(fate.print)})` : ''}` : '',
      fate.into.length ? ['; it went into ', this.list(fate.into)] : '',
      fate.pass ? `; pass ${printable(fate.pass)}, run ${fate.run}, rewrite ${fate.rewrite}` : '',
    ];
  }
  /** Of one of the source, a line each. */
  lines(item) {
    const { links } = this,
      id = this.model.sourceId(item),
      op = item.type === 'op',
      lives = (op && links.opsOf.get(id)) || [],
      values = (!op && links.valuesOf.get(id)) || [],
      constants = (op ? links.constantsOf : links.madeOf).get(id) ?? [],
      lost = this.lost(item),
      made = constants.length ? ['went into the values of ', this.list(constants)] : null;
    const known = op ? [lost, made] : [made, lost];
    return [
      lives.length ? ['lives in ', this.list(lives)] : null,
      values.length
        ? [
            'is ',
            this.list(
              values.map(row => row[0]),
              i => (values[i][1] ? ` (${values[i][1]})` : ''),
            ),
          ]
        : null,
      ...known,
      ...(links.unneeded[item.type].get(id) ?? []),
      lives.length || values.length || lost || (!op && made) ? null : 'the map does not say what became of it',
    ].filter(Boolean);
  }
  /** Of an operator, and of what it makes; or of a tensor. */
  contents(item) {
    if (!this.links.map || item.side !== 'source') return [];
    const results =
        item.type === 'op'
          ? this.model
              .graphOf(item)
              .results(item.index)
              .filter(tensor => tensor >= 0)
              .map(index => ({ ...item, type: 'tensor', index }))
          : [],
      block = (one, head) => [head, ...this.lines(one).map(parts => h('p', { class: this.links.fate(one) ? 'gone' : '' }, parts))];
    return [
      h(
        'div',
        { class: 'where' },
        block(item, h('p', { class: 'soft' }, this.words(item))),
        results.slice(0, 4).map(one => block(one, h('p', { class: 'soft' }, this.words(one)))),
      ),
    ];
  }
}
