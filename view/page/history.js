// The graph after each rewrite, from what circle2circle --history wrote. Nodes stand where what they come from stands.
import { CONSTANT, clean } from './data.js';
import { count } from './people.js';
import { settle } from './place.js';

export class History {
  constructor(model, links) {
    Object.assign(this, { model, links });
    const { names, rows, final } = model.data.history;
    this.names = names;
    this.rows = rows.map(([number, pass, rule, graph, removed, made, replaced]) => ({
      number,
      pass: names[pass],
      rule: names[rule],
      graph,
      removed,
      made,
      replaced: replaced ?? [],
    }));
    this.survivors = new Map(); // number of an operator → the result's
    final.forEach((runs, graph) => {
      let index = 0;
      for (let i = 0; i < runs.length; i += 2)
        for (let id = runs[i]; id < runs[i] + runs[i + 1]; ++id)
          this.survivors.set(id, { side: 'result', type: 'op', graph, index: index++ });
    });
    this.setSteps(false);
  }
  /** A step is a rewrite, or a group: rewrites in a row of one pass, or that go on with what the group made. */
  setSteps(inGroups) {
    this.steps = [0];
    let next = this.model.source.graphs.reduce((sum, graph) => sum + graph.ops, 0),
      begin = next;
    this.rows.forEach((row, i) => {
      next += row.made.length;
      const follower = this.rows[i + 1];
      if (inGroups && follower && (follower.pass === row.pass || follower.removed.some(id => id >= begin))) return;
      this.steps.push(i + 1);
      begin = next;
    });
  }
  get last() {
    return this.steps.length - 1;
  }
  describe(step) {
    if (step === 0) return 'the source as it was read';
    const rows = this.rows.slice(this.steps[step - 1], this.steps[step]),
      total = key => rows.reduce((sum, row) => sum + row[key].length, 0);
    const kinds = [...new Set(rows.flatMap(row => row.made.map(made => this.names[made[0]])))].join(', ');
    const which =
      rows.length === 1
        ? `rewrite ${rows[0].number}: ${rows[0].pass} / ${rows[0].rule}`
        : `${rows.length} rewrites: ${[...new Set(rows.map(row => row.pass))].join(', ')}`;
    return clean(`${which}; ${count(total('removed'), 'operator')} became ${total('made')}${kinds ? ` (${kinds})` : ''}`);
  }

  /** {live: number → {kind, graph, in, out, origins}, alias, changed: numbers that the step made, consumed: source operators} */
  state(step) {
    const { model } = this,
      live = new Map(),
      alias = new Map(),
      changed = new Set(),
      consumed = new Set();
    for (const graph of model.source.graphs) {
      const first = model.first('tensor')[graph.index],
        flows = tensor => tensor >= 0 && graph.tensorKind(tensor) !== CONSTANT;
      for (let op = 0; op < graph.ops; ++op)
        live.set(model.first('op')[graph.index] + op, {
          kind: graph.kind(op),
          graph: graph.index,
          in: graph
            .operands(op)
            .filter(flows)
            .map(tensor => tensor + first),
          out: graph
            .results(op)
            .filter(tensor => tensor >= 0)
            .map(tensor => tensor + first),
          origins: [model.first('op')[graph.index] + op],
        });
    }
    let next = live.size;
    const begin = step ? this.steps[step - 1] : 0;
    this.rows.slice(0, this.steps[step]).forEach((row, i) => {
      const gone = row.removed.map(id => live.get(id)),
        graph = gone.find(Boolean)?.graph ?? this.sourceGraph(row.graph);
      for (const id of row.removed) live.delete(id);
      for (const [kind, operands, results, from] of row.made) {
        const origins = [...new Set((from ? from.map(at => gone[at]) : gone).flatMap(op => op?.origins ?? []))].sort((a, b) => a - b);
        live.set(next, { kind: this.names[kind], graph, in: operands, out: results, origins });
        if (i >= begin) changed.add(next);
        ++next;
      }
      for (let at = 0; at < row.replaced.length; at += 2) {
        let to = row.replaced[at + 1];
        while (alias.has(to)) to = alias.get(to);
        if (to !== row.replaced[at]) alias.set(row.replaced[at], to); // never round in a circle, whatever the file says
      }
      if (i >= begin) for (const op of gone) for (const id of op?.origins ?? []) consumed.add(id);
    });
    return { live, alias, changed, consumed };
  }
  sourceGraph(index) {
    return this.model.result.graphs[index]?.data.sources[0] ?? 0;
  }

