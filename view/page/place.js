// What a pane draws: nodes and groups of nodes with their places, and the edges between them.
import { clean, keyOf } from './data.js';

export const WIDTH = 200,
  HEIGHT = 40,
  PITCH = 62, // from one row to the next
  COLUMN = 48, // the same, where nodes stand one below the other in a narrow pane
  GAP = 24, // between nodes of a row
  BESIDE = 120, // WIDTH, GAP and BESIDE as in view/Layout.h
  LONGEST = 48,
  LANES = 46; // room for lines beside a column of nodes
const CHIP = { w: 108, h: 18 };

/**
 * nodes: {row, dy, x, w, h, title, subtitle, item, node, state, members}
 *   state: '' | 'io' | 'group' | 'fused' | 'beside' | 'new'; members: of a group, operators; dy: how far it is off its row
 * edges: {from, to, tensor, route}   route: x in each row between, null where the edge is too long for a line
 */
export class Display {
  constructor(nodes, edges, areLinesWithin = false) {
    for (const node of nodes) ((node.w ??= WIDTH), (node.h ??= HEIGHT), (node.dy ??= 0));
    this.nodes = nodes;
    this.edges = edges;
    this.of = new Map(); // key of an item → node
    nodes.forEach((node, i) => {
      // An output that is an input's item has a node of its own.
      if (node.item && !(node.state === 'io' && this.of.has(keyOf(node.item)))) this.of.set(keyOf(node.item), i);
      for (const item of node.members ?? []) this.of.set(keyOf(item), i);
    });
    this.byRow = nodes.map((_, i) => i).sort((a, b) => nodes[a].row - nodes[b].row || nodes[a].x - nodes[b].x);
    this.rows = nodes.length ? nodes[this.byRow.at(-1)].row + 1 : 0;
    this.preds = nodes.map(() => []);
    this.succs = nodes.map(() => []);
    for (const edge of edges) (this.succs[edge.from].push(edge.to), this.preds[edge.to].push(edge.from));
    this.left = nodes.reduce((least, node) => Math.min(least, node.x - node.w / 2), nodes.length ? Infinity : 0);
    this.right = nodes.reduce((most, node) => Math.max(most, node.x + node.w / 2), nodes.length ? -Infinity : 0);
    this.lines = new Map(); // row → how far left and right lines go that pass it
    for (const { from, route } of areLinesWithin ? [] : edges)
      if (Array.isArray(route))
        route.forEach((x, i) => {
          const row = nodes[from].row + 1 + i,
            [left, right] = this.lines.get(row) ?? [x, x];
          this.lines.set(row, [Math.min(left, x), Math.max(right, x)]);
        });
    for (const [left, right] of this.lines.values())
      ((this.left = Math.min(this.left, left - 4)), (this.right = Math.max(this.right, right + 4)));
  }
  /** How far nodes and lines go in rows first to last: left, right. */
  reach(first, last) {
    const [begin, end] = this.between(first, last);
    let left = Infinity,
      right = -Infinity;
    for (let i = begin; i < end; ++i) {
      const { x, w } = this.nodes[this.byRow[i]];
      ((left = Math.min(left, x - w / 2)), (right = Math.max(right, x + w / 2)));
    }
    for (let row = first; row <= last && row < this.rows; ++row) {
      const lines = this.lines.get(row);
      if (lines) ((left = Math.min(left, lines[0] - 4)), (right = Math.max(right, lines[1] + 4)));
    }
    return [left, right];
  }
  /** Indices into byRow of what lies in rows first to last. */
  between(first, last) {
    const at = row => {
      let low = 0,
        high = this.byRow.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.nodes[this.byRow[middle]].row < row) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return [at(first), at(last + 1)];
  }
}

const last = name => name.split(';')[0];

/** What is computed behind the operator in one kernel. */
const fusedActivation = options => /fused_activation_function=(\w+)/.exec(options)?.[1] ?? '';
const optionOf = (options, name) => Number(new RegExp(`\\b${name}=(\\d+)`).exec(options)?.[1] ?? 1);

