// What nodes are coloured by: a number has a scale, a text has a colour for each of the commonest.
import { classes, families, familyOf, heat, inkOn, tint } from './colour.js';
import { resultFates, sourceFates, titles } from './fates.js';
import { figure, h } from './table.js';

// {name, title, of(graph, item) → number | text | null, numeric, adds}; adds: of several operators the sum says something, else the
// greatest does
const additive = new Set(['macs', 'sparse_macs', 'operations', 'parameters', 'bytes', 'activation_bytes']);

export function overlaysOf(model, links, fates) {
  const data = model.data,
    list = links.map ? [{ name: 'fate', title: 'what became of it', of: (graph, item) => fates.of(item), fates: true }] : [];
  list.push({ name: 'kind', title: 'kind of operator', of: (graph, item) => families[familyOf(graph.kind(item.index))], fixed: families });
  for (const [name, meaning] of Object.entries(data.meanings))
    if (model.result.graphs.some(graph => graph.data.metrics))
      list.push({ name, title: meaning, numeric: true, adds: additive.has(name), of: (graph, item) => graph.metric(name, item.index) });
  if (links.map) {
    list.push({
      name: 'pass',
      title: 'passes that made it',
      of: (graph, item) =>
        item.side === 'result'
          ? links.synthetic(item)
            ? `synthetic: ${links.synthetic(item)}`
            : links.passes(item) || 'no pass'
          : (links.fate(item)?.pass ?? null),
    });
    list.push({
      name: 'origins',
      title: 'source operators behind it',
      numeric: true,
      of: (graph, item) => (item.side === 'result' ? links.origins(item).length : (links.opsOf.get(model.sourceId(item))?.length ?? 0)),
    });
  }
  const ofResult = read => (graph, item) => {
    const tensor = graph.results(item.index).find(t => t >= 0);
    return tensor === undefined ? null : read(graph, tensor) || null;
  };
  list.push({ name: 'type', title: 'type of the result', of: ofResult((graph, tensor) => graph.type(tensor)) });
  list.push({ name: 'shape', title: 'shape of the result', of: ofResult((graph, tensor) => graph.shape(tensor)) });
  list.push({
    name: 'quantization',
    title: 'quantisation of the result',
    of: ofResult((graph, tensor) =>
      graph.data.type
        ? graph.quantization(tensor)
          ? graph
              .quantization(tensor)
              .replace(/[-\d.e]+.*/, '')
              .trim() || 'quantised'
          : 'none'
        : '',
    ),
  });
  return list;
}

/** The colours of an overlay over both sides. */
export class Paint {
  constructor(overlay, model, isDark) {
    Object.assign(this, { overlay, isDark });
    this.counts = { source: new Map(), result: new Map() };
    const counts = new Map();
    let least = Infinity,
      most = -Infinity;
    for (const side of [model.source, model.result])
      for (const graph of side?.graphs ?? [])
        for (let index = 0; index < graph.ops; ++index) {
          const value = overlay.of(graph, { side: side.name, type: 'op', graph: graph.index, index });
          if (value === null || value === undefined) continue;
          if (overlay.numeric) ((least = Math.min(least, value)), (most = Math.max(most, value)));
          else for (const map of [counts, this.counts[side.name]]) map.set(value, (map.get(value) ?? 0) + 1);
        }
    this.range = overlay.numeric && least <= most ? [least, most] : null;
    const names = overlay.fixed ?? [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
    this.colourOf = overlay.fates
      ? new Map([...sourceFates, ...resultFates].map(({ name, colour }) => [name, classes[colour] ?? null]))
      : new Map(names.map((name, i) => [name, classes[Math.min(i, classes.length - 1)]]));
    this.named = overlay.fixed ? overlay.fixed.filter(name => counts.has(name)) : names.slice(0, classes.length - 1);
    this.rest = overlay.fixed ? [] : names.slice(this.named.length);
    this.total = counts;
    // Most operators cost little, so shares of the greatest would all look alike.
    this.share = value => (this.range[1] > this.range[0] ? Math.sqrt((value - this.range[0]) / (this.range[1] - this.range[0])) : 1);
  }
  of(value) {
    const none = {
      fill: this.isDark ? '#2a2e35' : '#ffffff',
      ink: this.isDark ? '#eceef1' : '#1a1c20',
      far: this.isDark ? '#8b95a3' : '#a4adb8',
    };
    if (value === null || value === undefined) return none;
    if (this.overlay.numeric) {
      const fill = heat(this.share(value));
      return { fill, ink: inkOn(fill) };
    }
    const far = this.colourOf.has(value) ? this.colourOf.get(value) : classes.at(-1);
    if (!far) return none;
    const fill = tint(far, this.isDark);
    return { fill, ink: inkOn(fill), far };
  }
  /** `filter(values, side)` is called by a click on what the legend names. */
  legend(filter) {
    if (this.overlay.numeric) {
      if (!this.range) return [h('span', {}, 'nothing is known of this')];
      const canvas = h('canvas', { width: 160, height: 12, 'aria-hidden': 'true' }),
        c = canvas.getContext('2d');
      for (let x = 0; x < 160; ++x) ((c.fillStyle = heat(x / 159)), c.fillRect(x, 0, 1, 12));
      return [
        h('span', {}, `${this.overlay.title}:`),
        h('span', {}, figure(this.range[0]), canvas, figure(this.range[1])),
        h(
          'span',
          {
            class: 'soft',
            title: 'Most operators cost little: the colour goes by the square root of the figure, so that these differ too.',
          },
          'the middle colour is a quarter of the most',
        ),
      ];
    }
    const swatch = (values, text, number, side, says) => {
      const box = h('i'),
        { fill, far } = this.of(values[0]);
      box.style.background = `linear-gradient(90deg, ${fill} 50%, ${far ?? fill} 50%)`;
      return h(
        'button',
        {
          class: 'swatch',
          'data-key': `${side}:${values[0]}`,
          'aria-pressed': 'false',
          title: `${says ? `${says}. ` : ''}Left as it is near by, right as from far away. A click finds them.`,
          onclick: event => filter(values, side, event.currentTarget),
        },
        box,
        text,
        h('b', {}, number.toLocaleString('en-US')),
      );
    };
    if (!this.overlay.fates)
      return [
        ...this.named.map(name => swatch([name], name, this.total.get(name))),
        this.rest.length
          ? swatch(
              this.rest,
              `${this.rest.length} more`,
              this.rest.reduce((sum, name) => sum + this.total.get(name), 0),
            )
          : null,
      ];
    const side = (title, name, list) => [
      h('span', { class: 'soft' }, title),
      ...list
        .filter(fate => this.counts[name].has(fate.name))
        .map(fate => swatch([fate.name], titles[fate.name] ?? fate.name, this.counts[name].get(fate.name), name, `This ${fate.says}`)),
    ];
    return [...side('Source', 'source', sourceFates), ...side('Result', 'result', resultFates)];
  }
}
