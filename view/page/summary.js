// What the page opens on: the answer in a sentence or three, and the operators that somebody asks for first.
import { clean } from './data.js';
import { bytes, change, count, short, time } from './people.js';
import { resultFates, sourceFates } from './fates.js';
import { h } from './table.js';

const inWords = { folded: 'folded into constants', decomposed: 'done by several', unknown: 'gone for a reason unknown here' };

/** A name, which goes to the next line behind its parts only. */
const inPieces = text => text.split(/(?<=[ /_.])/).flatMap(part => [h('span', { class: part.length < 30 ? 'whole' : '' }, part), h('wbr')]);

export class Summary {
  /** actions: go(item), filter(values, side), open(tab), item labels of Details */
  constructor(model, links, fates, measured, reasons, details, answers, actions) {
    Object.assign(this, { model, links, fates, measured, reasons, details, answers, actions });
  }

  contents() {
    const parts = [
      ...this.sentences(),
      ...this.notes(),
      ...this.faster(),
      ...this.slowest(),
      ...this.largest(),
      ...this.worst(),
      ...this.refused(),
      ...this.stayed(),
      ...this.details.callers(),
      ...this.hints(),
    ];
    return [h('div', { class: 'summary' }, parts)];
  }
  word(text, run, title) {
    return h('button', { class: 'link', onclick: run, title }, text);
  }

  sentences() {
    const { data } = this.model,
      to = data.resultTotals,
      from = data.sourceTotals,
      { fates, actions } = this,
      all = name => this.model.side(name).graphs.reduce((sum, graph) => sum + graph.ops, 0);
    const operators = all('result');
    if (!this.links.map)
      return [
        h('p', { class: 'first' }, count(operators, 'operator')),
        h(
          'p',
          {},
          `${short(Number(to.macs))} MACs, ${bytes(Number(to.bytes))} of constants, ` +
            `${bytes(Number(to.live_bytes))} in use at most while it runs.`,
        ),
        h(
          'p',
          { class: 'soft' },
          'This model carries no origin map, so the page shows it alone: circle2circle and origo optimize write one.',
        ),
      ];
    const source = all('source'),
      link = (side, name, words) => this.word(words, () => actions.filter([name], side), 'Finds them in the graph');
    const number = (side, name, words) => link(side, name, `${fates.count(side, name).toLocaleString('en-US')} ${words}`),
      removed = fates.count('source', 'removed'),
      made = fates.count('result', 'new'),
      done = [];
    if (fates.count('source', 'fused'))
      done.push([
        number('source', 'fused', 'fused'),
        ' into ',
        link('result', 'several', count(fates.count('result', 'several'), 'operator')),
      ]);
    for (const name of ['changed', 'decomposed', 'folded', 'merged', 'inlined', 'elsewhere', 'unknown'])
      if (fates.count('source', name)) done.push([number('source', name, inWords[name] ?? name)]);
    done.push([removed ? number('source', 'removed', 'removed') : '0 removed']);
    done.push([fates.count('source', 'unchanged') ? number('source', 'unchanged', 'as they were') : 'none as it was']);
    done.push([made ? number('result', 'new', 'new') : '0 new']);
    // What is between commas stays together.
    const words = done.flatMap((part, i) => [
      h('span', { class: 'whole' }, part, i + 1 === done.length ? '.' : i + 2 === done.length ? ';' : ','),
      ' ',
    ]);
    const parts = [
      h(
        'p',
        { class: 'first' },
        operators === source
          ? `${count(operators, 'operator')}, as many as before`
          : `${count(operators, 'operator')} ${operators < source ? 'of' : 'from'} ${source.toLocaleString('en-US')}`,
      ),
      this.bar('source', source),
      h('p', {}, 'Of the source: ', words),
    ];
    if (from) parts.push(this.costs(from, to));
    const { proof } = data;
    if (proof)
      parts.push(
        h(
          'p',
          { class: proof.violations.length ? 'bad' : '' },
          proof.violations.length
            ? `The origin map is not true: it breaks ${count(new Set(proof.violations.map(row => row[0])).size, 'law')}, ` +
                'so what is said here may be wrong. '
            : proof.withSource
              ? 'What is said here was checked against both files. '
              : 'What is said here was checked against the result; the source was not given. ',
          this.word('How', () => actions.open('proof')),
        ),
      );
    return parts;
  }
  /** What it costs now, of what it has. */
  costs(from, to) {
    const figures = [
      ['bytes', 'its constants are ', ['smaller', 'larger', 'as large as before'], bytes, '', ''],
      ['macs', 'it computes ', ['less', 'more', 'as much as before'], value => `${short(value)} MACs`, '', ''],
      ['live_bytes', 'it needs ', ['less', 'more', 'as much'], bytes, ' memory', ' at most'],
    ].filter(([key]) => Number(from[key]) || Number(to[key]));
    const whole = text => h('span', { class: 'whole' }, text);
    const said = figures.map(([key, words, changes, unit, what, limit]) => {
      const [was, is] = [from[key], to[key]].map(Number),
        [a, b] = [was, is].map(unit);
      if (from[key] === undefined) return [words, h('b', { class: 'whole' }, b), `${key === 'bytes' ? ' large' : what}${limit}`];
      return [words, h('b', {}, change(was, is, changes)), `${what} (`, ...(a === b ? [] : [whole(a), ' → ']), whole(b), `${limit})`];
    });
    if (!said.length) return null;
    said[0][0] = said[0][0][0].toUpperCase() + said[0][0].slice(1);
    return h(
      'p',
      {},
      said.map((part, i) => [i ? (i + 1 < said.length ? ', ' : said.length > 2 ? ', and ' : ' and ') : '', ...part]),
      '.',
    );
  }
  /** Shares of what became of the source, in colours. */
  bar(side, all) {
    const bar = h('div', { class: 'bar', role: 'img', 'aria-label': 'Shares of what became of the source, as in the legend' });
    for (const fate of side === 'source' ? sourceFates : resultFates) {
      const share = this.fates.count(side, fate.name) / all,
        part = h('i', { title: `${fate.name}: ${this.fates.count(side, fate.name)}` });
      if (!share) continue;
      part.style.flex = `${share} 0 0`;
      part.style.background = this.actions.colour(fate.name);
      bar.append(part);
    }
    return bar;
  }
  /** [item, figure, why] each. */
  list(rows) {
    const labels = this.details.shortLabels(rows.map(([item]) => item));
    return h(
      'ol',
      {},
      rows.map((row, i) => this.row(labels[i], ...row)),
    );
  }
  row(label, item, figure, why) {
    return h(
      'li',
      {},
      this.word(inPieces(label), () => this.actions.go(item), this.details.label(item)),
      h('span', { class: 'figure' }, figure),
      why ? h('span', { class: 'why' }, why) : null,
    );
  }

