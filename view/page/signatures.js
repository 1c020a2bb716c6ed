// Signatures: named ways to call a model, each with names for inputs and outputs of a subgraph.
import { clean } from './data.js';

export class Signatures {
  constructor(model) {
    this.model = model;
    this.of = {}; // side → [{key, graph, entries: [{direction, name, item}]}]
    this.names = new Map(); // `side:graph:tensor` → ["serving_default input x"]
    for (const side of [model.source, model.result]) {
      if (!side) continue;
      this.of[side.name] = (model.data[side.name].signatures ?? []).map(([key, graph, inputs, outputs]) => {
        const entries = [],
          add = (list, direction) => {
            for (let i = 0; i < list.length; i += 2)
              entries.push({
                direction,
                name: clean(model.strings[list[i]]),
                item: list[i + 1] < 0 ? null : { side: side.name, type: 'tensor', graph, index: list[i + 1] },
              });
          };
        (add(inputs, 'input'), add(outputs, 'output'));
        return { key: clean(model.strings[key]), graph, entries };
      });
      for (const { key, entries } of this.of[side.name])
        for (const { direction, name, item } of entries)
          if (item) {
            const at = this.at(item);
            this.names.set(at, [...(this.names.get(at) ?? []), `${key} ${direction} “${name}”`]);
          }
    }
  }
  at(item) {
    return `${item.side}:${item.graph}:${item.index}`;
  }
  /** What a tensor is in signatures. */
  namesOf(item) {
    return this.names.get(this.at(item)) ?? [];
  }
  /** The key of the only signature of a subgraph that has one. */
  keyOf(side, graph) {
    const all = (this.of[side] ?? []).filter(row => row.graph === graph);
    return all.length === 1 ? all[0].key : '';
  }
  /** Rows of the table of both sides. */
  rows() {
    return Object.values(this.of).flatMap(list =>
      list.flatMap(({ key, graph, entries }) => entries.map(entry => ({ key, graph, ...entry }))),
    );
  }
}
