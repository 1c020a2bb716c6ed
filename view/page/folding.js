// What is folded where a network has more operators than a pane has room for: scopes; where they do not help, blocks that repeat;
// else stretches between places that one tensor alone goes through.
import { repeatsOf } from './repeats.js';

const NODES = 16, // at least, whatever is in one
  NODES_MOST = 60,
  MEMBERS = 3, // operators of a group
  STRETCHES = 6; // that a stretch is divided into

/** By operator: how many tensors of others are still to be used behind it. */
function crossings(graph) {
  const change = new Int32Array(graph.ops + 1);
  for (const [tensor, users] of graph.users) {
    const maker = graph.maker[tensor] < 0 ? -1 : graph.opOfNode(graph.maker[tensor]),
      last = Math.min(users.at(-1) - graph.inputs.length, graph.ops - 1);
    if (maker >= 0 && last > maker) (++change[maker], --change[last]);
  }
  for (let i = 1; i < graph.ops; ++i) change[i] += change[i - 1];
  return change;
}

/** Units are lists of operators in their order: {ops, depth, key, title, kind}. */
class Folding {
  constructor(graph) {
    this.graph = graph;
    this.prefix = `${graph.side}${graph.index}`;
    this.scopes = Array.from({ length: graph.ops }, (_, op) => graph.scopes(op));
  }
  stretch(ops, depth) {
    return { ops, depth, key: `${this.prefix}:${ops[0]}-${ops.at(-1)}:${ops.length}`, title: '' };
  }
  /** Of a unit; itself where it cannot be divided. */
  parts(unit) {
    return (unit.parts ??= this.byScope(unit) ?? this.byRepeats(unit) ?? this.byCuts(unit));
  }
  /** By the scopes one deeper; what is in none of them is in stretches. */
  byScope({ ops, depth }) {
    for (; depth < 16; ++depth) {
      const scopes = new Map(),
        parts = [];
      let rest = null;
      for (const op of ops) {
        const key = this.scopes[op][depth];
        if (key === undefined) {
          if (!rest) parts.push((rest = this.stretch([], 16)));
          rest.ops.push(op);
          continue;
        }
        rest = null;
        if (!scopes.has(key)) parts.push((scopes.set(key, { ops: [], depth: depth + 1, key, title: key }), scopes.get(key)));
        scopes.get(key).ops.push(op);
      }
      if (!scopes.size) return null;
      this.joinAlike(parts);
      // Where most operators are in scopes of their own, or of scopes that use each other, these do not help.
      if (parts.length > 1)
        return (parts.length > ops.length / 2 && parts.length > NODES_MOST) || this.inCircles(parts) * 3 > ops.length
          ? null
          : parts.map(part => (part.title ? part : this.stretch(part.ops, 16)));
    }
    return null;
  }
  /** How many operators are in parts that use each other, but for the largest of these, which is divided anyway. */
  inCircles(parts) {
    const { graph } = this,
      of = new Map(parts.flatMap((part, i) => part.ops.map(op => [op, i]))),
      ways = parts.map(() => [new Set(), new Set()]), // to whom, from whom
      rest = new Set(parts.keys());
    for (const [op, to] of of)
      for (const node of graph.preds[graph.inputs.length + op]) {
        const from = graph.isOp(node) ? of.get(graph.opOfNode(node)) : undefined;
        if (from !== undefined && from !== to) (ways[from][0].add(to), ways[to][1].add(from));
      }
    for (const side of [0, 1]) {
      const free = [...rest].filter(i => ![...ways[i][side]].some(other => rest.has(other)));
      for (let i; (i = free.pop()) !== undefined;) {
        rest.delete(i);
        for (const other of ways[i][1 - side])
          if (rest.has(other) && ![...ways[other][side]].some(one => rest.has(one))) free.push(other);
      }
    }
    const sizes = [...rest].map(i => parts[i].ops.length);
    return sizes.reduce((sum, size) => sum + size, 0) - Math.max(0, ...sizes);
  }
  /** What is in no scope, of one kind and side by side, is one stretch. */
  joinAlike(parts) {
    const alike = new Map();
    for (const part of parts)
      if (!part.title && part.ops.length === 1) {
        const [op] = part.ops,
          key = `${this.graph.kind(op)} ${this.levels[op]}`;
        if (!alike.has(key)) alike.set(key, []);
        alike.get(key).push(part);
      }
    for (const [first, ...others] of alike.values())
      if (others.length >= MEMBERS)
        for (const part of others) {
          first.ops.push(...part.ops);
          parts.splice(parts.indexOf(part), 1);
        }
  }
  /** By operator, how many are above it. */
  get levels() {
    const { graph } = this;
    if (!this.level) {
      this.level = new Int32Array(graph.ops);
      for (const { from, to } of graph.edges)
        if (graph.isOp(from) && graph.isOp(to))
          this.level[graph.opOfNode(to)] = Math.max(this.level[graph.opOfNode(to)], this.level[graph.opOfNode(from)] + 1);
    }
    return this.level;
  }
  byRepeats({ ops, depth, isRepeat }) {
    if (isRepeat) return null;
    const { graph } = this,
      blocks = (graph.blocks ??= repeatsOf(graph)),
      parts = [];
    if (!ops.some(op => blocks[op])) return null;
    for (const op of ops) {
      const block = blocks[op],
        last = parts.at(-1);
      if (last && last.block === block) last.ops.push(op);
      else if (block)
        parts.push({
          ops: [op],
          depth: 16,
          block,
          isRepeat: true,
          key: block.key,
          title: '',
          says: '',
        });
      else parts.push(Object.assign(this.stretch([op], depth), { block, isRepeat: true }));
    }
    if (parts.length < 2 || parts.length > Math.max(ops.length / MEMBERS, STRETCHES)) return null;
    // Each is called by the scope that is its own.
    const counts = new Map();
    for (const { block } of parts) if (block?.scope) counts.set(block.scope, (counts.get(block.scope) ?? 0) + 1);
    for (const part of parts) if (part.block && counts.get(part.block.scope) === 1) part.title = part.block.scope;
    const all = parts.map(part => (part.block ? part : Object.assign(this.stretch(part.ops, part.depth), { isRepeat: true })));
    if (all.length <= NODES_MOST) return all;
    // Of very many, some in a row are one stretch; who opens it sees its blocks.
    const each = Math.ceil(all.length / NODES),
      of = at =>
        this.stretch(
          all.slice(at, at + each).flatMap(part => part.ops),
          depth,
        );
    return Array.from({ length: Math.ceil(all.length / each) }, (_, i) => of(i * each));
  }
  /** At the places near its equal parts where least goes through. */
  byCuts(unit) {
    const { ops, depth } = unit,
      count = Math.min(STRETCHES, Math.floor(ops.length / MEMBERS)),
      parts = [];
    if (count < 2) return ops.length > 1 ? ops.map(op => this.stretch([op], depth)) : [unit];
    this.through ??= crossings(this.graph);
    let begin = 0;
    for (let i = 1; i <= count; ++i) {
      let end = Math.round((ops.length * i) / count);
      if (i < count) {
        const slack = Math.floor(ops.length / count / 3);
        let best = end;
        for (let at = Math.max(end - slack, begin + 1); at <= Math.min(end + slack, ops.length - 1); ++at)
          if (
            this.through[ops[at - 1]] < this.through[ops[best - 1]] ||
            (this.through[ops[at - 1]] === this.through[ops[best - 1]] && Math.abs(at - end) < Math.abs(best - end))
          )
            best = at;
        end = best;
      }
      if (end > begin) parts.push(Object.assign(this.stretch(ops.slice(begin, end), depth), { isRepeat: true }));
      begin = end;
    }
    return parts;
  }
}

