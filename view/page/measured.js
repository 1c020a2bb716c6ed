// What was measured besides: profiles, errors of tensors, what a back end cannot take. Each has colours, a table, and words
// beside what is selected.
import { clean } from './data.js';
import { short, time } from './people.js';
import { figure, h } from './table.js';

const ms = ns => Number((ns / 1e6).toPrecision(5));

/** Time by operator of either side, in nanoseconds: what a row has for several operators is divided equally among them. */
class Timing {
  constructor(model, profile) {
    this.result = model.result.graphs.map(() => new Map());
    this.source = new Map();
    this.backend = model.result.graphs.map(() => new Map()); // who computed it, where the profile says
    const add = (map, key, ns) => map.set(key, (map.get(key) ?? 0) + ns);
    for (const [, , graph, operators, ns, shares, , , , , backend] of profile.rows) {
      for (const op of operators)
        if (ns && this.result[graph])
          (add(this.result[graph], op, ns / operators.length), this.backend[graph].set(op, clean(model.strings[backend] ?? '')));
      for (let i = 0; i < shares.length; i += 2) add(this.source, shares[i], shares[i + 1]);
    }
  }
}

/** Times are sums over runs, where all rows say of as many; those of a loop say of each time round. */
const runsOf = profile => {
  const counts = [...new Set(profile.rows.filter(row => row[4]).map(row => row[9] ?? 1))],
    least = Math.min(...counts);
  return counts.length && counts.every(count => count % least === 0) ? least : 1;
};

export class Measured {
  constructor(model, links) {
    Object.assign(this, { model, links });
    const { profiles, errors, target } = model.data,
      text = id => model.strings[id];
    this.profiles = profiles.map(profile => ({
      ...profile,
      name: clean(text(profile.file)),
      runs: runsOf(profile),
      timing: new Timing(model, profile),
    }));
    this.errors = new Map(); // source tensor → {figure: value}
    this.figures = [];
    for (const [tensor, ...pairs] of errors) {
      const row = {};
      for (let i = 0; i < pairs.length; i += 2) {
        const name = clean(text(pairs[i]));
        row[name] = pairs[i + 1];
        if (!this.figures.includes(name)) this.figures.push(name);
      }
      this.errors.set(tensor, row);
    }
    this.target = target && {
      name: clean(text(target.name)),
      rows: target.rows.map(([graph, op, what, rule, expected, actual]) => ({
        graph,
        op,
        what: text(what),
        rule: text(rule),
        expected: text(expected),
        actual: text(actual),
      })),
    };
    this.refused = new Map();
    for (const row of this.target?.rows ?? [])
      if (row.op !== null) {
        const key = `${row.graph}:${row.op}`;
        this.refused.set(key, [...(this.refused.get(key) ?? []), row]);
      }
  }
  /** What an operator adds itself; else the first figure there is. */
  ownFigure() {
    return this.figures.find(name => name.startsWith('own')) ?? this.figures[0];
  }
  time(profile, item) {
    return (
      (item.side === 'source' ? profile.timing.source.get(this.model.sourceId(item)) : profile.timing.result[item.graph].get(item.index)) ??
      null
    );
  }
  /** In ms, of the source operators in a scope, and of the one of its name; null: what is no scope. */
  scopeTime(profile, scope) {
    if (!profile.scopes) {
      profile.scopes = new Map();
      for (const [id, ns] of profile.timing.source) {
        const item = this.model.sourceItem('op', id),
          graph = this.model.exists(item) ? this.model.graphOf(item) : null;
        for (const one of graph?.scopes(item.index) ?? []) profile.scopes.set(one, (profile.scopes.get(one) ?? 0) + ns);
      }
    }
    return scope.endsWith('/') ? ms(profile.scopes.get(scope) ?? 0) : null;
  }
  /** The row of errors of what an operator makes, or of a tensor. */
  errorOf(item) {
    if (!this.errors.size) return null;
    const graph = this.model.graphOf(item),
      tensors = item.type === 'op' ? graph.results(item.index).filter(tensor => tensor >= 0) : [item.index];
    for (const index of tensors) {
      const tensor = { ...item, type: 'tensor', index };
      const ids =
        item.side === 'source' ? [this.model.sourceId(tensor)] : (this.links.tensorFacts(tensor)?.relations ?? []).map(row => row[0]);
      for (const id of ids) if (this.errors.has(id)) return this.errors.get(id);
    }
    return null;
  }

  /** Of operators that one node stands for: their time in a run, and the most error that one of them adds. */
  figuresOf(items) {
    const [profile] = this.profiles,
      own = this.ownFigure(),
      times = profile ? items.map(item => this.time(profile, item)).filter(ns => ns !== null) : [],
      errors = own ? items.map(item => this.errorOf(item)?.[own]).filter(value => typeof value === 'number') : [];
    return [
      times.length ? time(times.reduce((a, b) => a + b) / profile.runs) : '',
      errors.length ? `error ${short(Math.max(...errors))}` : '',
    ].filter(Boolean);
  }

