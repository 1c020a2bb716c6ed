// Places of displays, of one or of two that stand side by side: in layers as broad as a pane, or one node below the other.
import { BESIDE, Display, GAP, HEIGHT, LANES, LONGEST, WIDTH, besides, routeAll } from './place.js';

/**
 * What places of displays are sorted by, as they are computed: those of the first display have its order; what the second one has
 * besides is below what it uses. What stands at one place of two displays is one. {rows: places in their order, of: by display and node}
 */
function orderOf(displays) {
  const rows = new Map(), // place → what it is sorted by
    compare = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
  const of = displays.map(({ nodes, preds, hostOf }, side) => {
    const own = new Set(),
      keys = nodes.map(() => null),
      order = nodes.map((_, i) => i).sort((a, b) => nodes[a].order - nodes[b].order),
      lowest = list => list.reduce((most, from) => (keys[from] && (!most || compare(keys[from], most) > 0) ? keys[from] : most), null),
      places = [];
    order.forEach((i, at) => {
      const node = nodes[i];
      if (node.state === 'beside') return;
      // A group holds what is far below, too: only who uses nothing else is below it.
      const above = lowest(preds[i].filter(from => nodes[from].state !== 'group')),
        base = above ?? lowest(preds[i]);
      let place = node.place;
      const known = rows.get(place);
      if (side === 0 && !known) rows.set(place, [node.last, 0, 0]);
      else if (own.has(place) || !known || (node.state !== 'group' && above && compare(known, above) <= 0)) {
        place = `${side}.${i}`;
        rows.set(place, base ? [base[0], base[1] || at + 1, base[2] + 1] : [node.state === 'io' && at ? Infinity : -1, at + 1, 0]);
      }
      own.add(place);
      keys[i] = rows.get(place);
      places[i] = place;
    });
    // Above its host, each beside that of the other side.
    const count = new Map();
    for (const i of order) {
      if (nodes[i].state !== 'beside') continue;
      const host = hostOf(nodes[i].host),
        number = count.get(host) ?? 0,
        [a, b, c] = keys[host];
      count.set(host, number + 1);
      places[i] = `${places[host]}b${number}`;
      rows.set(places[i], [a, b, c - 1 + (number + 1) / 10]);
    }
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
  /** By item the one that the longest way goes through, `from` above or below; of several that in the middle, of an even number none. */
  mains(from, layers) {
    const length = new Int32Array(this.count),
      mains = new Int32Array(this.count).fill(-1);
    for (const { items } of layers)
      for (const item of items) {
        const most = Math.max(0, ...[...from[item]].map(one => length[one])),
          best = [...from[item]].filter(one => length[one] === most).sort((a, b) => this.x[a] - this.x[b]);
        length[item] = most + 1;
        if (best.length % 2) mains[item] = best[best.length >> 1];
      }
    return { mains, length };
  }
  /** Blocks of items that stand straight below each other, as in view/Layout.cpp: who is next on the longest way of both. */
  blocks() {
    const { layers, above, below, row } = this,
      up = this.mains(above, layers),
      down = this.mains(below, layers.toReversed()),
      block = new Int32Array(this.count),
      first = []; // by block: its first layer
    let count = 0,
      single = -1;
    layers.forEach(({ items }, i) => {
      const ways = items
          .map((item, at) => ({ item, at, to: up.mains[item] }))
          .filter(({ item, to }) => to >= 0 && row[to] === i - 1 && down.mains[to] === item)
          .sort((a, b) => up.length[b.to] + down.length[b.item] - up.length[a.to] - down.length[a.item]),
        places = new Map((layers[i - 1]?.items ?? []).map((item, at) => [item, at])),
        taken = [];
      for (const item of items) block[item] = -1;
      for (const { item, at, to } of ways) {
        if (taken.some(one => at < one.at !== places.get(to) < one.to)) continue; // it would cross a longer one
        taken.push({ at, to: places.get(to) });
        block[item] = block[to];
      }
      // Where all ways join again is below where they parted.
      for (const item of items) if (block[item] < 0) ((first[count] = i), (block[item] = count++));
      if (items.length !== 1) return;
      const own = block[items[0]];
      if (single >= 0 && first[own] > row[single] && above[items[0]].size > 1)
        for (let at = first[own]; at <= i; ++at)
          for (const item of layers[at].items) if (block[item] === own) block[item] = block[single];
      single = items[0];
    });
    return { block, count };
  }
  /** Blocks as near to what they are tied to as order and room allow: the mean of as far left and as far right as that is. */
  straighten() {
    const { layers, above, below, row, x, room } = this,
      { block, count } = this.blocks(),
      left = Array.from({ length: count }, () => []),
      right = Array.from({ length: count }, () => []),
      least = new Float64Array(count).fill(-Infinity),
      most = new Float64Array(count).fill(Infinity),
      wish = new Float64Array(count),
      at = new Float64Array(count),
      ways = [];
    for (const { items, gap, need, beside } of layers) {
      let begin = (WIDTH - room) / 2 + beside;
      items.forEach((item, i) => {
        if (i) {
          left[block[item]].push([block[items[i - 1]], gap(item)]);
          right[block[items[i - 1]]].push([block[item], gap(item)]);
          ways.push([block[items[i - 1]], block[item]]);
          begin += gap(item);
        }
        if (!Number.isFinite(room)) return;
        least[block[item]] = Math.max(least[block[item]], begin);
        most[block[item]] = Math.min(most[block[item]], begin + Math.max(room - WIDTH - beside - need, 0));
      });
    }
    const order = untangled(count, ways);
    for (const one of order) for (const [other, gap] of left[one]) least[one] = Math.max(least[one], least[other] + gap);
    for (const one of order.toReversed()) for (const [other, gap] of right[one]) most[one] = Math.min(most[one], most[other] - gap);
    const sum = new Float64Array(count),
      weights = new Float64Array(count);
    for (let sweep = 0; sweep < (this.count > 2000 ? 4 : 12); ++sweep) {
      (sum.fill(0), weights.fill(0));
      for (const { items } of layers)
        for (const item of items)
          for (const near of [above[item], below[item]])
            for (const other of near) {
              if (sweep && block[other] === block[item]) continue;
              // The nearer the more: what is far away bends no chain.
              const weight = (row[other] - row[item]) ** -2;
              ((sum[block[item]] += weight * x[other]), (weights[block[item]] += weight));
            }
      for (const one of order) {
        const place = weights[one] ? sum[one] / weights[one] : wish[one];
        wish[one] = Math.min(Math.max(place, least[one]), Math.max(most[one], least[one]));
        at[one] = left[one].reduce((far, [other, gap]) => Math.max(far, at[other] + gap), wish[one]);
      }
      for (const one of order.toReversed())
        wish[one] = right[one].reduce((far, [other, gap]) => Math.min(far, wish[other] - gap), wish[one]);
      for (const { items } of layers) for (const item of items) x[item] = (at[block[item]] + wish[block[item]]) / 2;
    }
    for (const layer of layers) this.settle(layer, new Map(layer.items.map(item => [item, x[item]])));
  }
  /**
   * A layer's items go to its rows in turn, so that lines pass between them as between bricks; of more than two rows each second one
   * stands alike.
   */
  placed() {
    let height = 0;
    for (const { items, beside, rows } of this.layers) {
      const wide = WIDTH + GAP + beside,
        columns = Math.ceil(items.length / rows),
        half = Math.min(wide / 2, this.room - WIDTH - beside - (columns - 1) * wide),
        begin = beside / 2 - ((columns - 1) * wide + half) / 2;
      items.forEach((item, i) => {
        this.row[item] = height + (i % rows);
        if (rows > 2) this.x[item] = begin + Math.floor(i / rows) * wide + (i % rows % 2) * half;
      });
      height += rows;
    }
    return this.displays.map(({ nodes, edges, hostOf }, side) => {
      nodes.forEach((node, i) => {
        const place = this.placeOf(side, i);
        ((node.row = this.row[place]), (node.x = Math.round(this.x[place])));
      });
      besides(nodes, hostOf);
      for (const edge of edges) edge.route = 'direct';
      routeAll(nodes, edges, this.room / 2 - 6);
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
    return Object.assign(new Display(nodes, display.edges, true), { rows: count, pitch, column: true, past: display.past });
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