/**
 * By operator the unit that it is folded into, or undefined. `opened`: keys of units that somebody opened; `made`: by operator, how
 * many of the other side stand for it.
 */
export function foldingOf(graph, opened, made = []) {
  const folding = (graph.folding ??= new Folding(graph)),
    units = [
      folding.stretch(
        Array.from({ length: graph.ops }, (_, i) => i),
        0,
      ),
    ],
    done = [],
    others = Math.max(
      made.reduce((sum, one) => sum + (one ?? 0), 0),
      1,
    );
  // The largest is divided, until there are enough.
  while (units.length) {
    let largest = 0;
    units.forEach((unit, i) => {
      if (unit.ops.length > units[largest].ops.length) largest = i;
    });
    const unit = units[largest],
      all = units.length + done.length,
      must = Math.max(unit.ops.length / graph.ops, unit.ops.reduce((sum, op) => sum + (made[op] ?? 0), 0) / others) * 3 > 1;
    if (unit.ops.length < 2 || (!must && all >= NODES)) break;
    const parts = folding.parts(unit);
    units.splice(largest, 1);
    if (parts.length < 2 || (!must && all + parts.length > NODES_MOST)) done.push(unit);
    else units.push(...parts);
  }
  // Who stands beside its user needs no row.
  const isLarge = unit => unit.ops.filter(op => graph.data.host?.[op] === undefined).length >= MEMBERS,
    open = unit =>
      isLarge(unit) && opened.has(unit.key) ? folding.parts(unit).flatMap(part => (part === unit ? [] : open(part))) : [unit],
    unitOf = [];
  for (const unit of [...units, ...done].flatMap(open)) if (isLarge(unit)) for (const op of unit.ops) unitOf[op] = unit;
  return unitOf;
}
