// What is known of what is selected, in words, with links to what it is tied to.
import { CONSTANT, clean, quoted } from './data.js';
import { digits, elementsOf } from './elements.js';
import { count } from './people.js';
import { shortKind } from './place.js';
import { figure, h } from './table.js';
import { Where } from './where.js';

const kinds = ['input', 'activation', 'variable', 'constant', 'absent'];

/** Names may be as long as a model likes. */
const inPart = text => (text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text);

const inferred = {
  proved: 'Its origins were inferred, and proved by executing both models.',
  unproved: 'Its origins were inferred from structure alone; they are not proved.',
  ambiguous: 'Its origins were inferred, and are ambiguous: another tensor of the source is equal to what it makes.',
  unknown: 'Nothing of the source was found that it could stand for.',
};

export class Details {
  constructor(model, links, signatures, reasons, go) {
    Object.assign(this, { model, links, signatures, reasons, go });
    this.where = new Where(model, links, go);
  }

  /** A word for an item: "CONV_2D 12 stem/relu6". */
  label(item) {
    const graph = this.model.graphOf(item),
      many = this.model.side(item.side).graphs.length > 1;
    if (!graph || !this.model.exists(item)) return `${item.type} ${item.index}`;
    const number = item.side === 'source' && this.links.map ? this.model.sourceId(item) : item.index;
    const first = name => {
      const [one] = name.length > 80 ? name.split(';') : [name];
      return one.length > 80 ? `…${one.slice(-79)}` : one === name ? name : `${one}…`;
    };
    if (item.type === 'op')
      return (
        clean(`${graph.kind(item.index)} ${number} ${first(graph.opName(item.index))}`) +
        (many && item.side === 'result' ? ` (subgraph ${item.graph})` : '')
      );
    return clean(`${graph.tensorKind(item.index) === CONSTANT ? 'constant' : 'tensor'} ${number} ${first(graph.tensorName(item.index))}`);
  }
  /** The first of the names that an exporter joined. */
  nameOf(item) {
    const graph = this.model.graphOf(item);
    return clean(item.type === 'op' ? graph.opName(item.index) : graph.tensorName(item.index)).split(';')[0];
  }
  /** All of them, where there are others. */
  joined(name) {
    const others = clean(name).split(';').length - 1;
    return others
      ? h('details', { class: 'soft' }, h('summary', {}, `and ${count(others, 'more name')}`), h('p', {}, inPart(clean(name))))
      : null;
  }
  /** For a narrow place: the end of a name is what tells it from others. */
  shortLabel(item) {
    const graph = this.model.graphOf(item),
      parts = this.nameOf(item).split('/');
    let end = parts.pop();
    while (parts.length && end.length + parts.at(-1).length < 30) end = `${parts.pop()}/${end}`;
    if (end.length > 34) end = `…${end.slice(-33)}`;
    else if (parts.length) end = `…/${end}`;
    return `${item.type === 'op' ? shortKind(graph, item.index) : 'tensor'} ${end || item.index}`;
  }
  /** The same of several that stand together: where two would look alike, the part of the path that differs is there too. */
  shortLabels(items) {
    const labels = items.map(item => this.shortLabel(item)),
      path = item => this.nameOf(item).split('/');
    return labels.map((label, i) => {
      const alike = items.filter((item, k) => labels[k] === label && item !== items[i]).map(path);
      if (!alike.length) return label;
      const own = path(items[i]),
        end = own.at(-1),
        at = own.findLastIndex(
          (part, k) => k < own.length - 1 && k > 0 && alike.every(other => other[k - own.length + other.length] !== part),
        );
      const number = items[i].side === 'source' ? this.model.sourceId(items[i]) : items[i].index;
      return at > 0 ? `${label.split(' ')[0]} …/${own[at]}/${at + 2 < own.length ? '…/' : ''}${end}` : `${label} #${number}`;
    });
  }
  link(item, extra, before) {
    return h(
      'li',
      {},
      before ? h('span', { class: 'soft' }, `${before}: `) : null,
      h('button', { class: 'link', onclick: () => this.go(item) }, this.label(item)),
      extra ? ` ${extra}` : null,
    );
  }
  list(title, items, extra = () => '', before = () => '') {
    if (!items.length) return [];
    const shown = items.slice(0, 60),
      rest = items.length - shown.length;
    return [
      h('h3', {}, title),
      h(
        'ul',
        {},
        shown.map((item, i) => this.link(item, extra(item, i), before(item, i))),
        rest ? h('li', { class: 'soft' }, `and ${rest} more`) : null,
      ),
    ];
  }
  pairs(rows) {
    const filled = rows.filter(([, value]) => value !== '' && value !== null && value !== undefined);
    return filled.length
      ? h(
          'dl',
          {},
          filled.map(([name, value]) => [h('dt', {}, name), h('dd', {}, String(value))]),
        )
      : null;
  }