  /** What the pane of the result shows of a source subgraph at a step. */
  display(step, index) {
    const { live, alias, changed, consumed } = this.state(step),
      source = this.model.source.graphs[index],
      layout = source.data.layout;
    const first = this.model.first('op')[index],
      firstTensor = this.model.first('tensor')[index],
      now = value => {
        while (alias.has(value)) value = alias.get(value);
        return value;
      };
    const nodes = [],
      maker = new Map(),
      incoming = [];
    const add = node => {
      nodes.push({ past: true, subtitle: '', item: null, ...node });
      incoming.push(node.takes ?? []);
      return nodes.length - 1;
    };
    source.inputs.forEach((tensor, i) =>
      maker.set(
        firstTensor + tensor,
        add({
          row: layout.row[i],
          x: layout.x[i],
          place: `${layout.row[i]}:${layout.x[i]}`,
          state: 'io',
          title: 'input',
          subtitle: clean(source.tensorName(tensor)),
          item: { side: 'source', type: 'tensor', graph: index, index: tensor },
        }),
      ),
    );
    for (const [id, op] of live) {
      if (op.graph !== index) continue;
      const own = op.origins.filter(one => one >= first && one < first + source.ops).at(-1),
        at = own === undefined ? undefined : source.inputs.length + own - first;
      const item =
        id < first + source.ops && id >= first
          ? { side: 'source', type: 'op', graph: index, index: id - first }
          : (this.survivors.get(id) ?? null);
      const node = add({
        row: at === undefined ? 0 : layout.row[at],
        x: at === undefined ? null : layout.x[at],
        last: at,
        place: at === undefined ? '' : `${layout.row[at]}:${layout.x[at]}`,
        state: changed.has(id) ? 'new' : '',
        kind: op.kind,
        title: clean(op.kind),
        subtitle: own === undefined ? '' : clean(source.opName(own - first).split(';')[0]),
        item,
        origins: op.origins,
        takes: op.in,
      });
      for (const value of op.out) maker.set(value, node);
    }
    source.outputs.forEach((tensor, i) => {
      const at = source.inputs.length + source.ops + i;
      if (tensor >= 0)
        add({
          row: layout.row[at],
          x: layout.x[at],
          place: `${layout.row[at]}:${layout.x[at]}`,
          state: 'io',
          title: 'output',
          subtitle: clean(source.tensorName(tensor)),
          takes: [firstTensor + tensor],
        });
    });
    const edges = [];
    incoming.forEach((values, to) => {
      for (const from of new Set(values.map(value => maker.get(now(value)))))
        if (from !== undefined && from !== to) edges.push({ from, to, tensor: -1 });
    });
    // What has nothing but constants stands beside a user of it.
    const user = nodes.map(() => undefined),
      fixed = node => node.item?.side === 'source' && node.item.type === 'op' && source.data.host?.[node.item.index] !== undefined;
    for (const edge of edges) if (!fixed(nodes[edge.to])) user[edge.from] ??= edge.to;
    nodes.forEach((node, i) => {
      if (fixed(node) && user[i] !== undefined) ((node.state = 'beside'), (node.host = user[i]));
    });
    order(nodes, edges);
    const display = settle(nodes, edges, host => host);
    display.past = true;
    return { display, changed: nodes.flatMap((node, i) => (node.state === 'new' ? [i] : [])), consumed: [...consumed] };
  }
}

/** Numbers nodes so that what computes something comes before who uses it, and puts those without a place below it. */
function order(nodes, edges) {
  const missing = nodes.map(() => 0),
    users = nodes.map(() => []),
    from = nodes.map(() => []);
  for (const edge of edges) (++missing[edge.to], users[edge.from].push(edge.to), from[edge.to].push(edge.from));
  const ready = nodes.flatMap((_, i) => (missing[i] ? [] : [i]));
  for (let at = 0; at < ready.length; ++at) {
    const node = nodes[ready[at]];
    node.order = at;
    node.x ??= from[ready[at]].length ? from[ready[at]].reduce((sum, one) => sum + nodes[one].x, 0) / from[ready[at]].length : 0;
    for (const user of users[ready[at]]) if (--missing[user] === 0) ready.push(user);
  }
  nodes.forEach((node, i) => {
    node.order ??= nodes.length + i;
    node.x ??= 0;
  });
}
