// Places of displays, of one or of two that stand side by side: in layers as broad as a pane, or one node below the other.
import { BESIDE, Display, GAP, HEIGHT, LANES, LONGEST, WIDTH, besides, finish, lanesOf } from './place.js';

/**
 * What places of displays are sorted by, as they are computed: those of the first display have its order; what the second one has
 * besides is below what it uses. What stands at one place of two displays is one. {rows: places in their order, of: by display and node}
 */
function orderOf(displays) {
  const rows = new Map(), // place → what it is sorted by
    compare = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
  const of = displays.map(({ nodes, preds }, side) => {
    const own = new Set(),
      keys = nodes.map(() => null),
      order = nodes.map((_, i) => i).sort((a, b) => nodes[a].order - nodes[b].order),
      places = [];
    order.forEach((i, at) => {
      const node = nodes[i],
        above = preds[i].reduce(
          (most, from) => (keys[from] && nodes[from].state !== 'group' && (!most || compare(keys[from], most) > 0) ? keys[from] : most),
          null,
        );
      let place = node.state === 'beside' ? `${node.order}b${side}` : node.place;
      const known = rows.get(place);
      if (side === 0 && !known) rows.set(place, [node.last, 0, 0]);
      else if (own.has(place) || !known || (node.state !== 'group' && above && compare(known, above) <= 0)) {
        place = `${side}.${i}`;
        rows.set(place, above ? [above[0], above[1] || at + 1, above[2] + 1] : [node.state === 'io' && at ? Infinity : -1, at + 1, 0]);
      }
      own.add(place);
      keys[i] = rows.get(place);
      places[i] = place;
    });
    return places;
  });
  const sorted = [...rows.keys()].sort((a, b) => compare(rows.get(a), rows.get(b)));
  return { count: sorted.length, at: new Map(sorted.map((place, i) => [place, i])), of };
}