  of(item) {
    return item.type === 'op' ? this.operator(item) : this.tensor(item);
  }
  /** Of the subgraphs that are shown: who calls them. */
  callers() {
    return [this.model.source, this.model.result].filter(Boolean).flatMap(side => {
      const index = this.shown?.(side.name) ?? 0,
        found = [];
      for (const graph of side.graphs)
        for (let op = 0; op < graph.ops; ++op)
          if (graph.callees(op).includes(index)) found.push({ side: side.name, type: 'op', graph: graph.index, index: op });
      return this.list(`Subgraph ${index} of the ${side.name} is called by`, found);
    });
  }
  /** Why no rule changed it. */
  why(item) {
    const list = this.reasons.of(item, this.model, this.links);
    if (!list.length) return [];
    return [
      h('h3', {}, 'Why it stayed'),
      h(
        'ul',
        { class: 'soft' },
        list.slice(0, 60).map(row => h('li', {}, h('b', {}, clean(`${row.pass} / ${row.rule}`)), `: ${clean(row.reason)}`)),
      ),
    ];
  }
  command(item) {
    // A tensor is asked for by its name, where it has one that can be typed.
    const graph = this.model.graphOf(item),
      option = item.side === 'source' ? '--where' : '--from';
    const isTold = item.side === 'source' || graph.tensorKind(item.index) === CONSTANT || graph.isOp(graph.maker[item.index]),
      name = item.type === 'tensor' && isTold ? graph.tensorName(item.index) : '';
    const word =
      item.type === 'tensor'
        ? name && name.length < 2000 && name === clean(name)
          ? quoted(name)
          : ''
        : item.side === 'source'
          ? this.model.sourceId(item)
          : `${item.graph}:${item.index}`;
    if (word === '' || !this.links.map) return [];
    return [
      h('h3', {}, 'The same from the command line'),
      h('code', {}, `origin-dump ${quoted(clean(this.model.result.file))} ${option} ${word}`),
    ];
  }
  /** What became of it, as `origo where` says, and a way to see it happen. */
  became(item) {
    const lost = [item, ...(item.type === 'op' ? this.results(item) : [])].map(one => this.links.fate(one)).find(Boolean);
    return [
      ...this.where.contents(item),
      this.showRewrite && lost && !lost.run && lost.rewrite
        ? h('p', {}, h('button', { onclick: () => this.showRewrite(lost.rewrite) }, `Show rewrite ${lost.rewrite}`))
        : null,
    ];
  }
  results(item) {
    return this.model
      .graphOf(item)
      .results(item.index)
      .filter(tensor => tensor >= 0)
      .map(index => ({ ...item, type: 'tensor', index }));
  }

