// The data of the page: unpacked, and with the few indices that everything else asks for.

export const INPUT = 0,
  ACTIVATION = 1,
  VARIABLE = 2,
  CONSTANT = 3;

/** Numbers that were written as steps from one to the next. */
function running(list) {
  let sum = 0;
  list.forEach((step, i) => (list[i] = sum += step));
}

export async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

/** Text from a model: what would change the text around it is made visible. */
export function clean(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '␣');
}

/** As a shell reads it as one word. */
export const quoted = text => (/^[\w./:@%+,=-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** A subgraph of one side. Nodes are its inputs, its operators and its outputs, in this order, as in view/Data.cpp. */
export class Graph {
  constructor(data, strings, scopeTree, side, index) {
    Object.assign(this, { data, strings, scopeTree, side, index });
    for (const layout of [data.layout, data.folded])
      for (const list of layout ? [layout.row, layout.x] : []) for (let i = 1; i < list.length; ++i) list[i] += list[i - 1];
    this.inputs = data.inputs;
    this.outputs = data.outputs;
    this.ops = data.kind.length;
    this.tensors = data.tensorName.length;
    this.nodes = this.inputs.length + this.ops + this.outputs.length;
    this.maker = new Int32Array(this.tensors).fill(-1);
    this.inputs.forEach((tensor, i) => {
      if (tensor >= 0) this.maker[tensor] = i;
    });
    data.out.forEach((list, i) => {
      for (const tensor of list) if (tensor >= 0) this.maker[tensor] = this.inputs.length + i;
    });
    this.scope = new Int32Array(this.ops); // the innermost
    for (let i = 0, op = 0; i < data.scope.length; i += 2) this.scope.fill(data.scope[i], op, (op += data.scope[i + 1]));
    this.edges = []; // {from, to, tensor}; one for each pair of nodes
    this.users = new Map();
    this.preds = Array.from({ length: this.nodes }, () => []);
    this.succs = Array.from({ length: this.nodes }, () => []);
    data.in.forEach((list, i) => this.connect(list, this.inputs.length + i));
    this.outputs.forEach((tensor, i) => this.connect([tensor], this.inputs.length + this.ops + i));
  }
  connect(list, to) {
    const seen = new Set();
    for (const tensor of list) {
      if (tensor < 0) continue;
      if (!this.users.has(tensor)) this.users.set(tensor, []);
      this.users.get(tensor).push(to);
      const from = this.maker[tensor];
      if (from < 0 || from >= to || seen.has(from)) continue;
      seen.add(from);
      this.preds[to].push(from);
      this.succs[from].push(to);
      this.edges.push({ from, to, tensor });
    }
  }
  text(id) {
    return this.strings[id];
  }
  name() {
    return this.text(this.data.name);
  }
  kind(op) {
    return this.text(this.data.kind[op]);
  }
  options(op) {
    return this.text(this.data.options[op]);
  }
  operands(op) {
    return this.data.in[op];
  }
  results(op) {
    return this.data.out[op];
  }
  callees(op) {
    return this.data.callees[op] ?? [];
  }
  /** The lines of a program that called it, the innermost first. */
  lines(op) {
    return (this.data.lines?.[op] ?? []).map(line => this.text(line));
  }
  /** The innermost line of the user's, or else the innermost. */
  line(op) {
    return this.text(this.data.line?.[op] ?? 0);
  }
  className(op) {
    return this.text(this.data.className?.[op] ?? 0);
  }
  /** The path of its layer, or the name of the first result that has one. */
  opName(op) {
    if (this.data.layer?.[op]) return this.text(this.data.layer[op]);
    for (const tensor of this.data.out[op]) if (tensor >= 0 && this.data.tensorName[tensor]) return this.tensorName(tensor);
    return '';
  }
  /** The scopes that an operator is in, outermost first. */
  scopes(op) {
    const all = [];
    for (let at = this.scope[op]; at > 0; at = this.scopeTree[at - 1][1]) all.push(this.text(this.scopeTree[at - 1][0]));
    return all.reverse();
  }
  tensorName(tensor) {
    return this.text(this.data.tensorName[tensor]);
  }
  tensorKind(tensor) {
    return this.data.tensorKind[tensor];
  }
  type(tensor) {
    return this.data.type && tensor >= 0 ? this.text(this.data.type[tensor]) : '';
  }
  shape(tensor) {
    return this.data.shape && tensor >= 0 ? this.text(this.data.shape[tensor]) : '';
  }
  quantization(tensor) {
    return this.text(this.data.quantization?.[tensor] ?? 0);
  }
  metric(name, op) {
    return this.data.metrics?.[name][op] ?? null;
  }
  opOfNode(node) {
    return node - this.inputs.length;
  }
  isOp(node) {
    return node >= this.inputs.length && node < this.inputs.length + this.ops;
  }
}

/** Source and result. An item is {side, type: 'op' | 'tensor', graph, index}. */
export class Model {
  constructor(data) {
    this.data = data;
    this.strings = data.strings;
    for (const name of ['source', 'result']) for (const graph of data[name]?.graphs ?? []) running(graph.tensorName);
    for (const list of [...(data.map?.graphs ?? []).map(graph => graph.tensorIndex), data.map?.ledger.id, data.map?.ledger.rewrite])
      if (list) running(list);
    const side = name =>
      data[name] && {
        name,
        file: this.strings[data[name].file],
        format: this.strings[data[name].format],
        graphs: data[name].graphs.map((graph, i) => new Graph(graph, this.strings, data.scopeTree, name, i)),
      };
    this.result = side('result');
    this.source = side('source');
    // What ONNX operators compute and need is counted by nobody.
    if (this.source?.format === 'onnx') for (const name of ['macs', 'live_bytes']) delete data.sourceTotals?.[name];
    /** What the run that wrote the result has proved of its rewrites, and how; none, where it or one before it has not. */
    this.certificate = this.strings[data.map?.proof] ?? '';
    // Of an inferred map: operators of which not everything was proved.
    for (const [graph, op, word] of data.map?.doubts ?? [])
      if (this.result.graphs[graph]) (this.result.graphs[graph].doubts ??= {})[op] = this.strings[word];
  }
  side(name) {
    return name === 'source' ? this.source : this.result;
  }
  graphOf(item) {
    return this.side(item.side)?.graphs[item.graph];
  }
  exists(item) {
    const graph = this.graphOf(item);
    return !!graph && item.index >= 0 && item.index < (item.type === 'op' ? graph.ops : graph.tensors);
  }
  /** Source operators and tensors have one number over all subgraphs. */
  sourceId(item) {
    return item.index + this.first(item.type)[item.graph];
  }
  sourceItem(type, id) {
    const first = this.first(type);
    let graph = first.length - 1;
    while (graph > 0 && first[graph] > id) --graph;
    return { side: 'source', type, graph, index: id - first[graph] };
  }
  first(type) {
    return this.data.map ? (type === 'op' ? this.data.map.firstOperator : this.data.map.firstTensor) : [0];
  }
}

export const keyOf = item => `${item.side[0]}${item.type[0]}${item.graph}:${item.index}`;
export const sameItem = (a, b) => !!a && !!b && keyOf(a) === keyOf(b);