/** What is drawn of displays as one graph: its items are their places. chips: room that what stands beside an item takes. */
class Layers {
  constructor(displays, room) {
    const { count, at, of } = orderOf(displays),
      ways = [];
    Object.assign(this, { displays, room, count, placeOf: (side, node) => at.get(of[side][node]) });
    this.chips = new Float64Array(count);
    this.isShown = new Uint8Array(count);
    displays.forEach(({ nodes, edges, hostOf }, side) => {
      const beside = new Map();
      nodes.forEach((node, i) => {
        if (node.state !== 'beside') return (this.isShown[this.placeOf(side, i)] = 1);
        const host = this.placeOf(side, hostOf(node.host));
        beside.set(host, (beside.get(host) ?? 0) + 1);
      });
      for (const [host, all] of beside) this.chips[host] = Math.max(this.chips[host], Math.ceil(all / 2) * BESIDE);
      for (const { from, to } of edges) {
        const [a, b] = [this.placeOf(side, from), this.placeOf(side, to)];
        if (a !== b && nodes[from].state !== 'beside') ways.push([a, b]);
      }
    });
    this.rank(ways);
  }
  /** Each item below those that it uses. */
  rank(ways) {
    const { count } = this,
      order = untangled(count, ways),
      rank = new Int32Array(count);
    this.above = Array.from({ length: count }, () => new Set());
    this.below = Array.from({ length: count }, () => new Set());
    this.x = new Float64Array(count);
    const { above, below } = this,
      row = (this.row = new Int32Array(count));
    order.forEach((item, i) => (rank[item] = i));
    for (const [a, b] of ways) if (rank[a] < rank[b]) (above[b].add(a), below[a].add(b));
    for (const i of order) for (const from of above[i]) row[i] = Math.max(row[i], row[from] + 1);
    // What uses nothing stands above its first user.
    for (const i of order.toReversed())
      if (!above[i].size && below[i].size) row[i] = Math.max(Math.min(...[...below[i]].map(to => row[to])) - 1, 0);
    const rows = [];
    for (let i = 0; i < count; ++i) if (this.isShown[i]) (rows[row[i]] ??= []).push(i);
    this.layers = rows.filter(Boolean).map(items => this.layer(items));
    this.layers.forEach(({ items }, i) => items.forEach(item => (row[item] = i)));
  }
  /** With as many rows as it takes; items of one row stand as near to each other as what is beside each allows. */
  layer(items) {
    const beside = items.reduce((most, item) => Math.max(most, this.chips[item]), 0),
      wide = item => WIDTH + GAP + this.chips[item],
      inside = this.room - WIDTH - beside,
      sum = gap => items.reduce((all, item, i) => all + (i ? gap(item) : 0), 0);
    if (sum(wide) <= inside) return { items, beside, gap: wide, need: sum(wide), rows: 1 };
    const rows = Math.min(Math.ceil(((items.length - 1) * (WIDTH + GAP + beside)) / Math.max(inside, 1)) || 1, items.length),
      gap = () => (WIDTH + GAP + beside) / rows;
    return { items, beside, gap, need: sum(gap), rows };
  }
  /** As near to the wishes as may be, in the room that there is. */
  settle({ items, beside, gap, need }, wish) {
    spread(items, wish, gap, this.x);
    const free = this.room - WIDTH - beside - need;
    if (!Number.isFinite(free) || free < 0) return;
    let at = (WIDTH - this.room) / 2 + beside;
    items.forEach((item, i) => {
      if (i) at += gap(item);
      this.x[item] = Math.min(Math.max(this.x[item], at), at + free);
    });
  }
  /** Layers by the means of their neighbours, downward and upward in turn; then all as near to both as their order allows. */
  sweep() {
    const { layers, above, below, row, x } = this,
      sweeps = this.count > 2000 ? 4 : 16;
    for (const { items, gap, need } of layers) {
      let at = -need / 2;
      items.forEach((item, i) => (x[item] = i ? (at += gap(item)) : at));
    }
    for (let sweep = 0; sweep < sweeps; ++sweep)
      for (const layer of sweep % 2 ? layers.toReversed() : layers) {
        const wish = new Map(),
          late = sweep + 4 >= sweeps;
        for (const item of layer.items) {
          const near = late ? [...above[item], ...below[item]] : [...(sweep % 2 ? below : above)[item]];
          // The nearer the more: what is far away bends no chain.
          let sum = 0,
            weights = 0;
          for (const other of near) {
            const weight = late ? (row[other] - row[item]) ** -2 : 1;
            ((sum += weight * x[other]), (weights += weight));
          }
          wish.set(item, weights ? sum / weights : x[item]);
        }
        if (!late) layer.items.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
        this.settle(layer, wish);
      }
  }
  /** A chain is straight: who is the next of what is above it, maybe one of several that are, stands below it. */
  straighten() {
    const { above, below, row, x } = this,
      nearest = (item, all) => {
        const least = [...all].reduce((most, other) => Math.min(most, Math.abs(row[other] - row[item])), Infinity);
        return [...all].filter(other => Math.abs(row[other] - row[item]) === least);
      };
    for (const layer of this.layers) {
      const wish = new Map();
      for (const item of layer.items) {
        const from = nearest(item, above[item]),
          isNext = from.length && from.every(one => nearest(one, below[one]).includes(item));
        wish.set(item, isNext ? from.reduce((sum, one) => sum + x[one], 0) / from.length : x[item]);
      }
      this.settle(layer, wish);
    }
  }
  /** A layer's items go to its rows in turn, so that lines pass between them as between bricks. */
  placed() {
    let height = 0;
    for (const { items, rows } of this.layers) {
      items.forEach((item, i) => (this.row[item] = height + (i % rows)));
      height += rows;
    }
    return this.displays.map(({ nodes, edges, hostOf }, side) => {
      nodes.forEach((node, i) => {
        const place = this.placeOf(side, i);
        ((node.row = this.row[place]), (node.x = Math.round(this.x[place])));
      });
      besides(nodes, hostOf);
      const lanes = lanesOf(nodes);
      for (const edge of edges) ((edge.route = 'direct'), finish(edge, nodes, lanes));
      return Object.assign(new Display(nodes, edges), { rows: height, hostOf });
    });
  }
}

