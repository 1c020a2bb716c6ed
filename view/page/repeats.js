// Blocks that follow each other again and again, such as the layers of a transformer: found by kinds and wiring, whatever the
// names and sizes are.

const LEAST = 3,
  MOST = 512,
  CANDIDATES = 8; // operators in a block; periods that are tried at an operator

/** What an operator has in common with its copies: its kind, and how far back what it takes is made. */
function word(graph, op) {
  return (
    graph.kind(op) +
    graph
      .operands(op)
      .map(tensor => {
        const back = tensor < 0 || graph.maker[tensor] < graph.inputs.length ? 0 : graph.inputs.length + op - graph.maker[tensor];
        return ` ${back > 0 && back <= MOST ? back : 'x'}`;
      })
      .join('')
  );
}

/** The scopes that two operators have in common. */
function common(graph, a, b) {
  const one = graph.scopes(a),
    other = graph.scopes(b);
  let count = 0;
  while (count < one.length && one[count] === other[count]) ++count;
  return count;
}

/** By operator: {key, scope, number, of, size} of the block that it is in, or undefined. */
export function repeatsOf(graph) {
  const numbers = new Map(),
    words = Array.from({ length: graph.ops }, (_, op) => {
      const text = word(graph, op);
      if (!numbers.has(text)) numbers.set(text, numbers.size);
      return numbers.get(text);
    });
  const next = new Array(graph.ops).fill(-1),
    seen = new Map(),
    ends = new Map(),
    blocks = new Array(graph.ops);
  for (let op = graph.ops - 1; op >= 0; --op) ((next[op] = seen.get(words[op]) ?? -1), seen.set(words[op], op));
  /** So many operators from here on are those that come `period` later. */
  const run = (at, period) => {
    let end = ends.get(period) ?? 0; // where an earlier look at this period ended
    if (end <= at) {
      end = at;
      while (end + period < graph.ops && words[end] === words[end + period]) ++end;
      ends.set(period, end);
    }
    return end - at;
  };
  for (let at = 0; at < graph.ops;) {
    let best = { covers: 0 };
    for (let other = next[at], tries = 0; other >= 0 && other - at <= MOST && tries < CANDIDATES; other = next[other]) {
      const size = other - at;
      if (size < LEAST) continue;
      ++tries;
      const long = run(at, size),
        of = Math.floor(long / size) + 1;
      if (of > 1 && of * size > best.covers) best = { covers: of * size, of, size, slack: long % size };
    }
    if (!best.covers) {
      ++at;
      continue;
    }
    // Where it begins is a matter of taste: where scopes change.
    let shift = 0,
      least = Infinity;
    for (let i = 0; i <= best.slack && at + i > 0; ++i) {
      const same = common(graph, at + i - 1, at + i);
      if (same < least) ((least = same), (shift = i));
    }
    at += shift;
    for (let number = 0; number < best.of; ++number) {
      const shared = common(graph, at, at + best.size - 1),
        scope = graph.scopes(at)[shared - 1];
      const block = { scope, key: `${graph.side}${graph.index}#${at}`, number: number + 1, of: best.of, size: best.size, first: at };
      for (let i = 0; i < best.size; ++i) blocks[at++] = block;
    }
  }
  return blocks;
}
