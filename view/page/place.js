// What a pane draws: nodes and groups of nodes with their places, and the edges between them.
import { clean, keyOf } from './data.js';

export const WIDTH = 168, HEIGHT = 40, PITCH = 66, LONGEST = 48;

/** The name scopes that a name is in, outermost first: as origin/OriginMap.h has them. */
export function scopesOf(name) {
  const first = name.split(';')[0], scopes = [];
  for (let at = first.indexOf('/'); at >= 0 && scopes.length < 16; at = first.indexOf('/', at + 1)) scopes.push(first.slice(0, at + 1));
  return scopes;
}

/**
 * nodes: {row, x, title, subtitle, item, node, state, members}
 *   state: '' | 'io' | 'group' | 'new'; members: of a group, operators
 * edges: {from, to, tensor, route}   route: x in each row between, null where the edge is too long for a line
 */
export class Display {
  constructor(nodes, edges) {
    this.nodes = nodes;
    this.edges = edges;
    this.of = new Map(); // key of an item → node
    nodes.forEach((node, i) => {
      if (node.item) this.of.set(keyOf(node.item), i);
      for (const item of node.members ?? []) this.of.set(keyOf(item), i);
    });
    this.byRow = nodes.map((_, i) => i).sort((a, b) => nodes[a].row - nodes[b].row || nodes[a].x - nodes[b].x);
    this.rows = nodes.length ? nodes[this.byRow.at(-1)].row + 1 : 0;
    this.preds = nodes.map(() => []);
    this.succs = nodes.map(() => []);
    for (const edge of edges) this.succs[edge.from].push(edge.to), this.preds[edge.to].push(edge.from);
    this.left = nodes.reduce((least, node) => Math.min(least, node.x), 0) - WIDTH / 2;
    this.right = nodes.reduce((most, node) => Math.max(most, node.x), 0) + WIDTH / 2;
  }
  /** Indices into byRow of what lies in rows first to last. */
  between(first, last) {
    const at = row => {
      let low = 0, high = this.byRow.length;
      while (low < high) { const middle = (low + high) >> 1; if (this.nodes[this.byRow[middle]].row < row) low = middle + 1; else high = middle; }
      return low;
    };
    return [at(first), at(last + 1)];
  }
}

const last = name => name.split(';')[0];

function nodeOf(graph, node, row, x) {
  const side = graph.side, at = { side, graph: graph.index };
  if (graph.isOp(node)) {
    const op = graph.opOfNode(node);
    return { row, x, node, state: '', calls: graph.callees(op), title: clean(graph.kind(op)), subtitle: clean(last(graph.opName(op))), item: { ...at, type: 'op', index: op } };
  }
  const isInput = node < graph.inputs.length;
  const tensor = isInput ? graph.inputs[node] : graph.outputs[node - graph.inputs.length - graph.ops];
  const item = tensor >= 0 ? { ...at, type: 'tensor', index: tensor } : null;
  return { row, x, node, state: 'io', title: isInput ? 'input' : 'output', subtitle: tensor >= 0 ? clean(last(graph.tensorName(tensor))) : '', item };
}

/** As laid out when the page was written. `groupOf(op)`: {key, title, subtitle} of the node that stands for it and others; null: it stands for itself. */
export function displayOf(graph, layout, groupOf) {
  const nodes = [];
  for (let node = 0; node < graph.nodes; ++node) nodes.push(nodeOf(graph, node, layout.row[node], layout.x[node]));
  if (groupOf) return collapse(graph, nodes, groupOf);
  const routes = new Map();
  for (let i = 0; i < layout.routes.length;) {
    const [from, to, count] = layout.routes.slice(i, i + 3);
    routes.set(from * graph.nodes + to, layout.routes.slice(i + 3, i + 3 + count));
    i += 3 + count;
  }
  const edges = graph.edges.map(edge => {
    const span = layout.row[edge.to] - layout.row[edge.from];
    return { ...edge, route: span <= 1 ? [] : routes.get(edge.from * graph.nodes + edge.to) ?? null };
  });
  const display = new Display(nodes, edges);
  // An output that is an input's or a constant's item has a node of its own.
  for (const node of nodes) if (node.state === 'io' && node.node < graph.inputs.length && node.item) display.of.set(keyOf(node.item), node.node);
  return display;
}