  operator(item) {
    const { model, links } = this,
      graph = model.graphOf(item),
      op = item.index,
      source = item.side === 'source';
    const tensors = list => list.filter(tensor => tensor >= 0).map(tensor => ({ ...item, type: 'tensor', index: tensor }));
    const facts = other => [graph.type(other.index), graph.shape(other.index), graph.quantization(other.index)].filter(Boolean).join(' ');
    const parts = [
      h('h2', {}, shortKind(graph, op)),
      source && links.map
        ? null
        : h(
            'p',
            { class: 'soft' },
            `${source ? 'source ' : ''}operator ${op}${graph.opName(op) ? ` “${inPart(this.nameOf(item))}”` : ''}`,
          ),
      source && links.map ? null : this.joined(graph.opName(op)),
      ...(source ? this.became(item) : []),
    ];
    if (this.says?.(item)) parts.push(h('p', {}, `It ${this.says(item)}.`));
    parts.push(...(this.answers?.(item) ?? []));
    if (graph.className(op)) parts.push(h('p', { class: 'soft' }, `In a ${clean(graph.className(op))}`));
    if (graph.lines(op).length)
      parts.push(
        h('h3', {}, 'Called from'),
        h(
          'ol',
          { class: 'lines' },
          graph.lines(op).map(line => h('li', {}, clean(line))),
        ),
      );
    if (!source) parts.push(...this.made(item));
    parts.push(...this.options(graph, op));
    parts.push(
      ...this.list(
        'Calls',
        graph.callees(op).map(callee => ({ ...item, graph: callee, index: 0 })),
        other => `subgraph ${other.graph} “${clean(model.side(item.side).graphs[other.graph].name())}”`,
      ),
    );
    parts.push(
      ...this.list('Takes', tensors(graph.operands(op)), facts, (_, i) => this.operandName(graph, op, i)),
      ...this.list('Makes', tensors(graph.results(op)), facts),
    );
    const figures = Object.entries(model.data.meanings).map(([name, meaning]) => [meaning, figure(graph.metric(name, op))]);
    if (figures.some(row => row[1] !== '')) parts.push(h('h3', {}, 'Costs'), this.pairs(figures));
    parts.push(...(this.more?.(item) ?? []), ...this.why(item), ...this.command(item));
    return parts.flat();
  }
  /** Those that the file has, and the rest, which are as the format says. */
  options(graph, op) {
    const text = graph.options(op),
      rest = (this.model.data.kinds[graph.kind(op)]?.[1] ?? []).filter(word => !new RegExp(`\\b${word.split('=')[0]}=`).test(text));
    return text || rest.length
      ? [
          h('h3', {}, 'Options'),
          text ? h('code', {}, clean(text)) : null,
          rest.length ? h('p', { class: 'soft' }, `By default: ${rest.join(', ')}`) : null,
        ]
      : [];
  }
  /** What the operator calls its `at`-th operand of those that it has; the last name is that of all that are left. */
  operandName(graph, op, at) {
    const [names] = this.model.data.kinds[graph.kind(op)] ?? [[]],
      index = graph.operands(op).flatMap((tensor, i) => (tensor >= 0 ? [i] : []))[at];
    return names[Math.min(index, names.length - 1)] ?? '';
  }
  made(item) {
    const { model, links } = this,
      items = ids => ids.map(id => model.sourceItem('op', id)).filter(other => model.exists(other));
    if (!links.map) return [];
    const reason = links.synthetic(item),
      doubt = model.graphOf(item).doubts?.[item.index],
      wide = links.wide(item);
    return [
      reason ? h('p', { class: 'gone' }, `Stands for no operator of the source: ${reason}.`) : null,
      links.map.inferred
        ? h('p', { class: doubt ? 'gone' : '' }, inferred[doubt] ?? inferred.proved)
        : h('p', {}, links.passes(item) ? `Made by ${links.passes(item)}.` : 'No pass changed it.'),
      wide ? h('p', {}, `Has more origins than the structure proves: ${wide}.`) : null,
      ...this.list('Does the work of', items(links.origins(item))),
      ...this.list('Serves', items(links.serves(item))),
      ...this.list('Inlined from the call by', items(links.calls(item))),
    ];
  }

