// Of a selected operator: why is it slow, and what did quantisation break here?
import { clean } from './data.js';
import { bytes, count, short, time } from './people.js';
import { h } from './table.js';

export class Answers {
  constructor(model, links, measured, details) {
    Object.assign(this, { model, links, measured, details });
  }

  of(item) {
    return item.type === 'op' ? [...(item.side === 'result' ? this.slow(item) : []), ...this.broken(item)] : this.broken(item);
  }
  link(item, words) {
    return h('button', { class: 'link', onclick: () => this.details.go(item) }, words ?? this.details.shortLabel(item));
  }

  /** Figures of all operators of a profile, the slowest first. */
  ranked(profile) {
    return (profile.ranked ??= profile.timing.result
      .flatMap((map, graph) =>
        [...map].map(([index, ns]) => {
          const of = this.model.result.graphs[graph],
            macs = of.metric('macs', index) ?? 0,
            moved = (of.metric('activation_bytes', index) ?? 0) + (of.metric('bytes', index) ?? 0);
          return { item: { side: 'result', type: 'op', graph, index }, kind: of.kind(index), ns: ns / profile.runs, macs, moved };
        }),
      )
      .sort((a, b) => b.ns - a.ns || a.item.index - b.item.index));
  }
  slow(item) {
    return this.measured.profiles.flatMap(profile => {
      const ranked = this.ranked(profile),
        rank = ranked.findIndex(row => row.item.graph === item.graph && row.item.index === item.index),
        row = ranked[rank];
      if (!row || !row.ns) return [];
      const total = profile.total / profile.runs,
        by = row.macs ? 'macs' : 'moved',
        rate = one => (one[by] / one.ns) * 1e9,
        unit = by === 'macs' ? value => `${short(value)} MACs a second` : value => `${bytes(value)} a second`;
      const best = ranked
          .filter(one => one.kind === row.kind && one[by] > 0 && one.ns > 0)
          .reduce((a, b) => (a && rate(a) >= rate(b) ? a : b), null),
        lines = [];
      lines.push(
        h(
          'p',
          {},
          h('b', {}, `${time(row.ns)}, ${Number(((row.ns / total) * 100).toPrecision(2))} % of a run`),
          `: number ${rank + 1} of ${ranked.length} by time.`,
        ),
      );
      const work = row.macs
        ? `It does ${short(row.macs)} multiply-accumulates and moves ${bytes(row.moved)}`
        : row.moved
          ? `It moves ${bytes(row.moved)}`
          : '';
      if (work && row[by])
        lines.push(
          h(
            'p',
            {},
            `${work}: ${unit(rate(row))}. `,
            ...(!best || best === row
              ? [
                  ranked.filter(one => one.kind === row.kind).length > 1
                    ? `No other ${clean(row.kind)} is faster for its work.`
                    : `There is no other ${clean(row.kind)} to compare it with.`,
                ]
              : [
                  'The best of its kind, ',
                  this.link(best.item),
                  `, reaches ${unit(rate(best))}, `,
                  h('b', {}, `${Number((rate(best) / rate(row)).toPrecision(2))} times as much`),
                  '.',
                ]),
          ),
        );
      const help = this.help(item, row, ranked, profile);
      return [h('h3', {}, 'Why is it slow?'), ...lines, help.length ? h('p', {}, 'What may help:') : null, h('ul', {}, help)];
    });
  }
  /** What is seen around it that costs, or keeps it from being fast. */
  help(item, row, ranked, profile) {
    const graph = this.model.result.graphs[item.graph],
      near = [],
      lines = [];
    for (const tensor of graph.operands(item.index))
      if (tensor >= 0 && graph.isOp(graph.maker[tensor])) near.push(graph.opOfNode(graph.maker[tensor]));
    for (const tensor of graph.results(item.index))
      for (const node of graph.users.get(tensor) ?? []) if (graph.isOp(node)) near.push(graph.opOfNode(node));
    const about = new Set(near);
    for (const [kinds, words] of [
      [/TRANSPOSE$/, 'changes the layout beside it'],
      [/^(DE)?QUANTIZE$|^CAST$/, 'changes the type beside it'],
      [/^PAD/, 'pads beside it: a convolution can do that itself'],
    ])
      for (const op of about)
        if (kinds.test(graph.kind(op)) && lines.length < 6) {
          const other = { ...item, index: op },
            cost = ranked.find(one => one.item.graph === item.graph && one.item.index === op);
          lines.push(h('li', {}, this.link(other), ` ${words}${cost ? `, which takes ${time(cost.ns)}` : ''}`));
        }
    lines.push(...this.where(item, profile));
    for (const refusal of (this.measured.refused.get(`${item.graph}:${item.index}`) ?? []).slice(0, 3))
      lines.push(
        h(
          'li',
          {},
          clean(
            `${this.measured.target.name} does not take it: ${refusal.what} ${refusal.rule} is ${refusal.actual}, ` +
              `expected ${refusal.expected}`,
          ),
        ),
      );
    if (row.macs && row.moved && row.macs / row.moved < 4)
      lines.push(
        h(
          'li',
          {},
          `It does only ${Number((row.macs / row.moved).toPrecision(2))} multiply-accumulates a byte, so memory is what it waits for`,
        ),
      );
    return lines;
  }