  overlays() {
    return [
      ...this.profiles.map((profile, i) => ({
        name: `time-${i}`,
        title: `time in ms, ${profile.name}`,
        numeric: true,
        adds: true,
        of: (graph, item) => {
          const ns = this.time(profile, item);
          return ns === null ? null : ms(ns);
        },
      })),
      ...this.figures.map((name, i) => ({
        name: `error-${i}`,
        title: `error of the result, ${name}`,
        numeric: true,
        of: (graph, item) => this.errorOf(item)?.[name] ?? null,
      })),
      ...(this.target
        ? [
            {
              name: 'target',
              title: `what ${this.target.name} takes`,
              fixed: ['it is taken', 'it is not taken'],
              of: (graph, item) =>
                item.side === 'source' ? null : this.refused.has(`${item.graph}:${item.index}`) ? 'it is not taken' : 'it is taken',
            },
          ]
        : []),
    ];
  }

  /** key → {title, make()} for the tabs. */
  views(table) {
    const text = id => clean(this.model.strings[id]),
      result = (graph, index) => ({ side: 'result', type: 'op', graph, index }),
      views = [];
    this.profiles.forEach((profile, i) => {
      const rows = profile.rows.map(([label, match, graph, operators, ns, shares, synthetic, unattributed, metric]) => ({
        label: text(label),
        match: text(match),
        graph,
        operators,
        ns,
        metric: text(metric),
        shares,
      }));
      const from = row => {
        const names = [];
        for (let at = 0; at < row.shares.length; at += 2) {
          const item = this.model.sourceItem('op', row.shares[at]);
          if (this.model.exists(item)) names.push(clean(this.model.graphOf(item).opName(item.index)));
        }
        return names.join(', ');
      };
      const first = row => (row.operators.length ? result(row.graph, row.operators[0]) : null),
        graphOf = row => this.model.result.graphs[row.graph],
        runs = profile.runs;
      views.push([
        `profile-${i}`,
        {
          title: this.profiles.length > 1 ? `Profile ${i + 1}` : 'Profile',
          make: table(
            `Rows of ${profile.name}`,
            [
              {
                title: 'ms',
                width: '66px',
                numeric: true,
                of: row => ms(row.ns / runs),
                text: value => String(Number(value.toPrecision(3))),
              },
              {
                title: '%',
                width: '46px',
                numeric: true,
                of: row => (profile.total ? Number(((row.ns / profile.total) * 100).toFixed(1)) : null),
              },
              {
                title: 'Layer',
                width: 'minmax(150px, 1fr)',
                end: true,
                of: row => (first(row) && graphOf(row) ? clean(graphOf(row).opName(row.operators[0]).split(';')[0]) : row.label),
              },
              {
                title: 'Operator',
                width: '150px',
                of: row => (first(row) && graphOf(row) ? clean(row.operators.map(op => graphOf(row).kind(op)).join(' + ')) : ''),
              },
              { title: 'Does the work of', width: '220px', of: from },
              { title: 'Row', width: '140px', of: row => row.label },
              { title: 'Operators', width: '76px', of: row => row.operators.join(' ') },
              { title: 'Match', width: '76px', of: row => row.match },
            ],
            () => rows,
            first,
            {},
            {
              sort: 0,
              note: `${profile.name}: ${runs > 1 ? `each is the mean of ${runs} runs` : 'as the profile has them'}; the greatest first`,
            },
          ),
        },
      ]);
    });
    if (this.profiles.length > 1)
      views.push(['compare', { title: 'Compare', make: table('Profiles beside each other', ...this.comparison()) }]);
    if (this.errors.size) {
      const rows = [...this.errors].map(([id, values]) => ({ item: this.model.sourceItem('tensor', id), id, values }));
      const own = this.ownFigure(),
        figures = [own, ...this.figures.filter(name => name !== own).sort((a, b) => b.startsWith('inherited') - a.startsWith('inherited'))],
        figureOf = (name, i) => ({
          title: i < 2 ? name.replace(/^(own|inherited) .*/, '$1') : name,
          says: name,
          width: ['76px', '82px'][i] ?? '88px',
          numeric: true,
          of: row => row.values[name] ?? null,
          text: value => String(Number(value.toPrecision(3))),
        });
      const madeBy = row => {
        const graph = this.model.graphOf(row.item),
          node = graph.maker[row.item.index];
        return node >= 0 && graph.isOp(node) ? graph.kind(graph.opOfNode(node)) : '';
      };
      views.push([
        'errors',
        {
          title: 'Errors',
          make: table(
            'Errors of tensors of the source',
            [
              ...figures.map(figureOf).slice(0, 2),
              {
                title: 'Tensor',
                width: 'minmax(160px, 1fr)',
                end: true,
                of: row => clean(this.model.graphOf(row.item).tensorName(row.item.index)),
              },
              { title: 'Made by', width: '128px', of: row => clean(madeBy(row)) },
              ...figures.map(figureOf).slice(2),
              { title: '#', width: '44px', numeric: true, of: row => row.id },
            ],
            () => rows,
            row => row.item,
            {},
            {
              sort: 0,
              note: figures[0].startsWith('own')
                ? `${own.slice(4)}: what each layer adds itself first; inherited is what its operands brought`
                : `By ${figures[0]}`,
            },
          ),
        },
      ]);
    }
    if (this.target)
      views.push([
        'target',
        {
          title: 'Target',
          make: table(
            `What ${this.target.name} does not take`,
            [
              { title: '#', width: '52px', numeric: true, of: row => row.op },
              {
                title: 'Operator',
                width: '140px',
                of: row => (row.op === null ? 'graph' : clean(this.model.result.graphs[row.graph].kind(row.op))),
              },
              { title: 'What', width: '90px', of: row => clean(row.what) },
              { title: 'Rule', width: '90px', of: row => clean(row.rule) },
              { title: 'Expected', width: '160px', of: row => clean(row.expected) },
              { title: 'Actual', width: '120px', of: row => clean(row.actual) },
            ],
            () => this.target.rows,
            row => (row.op === null ? null : result(row.graph, row.op)),
          ),
        },
      ]);
    return views;
  }