  tensor(item) {
    const { model, links } = this,
      graph = model.graphOf(item),
      tensor = item.index,
      source = item.side === 'source',
      kind = kinds[graph.tensorKind(tensor)];
    const nodeItem = node => (graph.isOp(node) ? { ...item, type: 'op', index: graph.opOfNode(node) } : null);
    const parts = [
      h('h2', {}, inPart(this.nameOf(item)) || 'without a name'),
      this.joined(graph.tensorName(tensor)),
      h('p', { class: 'soft' }, `${source ? 'source ' : ''}${kind} ${source ? model.sourceId(item) : tensor}`),
      ...(source ? this.became(item) : []),
    ];
    parts.push(...(this.answers?.(item) ?? []));
    if (!source) {
      const facts = links.tensorFacts(item),
        from = (type, ids) => ids.map(id => model.sourceItem(type, id)).filter(other => model.exists(other));
      if (facts) {
        if (facts.invented) parts.push(h('p', { class: 'gone' }, `Comes from nothing in the source: ${facts.invented}.`));
        if (!facts.relations.length && graph.tensorKind(tensor) !== CONSTANT)
          parts.push(h('p', {}, `Equals no tensor of the source${facts.why ? ` (${facts.why})` : ''}.`));
        parts.push(
          ...this.list(
            'Is',
            from(
              'tensor',
              facts.relations.map(row => row[0]),
            ),
            (_, i) => clean(facts.relations[i][1]),
          ),
          ...this.list('Was computed from', from('tensor', facts.tensors)),
          ...this.list('Was computed ahead of time from', from('op', facts.operators)),
        );
      }
    }
    parts.push(...this.signatures.namesOf(item).map(words => h('p', {}, `Signature ${words}.`)));
    parts.push(
      this.pairs([
        ['type', graph.type(tensor)],
        ['shape', graph.shape(tensor) + (graph.data.shapeNow?.[tensor] ? `, as it is now ${graph.data.shapeNow[tensor].join('×')}` : '')],
        ['quantisation', graph.quantization(tensor)],
        ['stored', graph.data.sparse?.[tensor] ? 'sparse: what is zero is left out' : ''],
        ['bytes', figure(graph.data.bytes?.[tensor])],
      ]),
    );
    parts.push(...this.statistics(graph, tensor), ...this.contents(graph, tensor), ...(this.more?.(item) ?? []));
    const maker = graph.maker[tensor];
    if (maker >= 0 && graph.isOp(maker)) parts.push(...this.list('Made by', [nodeItem(maker)]));
    parts.push(...this.list('Used by', (graph.users.get(tensor) ?? []).map(nodeItem).filter(Boolean)), ...this.command(item));
    return parts;
  }
  statistics(graph, tensor) {
    const statistics = graph.data.statistics?.[tensor];
    if (!statistics) return [];
    const [elements, zeros, nans, infinities, least, most, mean, deviation] = statistics;
    return [
      h('h3', {}, 'Values'),
      this.pairs([
        ['elements', figure(elements)],
        ['zeros', `${figure(zeros)}${elements ? ` (${figure((zeros / elements) * 100)} %)` : ''}`],
        ['NaN', nans || ''],
        ['infinite', infinities || ''],
        ['least', figure(least)],
        ['greatest', figure(most)],
        ['mean', figure(mean)],
        ['deviation', figure(deviation)],
      ]),
      ...this.histogram(graph.data.histogram?.[tensor], least, most),
    ];
  }
  /** Scales of channels, and elements as the file has them. */
  contents(graph, tensor) {
    const [scales, zeros] = graph.data.scales?.[tensor] ?? [],
      values = graph.data.values?.[tensor],
      elements = values === undefined ? null : elementsOf(graph.type(tensor), values),
      all = graph.data.statistics?.[tensor]?.[0];
    return [
      scales ? [h('h3', {}, 'Scales'), h('code', {}, scales.map(digits).join(' '))] : null,
      zeros?.some(Boolean) ? [h('h3', {}, 'Zero points'), h('code', {}, zeros.join(' '))] : null,
      elements?.length
        ? [
            h(
              'h3',
              {},
              all > elements.length
                ? `The first ${count(elements.length, graph.data.sparse?.[tensor] ? 'stored element' : 'element')}`
                : 'Elements',
            ),
            h('code', {}, elements.map(value => clean(digits(value))).join(' ')),
          ]
        : null,
    ]
      .flat()
      .filter(Boolean);
  }
  histogram(counts, least, most) {
    if (!counts?.length) return [];
    const canvas = h('canvas', {
        class: 'histogram',
        width: 256,
        height: 60,
        role: 'img',
        'aria-label': `Histogram from ${figure(least)} to ${figure(most)}: ${counts.join(', ')}`,
      }),
      c = canvas.getContext('2d'),
      top = Math.max(...counts);
    c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent');
    counts.forEach((count, i) => {
      const high = count ? Math.max((count / top) * 58, 1) : 0;
      c.fillRect(i * 8, 60 - high, 7, high);
    });
    return [canvas, h('p', { class: 'soft' }, `${counts.length} equal parts from ${figure(least)} to ${figure(most)}`)];
  }
}