  /** Of the first profile. */
  slowest() {
    return this.measured.profiles.flatMap((profile, i) => {
      const rows = profile.timing.result
        .flatMap((map, graph) => [...map].map(([index, ns]) => ({ item: { side: 'result', type: 'op', graph, index }, ns })))
        .sort((a, b) => b.ns - a.ns || a.item.index - b.item.index);
      if (!rows.length) return [];
      const top = rows.slice(0, 5),
        share = ns => Math.round((ns / profile.total) * 100);
      return [
        h(
          'h3',
          {},
          `Slowest: ${share(top.reduce((sum, row) => sum + row.ns, 0))} % of ${time(profile.total / profile.runs)} ` +
            `in ${count(top.length, 'operator')}`,
        ),
        this.list(top.map(({ item, ns }) => [item, `${time(ns / profile.runs)}, ${share(ns)} %`])),
        h(
          'p',
          { class: 'soft' },
          `${profile.name}${profile.runs > 1 ? `, mean of ${profile.runs} runs` : ''}. `,
          this.word('All times', () => this.actions.open(`profile-${i}`)),
        ),
      ];
    });
  }
  /** Where no profile tells: who computes most. */
  largest() {
    const total = Number(this.model.data.resultTotals.macs),
      of = item => this.model.graphOf(item).metric('macs', item.index) ?? 0;
    if (this.measured.profiles.length || !total) return [];
    const rows = this.model.result.graphs
      .flatMap(graph => Array.from({ length: graph.ops }, (_, index) => ({ side: 'result', type: 'op', graph: graph.index, index })))
      .filter(item => of(item) > 0)
      .sort((a, b) => of(b) - of(a))
      .slice(0, 5);
    // Where all do a little, none is worth a look.
    return rows.reduce((sum, item) => sum + of(item), 0) * 20 > total
      ? [
          h('h3', {}, `Most work: ${Math.round((rows.reduce((sum, item) => sum + of(item), 0) / total) * 100)} % of ${short(total)} MACs`),
          this.list(rows.map(item => [item, `${short(of(item))}, ${Math.round((of(item) / total) * 100)} %`])),
        ]
      : [];
  }
  /** The second profile beside the first. */
  faster() {
    const [a, b] = this.measured.profiles;
    if (!b) return [];
    const [before, after] = [a, b].map(profile => profile.total / profile.runs);
    return [
      h(
        'p',
        {},
        `${b.name} takes ${time(after)} where ${a.name} takes ${time(before)}: `,
        h('b', {}, change(before, after, ['less', 'more', 'as much'])),
        '. ',
        this.word('Which layers', () => this.actions.open('compare')),
      ),
    ];
  }
  worst() {
    const { measured } = this,
      name = measured.ownFigure();
    if (!name) return [];
    const rows = [...measured.errors]
      .map(([id, values]) => ({ item: this.model.sourceItem('tensor', id), value: values[name] }))
      .filter(row => row.value !== undefined && row.value !== null && this.model.exists(row.item))
      .sort((a, b) => b.value - a.value);
    const maker = item => {
      const graph = this.model.graphOf(item),
        node = graph.maker[item.index];
      return node >= 0 && graph.isOp(node) ? { ...item, type: 'op', index: graph.opOfNode(node) } : item;
    };
    return rows.length
      ? [
          h('h3', {}, `Adds most error (${name})`),
          this.list(rows.slice(0, 5).map(({ item, value }) => [maker(item), short(value)])),
          ...(this.model.source ? this.answers.along(this.model.source.graphs[0], null) : []),
          h(
            'p',
            { class: 'soft' },
            this.word('All errors', () => this.actions.open('errors')),
          ),
        ]
      : [];
  }
  refused() {
    const { target } = this.measured;
    if (!target) return [];
    const items = [...this.measured.refused.keys()]
      .map(key => key.split(':').map(Number))
      .map(([graph, index]) => ({ side: 'result', type: 'op', graph, index }));
    return [
      h('h3', {}, items.length ? `${target.name} does not take ${count(items.length, 'operator')}` : `${target.name} takes every operator`),
      this.list(items.slice(0, 5).map(item => [item, '', clean(this.measured.refused.get(`${item.graph}:${item.index}`)[0].rule)])),
      items.length > 5
        ? h(
            'p',
            { class: 'soft' },
            this.word('All of them', () => this.actions.open('target')),
          )
        : null,
    ];
  }
  /** Operators that a rule came near to. */
  stayed() {
    const { model, reasons } = this,
      near = [];
    if (!reasons.known) return [];
    for (const graph of model.result.graphs)
      for (let index = 0; index < graph.ops && near.length < 20000; ++index) {
        const item = { side: 'result', type: 'op', graph: graph.index, index },
          [first] = reasons.of(item, model, this.links);
        if (first && first.parts >= 2 && !reasons.isCommon(first.rule)) near.push({ item, first });
      }
    // One of each reason: the same of forty layers is one thing to know.
    const kinds = new Map();
    for (const row of near) {
      const key = `${row.first.rule}\n${row.first.reason}`;
      if (kinds.has(key)) ++kinds.get(key).more;
      else kinds.set(key, { ...row, more: 0 });
    }
    const rows = [...kinds.values()]
      .sort((a, b) => (b.first.parts === a.first.parts ? b.more - a.more : b.first.parts - a.first.parts))
      .slice(0, 5);
    return rows.length
      ? [
          h('h3', {}, 'Stayed, though a rule came near'),
          this.list(rows.map(({ item, first, more }) => [item, more ? `and ${more} more` : '', clean(`${first.rule}: ${first.reason}`)])),
          h(
            'p',
            { class: 'soft' },
            this.word('All that stayed', () => this.actions.open('stayed')),
          ),
        ]
      : [];
  }
  notes() {
    const { notes, proof, map } = this.model.data,
      isProved = proof?.violations.length === 0 && !map?.doubts?.length;
    return notes.map(note => h('p', { class: isProved ? 'soft' : 'bad' }, clean(`${note[0].toUpperCase()}${note.slice(1)}.`)));
  }
  hints() {
    const missing = [];
    if (!this.measured.profiles.length) missing.push(['--profile', 'which layers are slow']);
    if (!this.measured.errors.size) missing.push(['--errors', 'which layers quantisation broke']);
    if (this.links.map && !this.reasons.known && !this.model.data.history)
      missing.push(['--history', 'each rewrite, and why an operator stayed']);
    return [
      h(
        'p',
        { class: 'soft' },
        'Point at an operator to see what it is tied to; click to keep it. Diamonds are constants, lines are tensors, keys are under ',
        h('kbd', {}, '?'),
        '.',
        missing.length ? ' The page tells more with ' : '',
        missing.map(([option, words], i) => [
          i ? (i + 1 < missing.length ? ', ' : ' and ') : '',
          h('code', { class: 'whole' }, option),
          ` (${words})${i + 1 < missing.length ? '' : '.'}`,
        ]),
      ),
    ];
  }
}