  /** Of operators of the result in the first two profiles: columns, rows and so on of a table. */
  comparison() {
    const [a, b] = this.profiles,
      run = (profile, item) => {
        const ns = this.time(profile, item);
        return ns === null ? null : ms(ns / profile.runs);
      },
      rows = this.model.result.graphs
        .flatMap(graph => Array.from({ length: graph.ops }, (_, index) => ({ side: 'result', type: 'op', graph: graph.index, index })))
        .map(item => ({ item, a: run(a, item), b: run(b, item) }))
        .filter(row => row.a !== null || row.b !== null),
      digits = value => String(Number(value.toPrecision(3))),
      more = row => Number(((row.b ?? 0) - (row.a ?? 0)).toPrecision(5)),
      graphOf = row => this.model.graphOf(row.item);
    return [
      [
        {
          title: 'Δ ms',
          width: '66px',
          numeric: true,
          of: more,
          text: value => `${value > 0 ? '+' : value < 0 ? '−' : ''}${digits(Math.abs(value))}`,
          says: 'The second profile less the first',
        },
        { title: '1: ms', width: '60px', numeric: true, of: row => row.a, text: digits, says: a.name },
        { title: '2: ms', width: '60px', numeric: true, of: row => row.b, text: digits, says: b.name },
        {
          title: 'times',
          width: '58px',
          numeric: true,
          of: row => (row.a && row.b ? Number((row.b / row.a).toPrecision(3)) : null),
          text: digits,
        },
        { title: 'Layer', width: 'minmax(120px, 1fr)', end: true, of: row => clean(graphOf(row).opName(row.item.index).split(';')[0]) },
        { title: 'Operator', width: '128px', of: row => clean(graphOf(row).kind(row.item.index)) },
      ],
      () => rows,
      row => row.item,
      {},
      { sort: 0, key: value => Math.abs(value), note: `1 is ${a.name}, 2 is ${b.name}, a run each; what differs most first` },
    ];
  }

  /** For the details of an item. */
  words(item, pairs) {
    const parts = [];
    if (item.type === 'op') {
      const times = this.profiles.map(profile => [profile.name, this.time(profile, item)]).filter(row => row[1] !== null);
      if (times.length)
        parts.push(
          h('h3', {}, item.side === 'source' ? 'Time of its work' : 'Time'),
          pairs(
            times.map(([name, ns], i) => [
              name,
              `${figure(ms(ns / this.profiles[i].runs))} ms` +
                `${this.profiles[i].total ? `, ${Number(((ns / this.profiles[i].total) * 100).toFixed(1))} %` : ''}`,
            ]),
          ),
        );
      for (const row of item.side === 'result' ? (this.refused.get(`${item.graph}:${item.index}`) ?? []) : [])
        parts.push(
          h(
            'p',
            { class: 'bad' },
            clean(`${this.target.name} does not take it: ${row.what} ${row.rule} is ${row.actual}, expected ${row.expected}.`),
          ),
        );
    }
    const errors = this.errorOf(item);
    if (errors)
      parts.push(h('h3', {}, 'Errors of the result'), pairs(Object.entries(errors).map(([name, value]) => [name, figure(value)])));
    return parts;
  }
}
