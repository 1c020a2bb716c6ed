// The legend of what is drawn beside colours: what each mark says, how many there are, and, by a click, which.
import { CONSTANT } from './data.js';
import { h } from './table.js';

const every = (side, has) =>
  side
    ? side.graphs.flatMap(graph =>
        Array.from({ length: graph.ops }, (_, index) => ({ side: side.name, type: 'op', graph: graph.index, index })).filter(item =>
          has(graph, item),
        ),
      )
    : [];

export class Marks {
  constructor(model, links) {
    Object.assign(this, { model, links });
    this.fixed = this.ofFile();
  }
  /** {name: what CSS draws, text, title, items, count} */
  ofFile() {
    const { model, links } = this,
      sides = [model.source, model.result].filter(Boolean),
      of = has => sides.flatMap(side => every(side, has));
    const ends = sides.flatMap(side =>
      side.graphs.flatMap(graph =>
        [...new Set([...graph.inputs, ...graph.outputs])]
          .filter(tensor => tensor >= 0)
          .map(index => ({ side: side.name, type: 'tensor', graph: graph.index, index })),
      ),
    );
    const isConstant = (graph, tensor) => tensor >= 0 && graph.tensorKind(tensor) === CONSTANT,
      constants = sides.reduce(
        (sum, side) => sum + side.graphs.reduce((all, graph) => all + graph.data.tensorKind.filter(kind => kind === CONSTANT).length, 0),
        0,
      );
    return [
      {
        name: 'constant',
        text: 'constant',
        title: 'A click on one selects it',
        items: of((graph, item) => graph.operands(item.index).some(tensor => isConstant(graph, tensor))),
        count: constants,
      },
      { name: 'end', text: 'input, output', title: 'Of a subgraph', items: ends },
      {
        name: 'dashed',
        text: 'gone',
        title: 'No operator of the result does its work',
        items: every(model.source, (_, item) => !!links.fate(item)),
      },
      {
        name: 'dotted',
        text: 'new',
        title: 'It stands for nothing in the source',
        items: every(model.result, (_, item) => !!links.synthetic(item)),
      },
      {
        name: 'call',
        text: 'calls a subgraph',
        title: 'A double click goes there',
        items: of((graph, item) => graph.callees(item.index).length > 0),
      },
      {
        name: 'doubt',
        text: 'not proved',
        title: 'Its origins were inferred; the panel says how far',
        items: every(model.result, (graph, item) => !!graph.doubts?.[item.index]),
      },
    ];
  }
  /** Of what panes show now, as `state` has it: {folded: nodes, selected, linked, found, rises, changed, signature: items}. */
  rows(state) {
    return [
      ...this.fixed,
      {
        name: 'card',
        text: 'several',
        title:
          'Operators that became one, or are folded to fit, as one node; a double click shows them. ' +
          'The strip below has the shares of their colours',
        items: state.folded.flatMap(node => node.members),
        count: state.folded.length,
      },
      { name: 'selected', text: 'selected', title: 'What the panel tells of', items: state.selected },
      { name: 'linked', text: 'tied to it', title: 'What it is on the other side', items: state.linked },
      { name: 'found', text: 'found', title: 'What the search finds', items: state.found },
      { name: 'rises', text: 'error rises', title: 'Where it first passes a quarter of the most', items: state.rises },
      { name: 'changed', text: 'of the rewrite', title: 'What it was made of', items: state.changed },
      { name: 'signature', text: 'of the signature', title: 'Its inputs and outputs', items: state.signature },
    ];
  }
  /** Buttons, one for each mark that there is; `filter(items, button)` is called by a click. */
  show(place, state, filter) {
    this.buttons ??= new Map();
    for (const { name, text, title, items, count = items.length } of this.rows(state)) {
      if (!this.buttons.has(name)) {
        const button = h(
          'button',
          {
            class: 'swatch',
            'data-key': name,
            'aria-pressed': 'false',
            title: `${title}. A click finds them.`,
            onclick: () => filter(button.items, button),
          },
          h('i', { class: name }, { call: '↳', doubt: '?', rises: '▶' }[name]),
          text,
          h('b', {}),
        );
        this.buttons.set(name, place.appendChild(button));
      }
      const button = this.buttons.get(name);
      button.items = items;
      button.hidden = !items.length && button.getAttribute('aria-pressed') !== 'true';
      button.lastChild.textContent = count.toLocaleString('en-US');
    }
  }
}
