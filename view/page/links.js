// What the origin map says, from either side.
import { CONSTANT, keyOf } from './data.js';

/** A map that is not of this model may know fewer subgraphs and operators. */
const unknown = {
  origins: [],
  passes: [],
  synthetic: {},
  wide: {},
  serves: {},
  calls: {},
  tensorIndex: [],
  relations: [],
  parentTensors: {},
  parentOperators: {},
  noRelation: {},
  invented: {},
};

export class Links {
  constructor(model) {
    this.model = model;
    const map = (this.map = model.data.map && {
      ...model.data.map,
      graphs: model.result.graphs.map((_, i) => model.data.map.graphs[i] ?? unknown),
    });
    this.opsOf = new Map(); // source operator id → operators that do its work
    this.constantsOf = new Map(); // source operator id → constants that it was computed into
    this.valuesOf = new Map(); // source tensor id → [item, how, exact]
    this.madeOf = new Map(); // source tensor id → constants that were computed from it
    this.lost = { op: new Map(), tensor: new Map() }; // id → row of the ledger
    this.tensorRow = []; // by graph: tensor index → row
    this.unneeded = { op: new Map(), tensor: new Map() };
    if (!map) return;
    const add = (to, key, value) => {
      if (to.has(key)) to.get(key).push(value);
      else to.set(key, [value]);
    };
    map.graphs.forEach((graph, g) => {
      graph.origins.forEach((ids, i) => {
        for (const id of ids) add(this.opsOf, id, this.result('op', g, i));
      });
      const rows = new Map();
      graph.tensorIndex.forEach((index, row) => {
        rows.set(index, row);
        const item = this.result('tensor', g, index);
        for (const [tensor, how, exact] of this.relationsOfRow(graph, row)) add(this.valuesOf, tensor, [item, how, exact]);
        for (const id of graph.parentTensors[row] ?? []) add(this.madeOf, id, item);
        for (const id of graph.parentOperators[row] ?? []) add(this.constantsOf, id, item);
      });
      this.tensorRow.push(rows);
    });
    map.ledger.id.forEach((id, row) => this.lost[map.ledger.isTensor[row] ? 'tensor' : 'op'].set(id, row));
    for (const [isTensor, id, words] of map.unneeded) add(this.unneeded[isTensor ? 'tensor' : 'op'], id, model.strings[words]);
    this.fateWords = new Map(
      map.fateWords.map(row => row.map(id => model.strings[id])).map(([fate, op, tensor, constant]) => [fate, { op, tensor, constant }]),
    );
  }
  result(type, graph, index) {
    return { side: 'result', type, graph, index };
  }
  relationsOfRow(graph, row) {
    const relations = graph.relations[row];
    return typeof relations === 'number'
      ? [[relations, '', 1]]
      : relations.map(([tensor, how, exact]) => [tensor, this.model.strings[how], exact]);
  }

  origins(item) {
    return this.map?.graphs[item.graph].origins[item.index] ?? [];
  }
  passes(item) {
    return this.map ? this.model.strings[this.map.graphs[item.graph].passes[item.index] ?? 0] : '';
  }
  /** Of one of the result: it is as it was read, and no pass changed it. */
  stayed(item) {
    return !this.synthetic(item) && /^(lower-onnx)?$/.test(this.passes(item));
  }
  synthetic(item) {
    return this.map ? this.model.strings[this.map.graphs[item.graph].synthetic[item.index] ?? 0] : '';
  }
  serves(item) {
    return this.map?.graphs[item.graph].serves[item.index] ?? [];
  }
  calls(item) {
    return this.map?.graphs[item.graph].calls[item.index] ?? [];
  }
  wide(item) {
    return this.map ? this.model.strings[this.map.graphs[item.graph].wide[item.index] ?? 0] : '';
  }
  tensorFacts(item) {
    const graph = this.map?.graphs[item.graph],
      row = this.tensorRow[item.graph]?.get(item.index);
    if (row === undefined) return null;
    return {
      relations: this.relationsOfRow(graph, row),
      tensors: graph.parentTensors[row] ?? [],
      operators: graph.parentOperators[row] ?? [],
      why: this.model.strings[graph.noRelation[row] ?? 0],
      invented: this.model.strings[graph.invented[row] ?? 0],
    };
  }
  thing(item) {
    return item.type === 'tensor' && this.model.graphOf(item).tensorKind(item.index) === CONSTANT ? 'constant' : item.type;
  }
  /** What became of a source item that is gone; null: it lives. */
  fate(item) {
    if (!this.map || item.side !== 'source') return null;
    const row = this.lost[item.type].get(this.model.sourceId(item));
    if (row === undefined) return null;
    const ledger = this.map.ledger,
      strings = this.model.strings,
      into = [];
    const pairs = (list, type) => {
      for (let i = 0; i < list.length; i += 2) into.push(this.result(type, list[i], list[i + 1]));
    };
    pairs(ledger.operators[row], 'op');
    pairs(ledger.tensors[row], 'tensor');
    return {
      fate: strings[ledger.fate[row]],
      words: this.fateWords.get(strings[ledger.fate[row]])[this.thing(item)],
      pass: strings[ledger.pass[row]],
      run: ledger.run[row],
      rewrite: ledger.rewrite[row],
      was: strings[ledger.was[row] ?? 0],
      part: strings[ledger.part[row] ?? 0],
      print: strings[ledger.print?.[row] ?? 0],
      with: ledger.with?.[row] ?? [],
      into,
    };
  }
  /** What on the other side is tied to this item, most important first. */
  counterparts(item) {
    if (!this.map) return [];
    const found = [],
      seen = new Set(),
      model = this.model;
    const add = other => {
      if (model.exists(other) && !seen.has(keyOf(other))) (seen.add(keyOf(other)), found.push(other));
    };
    const source = (type, ids) => ids.forEach(id => add(model.sourceItem(type, id)));
    if (item.side === 'source') {
      const id = model.sourceId(item);
      if (item.type === 'op') {
        (this.opsOf.get(id) ?? []).forEach(add);
        (this.constantsOf.get(id) ?? []).forEach(add);
      } else {
        (this.valuesOf.get(id) ?? []).forEach(([other]) => add(other));
        (this.madeOf.get(id) ?? []).forEach(add);
      }
      this.fate(item)?.into.forEach(add);
    } else if (item.type === 'op') {
      source('op', this.origins(item));
      source('op', this.serves(item));
    } else {
      const facts = this.tensorFacts(item);
      if (facts)
        (source(
          'tensor',
          facts.relations.map(row => row[0]),
        ),
          source('tensor', facts.tensors),
          source('op', facts.operators));
    }
    return found;
  }
}
