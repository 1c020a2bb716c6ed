// What nodes are coloured by: a number has a scale, a text has a colour for each of the commonest.
import { classes, families, familyOf, heat, inkOn, tint } from './colour.js';
import { figure, h } from './table.js';

/** {name, title, of(graph, item) → number | text | null, numeric, adds}   adds: of several operators the sum says something, else the greatest does */
const additive = new Set(['macs', 'sparse_macs', 'operations', 'parameters', 'bytes', 'activation_bytes']);

export function overlaysOf(model, links) {
  const data = model.data, list = [{ name: 'kind', title: 'kind of operator', of: (graph, item) => families[familyOf(graph.kind(item.index))], fixed: families }];
  for (const [name, meaning] of Object.entries(data.meanings))
    if (model.result.graphs.some(graph => graph.data.metrics))
      list.push({ name, title: meaning, numeric: true, adds: additive.has(name), of: (graph, item) => graph.metric(name, item.index) });
  if (links.map) {
    list.push({ name: 'pass', title: 'passes that made it', of: (graph, item) => item.side === 'result' ? links.synthetic(item) ? `synthetic: ${links.synthetic(item)}` : links.passes(item) || 'no pass' : links.fate(item)?.pass ?? null });
    list.push({ name: 'fate', title: 'what became of it', of: (graph, item) => item.side === 'source' ? links.fate(item)?.fate ?? 'lives' : null });
    list.push({ name: 'origins', title: 'source operators behind it', numeric: true, of: (graph, item) => item.side === 'result' ? links.origins(item).length : links.opsOf.get(model.sourceId(item))?.length ?? 0 });
  }
  const ofResult = read => (graph, item) => { const tensor = graph.results(item.index).find(t => t >= 0); return tensor === undefined ? null : read(graph, tensor) || null; };
  list.push({ name: 'type', title: 'type of the result', of: ofResult((graph, tensor) => graph.type(tensor)) });
  list.push({ name: 'shape', title: 'shape of the result', of: ofResult((graph, tensor) => graph.shape(tensor)) });
  list.push({ name: 'quantization', title: 'quantisation of the result', of: ofResult((graph, tensor) => graph.data.type ? (graph.quantization(tensor) ? graph.quantization(tensor).replace(/[-\d.e]+.*/, '').trim() || 'quantised' : 'none') : '') });
  return list;
}

/** The colours of an overlay over both sides. */
export class Paint {
  constructor(overlay, model, isDark) {
    Object.assign(this, { overlay, isDark });
    this.values = [];
    const counts = new Map();
    let least = Infinity, most = -Infinity;
    for (const side of [model.source, model.result])
      for (const graph of side?.graphs ?? [])
        for (let index = 0; index < graph.ops; ++index) {
          const value = overlay.of(graph, { side: side.name, type: 'op', graph: graph.index, index });
          if (value === null || value === undefined) continue;
          if (overlay.numeric) least = Math.min(least, value), most = Math.max(most, value);
          else counts.set(value, (counts.get(value) ?? 0) + 1);
        }
    this.range = overlay.numeric && least <= most ? [least, most] : null;
    const names = overlay.fixed ?? [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
    this.colourOf = new Map(names.map((name, i) => [name, classes[Math.min(i, classes.length - 1)]]));
    this.named = overlay.fixed ? overlay.fixed.filter(name => counts.has(name)) : names.slice(0, classes.length - 1);
    this.more = overlay.fixed ? 0 : Math.max(names.length - this.named.length, 0);
    // Most operators cost little, so shares of the greatest would all look alike.
    this.share = value => (this.range[1] > this.range[0] ? Math.sqrt((value - this.range[0]) / (this.range[1] - this.range[0])) : 1);
  }
  of(value) {
    if (value === null || value === undefined) return { fill: this.isDark ? '#2a2e35' : '#ffffff', ink: this.isDark ? '#eceef1' : '#1a1c20' };
    if (this.overlay.numeric) { const fill = heat(this.share(value)); return { fill, ink: inkOn(fill) }; }
    const far = this.colourOf.get(value) ?? classes.at(-1), fill = tint(far, this.isDark);
    return { fill, ink: inkOn(fill), far };
  }
  legend() {
    if (this.overlay.numeric) {
      if (!this.range) return [h('span', {}, 'nothing is known of this')];
      const canvas = h('canvas', { width: 160, height: 12, 'aria-hidden': 'true' }), c = canvas.getContext('2d');
      for (let x = 0; x < 160; ++x) c.fillStyle = heat(x / 159), c.fillRect(x, 0, 1, 12);
      return [h('span', {}, `${this.overlay.title}:`), h('span', {}, figure(this.range[0]), canvas, figure(this.range[1])), h('span', { class: 'soft' }, '(square roots)')];
    }
    const swatch = (colour, text) => { const box = h('i'); box.style.background = `linear-gradient(90deg, ${tint(colour, this.isDark)} 50%, ${colour} 50%)`; /* near by, from far away */ return h('span', {}, box, text); };
    return [...this.named.map(name => swatch(this.colourOf.get(name), name)), this.more ? swatch(classes.at(-1), `${this.more} more`) : null];
  }
}
