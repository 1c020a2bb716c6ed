// What became of operators of the source, and where those of the result come from, in a handful of words: each has a colour,
// a place in the legend, and is a word that the search knows.
import { titleOf } from './place.js';

/** name, colour (a class of colour.js; −1: none, for what stayed), what it says of one operator. */
export const sourceFates = [
  ['unchanged', -1, 'is in the result as it was'],
  ['fused', 0, 'is done together with others by one operator'],
  ['changed', 4, 'is done by one operator that is not as it was: moved, re-laid or of another type'],
  ['decomposed', 6, 'is done by several operators'],
  ['folded', 1, 'was computed ahead of time: a constant holds its result'],
  ['merged', 3, 'is gone: another one computes the same'],
  ['removed', 5, 'is gone: it changed nothing, was undone by another, or nothing needed it'],
  ['inlined', 2, 'is gone: the operators of the subgraph that it called took its place'],
  ['elsewhere', 7, 'is in another part of the model'],
  ['unknown', 7, 'is gone, and this version does not know the word for why'],
].map(([name, colour, says]) => ({ name, colour, says }));
export const resultFates = [
  ['unchanged', -1, 'is an operator of the source as it was'],
  ['several', 0, 'does the work of several operators of the source'],
  ['changed', 4, 'does the work of one operator of the source in another form'],
  ['part', 6, 'does a part of the work of one operator of the source'],
  ['new', 2, 'stands for nothing in the source'],
  ['unknown', 7, 'has nothing in the source that it could be paired with'],
].map(([name, colour, says]) => ({ name, colour, says }));
export const titles = { unchanged: 'as it was', several: 'made of several', part: 'a part of one' };

const gone = {
  dead: 'removed',
  identity: 'removed',
  'duplicate-of': 'merged',
  'folded-to-constant': 'folded',
  'layout-cancelled': 'removed',
  'quantization-cancelled': 'removed',
  cancelled: 'removed',
  inlined: 'inlined',
  'user-removed': 'removed',
  elsewhere: 'elsewhere',
  'fused-away': 'fused',
  decomposed: 'decomposed',
  'unused-in-source': 'removed',
};

/** What became of every operator of both sides. */
export class Fates {
  constructor(model, links) {
    Object.assign(this, { model, links });
    this.names = {}; // side → graph → operator → name
    this.counts = { source: new Map(), result: new Map() };
    if (!links.map) return;
    for (const side of [model.source, model.result])
      if (side)
        this.names[side.name] = side.graphs.map(graph =>
          Array.from({ length: graph.ops }, (_, index) => {
            const name = this.find({ side: side.name, type: 'op', graph: graph.index, index }),
              counts = this.counts[side.name];
            counts.set(name, (counts.get(name) ?? 0) + 1);
            return name;
          }),
        );
  }
  /** null where no map tells. */
  of(item) {
    return this.names[item.side]?.[item.graph]?.[item.index] ?? null;
  }
  count(side, ...names) {
    return names.reduce((sum, name) => sum + (this.counts[side].get(name) ?? 0), 0);
  }
  find(item) {
    const { links } = this;
    if (item.side === 'result') {
      if (links.synthetic(item)) return 'new';
      const origins = links.origins(item);
      if (origins.length !== 1) return origins.length ? 'several' : 'unknown';
      return links.opsOf.get(origins[0]).length > 1 ? 'part' : this.form(item, origins[0]);
    }
    const id = this.model.sourceId(item),
      homes = links.opsOf.get(id) ?? [],
      lost = links.fate(item);
    if (lost) return (lost.fate === 'dead' && gone[lost.was]) || gone[lost.fate] || 'unknown';
    if (!homes.length) return links.constantsOf.has(id) ? 'folded' : 'unknown';
    if (homes.length > 1) return 'decomposed';
    return links.origins(homes[0]).length > 1 ? 'fused' : this.form(homes[0], id);
  }
  /** Of an operator of the result, and the only one that it does the work of. */
  form(item, id) {
    const from = this.model.sourceItem('op', id);
    if (this.links.passes(item) || !this.model.exists(from)) return 'changed';
    // No pass is known of what was inferred. A map alone has no options and types of its source.
    const isListed = !this.model.graphOf(from).data.type,
      look = one => {
        const graph = this.model.graphOf(one);
        return isListed ? graph.kind(one.index) : `${titleOf(graph, one.index)} ${graph.type(graph.results(one.index)[0])}`;
      };
    return look(item) === look(from) ? 'unchanged' : 'changed';
  }
  /** In words, of one operator. */
  says(item) {
    return (item.side === 'source' ? sourceFates : resultFates).find(fate => fate.name === this.of(item))?.says ?? '';
  }
}