/** The kind; in a node there is no room to say of each ONNX operator that it is one. */
export const shortKind = (graph, op) => clean(graph.kind(op).replace(/^CUSTOM:onnx\./, ''));
/** The kind, and what is computed behind it. */
export function titleOf(graph, op) {
  const key = `${graph.data.kind[op]} ${graph.data.options[op]}`,
    known = (graph.titles ??= new Map());
  if (!known.has(key)) {
    const kind = shortKind(graph, op),
      activation = fusedActivation(graph.options(op));
    known.set(key, activation && activation !== 'NONE' ? `${kind} + ${activation}` : kind);
  }
  return known.get(key);
}
/** Kernel and stride: "3×3 /2"; '' where an operator has none. */
export function kernelOf(graph, op) {
  // Operators that are alike are told apart by numbers of texts only.
  const { kind: kinds, options, shape } = graph.data,
    key = `${kinds[op]} ${options[op]} ${shape?.[graph.operands(op)[1]] ?? ''}`,
    known = (graph.kernels ??= new Map());
  if (!known.has(key)) known.set(key, kernelText(graph, op));
  return known.get(key);
}
function kernelText(graph, op) {
  const kind = graph.kind(op),
    options = graph.options(op),
    pair = name => new RegExp(`\\b${name}=\\[ ?(\\d+), ?(\\d+) ?\\]`).exec(options)?.slice(1),
    weights = () => graph.shape(graph.operands(op)[1] ?? -1).split('×');
  if (kind.startsWith('CUSTOM:onnx.')) {
    const window = pair('kernel_shape') ?? (/Conv/.test(kind) ? weights().slice(2) : []);
    return window.length === 2 ? `${window.join('×')}${strideText(...(pair('strides') ?? [1, 1]).map(Number))}` : '';
  }
  const dims = /CONV/.test(kind) ? weights() : [];
  const height = /POOL/.test(kind) ? optionOf(options, 'filter_height') : dims.length === 4 ? Number(dims[1]) : 0,
    width = /POOL/.test(kind) ? optionOf(options, 'filter_width') : Number(dims[2]);
  if (!(height > 0 && width > 0)) return '';
  return `${height}×${width}${strideText(optionOf(options, 'stride_h'), optionOf(options, 'stride_w'))}`;
}
const strideText = (down, across) => (down === 1 && across === 1 ? '' : down === across ? ` /${down}` : ` /${down}×${across}`);

function nodeOf(graph, node, row, x) {
  const side = graph.side,
    at = { side, graph: graph.index };
  if (graph.isOp(node)) {
    const op = graph.opOfNode(node);
    return {
      row,
      x,
      node,
      state: '',
      calls: graph.callees(op),
      title: titleOf(graph, op) + (graph.doubts?.[op] ? ' ?' : ''),
      detail: kernelOf(graph, op),
      subtitle: clean(last(graph.opName(op))) || `#${op}`,
      item: { ...at, type: 'op', index: op },
    };
  }
  const isInput = node < graph.inputs.length;
  const tensor = isInput ? graph.inputs[node] : graph.outputs[node - graph.inputs.length - graph.ops];
  const item = tensor >= 0 ? { ...at, type: 'tensor', index: tensor } : null;
  return {
    row,
    x,
    node,
    state: 'io',
    title: isInput ? 'input' : 'output',
    detail: item ? graph.shape(tensor) : '',
    subtitle: tensor >= 0 ? clean(last(graph.tensorName(tensor))) : '',
    item,
  };
}

/** Of operators that one node stands for, the one that is worth most. */
export const mainOf = (graph, members) => members.find(item => /CONV|FULLY|MATMUL|GEMM|LSTM/i.test(graph.kind(item.index))) ?? members[0];
/** "CONV_2D + MUL + ADD", the one that is worth most first, with how often each is there. */
function kindsOf(graph, members) {
  const counts = new Map(),
    main = mainOf(graph, members);
  for (const { index } of [main, ...members.filter(item => item !== main)]) {
    const kind = shortKind(graph, index);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => (count > 1 ? `${count} ${kind}` : kind)).join(' + ');
}

/**
 * The nodes of a graph where the page was written to have them; `folded`: with what one operator of the other side does the work of
 * as one node. `groupOf(op)`: {key, title, subtitle} of the node that stands for it and others; null: it stands for itself.
 */
