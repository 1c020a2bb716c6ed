// Why rules left operators as they are, as circle2circle --explain tells: a history has it.

/** What says how far a pattern got; without it, the pattern was there and a condition did not hold. */
const partsOf = reason => Number(/\((\d+) parts? found/.exec(reason)?.[1] ?? Infinity);

/** Of first, count, first, count, …. */
const numbersOf = runs => {
  const all = [];
  for (let i = 0; i < runs.length; i += 2) for (let id = runs[i]; id < runs[i] + runs[i + 1]; ++id) all.push(id);
  return all;
};

export class Reasons {
  constructor(model) {
    this.lists = new Map(); // number of an operator → [{pass, rule, reason}], what came nearest first
    const { names, attempts, stayed, final } = model.data.history ?? { names: [], attempts: [], stayed: [], final: [] };
    this.final = final.map(numbersOf); // by subgraph and operator of the result

    const rows = attempts.map(([pass, rule, reason]) => ({
      pass: names[pass],
      rule: names[rule],
      reason: names[reason],
      parts: partsOf(names[reason]),
    }));
    // What is said of most operators tells little.
    let all = 0;
    const times = rows.map(() => 0);
    for (const [runs, numbers] of stayed)
      for (let i = 1; i < runs.length; i += 2) {
        all += runs[i];
        for (const number of numbers) times[number] += runs[i];
      }
    // A rule that looks at nearly everything, too.
    const tried = new Map();
    rows.forEach((row, i) => tried.set(row.rule, (tried.get(row.rule) ?? 0) + times[i]));
    this.isCommon = rule => tried.get(rule) > all / 2;
    rows.forEach((row, i) => {
      if (all > 4 && times[i] > all / 2) row.parts = -1;
    });
    for (const [runs, numbers] of stayed) {
      const list = numbers.map(number => rows[number]).sort((a, b) => (a.parts < b.parts ? 1 : a.parts > b.parts ? -1 : 0));
      for (const id of numbersOf(runs)) this.lists.set(id, list);
    }
  }
  get known() {
    return this.lists.size > 0;
  }
  /** Of one of the result that is as it was read, or of one of the source: what is said of that, and, of a node, of what it was read as. */
  of(item, model, links) {
    if (item.side === 'result')
      return links.stayed(item) ? (this.lists.get(this.final[item.graph]?.[item.index]) ?? []) : [];
    const id = model.sourceId(item);
    return this.lists.get(id) ?? [...new Set((links.opsOf.get(id) ?? []).flatMap(one => this.of(one, model, links)))];
  }
  static words({ pass, rule, reason }) {
    return `${pass} / ${rule}: ${reason}`;
  }
}