/** Displays in layers, none broader than `room`: what stands at one place of two of them does so here too. */
export function layered(displays, room = Infinity) {
  const layers = new Layers(displays, room);
  layers.sweep();
  layers.straighten();
  return layers.placed();
}
/** An order in which as few ways as may be lead back: groups may use each other. Where none is free, one of a circle goes. */
function untangled(count, ways) {
  const missing = new Int32Array(count),
    users = Array.from({ length: count }, () => []),
    uses = Array.from({ length: count }, () => []),
    order = [],
    isDone = new Uint8Array(count),
    heap = [];
  const push = item => {
    let at = heap.push(item) - 1;
    for (let up; at && heap[(up = (at - 1) >> 1)] > heap[at]; at = up) [heap[at], heap[up]] = [heap[up], heap[at]];
  };
  const pop = () => {
    const top = heap[0],
      end = heap.pop();
    if (heap.length) heap[0] = end;
    for (let at = 0, down; (down = 2 * at + 1) < heap.length; at = down) {
      if (down + 1 < heap.length && heap[down + 1] < heap[down]) ++down;
      if (heap[at] <= heap[down]) break;
      [heap[at], heap[down]] = [heap[down], heap[at]];
    }
    return top;
  };
  /** What waits for a circle, and is no part of it, stands behind it: so back from an item to the first that comes again. */
  const onCircle = item => {
    const path = new Map();
    while (!path.has(item)) (path.set(item, path.size), (item = uses[item].find(from => !isDone[from]) ?? item));
    return Math.min(...[...path].filter(row => row[1] >= path.get(item)).map(row => row[0]));
  };
  for (const [a, b] of ways) (++missing[b], users[a].push(b), uses[b].push(a));
  for (let i = 0; i < count; ++i) if (!missing[i]) push(i);
  for (let next = 0; order.length < count;) {
    while (next < count && isDone[next]) ++next;
    const item = heap.length ? pop() : onCircle(next);
    if (isDone[item]) continue;
    isDone[item] = 1;
    order.push(item);
    for (const user of users[item]) if (--missing[user] === 0 && !isDone[user]) push(user);
  }
  return order;
}
/** As near to the wishes as order and distances allow: what would be out of order becomes a block at the mean of its wishes. */
function spread(items, wish, gap, x) {
  const blocks = [];
  let offset = 0;
  items.forEach((item, i) => {
    if (i) offset += gap(item);
    blocks.push({ sum: wish.get(item) - offset, count: 1 });
    while (blocks.length > 1 && blocks.at(-2).sum / blocks.at(-2).count > blocks.at(-1).sum / blocks.at(-1).count) {
      const last = blocks.pop();
      ((blocks.at(-1).sum += last.sum), (blocks.at(-1).count += last.count));
    }
  });
  let i = 0;
  offset = 0;
  for (const block of blocks)
    for (let n = 0; n < block.count; ++n, ++i) {
      if (i) offset += gap(items[i]);
      x[items[i]] = block.sum / block.count + offset;
    }
}

/** The nodes of displays one below the other, for panes that have no room beside a node. `wide`: of a node; `pitch`: from one to the next. */
export function inColumn(displays, wide, pitch) {
  const { count, at, of } = orderOf(displays);
  return displays.map((display, side) => {
    const nodes = display.nodes.map((node, i) => Object.assign(node, { row: at.get(of[side][i]), x: 0, dy: 0, w: wide, h: HEIGHT }));
    lanesBeside(nodes, display.edges, -wide / 2);
    return Object.assign(new Display(nodes, display.edges), { rows: count, pitch, column: true, past: display.past });
  });
}
/** A line that passes rows goes down at the left: one lane for all that leave a node. */
function lanesBeside(nodes, edges, left) {
  const ends = new Map(),
    free = [],
    lanes = new Map();
  for (const { from, to } of edges)
    if (nodes[to].row - nodes[from].row > 1 && nodes[to].row - nodes[from].row <= LONGEST)
      ends.set(from, Math.max(ends.get(from) ?? 0, nodes[to].row));
  for (const [from, end] of [...ends].sort((a, b) => nodes[a[0]].row - nodes[b[0]].row)) {
    let lane = free.findIndex(row => row <= nodes[from].row);
    if (lane < 0) lane = free.length;
    if (9 * lane + 10 >= LANES) continue;
    free[lane] = end;
    lanes.set(from, left - 10 - 9 * lane);
  }
  for (const edge of edges) {
    const span = nodes[edge.to].row - nodes[edge.from].row,
      lane = lanes.get(edge.from);
    edge.beside = false;
    edge.route = span === 1 ? [] : span > 1 && span <= LONGEST && lane !== undefined ? new Array(span - 1).fill(lane) : null;
  }
}