export function displayOf(graph, folded, groupOf) {
  const layout = (folded && graph.data.folded) || graph.data.layout,
    hosts = graph.data.host ?? {},
    fused = [];
  if (folded)
    (graph.data.groups ?? []).forEach((members, i) => {
      for (const op of members) fused[op] = i;
    });
  const groups = new Map(),
    nodes = [],
    of = [];
  for (let node = 0; node < graph.nodes; ++node) {
    const one = nodeOf(graph, node, layout.row[node], layout.x[node]),
      op = graph.isOp(node) ? graph.opOfNode(node) : -1,
      host = hosts[op] ?? op;
    const group =
      op < 0
        ? null
        : (groupOf?.(host) ??
          (fused[host] === undefined || host !== op ? null : { key: `fused${graph.side}${graph.index}:${fused[host]}`, state: 'fused' }));
    one.order = one.last = node;
    one.place = `${layout.row[node]}:${layout.x[node]}`;
    if (!group) {
      if (host !== op) ((one.state = 'beside'), (one.host = host));
      of[node] = nodes.push(one) - 1;
      continue;
    }
    if (!groups.has(group.key))
      groups.set(
        group.key,
        nodes.push({
          ...one,
          item: null,
          members: [],
          key: group.key,
          state: group.state ?? 'group',
          place: group.state ? one.place : group.key,
          title: group.title ?? '',
          subtitle: group.subtitle ?? '',
          detail: '',
          calls: [],
        }) - 1,
      );
    of[node] = groups.get(group.key);
    nodes[of[node]].members.push(one.item);
    nodes[of[node]].last = node;
  }
  for (const node of nodes) {
    if (node.state === 'fused') {
      const names = node.members.map(item => graph.opName(item.index)).filter(Boolean);
      node.title = kindsOf(graph, node.members);
      node.subtitle = clean(last(names.at(-1) ?? ''));
      node.detail = node.members.map(item => kernelOf(graph, item.index)).find(Boolean) ?? '';
    } else if (node.members)
      ((node.kinds = !node.title),
        (node.subtitle ||= node.title ? kindsOf(graph, node.members) : clean(last(graph.opName(node.members.at(-1).index)))),
        (node.title = clean(node.title) || kindsOf(graph, node.members).split(' + ')[0]),
        (node.detail =
          node.members.length === 1 || (node.kinds && !kindsOf(graph, node.members).includes(' + '))
            ? node.kinds
              ? ''
              : '1 operator'
            : `${node.kinds ? 'of ' : ''}${node.members.length}${node.kinds ? '' : ' operators'}`));
  }
  const edges = [],
    seen = new Set(),
    routes = new Map();
  for (let i = 0; i < layout.routes.length;) {
    const { routes: all } = layout,
      count = all[i + 2],
      key = of[all[i]] * nodes.length + of[all[i + 1]];
    if (!routes.has(key)) routes.set(key, count < 0 ? 'direct' : layout.routes.slice(i + 3, i + 3 + count));
    i += 3 + Math.max(count, 0);
  }
  for (const edge of graph.edges) {
    const from = of[edge.from],
      to = of[edge.to],
      key = from * nodes.length + to;
    if (from === to || seen.has(key)) continue;
    seen.add(key);
    edges.push({ from, to, tensor: edge.tensor, route: routes.get(key) ?? null });
  }
  if (groupOf) return Object.assign(new Display(nodes, edges), { hostOf: op => of[graph.inputs.length + op] });
  besides(nodes, op => of[graph.inputs.length + op]);
  routeAll(nodes, edges);
  return Object.assign(new Display(nodes, edges), { hostOf: op => of[graph.inputs.length + op] });
}

/** What stands beside another: two upon each other, at the left. `hostOf(op)`: the node that shows an operator. */
export function besides(nodes, hostOf) {
  const lists = new Map();
  for (const node of nodes)
    if (node.state === 'beside') {
      const host = hostOf(node.host);
      if (lists.has(host)) lists.get(host).push(node);
      else lists.set(host, [node]);
    }
  for (const [host, list] of lists)
    list.forEach((node, i) =>
      Object.assign(node, CHIP, {
        row: nodes[host].row,
        dy: i + 1 === list.length && i % 2 === 0 ? 0 : i % 2 ? 11 : -11,
        x: nodes[host].x - WIDTH / 2 - BESIDE * (i >> 1) - BESIDE / 2,
      }),
    );
}
/** Lines that have no places yet, the shortest first; none is further from the middle than `most`. */
export function routeAll(nodes, edges, most = Infinity) {
  const rows = new Map(),
    long = [];
  for (const node of nodes) {
    if (!rows.has(node.row)) rows.set(node.row, []);
    rows.get(node.row).push(node);
  }
  for (const edge of edges) {
    const from = nodes[edge.from],
      span = nodes[edge.to].row - from.row;
    edge.beside = from.state === 'beside';
    if (edge.beside) edge.route = span === 0 ? [] : null;
    else if (span <= 1) edge.route = span === 1 ? [] : null;
    else if (edge.route === 'direct') {
      if (span > LONGEST) edge.route = null;
      else long.push(edge);
    }
  }
  const lines = new Map(), // by row
    span = edge => nodes[edge.to].row - nodes[edge.from].row;
  for (const edge of long.sort((a, b) => span(a) - span(b))) edge.route = route(nodes[edge.from], nodes[edge.to], rows, lines, most);
}