function collapse(graph, nodes, groupOf) {
  const group = new Map(), of = [], kept = [];
  nodes.forEach((node, i) => {
    const one = node.item?.type === 'op' ? groupOf(node.item.index) : null;
    if (!one) {
      of[i] = kept.length;
      kept.push({ ...node, order: i });
      return;
    }
    if (!group.has(one.key)) {
      group.set(one.key, kept.length);
      kept.push({ row: node.row, x: 0, state: 'group', title: clean(one.title), subtitle: one.subtitle ?? '', item: null, key: one.key, members: [], order: i });
    }
    const to = kept[group.get(one.key)];
    of[i] = group.get(one.key);
    to.members.push(node.item);
    to.x += node.x;
  });
  for (const node of kept) if (node.members) node.x /= node.members.length, node.subtitle += `${node.subtitle ? ', ' : ''}${node.members.length} operators`;
  const edges = [], seen = new Set();
  for (const edge of graph.edges) {
    const from = of[edge.from], to = of[edge.to], key = from * kept.length + to;
    if (from === to || seen.has(key)) continue;
    seen.add(key);
    edges.push({ from, to, tensor: edge.tensor });
  }
  return settle(kept, edges, true);
}

/**
 * Places for nodes that have a wish (row, x): each below what it uses (as far as `order` allows: groups may use each other),
 * and beside, not upon, each other. `close`: rows without a node go.
 */
export function settle(nodes, edges, close) {
  const incoming = nodes.map(() => []);
  for (const edge of edges) if (nodes[edge.from].order < nodes[edge.to].order) incoming[edge.to].push(edge.from);
  for (const i of nodes.map((_, i) => i).sort((a, b) => nodes[a].order - nodes[b].order))
    for (const from of incoming[i]) nodes[i].row = Math.max(nodes[i].row, nodes[from].row + 1);
  const rows = new Map();
  nodes.forEach((node, i) => { if (rows.has(node.row)) rows.get(node.row).push(i); else rows.set(node.row, [i]); });
  const used = [...rows.keys()].sort((a, b) => a - b);
  used.forEach((row, index) => {
    const list = rows.get(row).sort((a, b) => nodes[a].x - nodes[b].x || a - b);
    let end = -Infinity, moved = 0;
    const wished = list.map(i => nodes[i].x);
    for (const i of list) end = nodes[i].x = Math.max(nodes[i].x, end + WIDTH + 24);
    list.forEach((i, at) => { moved += nodes[i].x - wished[at]; });
    for (const i of list) nodes[i].x -= moved / list.length;
    if (close) for (const i of list) nodes[i].row = index;
  });
  const lanes = new Map();
  nodes.forEach(node => { if (lanes.has(node.row)) lanes.get(node.row).push(node.x); else lanes.set(node.row, [node.x]); });
  for (const edge of edges) edge.route = route(nodes[edge.from], nodes[edge.to], lanes);
  return new Display(nodes, edges);
}

/** Around the nodes in the way of a straight line. */
function route(from, to, lanes) {
  const span = to.row - from.row, places = [];
  if (span <= 1 || span > LONGEST) return span === 1 ? [] : null;
  const blocking = (row, x) => (lanes.get(row) ?? []).filter(at => Math.abs(at - x) < WIDTH / 2 + 10);
  let x = blocking(from.row + 1, to.x).length ? from.x : to.x; // straight on, from there
  for (let i = 1; i < span; ++i) {
    const there = blocking(from.row + i, x);
    if (there.length) {
      const left = Math.min(...there) - WIDTH / 2 - 12, right = Math.max(...there) + WIDTH / 2 + 12;
      x = x - left < right - x ? left : right;
    }
    places.push(x);
  }
  return places;
}