  /** Who computed it, if that is not who computed most. */
  where(item, profile) {
    const { backend } = profile.timing,
      mine = backend[item.graph].get(item.index),
      counts = new Map();
    for (const map of backend) for (const name of map.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    const [[most, number]] = [...counts].sort((a, b) => b[1] - a[1]);
    if (mine === 'reference')
      return [h('li', {}, 'A reference kernel computed it: --engine=fast has no other for it, or was not asked for')];
    return mine && mine !== most ? [h('li', {}, `It ran on ${mine}, and ${count(number, 'operator')} on ${most}`)] : [];
  }

  /** Errors of all operators of a subgraph of the source, in order. */
  chain(graph) {
    return (graph.chain ??= Array.from({ length: graph.ops }, (_, index) => ({
      item: { side: 'source', type: 'op', graph: graph.index, index },
      errors: this.measured.errorOf({ side: 'source', type: 'op', graph: graph.index, index }),
    })).filter(row => row.errors));
  }
  broken(item) {
    const { measured } = this,
      errors = measured.errorOf(item),
      own = measured.ownFigure();
    if (!errors || !own?.startsWith('own')) return [];
    const inherited = own.replace('own', 'inherited'),
      mine = errors[own],
      theirs = errors[inherited],
      source = item.side === 'source' ? item : this.links.counterparts(item)[0];
    if (mine === undefined || mine === null) return [];
    const parts = [
      h('h3', {}, 'What did quantisation break?'),
      h(
        'p',
        {},
        h(
          'b',
          {},
          theirs === undefined || theirs === null
            ? `It adds ${short(mine)}.`
            : mine > theirs
              ? `Most of its error is its own: ${short(mine)} beside ${short(theirs)} that it inherits.`
              : `Most of its error came with its operands: ${short(theirs)}, and it adds ${short(mine)}.`,
        ),
      ),
    ];
    return source && this.model.source ? [...parts, ...this.along(this.model.source.graphs[source.graph], source)] : parts;
  }
  /** Of a subgraph of the source: {chain, own, inherited, most, rises: where the error first passes a quarter of the most}. */
  course(graph) {
    const own = this.measured.ownFigure(),
      inherited = own?.replace('own', 'inherited'),
      chain = own?.startsWith('own') ? this.chain(graph) : [],
      sum = row => (row.errors[own] ?? 0) + (row.errors[inherited] ?? 0);
    if (chain.length < 2) return null;
    const most = Math.max(...chain.map(sum));
    return { chain, own, inherited, most, rises: chain.find(row => sum(row) > most / 4) };
  }
  /** Where errors rise, in each subgraph of the source. */
  rises() {
    return (this.model.source?.graphs ?? []).map(graph => this.course(graph)?.rises?.item).filter(Boolean);
  }
  /** The errors of a subgraph as a line; `item` is marked. */
  along(graph, item) {
    const course = this.course(graph),
      parts = [];
    if (!course?.rises) return parts;
    const { chain, own, inherited, most, rises } = course,
      at = chain.findIndex(row => row.item.index === item?.index),
      worst = chain.reduce((a, b) => ((b.errors[own] ?? 0) > (a.errors[own] ?? 0) ? b : a));
    const [first, second] = this.details.shortLabels([rises.item, worst.item]);
    parts.push(this.line(chain, own, inherited, at, chain.indexOf(rises), most));
    parts.push(
      h(
        'p',
        { class: 'soft' },
        'From the first operator to the last: dark is what each adds, light what it inherits. It first passes a quarter of the most at ',
        this.link(rises.item, first),
        '; ',
        this.link(worst.item, second),
        ' adds most.',
      ),
    );
    return parts;
  }
  line(chain, own, inherited, at, rises, most) {
    const wide = 320,
      high = 64,
      canvas = h('canvas', {
        class: 'histogram',
        width: wide,
        height: high,
        role: 'img',
        'aria-label': `Error along ${chain.length} operators; a click goes to one`,
      }),
      c = canvas.getContext('2d'),
      style = getComputedStyle(document.documentElement),
      value = name => style.getPropertyValue(name).trim();
    const step = wide / chain.length,
      broad = Math.max(step - (step > 4 ? 1 : 0), 1);
    chain.forEach((row, i) => {
      const mine = ((row.errors[own] ?? 0) / most) * (high - 8),
        all = (((row.errors[inherited] ?? 0) + (row.errors[own] ?? 0)) / most) * (high - 8);
      ((c.globalAlpha = 0.35), (c.fillStyle = value('--accent')), c.fillRect(i * step, high - all, broad, all));
      ((c.globalAlpha = 1), c.fillRect(i * step, high - Math.max(mine, mine ? 1 : 0), broad, Math.max(mine, mine ? 1 : 0)));
    });
    for (const [where, name] of [
      [rises, '--bad'],
      [at, '--mark'],
    ])
      if (where >= 0)
        ((c.fillStyle = value(name)),
          c.beginPath(),
          c.moveTo(where * step + broad / 2 - 4, 0),
          c.lineTo(where * step + broad / 2 + 4, 0),
          c.lineTo(where * step + broad / 2, 7),
          c.fill());
    canvas.addEventListener('click', event => {
      const row = chain[Math.min(Math.floor((event.offsetX / canvas.clientWidth) * chain.length), chain.length - 1)];
      if (row) this.details.go(row.item);
    });
    return canvas;
  }
}