/**
 * Places for nodes that have a wish (row, x): each below what it uses (as far as `order` allows: groups may use each other),
 * and beside, not upon, each other.
 */
export function settle(nodes, edges, hostOf) {
  const incoming = nodes.map(() => []),
    wished = nodes.map(node => node.x);
  for (const edge of edges)
    if (nodes[edge.from].order < nodes[edge.to].order && nodes[edge.from].state !== 'beside') incoming[edge.to].push(edge.from);
  for (const i of nodes.map((_, i) => i).sort((a, b) => nodes[a].order - nodes[b].order))
    for (const from of incoming[i]) nodes[i].row = Math.max(nodes[i].row, nodes[from].row + 1);
  const rows = new Map(),
    room = new Map();
  for (const node of nodes) if (node.state === 'beside') room.set(hostOf(node.host), (room.get(hostOf(node.host)) ?? 0) + BESIDE / 2);
  nodes.forEach((node, i) => {
    if (node.state === 'beside') return;
    if (rows.has(node.row)) rows.get(node.row).push(i);
    else rows.set(node.row, [i]);
  });
  for (const list of rows.values()) {
    list.sort((a, b) => nodes[a].x - nodes[b].x || a - b);
    let end = -Infinity,
      moved = 0;
    for (const i of list) end = nodes[i].x = Math.max(nodes[i].x, end + WIDTH + GAP + Math.ceil((room.get(i) ?? 0) / BESIDE) * BESIDE);
    for (const i of list) moved += nodes[i].x - wished[i];
    for (const i of list) nodes[i].x -= moved / list.length;
  }
  besides(nodes, hostOf);
  for (const edge of edges) edge.route = 'direct';
  routeAll(nodes, edges);
  return Object.assign(new Display(nodes, edges), { hostOf });
}

/** One lane that is free in all rows between, else around the nodes in the way of a straight line. */
function route(from, to, rows, lines, most) {
  const span = to.row - from.row,
    lane = laneOf(from, to, rows, lines, most) ?? null,
    places = lane === null ? aroundNodes(from, to, rows) : new Array(span - 1).fill(lane);
  places.forEach((x, i) => {
    const row = from.row + 1 + i;
    if (!lines.has(row)) lines.set(row, []);
    lines.get(row).push({ x, from });
  });
  return places;
}
/** The nearest to both ends that is beside all nodes, and beside the lines of others. */
function laneOf(from, to, rows, lines, most) {
  const nodes = new Map(), // by place: half of what is broadest there
    others = new Set();
  for (let row = from.row + 1; row < to.row; ++row) {
    for (const { x, w = WIDTH } of rows.get(row) ?? []) nodes.set(x, Math.max(nodes.get(x) ?? 0, w / 2));
    for (const line of lines.get(row) ?? []) if (line.from !== from) others.add(line.x);
    if (nodes.size + others.size > 100) return undefined;
  }
  const isFree = x => ![...nodes].some(([at, half]) => Math.abs(at - x) < half + 10) && ![...others].some(at => Math.abs(at - x) < 7),
    cost = x => Math.abs(x - from.x) + Math.abs(x - to.x),
    wishes = [from.x, to.x];
  for (const [at, half] of nodes) for (let i = 0; i < 6; ++i) wishes.push(at - half - 12 - 8 * i, at + half + 12 + 8 * i);
  return wishes.sort((a, b) => cost(a) - cost(b) || b - a).find(x => Math.abs(x) <= most && isFree(x));
}
function aroundNodes(from, to, rows) {
  const places = [],
    many = 64; // of nodes that are looked at in a row
  const blocking = (row, x) => {
    const list = rows.get(row) ?? [];
    return list.length > many ? [] : list.filter(({ x: at, w = WIDTH }) => Math.abs(at - x) < w / 2 + 10);
  };
  let x = blocking(from.row + 1, to.x).length ? from.x : to.x; // straight on, from there
  for (let row = from.row + 1; row < to.row; ++row) {
    const there = blocking(row, x);
    if (there.length) {
      const left = Math.min(...there.map(({ x: at, w = WIDTH }) => at - w / 2)) - 12,
        right = Math.max(...there.map(({ x: at, w = WIDTH }) => at + w / 2)) + 12;
      x = x - left < right - x ? left : right;
    }
    places.push(x);
  }
  return places;
}
