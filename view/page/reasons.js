// Why rules left operators as they are, as circle2circle --explain tells: a history has it.

/** What says how far a pattern got; without it, the pattern was there and a condition did not hold. */
const partsOf = reason => Number(/\((\d+) parts? found/.exec(reason)?.[1] ?? Infinity);

export class Reasons {
  constructor(model) {
    this.lists = new Map(); // source operator → [{pass, rule, reason}], what came nearest first
    const { names, attempts, stayed } = model.data.history ?? { names: [], attempts: [], stayed: [] };
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
      for (let i = 0; i < runs.length; i += 2) for (let id = runs[i]; id < runs[i] + runs[i + 1]; ++id) this.lists.set(id, list);
    }
  }
  get known() {
    return this.lists.size > 0;
  }
  /** Of an operator of the source, or of one of the result that is one of the source as it was. */
  of(item, model, links) {
    const id =
      item.side === 'source' ? model.sourceId(item) : links.passes(item) || links.synthetic(item) ? undefined : links.origins(item)[0];
    return this.lists.get(id) ?? [];
  }
  static words({ pass, rule, reason }) {
    return `${pass} / ${rule}: ${reason}`;
  }
}
