// The page: what is selected, and who has to know.
import { Model, clean, keyOf, quoted, sameItem, unpack } from './data.js';
import { Links } from './links.js';
import { displayOf, scopesOf } from './place.js';
import { Pane } from './graph.js';
import { Table, figure, h } from './table.js';
import { find } from './search.js';
import { Paint, overlaysOf } from './overlays.js';
import { Measured } from './measured.js';
import { History } from './history.js';
import { Details } from './details.js';
import { Reasons } from './reasons.js';
import { repeatsOf } from './repeats.js';
import { Signatures } from './signatures.js';
import { classes, families, familyOf, tint } from './colour.js';

const $ = id => document.getElementById(id);
const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

class App {
  constructor(model) {
    this.model = model;
    this.links = new Links(model);
    this.signatures = new Signatures(model);
    this.reasons = new Reasons(model);
    this.details = new Details(model, this.links, this.signatures, this.reasons, item => this.select(item));
    this.details.shown = name => this.shown[name];
    this.measured = new Measured(model, this.links);
    this.details.more = item => this.measured.words(item, rows => this.details.pairs(rows));
    this.overlays = [...overlaysOf(model, this.links), ...this.measured.overlays()];
    this.selection = this.hovered = null;
    this.found = [];
    this.collapsed = new Set(); // scopes
    this.unfolded = new Set(); // keys of repeated blocks
    this.signature = { source: null, result: null };
    this.panes = {};
    this.shown = { source: 0, result: 0 }; // subgraphs
    $('title').textContent = document.title = clean(model.result.file + (model.source ? ` ← ${model.source.file}` : ''));
    document.querySelector('main').classList.toggle('alone', !model.source);
    for (const side of [model.source, model.result]) if (side) this.makePane(side);
    if (model.data.history?.rows.length && model.source) this.timeline();
    this.header();
    this.tabs();
    this.setOverlay('kind');
    for (const name of Object.keys(this.panes)) this.showGraph(name, 0);
    document.addEventListener('keydown', event => this.key(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setOverlay(this.paint.overlay.name));
    addEventListener('hashchange', () => this.fromAddress());
    this.openTab('details');
    this.fromAddress();
    requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.drawn = 'yes'; })); // for who waits for the first picture
  }

  // Panes.

  makePane(side) {
    const place = $(`${side.name}Pane`), signatures = this.signatures.of[side.name];
    const tabs = h('div', { class: 'graphs', role: 'tablist', 'aria-label': `Subgraphs of the ${side.name}` }, side.graphs.map((graph, i) => h('button', { role: 'tab', onclick: () => this.showGraph(side.name, i), onkeydown: event => this.tabKey(event) }, `${i} ${clean(graph.name())}`)));
    const choice = h('select', { 'aria-label': `Signature of the ${side.name}`, onchange: event => this.chooseSignature(side.name, Number(event.target.value)) }, h('option', { value: -1 }, `${signatures.length} signatures`), signatures.map((row, i) => h('option', { value: i }, row.key || 'without a key')));
    const button = (text, label, work) => h('button', { 'aria-label': label, title: label, onclick: work }, text);
    const head = h('div', { class: 'head' }, h('span', { class: 'soft' }, side.name === 'source' ? 'Source' : 'Result'), h('b', {}, clean(side.file)),
      signatures.length > 1 ? choice : null, h('span', { class: 'room' }), button('−', 'Smaller', () => this.panes[side.name].zoom(0.8)), button('+', 'Bigger', () => this.panes[side.name].zoom(1.25)), button('⤢', 'All of it', () => this.fit(side.name)));
    const frame = h('div', { class: 'frame' });
    place.append(...[head, side.graphs.length > 1 ? tabs : null, frame].filter(Boolean));
    const pane = this.panes[side.name] = new Pane(frame, `${side.name === 'source' ? 'Source' : 'Result'} graph. Arrow keys go along it, Enter goes to the other side. The tables have the same as text.`, {
      hover: item => this.hover(item), select: item => this.select(item, { from: pane }), viewed: moved => this.follow(moved), open: node => this.open(pane, node),
    });
    pane.side = side.name;
    pane.tabs = tabs;
    pane.choice = choice;
    pane.paint = node => this.paintOf(pane, node);
    pane.canvas.addEventListener('keydown', event => this.paneKey(event, pane));
  }
  showGraph(name, index, keepView) {
    const pane = this.panes[name], graph = this.model.side(name).graphs[index];
    if (!pane || !graph) return;
    this.shown[name] = index;
    if (this.signature[name] && this.signature[name].graph !== index) this.signature[name] = null;
    pane.choice.value = this.signatures.of[name].indexOf(this.signature[name]);
    [...pane.tabs.children].forEach((tab, i) => { tab.setAttribute('aria-selected', i === index); tab.tabIndex = i === index ? 0 : -1; if (i === index && pane.tabs.isConnected) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' }); });
    const layout = (name === 'result' && $('compact').checked && graph.data.compact) || graph.data.layout;
    this.past = name === 'result' ? this.pastOf(index) : this.past;
    pane.show(graph, name === 'result' && this.past ? this.past.display : displayOf(graph, layout, this.groupOf(graph)));
    this.share();
    if (!keepView) pane.start();
    if (name === 'result' && !keepView) {
      const from = graph.data.sources[0];
      if (this.panes.source && from !== undefined && from !== this.shown.source && this.model.source.graphs[from]) this.showGraph('source', from);
      if (this.together()) { pane.view = { ...this.panes.source.view }; pane.redraw(); }
    }
    this.mark();
    if (this.tab === 'details' && !this.selection) this.openTab('details'); // who calls it
  }
  /** Rows of the two sides are the same, so they move as one. */
  together() {
    return !!this.panes.source && !$('compact').checked && !$('blocks').checked && !this.collapsed.size && this.panes.result.graph?.data.sources[0] === this.shown.source;
  }
  /** What moves as one is stretched alike. */
  share() {
    const panes = Object.values(this.panes).filter(pane => pane.display), all = panes.map(pane => pane.display);
    const both = { left: Math.min(...all.map(one => one.left)), right: Math.max(...all.map(one => one.right)), rows: Math.max(...all.map(one => one.rows)) };
    for (const pane of panes) pane.extent = this.together() ? both : pane.display;
  }
  follow(moved) {
    if (!this.together()) return;
    const other = this.panes[moved.side === 'source' ? 'result' : 'source'];
    other.view = { ...moved.view };
    other.redraw();
  }
  /** For displayOf: scopes that are folded, and blocks. */
  groupOf(graph) {
    const blocks = $('blocks').checked ? graph.blocks ??= repeatsOf(graph) : [];
    if (!this.collapsed.size && !blocks.some(Boolean)) return null;
    return op => {
      const scope = scopesOf(graph.opName(op)).find(one => this.collapsed.has(one)), block = blocks[op];
      if (scope) return { key: scope, title: scope };
      return block && !this.unfolded.has(block.key) ? { key: block.key, title: block.scope ?? 'block', subtitle: `${block.number} of ${block.of} alike` } : null;
    };
  }
  /** A group shows what is in it, a call what it calls. */
  open(pane, node) {
    if (node.members && this.collapsed.has(node.key)) this.toggleScope(node.key);
    else if (node.members) { this.unfolded.add(node.key); this.showGraph(pane.side, this.shown[pane.side], true); }
    else if (node.calls?.length) this.showGraph(pane.side, node.calls[0]);
  }
  fold() {
    this.unfolded.clear();
    for (const name of Object.keys(this.panes)) this.showGraph(name, this.shown[name]);
    const count = name => new Set((this.panes[name]?.graph.blocks ?? []).filter(Boolean).map(block => block.key)).size;
    $('status').textContent = $('blocks').checked ? `${count('source')} blocks of the source and ${count('result')} of the result repeat their neighbours` : '';
  }
  /** Shows its subgraph, and which inputs and outputs are its own; on the other side too, where there is one of this name. */
  chooseSignature(name, index) {
    const chosen = this.signatures.of[name][index] ?? null;
    for (const side of Object.keys(this.panes)) {
      const row = side === name ? chosen : chosen && this.signatures.of[side].find(one => one.key === chosen.key);
      this.signature[side] = row ?? null;
      this.showGraph(side, row ? row.graph : this.shown[side]);
    }
    if (this.views.has('signatures') && chosen) this.openTab('signatures'), this.table.setFilter(chosen.key);
  }
  fit(name) { this.panes[name].fit(); this.follow(this.panes[name]); }
  redraw() { for (const pane of Object.values(this.panes)) pane.redraw(); }

  // The slider.

  timeline() {
    this.history = new History(this.model, this.links);
    const slider = $('step'), show = () => this.setStep(Number(slider.value));
    $('timeline').hidden = false;
    this.details.showRewrite = number => { const row = this.history.rows.findIndex(one => one.number === number); if (row >= 0) this.setStep(this.history.steps.findIndex(end => end > row)); };
    const range = () => { slider.max = this.history.last; slider.value = this.history.last; };
    range();
    slider.addEventListener('input', show);
    $('back').addEventListener('click', () => this.step(-1));
    $('forth').addEventListener('click', () => this.step(1));
    $('bypass').addEventListener('change', event => { this.history.setSteps(event.target.checked); range(); this.setStep(this.history.last); });
    $('stepText').textContent = `${this.history.rows.length} rewrites`;
  }
  step(by) { if (this.history) this.setStep(Math.min(Math.max(Number($('step').value) + by, 0), this.history.last)); }
  setStep(step) {
    $('step').value = step;
    $('stepText').textContent = step === this.history.last ? `the result, after ${this.history.rows.length} rewrites` : this.history.describe(step);
    // The subgraph in which it happens.
    const row = this.history.rows[this.history.steps[step] - 1], graph = row && step < this.history.last ? this.model.result.graphs.findIndex(one => one.data.sources[0] === this.history.sourceGraph(row.graph)) : this.shown.result;
    if (graph >= 0 && graph !== this.shown.result) this.showGraph('result', graph);
    else this.showGraph('result', this.shown.result, true);
    const changed = this.past?.changed[0];
    if (changed !== undefined) this.panes.result.reveal(changed);
    $('status').textContent = $('stepText').textContent;
  }
  pastOf(index) {
    const step = Number($('step').value);
    return this.history && step < this.history.last ? this.history.display(step, this.model.result.graphs[index].data.sources[0] ?? 0) : null;
  }

  // Colours.

  setOverlay(name) {
    const overlay = this.overlays.find(one => one.name === name);
    this.paint = new Paint(overlay, this.model, isDark());
    for (const pane of Object.values(this.panes)) for (const node of pane.display?.nodes ?? []) node.painted = undefined;
    $('overlay').value = name;
    $('legend').replaceChildren(...this.paint.legend().filter(Boolean));
    this.redraw();
  }
  swatches() { return classes.map(colour => tint(colour, isDark())); }
  paintOf(pane, node) {
    const item = node.item?.type === 'op' ? node.item : null, overlay = this.paint.overlay;
    if (node.past && !item) return this.paint.of(overlay.name === 'kind' && node.kind ? families[familyOf(node.kind)] : null);
    if (node.members) {
      const sum = this.sumOf(pane.graph, node.members);
      node.note = overlay.numeric && sum !== null ? short(sum) : '';
      return this.paint.of(sum !== null && overlay.numeric ? Math.min(sum, this.paint.range[1]) : sum);
    }
    const value = item ? overlay.of(this.model.graphOf(item), item) : null, colours = this.paint.of(value);
    if (!item) return colours;
    if (node.note === undefined) node.note = '';
    node.note = overlay.numeric && value !== null ? short(value) : '';
    if (item.side === 'source' && pane.side === 'source' && this.links.fate(item)) return { ...colours, fill: overlay.name === 'fate' || overlay.name === 'pass' ? colours.fill : this.paint.of(null).fill, ink: overlay.name === 'fate' || overlay.name === 'pass' ? colours.ink : this.paint.of(null).ink, gone: true };
    return { ...colours, bridge: item.side === 'result' && !!this.links.synthetic(item) };
  }
  sumOf(graph, members) {
    const values = members.map(item => this.paint.overlay.of(graph, item)).filter(value => value !== null && value !== undefined);
    if (!this.paint.overlay.numeric) return values.length && values.every(value => value === values[0]) ? values[0] : null;
    return values.length ? values.reduce(this.paint.overlay.adds ? (a, b) => a + b : (a, b) => Math.max(a, b)) : null;
  }

  // Selection.

  select(item, { from, quiet } = {}) {
    this.selection = item;
    if (item && !this.model.exists(item)) this.selection = item = null;
    this.linked = item ? this.links.counterparts(item) : [];
    if (item) {
      for (const one of [item, this.linked[0]]) {
        const pane = one && this.panes[one.side];
        if (!pane) continue;
        if (this.shown[one.side] !== one.graph) this.showGraph(one.side, one.graph);
      }
      this.mark();
      for (const one of [item, this.linked.find(other => other.side !== item.side)]) if (one) { const pane = this.panes[one.side]; if (pane && pane !== from) pane.reveal(this.nodeOf(pane, one)); }
      $('status').textContent = `${this.details.label(item)}${this.linked.length ? ` — ${this.linked.length} on the other side` : ''}`;
      this.openTab('details');
    } else {
      this.mark();
      $('status').textContent = '';
      if (this.tab === 'details') this.openTab('details');
    }
    this.table?.draw();
    if (!quiet && location.protocol !== 'about:') history.replaceState(null, '', item ? `#${this.address(item)}` : '#');
  }
  hover(item) {
    if (item === this.hovered || sameItem(item, this.hovered)) return;
    this.hovered = item;
    this.mark();
    if (item) $('status').textContent = this.details.label(item);
  }
  /** The node that shows an item: of a tensor, the one that makes it, or the first that uses it. */
  nodeOf(pane, item) {
    if (!pane.display) return undefined;
    const own = pane.display.of.get(keyOf(item));
    if (pane.display.past) return own;
    if (pane.graph.index !== item.graph || pane.side !== item.side) return undefined;
    if (own !== undefined || item.type === 'op') return own;
    const graph = pane.graph, at = node => graph.isOp(node) ? pane.display.of.get(keyOf({ ...item, type: 'op', index: graph.opOfNode(node) })) : undefined;
    const maker = graph.maker[item.index];
    return maker >= 0 ? at(maker) : (graph.users.get(item.index) ?? []).map(at).find(node => node !== undefined);
  }
  mark() {
    const hoverLinked = this.hovered ? this.links.counterparts(this.hovered) : [];
    for (const pane of Object.values(this.panes)) {
      if (!pane.display) continue;
      const set = items => new Set(items.filter(Boolean).map(item => this.nodeOf(pane, item)).filter(node => node !== undefined));
      const tensors = [this.selection, this.hovered, ...(this.linked ?? []), ...hoverLinked].filter(item => item?.type === 'tensor' && item.side === pane.side && item.graph === pane.graph.index).map(item => item.index);
      const own = this.selection?.side === pane.side || pane.display.past ? set([this.selection]) : new Set();
      pane.marks = {
        selected: own, linked: set(this.linked ?? []), hovered: set([this.hovered, ...hoverLinked]), found: set(this.found), changed: new Set(pane.side === 'result' ? this.past?.changed ?? [] : set((this.past?.consumed ?? []).map(id => this.model.sourceItem('op', id)))), tensors: new Set(tensors),
        signature: this.signature[pane.side] && !pane.display.past ? set(this.signature[pane.side].entries.map(entry => entry.item)) : new Set(),
        near: new Set(own.size && this.selection.type === 'op' ? pane.display.edges.filter(edge => own.has(edge.from) || own.has(edge.to)) : []),
        edges: new Set(tensors.length ? pane.display.edges.filter(edge => tensors.includes(edge.tensor)) : []),
      };
      pane.redraw();
    }
  }
  marked(item) { return sameItem(item, this.selection) ? 'selected' : (this.linked ?? []).some(other => sameItem(other, item)) ? 'linked' : ''; }

  address(item) {
    const number = item.side === 'source' ? this.model.sourceId(item) : item.graph ? `${item.graph}:${item.index}` : item.index;
    return `${item.side === 'source' ? 'source-' : ''}${item.type}=${number}`;
  }
  fromAddress() {
    const match = /^#(source-)?(op|tensor)=(?:(\d+):)?(\d+)$/.exec(location.hash);
    if (!match) return;
    const [, source, type, graph, index] = match;
    this.select(source ? this.model.source && this.model.sourceItem(type, Number(index)) : { side: 'result', type, graph: Number(graph ?? 0), index: Number(index) }, { quiet: true });
  }

  // Header.

  header() {
    const { data } = this.model, totals = $('totals'), result = data.resultTotals, source = data.sourceTotals;
    const total = (name, title) => h('span', { title }, h('b', { id: `total-${name}` }, result[name]), source ? ` of ${source[name]}` : '', ` ${title}`);
    const parts = [total('operators', 'operators'), total('macs', 'MACs'), total('bytes', 'bytes of constants'), total('live_bytes', 'bytes alive at most')];
    totals.replaceChildren(...parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
    const proof = data.proof, badge = $('proof');
    if (this.links.map || data.notes.length) {
      const bad = !proof || proof.violations.length > 0;
      badge.hidden = false;
      badge.classList.toggle('bad', bad);
      badge.textContent = !proof ? '✗ not proven' : bad ? `✗ the map breaks ${new Set(proof.violations.map(row => row[0])).size} laws` : proof.withSource ? '✓ eleven laws hold' : '✓ laws hold, without the source';
      badge.addEventListener('click', () => this.openTab('proof'));
    }
    for (const overlay of this.overlays) $('overlay').append(h('option', { value: overlay.name }, overlay.title));
    $('overlay').addEventListener('change', event => this.setOverlay(event.target.value));
    $('search').addEventListener('input', () => this.search());
    $('search').addEventListener('keydown', event => { if (event.key === 'Enter') this.nextFound(event.shiftKey ? -1 : 1); if (event.key === 'Escape') { $('search').value = ''; this.search(); event.target.blur(); } });
    $('placing').hidden = !this.model.result.graphs.some(graph => graph.data.compact);
    $('blocks').addEventListener('change', () => this.fold());
    $('compact').addEventListener('change', () => this.showGraph('result', this.shown.result));
    $('png').addEventListener('click', () => this.picture());
    $('help').addEventListener('click', () => this.help());
  }
  search() {
    this.found = find(this.model, this.links, $('search').value);
    this.foundAt = -1;
    $('found').textContent = $('search').value.trim() ? `${this.found.length} found` : '';
    this.mark();
  }
  nextFound(step) {
    if (!this.found.length) return;
    this.foundAt = (this.foundAt + step + this.found.length + (this.foundAt < 0 && step < 0 ? 1 : 0)) % this.found.length;
    this.select(this.found[this.foundAt]);
    $('found').textContent = `${this.foundAt + 1} of ${this.found.length}`;
  }
  picture() {
    const panes = Object.values(this.panes), canvas = document.createElement('canvas');
    canvas.width = panes.reduce((sum, pane) => sum + pane.canvas.width, 0);
    canvas.height = Math.max(...panes.map(pane => pane.canvas.height));
    const c = canvas.getContext('2d');
    let x = 0;
    for (const pane of panes) { pane.draw(); c.drawImage(pane.canvas, x, 0); x += pane.canvas.width; }
    canvas.toBlob(blob => {
      const address = URL.createObjectURL(blob);
      h('a', { href: address, download: 'origo.png' }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  }
  help() {
    const row = (keys, text) => h('p', {}, keys.map(key => [h('kbd', {}, key), ' ']), text);
    $('keys').replaceChildren(h('h2', {}, 'Keys'), row(['/'], 'search; Enter and Shift Enter go through what is found'), row(['↑', '↓'], 'in a graph: to what it takes and to who uses it'), row(['←', '→'], 'to its neighbours in the row'),
      row(['Enter'], 'to what it is tied to on the other side, and on'), row(['+', '−', '0'], 'zoom, all of it'), row(['Esc'], 'nothing selected'), row(['Tab'], 'from pane to pane, and to the tables'), row(['[', ']'], 'a rewrite back and forth, with a history'), row(['Space'], 'in a graph: folds the scope of what is selected, unfolds a group, goes into what is called'),
      h('h2', {}, 'Search'), h('p', {}, 'Words in names; #12 by number; op:CONV type:INT8 shape:1×8 fate:folded pass:fuse name:stem is:gone is:synthetic is:unchanged; all of them have to hold.'),
      h('form', { method: 'dialog' }, h('button', {}, 'Close')));
    $('keys').showModal();
  }

  // Tabs and tables.

  tabs() {
    const { model, links, details } = this, name = item => clean(model.graphOf(item).opName(item.index));
    const every = side => (side?.graphs ?? []).flatMap(graph => Array.from({ length: graph.ops }, (_, index) => ({ side: side.name, type: 'op', graph: graph.index, index })));
    const self = item => item, metric = (title, key) => ({ title, width: '96px', numeric: true, of: item => model.graphOf(item).metric(key, item.index) });
    const common = [{ title: '#', width: '52px', numeric: true, of: item => item.side === 'source' ? model.sourceId(item) : item.index }, { title: 'Operator', width: '150px', of: item => clean(model.graphOf(item).kind(item.index)) }, { title: 'Name', width: '190px', of: name }];
    const type = { title: 'Type', width: '76px', of: item => model.graphOf(item).type(model.graphOf(item).results(item.index)[0]) }, shape = { title: 'Shape', width: '110px', of: item => model.graphOf(item).shape(model.graphOf(item).results(item.index)[0]) };
    const events = { select: item => this.select(item, { from: null }), marked: item => this.marked(item) };
    const table = (title, columns, rows, itemOf = self, more = {}) => () => new Table(columns, rows(), itemOf, { ...events, ...more }, title);
    this.views = new Map([['details', { title: 'Details' }], ['operators', { title: 'Operators', make: table('Operators of the result', [...common, type, shape, metric('MACs', 'macs'), metric('Bytes', 'bytes'), ...(links.map ? [{ title: 'From', width: '60px', numeric: true, of: item => links.origins(item).length }, { title: 'Passes', width: '200px', of: item => links.synthetic(item) ? `synthetic: ${links.synthetic(item)}` : links.passes(item) }] : [])], () => every(model.result)) }]]);
    if (model.source) this.views.set('source', { title: 'Source', make: table('Operators of the source', [...common, type, shape, metric('MACs', 'macs'), { title: 'Lives in', width: '70px', numeric: true, of: item => (links.opsOf.get(model.sourceId(item)) ?? []).length }, { title: 'Fate', width: '140px', of: item => links.fate(item)?.fate ?? '' }], () => every(model.source)) });
    if (links.map) {
      const gone = () => [...links.lost.op.keys()].map(id => model.sourceItem('op', id)).concat([...links.lost.tensor.keys()].map(id => model.sourceItem('tensor', id)));
      const word = item => item.type === 'op' ? clean(model.graphOf(item)?.kind(item.index) ?? '') : 'tensor';
      this.views.set('ledger', { title: 'Gone', make: table('What is gone', [{ title: '#', width: '52px', numeric: true, of: item => model.sourceId(item) }, { title: 'What', width: '130px', of: word }, { title: 'Name', width: '170px', of: item => model.exists(item) ? item.type === 'op' ? name(item) : clean(model.graphOf(item).tensorName(item.index)) : '' },
        { title: 'Fate', width: '130px', of: item => links.fate(item).fate }, { title: 'Pass', width: '180px', of: item => links.fate(item).pass }, { title: 'Rewrite', width: '64px', numeric: true, of: item => links.fate(item).rewrite }, { title: 'Into', width: '220px', of: item => links.fate(item).into.map(other => details.label(other)).join(', ') }], gone) });
      const why = item => this.reasons.of(item, model, links);
      this.views.set('stayed', { title: 'Stayed', make: table(this.reasons.known ? 'What no pass changed, and why' : 'What no pass changed; with --history the page says why', [common[0], common[1], ...(this.reasons.known ? [{ title: 'Why, the nearest first', width: '520px', of: item => why(item).map(row => clean(Reasons.words(row))).join('; ') }] : []), common[2], type, shape], () => every(model.result).filter(item => !links.passes(item) && !links.synthetic(item))) });
      const sums = [['MACs', 2], ['Sparse MACs', 3], ['Operations', 4], ['Parameters', 5], ['Bytes', 6], ['Own MACs', 7]];
      if (model.data.scopes) this.views.set('scopes', { title: 'Scopes', make: table('Sums by scope; a click folds it', [{ title: 'Scope', width: '220px', of: row => '  '.repeat(row[0] - 1) + (this.collapsed.has(model.strings[row[1]]) ? '▸ ' : '') + clean(model.strings[row[1]]) }, ...sums.map(([title, i]) => ({ title, width: '100px', numeric: true, of: row => row[i] })), ...this.measured.profiles.map(profile => ({ title: 'ms', width: '80px', numeric: true, of: row => this.measured.scopeTime(profile, model.strings[row[1]]) }))], () => model.data.scopes, () => null, { choose: row => this.toggleScope(model.strings[row[1]]) }) });
    }
    const calls = this.signatures.rows();
    if (calls.length) this.views.set('signatures', { title: 'Signatures', make: table('Signatures', [{ title: 'Signature', width: '140px', of: row => row.key }, { title: 'Side', width: '60px', of: row => row.item?.side ?? '' }, { title: 'Subgraph', width: '70px', numeric: true, of: row => row.graph }, { title: 'Is', width: '60px', of: row => row.direction }, { title: 'Name', width: '120px', of: row => row.name },
      ...[['Tensor', '180px', 'tensorName'], ['Type', '76px', 'type'], ['Shape', '110px', 'shape']].map(([title, width, key]) => ({ title, width, of: row => (row.item ? clean(model.graphOf(row.item)[key](row.item.index)) : '') }))], () => calls, row => row.item) });
    if (this.model.data.proof) this.views.set('proof', { title: 'Proof' });
    for (const [key, view] of this.measured.views(table)) this.views.set(key, view);
    $('tabs').replaceChildren(...[...this.views].map(([key, view]) => h('button', { role: 'tab', id: `tab-${key}`, 'aria-controls': 'panel', onclick: () => this.openTab(key), onkeydown: event => this.tabKey(event) }, view.title)));
  }
  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...event.target.parentElement.children], next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    next.focus();
    next.click();
    event.preventDefault();
  }
  openTab(key) {
    // A table stays open while its rows are selected; what is selected is told in the footer then.
    if (key === 'details' && this.tab && this.tab !== 'details' && document.activeElement?.closest?.('.rows')) return;
    const view = this.views.get(key), panel = $('panel');
    this.tab = key;
    this.table = null;
    for (const tab of $('tabs').children) { const on = tab.id === `tab-${key}`; tab.setAttribute('aria-selected', on); tab.tabIndex = on ? 0 : -1; }
    panel.setAttribute('aria-labelledby', `tab-${key}`);
    panel.classList.toggle('table', !!view.make);
    if (view.make) {
      this.table = view.kept ??= view.make();
      panel.replaceChildren(...this.table.element);
      this.table.draw();
    } else panel.replaceChildren(...(key === 'proof' ? this.proof() : this.details.of(this.selection)).flat().filter(Boolean));
    panel.scrollTop = 0;
  }
  proof() {
    const { proof, notes } = this.model.data, lines = proof.violations.map(([law, text]) => h('li', { class: 'bad' }, `law ${law}: ${clean(text)}`));
    return [h('h2', {}, lines.length ? 'The map is not true' : 'The map is true'),
      h('p', { class: lines.length ? 'bad' : '' }, lines.length ? 'It breaks laws of origin maps, so what this page says may be wrong:' : 'When this page was written, a checker that shares no code with what makes maps held the map against the two files, by its eleven laws.'),
      h('ul', {}, lines), h('h3', {}, 'Checked against'), this.details.pairs([['result', `sha256:${proof.result}`], ['source', proof.withSource ? `sha256:${proof.source}` : 'not at hand (the map names sha256:' + proof.source + ')']]),
      proof.skipped.length || notes.length ? h('h3', {}, 'Not covered') : null, h('ul', {}, [...proof.skipped, ...notes].map(text => h('li', {}, clean(text)))), h('h3', {}, 'Check it again'),
      h('code', {}, `origin-dump --check ${quoted(clean(this.model.result.file))}${this.model.source ? ` --source ${quoted(clean(this.model.source.file))}` : ''}`)];
  }
  toggleScope(scope) {
    if (this.collapsed.has(scope)) this.collapsed.delete(scope);
    else if (scope.endsWith('/')) this.collapsed.add(scope);
    for (const name of Object.keys(this.panes)) { this.showGraph(name, this.shown[name], true); this.panes[name].start(); }
    this.table?.draw();
  }

  // Keys.

  key(event) {
    if (event.target.closest('input, select, dialog') || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/') $('search').focus();
    else if (event.key === '?') this.help();
    else if (event.key === 'Escape') this.select(null);
    else if (event.key === '[' || event.key === ']') this.step(event.key === ']' ? 1 : -1);
    else return;
    event.preventDefault();
  }
  paneKey(event, pane) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = this.selection?.side === pane.side ? this.nodeOf(pane, this.selection) : undefined, display = pane.display, nodes = display.nodes;
    const near = list => list.length ? list.reduce((best, node) => Math.abs(nodes[node].x - nodes[here].x) < Math.abs(nodes[best].x - nodes[here].x) ? node : best) : undefined;
    const beside = step => { const at = display.byRow.indexOf(here) + step, next = display.byRow[at]; return next !== undefined && nodes[next].row === nodes[here].row ? next : undefined; };
    const moves = { ArrowUp: () => near(display.preds[here]), ArrowDown: () => near(display.succs[here]), ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) };
    if (moves[event.key]) {
      const next = here === undefined ? display.byRow.find(node => nodes[node].item) : moves[event.key]();
      const item = next === undefined ? null : nodes[next].item ?? nodes[next].members?.[0];
      if (item) this.select(item, { from: null });
    } else if (event.key === 'Enter') this.across(pane);
    else if (event.key === ' ') this.foldHere(pane, nodes[here]);
    else if (event.key === '+' || event.key === '=') pane.zoom(1.25);
    else if (event.key === '-') pane.zoom(0.8);
    else if (event.key === '0') this.fit(pane.side);
    else return;
    event.preventDefault();
  }
  foldHere(pane, node) {
    if (!node || node.members || node.calls?.length) return node && this.open(pane, node);
    const scope = node.item?.type === 'op' ? scopesOf(pane.graph.opName(node.item.index)).at(-1) : undefined;
    if (scope) { this.toggleScope(scope); this.select(node.item, { from: null }); }
  }
  /** To the other side; again: back to the next of what is tied to where it began. */
  across(pane) {
    const other = this.linked?.find(item => item.side !== pane.side && this.panes[item.side]);
    if (!other) return;
    this.select(other);
    this.panes[other.side].canvas.focus();
  }
}

function short(value) {
  if (!Number.isFinite(value)) return '';
  for (const [size, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))} ${letter}`;
  return Number.isInteger(value) ? figure(value) : String(Number(value.toPrecision(3)));
}

globalThis.origo = new App(new Model(await unpack($('data').textContent)));
