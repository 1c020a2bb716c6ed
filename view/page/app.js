// The page: what is selected, and who has to know.
import { Model, clean, keyOf, quoted, sameItem, unpack } from './data.js';
import { Links } from './links.js';
import { COLUMN, PITCH, displayOf } from './place.js';
import { inColumn, layered } from './layers.js';
import { foldingOf } from './folding.js';
import { hasLines, linesView } from './lines.js';
import { Pane } from './graph.js';
import { Table, download, h } from './table.js';
import { find } from './search.js';
import { Paint, overlaysOf } from './overlays.js';
import { Measured } from './measured.js';
import { History } from './history.js';
import { Details } from './details.js';
import { Reasons } from './reasons.js';
import { repeatsOf } from './repeats.js';
import { Signatures } from './signatures.js';
import { Fates, titles } from './fates.js';
import { Marks } from './marks.js';
import { Summary } from './summary.js';
import { Answers } from './answers.js';
import { Vector } from './svg.js';
import { About } from './about.js';
import { bytes, count, percent, short } from './people.js';
import { classes, families, familyOf, tint } from './colour.js';

const $ = id => document.getElementById(id);
const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

class App {
  constructor(model) {
    this.model = model;
    this.links = new Links(model);
    this.fates = new Fates(model, this.links);
    this.signatures = new Signatures(model);
    this.marksDrawn = new Marks(model, this.links);
    this.reasons = new Reasons(model);
    this.details = new Details(model, this.links, this.signatures, this.reasons, item => this.select(item));
    this.details.shown = name => this.shown[name];
    this.measured = new Measured(model, this.links);
    this.details.more = item => this.measured.words(item, rows => this.details.pairs(rows));
    this.about = new About(model, this.details);
    this.answers = new Answers(model, this.links, this.measured, this.details);
    this.details.answers = item => this.answers.of(item);
    this.details.says = item => this.fates.says(item);
    this.overlays = [...overlaysOf(model, this.links, this.fates), ...this.measured.overlays()];
    this.summary = new Summary(model, this.links, this.fates, this.measured, this.reasons, this.details, this.answers, {
      go: item => this.select(item),
      open: key => this.openTab(key),
      filter: (values, side) => this.filterFates(values, side),
      colour: name => {
        const { fill, far } = this.paintFor('fate').of(name);
        return far ?? fill;
      },
    });
    this.selection = this.hovered = null;
    this.found = [];
    this.collapsed = new Set(); // scopes
    this.unfolded = new Set(); // keys of blocks and stretches that were opened
    this.openedBy = new Map(); // key → keys of the operators that were in it, of either side
    this.signature = { source: null, result: null };
    this.panes = {};
    this.column = false; // nodes stand one below the other
    this.shown = { source: 0, result: 0 }; // subgraphs
    $('title').textContent = document.title = clean(model.result.file + (model.source ? ` ← ${model.source.file}` : ''));
    document.querySelector('main').classList.toggle('alone', !model.source);
    for (const side of [model.source, model.result]) if (side) this.makePane(side);
    if (model.data.history?.rows.length && model.source) this.timeline();
    this.header();
    this.divider();
    this.tabs();
    this.setOverlay(this.overlays[0].name);
    for (const name of Object.keys(this.panes)) this.showGraph(name, 0, true, true);
    this.isReady = true;
    this.showGraph('result', 0);
    if (this.panes.source && !this.isPair()) this.begin('source');
    document.addEventListener('keydown', event => this.key(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setOverlay(this.paint.overlay.name));
    addEventListener('hashchange', () => this.fromAddress());
    addEventListener('resize', () => {
      clearTimeout(this.resized);
      this.resized = setTimeout(() => this.resize(), 150);
    });
    this.openTab('summary');
    this.fromAddress();
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        document.documentElement.dataset.drawn = 'yes';
      }),
    ); // for who waits for the first picture
  }

  // Panes.

  makePane(side) {
    const place = $(`${side.name}Pane`),
      signatures = this.signatures.of[side.name];
    const tabs = h(
      'div',
      { class: 'graphs', role: 'tablist', 'aria-label': `Subgraphs of the ${side.name}` },
      side.graphs.map((graph, i) =>
        h(
          'button',
          { role: 'tab', onclick: () => this.showGraph(side.name, i), onkeydown: event => this.tabKey(event) },
          `${i} ${clean(graph.name())}`,
        ),
      ),
    );
    const choice = h(
      'select',
      { 'aria-label': `Signature of the ${side.name}`, onchange: event => this.chooseSignature(side.name, Number(event.target.value)) },
      h('option', { value: -1 }, `${signatures.length} signatures`),
      signatures.map((row, i) => h('option', { value: i }, row.key || 'without a key')),
    );
    const button = (text, label, work, name = '') => h('button', { class: name, 'aria-label': label, title: label, onclick: work }, text);
    const head = h(
      'div',
      { class: 'head' },
      h('span', { class: 'soft' }, side.name === 'source' ? 'Source' : this.model.source ? 'Result' : 'Model'),
      h('b', {}, clean(side.file)),
      signatures.length > 1 ? choice : null,
      h('span', { class: 'room' }),
      button('−', 'Smaller', () => this.panes[side.name].zoom(0.8), 'zoom'),
      button('+', 'Bigger', () => this.panes[side.name].zoom(1.25), 'zoom'),
      button('⤢', 'All of it', () => this.fit(side.name)),
    );
    const frame = h('div', { class: 'frame' });
    // On both sides or on none, so that graphs begin at one height.
    const hasTabs = [this.model.source, this.model.result].some(one => one?.graphs.length > 1);
    place.append(...[head, hasTabs ? tabs : null, frame].filter(Boolean));
    const pane = (this.panes[side.name] = new Pane(
      frame,
      `${side.name === 'source' ? 'Source' : 'Result'} graph. Arrow keys go along it, Enter goes to the other side. ` +
        'The tables have the same as text.',
      {
        hover: item => this.hover(item),
        select: item => this.select(item, { from: pane }),
        viewed: moved => this.follow(moved),
        open: node => this.open(pane, node),
      },
    ));
    pane.side = side.name;
    pane.tabs = tabs;
    pane.choice = choice;
    pane.paint = node => this.paintOf(pane, node);
    pane.canvas.addEventListener('keydown', event => this.paneKey(event, pane));
  }
  /** Of one side; the other side goes to what it was, or what became of it, unless `alone`. */
  showGraph(name, index, keepView, alone) {
    const pane = this.panes[name],
      graph = this.model.side(name).graphs[index];
    if (!pane || !graph) return;
    this.shown[name] = index;
    if (this.signature[name] && this.signature[name].graph !== index) this.signature[name] = null;
    pane.choice.value = this.signatures.of[name].indexOf(this.signature[name]);
    [...pane.tabs.children].forEach((tab, i) => {
      tab.setAttribute('aria-selected', i === index);
      tab.tabIndex = i === index ? 0 : -1;
      if (i === index && pane.tabs.isConnected) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    });
    const other = name === 'source' ? 'result' : 'source',
      counterpart = this.counterpartOf(name, index);
    if (!alone && this.panes[other] && counterpart >= 0 && counterpart !== this.shown[other])
      this.showGraph(other, counterpart, keepView, true);
    this.arrange();
    if (!keepView) this.begin(name);
    this.mark();
    if (this.tab === 'summary') this.openTab('summary'); // who calls it
  }
  /** The subgraph of the other side that stands beside one; −1: none does. */
  counterpartOf(name, index) {
    const { result } = this.model;
    if (name === 'result')
      return this.model.source?.graphs[result.graphs[index].data.sources[0]] ? result.graphs[index].data.sources[0] : -1;
    return result.graphs[this.shown.result]?.data.sources[0] === index
      ? this.shown.result
      : result.graphs.findIndex(graph => graph.data.sources[0] === index);
  }
  /** What both panes show, as it is folded now. */
  arrange() {
    if (!this.isReady) return;
    this.past = this.panes.source ? this.pastOf(this.shown.result) : null;
    const folded = $('fused').checked && !this.past && (!this.panes.source || this.isPair()),
      all = Object.entries(this.panes).map(([name, pane]) => [pane, this.model.side(name).graphs[this.shown[name]]]),
      // What was there after a rewrite stands where the source does, operator by operator.
      groups = all.map(([, graph]) => (this.past ? null : this.groupOf(graph))),
      room = $('scopes').checked ? Math.min(...all.map(([pane]) => pane.room())) : Infinity,
      each = groupOf =>
        all.map(([pane, graph], i) => (pane.side === 'result' && this.past ? this.past.display : displayOf(graph, folded, groups[i] ?? groupOf)));
    let displays = each();
    const isBroad = displays.map((one, i) => !!groups[i] || (one.right - one.left > room && one.nodes.length < 3000));
    if (isBroad.some(Boolean) && !this.past && !this.column) {
      const bare = groups.every(Boolean) ? displays : each(() => null);
      displays = this.isPair() ? layered(bare, room) : displays.flatMap((one, i) => (isBroad[i] ? layered([bare[i]], room) : [one]));
    }
    if (this.column) {
      // Where there is room, shapes are between them.
      const narrowest = Math.min(...all.map(([pane]) => pane.size()[0])),
        wide = Math.round(Math.min(Math.max(narrowest / 0.5 - 70, 200), 420)),
        pitch = narrowest < 500 ? COLUMN : PITCH;
      displays = this.isPair() ? inColumn(displays, wide, pitch) : displays.flatMap(display => inColumn([display], wide, pitch));
    }
    for (const { nodes } of displays)
      for (const node of nodes) if (node.state === 'group') node.figures = this.measured.figuresOf(node.members);
    all.forEach(([pane, graph], i) => pane.show(graph, displays[i]));
    this.share();
  }
  /** Where a pane is so narrow that few nodes would be seen of a graph, they stand one below the other. */
  begin(name) {
    if (!this.isReady) return;
    const began = column => {
      if (column !== this.column) ((this.column = column), this.arrange());
      return this.start(name);
    };
    const enough = began(false);
    if (enough < 1 && began(true) <= enough) began(false);
    this.mark();
  }
  /** A window of another size, such as of a phone that is turned, begins anew. */
  resize() {
    const [width] = this.panes.result.size();
    if (Math.abs(width - this.begunAt) * 4 > this.begunAt)
      for (const name of Object.keys(this.panes)) this.showGraph(name, this.shown[name]);
  }
  start(name) {
    [this.begunAt] = this.panes.result.size();
    if (!this.together()) return this.panes[name].start();
    const [first, ...others] = Object.values(this.panes),
      enough = first.start(others);
    for (const other of others) ((other.view = { ...first.view }), other.redraw());
    return enough;
  }
  isPair() {
    return !!this.panes.source && this.model.result.graphs[this.shown.result].data.sources[0] === this.shown.source;
  }
  /** Rows of the two sides are the same, so they move as one. */
  together() {
    return this.isPair();
  }
  /** What moves as one is stretched alike. */
  share() {
    const panes = Object.values(this.panes).filter(pane => pane.display),
      all = panes.map(pane => pane.display);
    const both = {
      left: Math.min(...all.map(one => one.left)),
      right: Math.max(...all.map(one => one.right)),
      rows: Math.max(...all.map(one => one.rows)),
    };
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
    const twin = this.panes.source && graph.side === 'result' ? this.model.source.graphs[graph.data.sources[0]] : graph,
      of = twin ?? graph;
    const blocks = $('blocks').checked ? (of.blocks ??= repeatsOf(of)) : [],
      units = $('scopes').checked && this.isLarge(of) ? foldingOf(of, this.unfolded, this.madeOf(of)) : [];
    if (!this.collapsed.size && !blocks.some(Boolean) && !units.some(Boolean)) return null;
    const own = at => {
      const scope = at === undefined ? undefined : of.scopes(at).find(one => this.collapsed.has(one)),
        block = blocks[at],
        unit = units[at];
      if (scope) return { key: scope, title: scope };
      if (block && !this.unfolded.has(block.key))
        return {
          key: block.key,
          title: block.scope ?? `${clean(of.kind(block.first))} …`,
          subtitle: `${block.number} of ${block.of} alike`,
        };
      return unit ? { key: unit.key, title: unit.title, subtitle: unit.says ?? '', kinds: true } : null;
    };
    return of === graph ? own : op => own(this.homes(graph)[op]);
  }
  /**
   * By operator of the result, that of the source that it stands for: of several the last that is not behind those of who uses it.
   * What stands for none is where what it uses is.
   */
  homes(graph) {
    if (graph.homes) return graph.homes;
    const homes = (graph.homes = []),
      users = op => graph.results(op).flatMap(tensor => (graph.users.get(tensor) ?? []).filter(node => graph.isOp(node)));
    for (let op = graph.ops - 1; op >= 0; --op) {
      const twins = this.twinsOf(graph, op);
      if (!twins.length) continue;
      const most = users(op).reduce((least, node) => Math.min(least, homes[graph.opOfNode(node)] ?? Infinity), Infinity);
      homes[op] = twins.findLast(twin => twin <= most) ?? twins.at(-1);
    }
    for (let op = 0; op < graph.ops; ++op) {
      const from = graph.operands(op).find(tensor => tensor >= 0 && graph.isOp(graph.maker[tensor]));
      homes[op] ??= from === undefined ? undefined : homes[graph.opOfNode(graph.maker[from])];
    }
    return homes;
  }
  /** By operator of the source, how many of the result stand for it. */
  madeOf(graph) {
    const made = [];
    if (graph.side === 'source' && this.isPair() && this.shown.source === graph.index)
      for (const home of this.homes(this.model.result.graphs[this.shown.result]))
        if (home !== undefined) made[home] = (made[home] ?? 0) + 1;
    return made;
  }
  /** Has it more operators than panes have room for? */
  isLarge(graph) {
    if (graph.ops <= 40) return false;
    const pane = Object.values(this.panes)[0],
      [width, height] = pane.size(),
      rows = graph.data.layout.row.reduce((most, row) => Math.max(most, row), 0),
      wide = graph.data.layout.x.reduce((most, x) => Math.max(most, Math.abs(x)), 0) * 2;
    return rows * PITCH * 0.62 > height || wide * 0.62 > width;
  }
  /** The operators of the source that one of the result stands for, in the subgraph that was its own. */
  twinsOf(graph, op) {
    const from = graph.data.sources[0];
    return this.links
      .origins({ side: 'result', type: 'op', graph: graph.index, index: op })
      .map(id => this.model.sourceItem('op', id))
      .filter(one => one.graph === from)
      .map(one => one.index);
  }
  /** A group shows what is in it, a call what it calls. */
  open(pane, node) {
    if (node.members && this.collapsed.has(node.key)) this.toggleScope(node.key);
    else if (node.state === 'fused') {
      $('fused').checked = false;
      this.fuse(node.members[0]);
    } else if (node.members) {
      this.unfolded.add(node.key);
      this.openedBy.set(node.key, new Set(node.members.map(keyOf)));
      this.refold(pane, node.members[0]);
    } else if (node.calls?.length) this.showGraph(pane.side, node.calls[0]);
  }
  /** Shows what is folded now, where an item was. */
  refold(pane, item) {
    this.showGraph(pane.side, this.shown[pane.side], true);
    const node = pane.display.nodes[this.nodeOf(pane, item)];
    if (!node) return;
    pane.view = { ...pane.view, x: node.x, y: node.row * pane.pitch };
    pane.moved();
  }
  fold() {
    this.unfolded.clear();
    this.openedBy.clear();
    for (const name of Object.keys(this.panes)) this.showGraph(name, this.shown[name]);
    const blocks = name =>
      new Set((this.panes[name]?.display.nodes ?? []).filter(node => node.state === 'group').map(node => node.key)).size;
    $('status').textContent = $('blocks').checked
      ? `${count(blocks('source'), 'block')} of the source and ${blocks('result')} of the result repeat their neighbours`
      : '';
  }
  /** With or without what became one operator as one node; at what was seen before. */
  fuse(item) {
    this.arrange();
    this.mark();
    const pane = item && this.panes[item.side];
    if (!pane) for (const name of Object.keys(this.panes)) this.begin(name);
    else {
      pane.view = {
        ...pane.view,
        ...{ x: pane.display.nodes[this.nodeOf(pane, item)].x, y: pane.display.nodes[this.nodeOf(pane, item)].row * pane.pitch },
      };
      pane.moved();
    }
  }
  /** Shows its subgraph, and which inputs and outputs are its own; on the other side too, where there is one of this name. */
  chooseSignature(name, index) {
    const chosen = this.signatures.of[name][index] ?? null;
    for (const side of Object.keys(this.panes)) {
      const row = side === name ? chosen : chosen && this.signatures.of[side].find(one => one.key === chosen.key);
      this.signature[side] = row ?? null;
      this.showGraph(side, row ? row.graph : this.shown[side]);
    }
    if (this.views.has('signatures') && chosen) (this.openTab('signatures'), this.table.setFilter(chosen.key));
  }
  fit(name) {
    this.panes[name].fit();
    this.follow(this.panes[name]);
  }
  redraw() {
    for (const pane of Object.values(this.panes)) pane.redraw();
  }

  // The slider.

  timeline() {
    this.history = new History(this.model, this.links);
    const slider = $('step'),
      show = () => this.setStep(Number(slider.value));
    $('timeline').hidden = false;
    this.details.showRewrite = number => {
      const row = this.history.rows.findIndex(one => one.number === number);
      if (row >= 0) this.setStep(this.history.steps.findIndex(end => end > row));
    };
    const range = () => {
      slider.max = this.history.last;
      slider.value = this.history.last;
    };
    range();
    slider.addEventListener('input', show);
    $('back').addEventListener('click', () => this.step(-1));
    $('forth').addEventListener('click', () => this.step(1));
    $('bypass').addEventListener('change', event => {
      this.history.setSteps(event.target.checked);
      range();
      this.setStep(this.history.last);
    });
    $('stepText').textContent = count(this.history.rows.length, 'rewrite');
  }
  step(by) {
    if (this.history) this.setStep(Math.min(Math.max(Number($('step').value) + by, 0), this.history.last));
  }
  setStep(step) {
    $('step').value = step;
    $('stepText').textContent =
      step === this.history.last ? `the result, after ${count(this.history.rows.length, 'rewrite')}` : this.history.describe(step);
    // The subgraph in which it happens.
    const row = this.history.rows[this.history.steps[step] - 1],
      graph =
        row && step < this.history.last
          ? this.model.result.graphs.findIndex(one => one.data.sources[0] === this.history.sourceGraph(row.graph))
          : this.shown.result;
    if (graph >= 0 && graph !== this.shown.result) this.showGraph('result', graph);
    else this.showGraph('result', this.shown.result, true);
    const changed = this.past?.changed[0];
    if (changed !== undefined) this.panes.result.reveal(changed);
    else if (this.past) this.panes.source.reveal([...this.panes.source.marks.changed][0]);
    $('status').textContent = $('stepText').textContent;
  }
  pastOf(index) {
    const step = Number($('step').value);
    return this.history && step < this.history.last
      ? this.history.display(step, this.model.result.graphs[index].data.sources[0] ?? 0)
      : null;
  }

  // Colours.

  setOverlay(name) {
    const overlay = this.overlays.find(one => one.name === name);
    this.paint = new Paint(overlay, this.model, isDark());
    for (const pane of Object.values(this.panes)) {
      for (const node of pane.display?.nodes ?? []) node.painted = undefined;
      pane.whole = null;
    }
    $('overlay').value = name;
    $('legend').replaceChildren(...this.paint.legend((values, side, button) => this.filter(values, side, button)).filter(Boolean));
    if (this.filtered) this.find([]);
    this.redraw();
  }
  paintFor(name) {
    return this.paint.overlay.name === name
      ? this.paint
      : new Paint(
          this.overlays.find(one => one.name === name),
          this.model,
          isDark(),
        );
  }
  /** What else is drawn, beside colours. */
  drawnToo() {
    const folded = pane => (pane.display?.past ? [] : (pane.display?.nodes ?? []).filter(node => node.members));
    this.marksDrawn.show(
      $('marks'),
      {
        folded: Object.values(this.panes).flatMap(folded),
        selected: this.selection ? [this.selection] : [],
        linked: this.selection ? (this.linked ?? []) : [],
        found: this.filtered ? [] : this.found,
        changed: (this.past?.consumed ?? []).map(id => this.model.sourceItem('op', id)),
        rises: this.rises ?? [],
        signature: Object.values(this.signature).flatMap(row => (row ? row.entries.map(entry => entry.item) : [])),
      },
      (items, button) => this.filterTo(items, button),
    );
  }
  /** Marks operators of a colour, and dims the rest; once more: all of them again. */
  filter(values, side, button) {
    const { overlay } = this.paint,
      found = [];
    for (const one of [this.model.source, this.model.result])
      if (one && (!side || side === one.name))
        for (const graph of one.graphs)
          for (let index = 0; index < graph.ops; ++index) {
            const item = { side: one.name, type: 'op', graph: graph.index, index };
            if (values.includes(overlay.of(graph, item))) found.push(item);
          }
    this.filterTo(found, button);
  }
  filterTo(items, button) {
    const on = button.getAttribute('aria-pressed') !== 'true',
      found = on ? items : [];
    for (const one of document.querySelectorAll('footer [aria-pressed]')) one.setAttribute('aria-pressed', one === button && on);
    this.find(found, on);
    if (
      found.length &&
      !found.some(
        item =>
          this.panes[item.side] &&
          this.shown[item.side] === item.graph &&
          this.panes[item.side].isVisible(this.nodeOf(this.panes[item.side], item)),
      )
    )
      this.goTo(found[0]);
  }
  filterFates(values, side) {
    if (this.paint.overlay.name !== 'fate') this.setOverlay('fate');
    const at = [...$('legend').querySelectorAll('.swatch')].find(one => one.dataset.key === `${side}:${values[0]}`);
    if (at) (at.setAttribute('aria-pressed', 'false'), this.filter(values, side, at));
  }
  find(found, dims = false) {
    this.found = found;
    this.foundAt = -1;
    this.filtered = dims;
    this.setAmong(dims || $('search').value.trim() ? found : null);
    $('found').textContent = dims ? `${found.length} found` : '';
    if (dims) $('search').value = '';
    this.mark();
  }
  /** What the search or the legend finds is what tables show. */
  setAmong(found) {
    const keys = found && new Set(found.map(keyOf));
    this.among = keys && { has: item => keys.has(keyOf(item)) };
    this.table?.apply();
  }
  /** Shows where an item is, and what is tied to it, without selecting it. */
  goTo(item) {
    for (const one of [item, this.links.counterparts(item)[0]]) {
      const pane = one && this.panes[one.side];
      if (!pane) continue;
      if (this.shown[one.side] !== one.graph) this.showGraph(one.side, one.graph);
      pane.reveal(this.nodeOf(pane, one));
    }
  }
  swatches() {
    return classes.map(colour => tint(colour, isDark()));
  }
  paintOf(pane, node) {
    const item = node.item?.type === 'op' ? node.item : null,
      overlay = this.paint.overlay;
    if (node.past && !item) return this.paint.of(overlay.name === 'kind' && node.kind ? families[familyOf(node.kind)] : null);
    if (node.members) {
      const sum =
        node.state === 'fused' && !overlay.numeric ? overlay.of(pane.graph, pane.memberOf(node)) : this.sumOf(pane.graph, node.members);
      node.note = overlay.numeric && sum !== null ? short(sum) : '';
      if (node.state === 'group' && !overlay.numeric) return this.sharesOf(pane, node);
      return this.paint.of(sum !== null && overlay.numeric ? Math.min(sum, this.paint.range[1]) : sum);
    }
    const value = item ? overlay.of(this.model.graphOf(item), item) : null,
      colours = this.paint.of(value);
    if (!item) return colours;
    if (node.note === undefined) node.note = '';
    node.note = overlay.numeric && value !== null ? short(value) : '';
    if (item.side === 'source' && pane.side === 'source' && this.links.fate(item))
      return { ...(overlay.name === 'fate' || overlay.name === 'pass' ? colours : this.paint.of(null)), gone: true };
    return { ...colours, bridge: item.side === 'result' && !!this.links.synthetic(item) };
  }
  /** A group has no colour but shares of those of its members; from far away the one that most have. */
  sharesOf(pane, node) {
    const counts = new Map();
    for (const item of node.members) {
      const value = this.paint.overlay.of(pane.graph, item) ?? null;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const shares = [...counts].sort((a, b) => b[1] - a[1]).map(([value, count]) => [this.paint.of(value), count / node.members.length]),
      none = this.paint.of(null);
    return {
      ...none,
      far: shares[0][0].far ?? shares[0][0].fill,
      shares: shares.map(([{ fill, far }, share]) => [far && fill !== none.fill ? far : none.far, share]),
    };
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
      for (const one of [item, this.linked.find(other => other.side !== item.side)])
        if (one) {
          const pane = this.panes[one.side];
          if (pane && pane !== from) pane.reveal(this.nodeOf(pane, one));
        }
      $('status').textContent = `${this.details.label(item)}${this.linked.length ? ` — ${this.linked.length} on the other side` : ''}`;
      this.openTab('details');
    } else {
      this.mark();
      $('status').textContent = '';
      if (this.tab === 'details') this.openTab('summary');
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
    const graph = pane.graph,
      at = node => (graph.isOp(node) ? pane.display.of.get(keyOf({ ...item, type: 'op', index: graph.opOfNode(node) })) : undefined);
    const maker = graph.maker[item.index];
    return maker >= 0 ? at(maker) : (graph.users.get(item.index) ?? []).map(at).find(node => node !== undefined);
  }
  mark() {
    const hoverLinked = this.hovered ? this.links.counterparts(this.hovered) : [];
    for (const pane of Object.values(this.panes)) {
      if (!pane.display) continue;
      const set = items =>
        new Set(
          items
            .filter(Boolean)
            .map(item => this.nodeOf(pane, item))
            .filter(node => node !== undefined),
        );
      const tensors = [this.selection, this.hovered, ...(this.linked ?? []), ...hoverLinked]
        .filter(item => item?.type === 'tensor' && item.side === pane.side && item.graph === pane.graph.index)
        .map(item => item.index);
      const own = this.selection?.side === pane.side || pane.display.past ? set([this.selection]) : new Set();
      pane.marks = {
        selected: own,
        linked: set(this.linked ?? []),
        hovered: set([this.hovered, ...hoverLinked]),
        found: set(this.found),
        changed: new Set(
          pane.side === 'result' ? (this.past?.changed ?? []) : set((this.past?.consumed ?? []).map(id => this.model.sourceItem('op', id))),
        ),
        tensors: new Set(tensors),
        signature:
          this.signature[pane.side] && !pane.display.past ? set(this.signature[pane.side].entries.map(entry => entry.item)) : new Set(),
        near: new Set(
          own.size && this.selection.type === 'op' ? pane.display.edges.filter(edge => own.has(edge.from) || own.has(edge.to)) : [],
        ),
        rises: set(pane.side === 'source' && !pane.display.past ? (this.rises ??= this.answers.rises()) : []),
        edges: new Set(tensors.length ? pane.display.edges.filter(edge => tensors.includes(edge.tensor)) : []),
      };
      pane.dims = !!this.filtered;
      if (pane.whole) pane.whole.stale = pane.dims;
      pane.redraw();
    }
    this.drawnToo();
  }
  marked(item) {
    return sameItem(item, this.selection) ? 'selected' : (this.linked ?? []).some(other => sameItem(other, item)) ? 'linked' : '';
  }

  address(item) {
    const number = item.side === 'source' ? this.model.sourceId(item) : item.graph ? `${item.graph}:${item.index}` : item.index;
    return `${item.side === 'source' ? 'source-' : ''}${item.type}=${number}`;
  }
  fromAddress() {
    const match = /^#(source-)?(op|tensor)=(?:(\d+):)?(\d+)$/.exec(location.hash);
    if (!match) return;
    const [, source, type, graph, index] = match;
    this.select(
      source
        ? this.model.source && this.model.sourceItem(type, Number(index))
        : { side: 'result', type, graph: Number(graph ?? 0), index: Number(index) },
      { quiet: true },
    );
  }

  // Header.

  header() {
    const { data } = this.model,
      totals = $('totals'),
      result = data.resultTotals,
      source = data.sourceTotals;
    const total = (name, unit, title, text) => {
      const from = source?.[name] !== undefined && percent(Number(source[name]), Number(result[name]));
      return h(
        'span',
        { title: `${title}: ${result[name]}${source?.[name] === undefined ? '' : `; of the source ${source[name]}`}` },
        h('b', { id: `total-${name}` }, text(Number(result[name]))),
        ` ${unit}`,
        from ? h('span', { class: `change${from.startsWith('+') ? ' more' : ''}` }, ` ${from}`) : null,
      );
    };
    const operators = total('operators', Number(result.operators) === 1 ? 'operator' : 'operators', 'operators', value =>
      value.toLocaleString('en-US'),
    );
    totals.replaceChildren(
      operators,
      total('macs', 'MACs', 'multiply-accumulates', short),
      total('bytes', 'constants', 'bytes of constants', bytes),
      total('live_bytes', 'memory', 'bytes in use at most while it runs', bytes),
    );
    const proof = data.proof,
      badge = $('proof');
    if (this.links.map || data.notes.length) {
      const bad = !proof || proof.violations.length > 0;
      badge.hidden = false;
      badge.classList.toggle('bad', bad);
      const [short, rest] = !proof
        ? ['✗ not checked', '']
        : bad
          ? ['✗', ` the map breaks ${count(new Set(proof.violations.map(row => row[0])).size, 'law')}`]
          : ['✓ checked', proof.withSource ? ' against both files' : ', without the source'];
      const proved = !bad && this.model.certificate ? ', rewrites proved' : '';
      badge.replaceChildren(short, h('span', { class: 'word' }, rest + proved));
      badge.title = 'Whether the eleven laws of origin maps hold; a click tells more';
      badge.addEventListener('click', () => this.openTab('proof'));
    }
    for (const overlay of this.overlays) $('overlay').append(h('option', { value: overlay.name }, overlay.title));
    $('overlay').addEventListener('change', event => this.setOverlay(event.target.value));
    $('search').addEventListener('input', () => this.search());
    $('search').addEventListener('keydown', event => {
      if (event.key === 'Enter') this.nextFound(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') {
        $('search').value = '';
        this.search();
        event.target.blur();
      }
    });
    $('placing').hidden = !this.model.result.graphs.some(graph => graph.data.folded);
    $('blocks').addEventListener('change', () => this.fold());
    $('scopes').addEventListener('change', () => this.fold());
    $('fused').addEventListener('change', () => this.fuse(this.selection));
    $('png').addEventListener('click', () => this.save());
    $('help').addEventListener('click', () => this.help());
  }
  search() {
    this.find(find(this.model, this.links, this.fates, $('search').value));
    $('found').textContent = $('search').value.trim() ? `${this.found.length} found` : '';
    this.mark();
  }
  nextFound(step) {
    if (!this.found.length) return;
    this.foundAt = (this.foundAt + step + this.found.length + (this.foundAt < 0 && step < 0 ? 1 : 0)) % this.found.length;
    this.select(this.found[this.foundAt]);
    $('found').textContent = `${this.foundAt + 1} of ${this.found.length}`;
  }
  /** Of what is seen, or of everything, both sides beside each other; PNG or SVG. */
  picture(kind, everything) {
    const panes = Object.values(this.panes),
      gap = 2;
    // So large a canvas as browsers make.
    const most = kind === 'svg' ? 1e6 : 8000;
    const sizes = panes.map(pane => {
      if (!everything) return pane.size();
      const { left, right, rows } = pane.extent,
        wide = right - left + 40 + pane.lanes(),
        high = rows * pane.pitch + 20,
        scale = Math.min(1, most / (wide * panes.length), most / high);
      pane.view = { x: (left + right - pane.lanes()) / 2, y: ((rows - 1) * pane.pitch) / 2, scale };
      return [Math.ceil(wide * scale), Math.ceil(high * scale)];
    });
    const ratio = everything || kind === 'svg' ? 1 : devicePixelRatio || 1,
      width = sizes.reduce((sum, size) => sum + size[0], gap * (panes.length - 1)),
      height = Math.max(...sizes.map(size => size[1]));
    const svg = kind === 'svg' ? new Vector(width, height) : null,
      canvas = document.createElement('canvas');
    if (!svg) ((canvas.width = width * ratio), (canvas.height = height * ratio));
    let x = 0;
    panes.forEach((pane, i) => {
      pane.sized = [sizes[i][0], height];
      if (svg) (svg.begin(x, sizes[i][0]), pane.draw(svg, 1), svg.end());
      else {
        const one = document.createElement('canvas');
        ((one.width = sizes[i][0] * ratio), (one.height = height * ratio));
        pane.draw(one.getContext('2d'), ratio);
        canvas.getContext('2d').drawImage(one, x * ratio, 0);
      }
      x += sizes[i][0] + gap;
      pane.sized = null;
    });
    return svg ? new Blob([String(svg)], { type: 'image/svg+xml' }) : new Promise(done => canvas.toBlob(done));
  }
  /** Pictures, and a link to what is selected. */
  save() {
    const put = (text, kind, everything) =>
      h(
        'button',
        {
          onclick: async () => {
            const kept = Object.values(this.panes).map(pane => [pane, pane.view]);
            const blob = this.picture(kind, everything);
            for (const [pane, view] of kept) ((pane.view = view), pane.redraw());
            download(await blob, `origo.${kind}`);
          },
        },
        text,
      );
    const link = h('input', { readonly: true, value: location.href, 'aria-label': 'Link' });
    $('keys').replaceChildren(
      h('h2', {}, 'Save and share'),
      h('p', {}, 'What is seen: ', put('PNG', 'png', false), ' ', put('SVG', 'svg', false)),
      h('p', {}, 'Everything: ', put('PNG', 'png', true), ' ', put('SVG', 'svg', true)),
      h(
        'p',
        {},
        this.selection
          ? `A link to this page and to ${this.details.shortLabel(this.selection)}: `
          : 'A link to this page, and to what is selected: ',
        link,
      ),
      h('p', { class: 'soft' }, 'Tables have a button CSV.'),
      h('button', { onclick: () => $('keys').close() }, 'Close'),
    );
    $('keys').showModal();
    link.select();
  }
  help() {
    const row = (keys, text) =>
      h(
        'p',
        {},
        keys.map(key => [h('kbd', {}, key), ' ']),
        text,
      );
    $('keys').replaceChildren(
      h('h2', {}, 'Keys'),
      row(['/'], 'search; Enter and Shift Enter go through what is found'),
      row(['↑', '↓'], 'in a graph: to what it takes and to who uses it'),
      row(['←', '→'], 'to its neighbours in the row'),
      row(['Enter'], 'to what it is tied to on the other side, and on'),
      row(['+', '−', '0'], 'zoom, all of it'),
      row(['Esc'], 'nothing selected'),
      row(['Tab'], 'from pane to pane, and to the tables'),
      row(['[', ']'], 'a rewrite back and forth, with a history'),
      row(['Space'], 'in a graph: folds the scope of what is selected, unfolds a group, goes into what is called'),
      h('h2', {}, 'Search'),
      h(
        'p',
        {},
        'Words in names; #12 by number; op:CONV type:INT8 shape:1×8 fate:folded pass:fuse name:stem line:model.py:25 is:gone is:synthetic ' +
          'is:unchanged; all of them have to hold.',
      ),
      h('form', { method: 'dialog' }, h('button', {}, 'Close')),
    );
    $('keys').showModal();
  }

  /** Between graphs and tables, to drag; where it was is kept where the browser keeps anything. */
  divider() {
    const divider = $('divider'),
      main = document.querySelector('main'),
      remembered = value => {
        try {
          if (value === undefined) return Number(localStorage.getItem('origo.side'));
          localStorage.setItem('origo.side', value);
        } catch {
          /* a part of another page keeps nothing */
        }
        return 0;
      };
    const set = width => {
      const size = Math.round(Math.min(Math.max(width, 240), innerWidth * 0.7));
      main.style.setProperty('--side', `${size}px`);
      divider.setAttribute('aria-valuenow', size);
      return size;
    };
    const now = () => document.querySelector('aside').getBoundingClientRect().width;
    if (remembered()) set(remembered());
    divider.setAttribute('aria-valuenow', Math.round(now()));
    divider.addEventListener('pointerdown', event => {
      divider.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    divider.addEventListener('pointermove', event => {
      if (divider.hasPointerCapture(event.pointerId)) set(innerWidth - event.clientX);
    });
    divider.addEventListener('pointerup', () => remembered(now()));
    divider.addEventListener('keydown', event => {
      const step = { ArrowLeft: 40, ArrowRight: -40 }[event.key];
      if (step) (remembered(set(now() + step)), event.preventDefault());
    });
  }

  // Tabs and tables.

  tabs() {
    const { model, links, details } = this,
      name = item => clean(model.graphOf(item).opName(item.index));
    const every = side =>
      (side?.graphs ?? []).flatMap(graph =>
        Array.from({ length: graph.ops }, (_, index) => ({ side: side.name, type: 'op', graph: graph.index, index })),
      );
    const self = item => item,
      metric = (title, key) => ({ title, width: '96px', numeric: true, of: item => model.graphOf(item).metric(key, item.index) });
    const number = { title: '#', width: '44px', numeric: true, of: item => (item.side === 'source' ? model.sourceId(item) : item.index) },
      kind = { title: 'Operator', width: '128px', of: item => clean(model.graphOf(item).kind(item.index)) },
      layer = { title: 'Name', width: 'minmax(150px, 1fr)', end: true, of: name },
      common = [number, kind, layer];
    const became = { title: 'Became', width: '84px', of: item => this.fates.of(item) ?? '' };
    const type = { title: 'Type', width: '76px', of: item => model.graphOf(item).type(model.graphOf(item).results(item.index)[0]) },
      shape = { title: 'Shape', width: '110px', of: item => model.graphOf(item).shape(model.graphOf(item).results(item.index)[0]) };
    const events = { select: item => this.select(item, { from: null }), marked: item => this.marked(item), among: () => this.among };
    const table =
      (title, columns, rows, itemOf = self, more = {}, how = {}) =>
      () =>
        new Table(columns, rows(), itemOf, { ...events, ...more }, title, how);
    this.views = new Map([
      ['summary', { title: 'Summary' }],
      ['details', { title: 'Details' }],
      [
        'operators',
        {
          title: 'Operators',
          make: table(
            'Operators of the result',
            [
              ...common,
              ...(links.map
                ? [{ ...became, title: 'Is', of: item => titles[this.fates.of(item)] ?? this.fates.of(item) ?? '', width: '110px' }]
                : []),
              metric('MACs', 'macs'),
              metric('Bytes', 'bytes'),
              shape,
              type,
              ...(links.map
                ? [
                    ...(model.data.map.inferred
                      ? [{ title: 'Found', width: '84px', of: item => model.graphOf(item).doubts?.[item.index] ?? 'proved' }]
                      : []),
                    { title: 'From', width: '60px', numeric: true, of: item => links.origins(item).length },
                    {
                      title: 'Passes',
                      width: '200px',
                      of: item => (links.synthetic(item) ? `synthetic: ${links.synthetic(item)}` : links.passes(item)),
                    },
                  ]
                : []),
            ],
            () => every(model.result),
          ),
        },
      ],
    ]);
    if (model.source)
      this.views.set('source', {
        title: 'Source',
        make: table(
          'Operators of the source',
          [
            number,
            kind,
            layer,
            ...(links.map ? [became] : []),
            metric('MACs', 'macs'),
            shape,
            type,
            { title: 'Lives in', width: '70px', numeric: true, of: item => (links.opsOf.get(model.sourceId(item)) ?? []).length },
            { title: 'Fate', width: '130px', of: item => links.fate(item)?.fate ?? '' },
          ],
          () => every(model.source),
        ),
      });
    if (links.map) {
      const gone = () =>
        [...links.lost.op.keys()]
          .map(id => model.sourceItem('op', id))
          .concat([...links.lost.tensor.keys()].map(id => model.sourceItem('tensor', id)));
      const word = item => (item.type === 'op' ? clean(model.graphOf(item)?.kind(item.index) ?? '') : 'tensor');
      this.views.set('ledger', {
        title: 'Gone',
        make: table(
          'What is gone',
          [
            { ...number },
            { title: 'Fate', width: '128px', of: item => links.fate(item).fate },
            { title: 'What', width: '110px', of: word },
            {
              title: 'Name',
              width: 'minmax(150px, 1fr)',
              end: true,
              of: item => (model.exists(item) ? (item.type === 'op' ? name(item) : clean(model.graphOf(item).tensorName(item.index))) : ''),
            },
            { title: 'Pass', width: '180px', of: item => links.fate(item).pass },
            { title: 'Rewrite', width: '64px', numeric: true, of: item => links.fate(item).rewrite },
            {
              title: 'Into',
              width: '220px',
              of: item =>
                links
                  .fate(item)
                  .into.map(other => details.label(other))
                  .join(', '),
            },
          ],
          gone,
        ),
      });
      const why = item => this.reasons.of(item, model, links);
      this.views.set('stayed', {
        title: 'Stayed',
        make: table(
          this.reasons.known ? 'What no pass changed, and why' : 'What no pass changed; with --history the page says why',
          [
            number,
            kind,
            ...(this.reasons.known
              ? [
                  {
                    title: 'Why, the nearest first',
                    width: '520px',
                    of: item =>
                      why(item)
                        .map(row => clean(Reasons.words(row)))
                        .join('; '),
                  },
                ]
              : []),
            layer,
            type,
            shape,
          ],
          () => every(model.result).filter(item => links.stayed(item)),
        ),
      });
      const sums = [
        ['MACs', 2],
        ['Sparse MACs', 3],
        ['Operations', 4],
        ['Parameters', 5],
        ['Bytes', 6],
        ['Own MACs', 7],
      ];
      const folded = row => this.collapsed.has(model.strings[row[1]]);
      if (model.data.scopes)
        this.views.set('scopes', {
          title: 'Scopes',
          make: table(
            'Sums by scope; a click folds it',
            [
              {
                title: 'Scope',
                width: '220px',
                of: row => '  '.repeat(row[0] - 1) + (folded(row) ? '▸ ' : '') + clean(model.strings[row[1]]),
              },
              ...sums.map(([title, i]) => ({ title, width: '100px', numeric: true, of: row => row[i] })),
              ...this.measured.profiles.map(profile => ({
                title: 'ms',
                width: '80px',
                numeric: true,
                of: row => this.measured.scopeTime(profile, model.strings[row[1]]),
              })),
            ],
            () => model.data.scopes,
            () => null,
            { choose: row => this.toggleScope(model.strings[row[1]]) },
          ),
        });
    }
    if (hasLines(model))
      this.views.set(
        'lines',
        linesView(model, links, this.measured, table, row => row.text !== '(no line)' && this.searchFor(`line:"${row.text}"`)),
      );
    const calls = this.signatures.rows();
    if (calls.length)
      this.views.set('signatures', {
        title: 'Signatures',
        make: table(
          'Signatures',
          [
            { title: 'Signature', width: '140px', of: row => row.key },
            { title: 'Side', width: '60px', of: row => row.item?.side ?? '' },
            { title: 'Subgraph', width: '70px', numeric: true, of: row => row.graph },
            { title: 'Is', width: '60px', of: row => row.direction },
            { title: 'Name', width: '120px', of: row => row.name },
            ...[
              ['Tensor', '180px', 'tensorName'],
              ['Type', '76px', 'type'],
              ['Shape', '110px', 'shape'],
            ].map(([title, width, key]) => ({
              title,
              width,
              of: row => (row.item ? clean(model.graphOf(row.item)[key](row.item.index)) : ''),
            })),
          ],
          () => calls,
          row => row.item,
        ),
      });
    if (this.model.data.proof) this.views.set('proof', { title: 'Proof' });
    this.views.set('about', { title: 'File' });
    for (const [key, view] of this.measured.views(table)) this.views.set(key, view);
    $('tabs').replaceChildren(
      ...[...this.views].map(([key, view]) =>
        h(
          'button',
          {
            role: 'tab',
            id: `tab-${key}`,
            'aria-controls': 'panel',
            onclick: () => this.openTab(key),
            onkeydown: event => this.tabKey(event),
          },
          view.title,
        ),
      ),
    );
  }
  searchFor(words) {
    $('search').value = words;
    this.search();
  }
  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...event.target.parentElement.children],
      next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    next.focus();
    next.click();
    event.preventDefault();
  }
  openTab(key) {
    $('tab-details').hidden = !this.selection;
    // A table stays open while its rows are selected; what is selected is told in the footer then.
    if (key === 'details' && this.tab && this.tab !== 'details' && document.activeElement?.closest?.('.rows')) return;
    if (key === 'details' && !this.selection) key = 'summary';
    const view = this.views.get(key),
      panel = $('panel');
    this.tab = key;
    this.table = null;
    for (const tab of $('tabs').children) {
      const on = tab.id === `tab-${key}`;
      tab.setAttribute('aria-selected', on);
      tab.tabIndex = on ? 0 : -1;
    }
    panel.setAttribute('aria-labelledby', `tab-${key}`);
    panel.classList.toggle('table', !!view.make);
    if (view.make) {
      this.table = view.kept ??= view.make();
      this.table.apply();
      panel.replaceChildren(...this.table.element);
      this.table.draw();
    } else
      panel.replaceChildren(
        ...(key === 'proof'
          ? this.proof()
          : key === 'about'
            ? this.about.contents()
            : key === 'summary'
              ? this.summary.contents()
              : this.details.of(this.selection)
        )
          .flat()
          .filter(Boolean),
      );
    panel.scrollTop = 0;
  }
  proof() {
    const { proof, notes } = this.model.data,
      { certificate } = this.model,
      lines = proof.violations.map(([law, text]) => h('li', { class: 'bad' }, `law ${law}: ${clean(text)}`));
    return [
      h('h2', {}, lines.length ? 'The map is not true' : 'The map is true'),
      h(
        'p',
        { class: lines.length ? 'bad' : '' },
        lines.length
          ? 'It breaks laws of origin maps, so what this page says may be wrong:'
          : 'When this page was written, a checker that shares no code with what makes maps held the map against ' +
              'the two files, by its eleven laws.',
      ),
      h('ul', {}, lines),
      h('h3', {}, 'Checked against'),
      this.details.pairs([
        ['result', `sha256:${proof.result}`],
        ['source', proof.withSource ? `sha256:${proof.source}` : 'not at hand (the map names sha256:' + proof.source + ')'],
      ]),
      proof.skipped.length || notes.length ? h('h3', {}, 'Not covered') : null,
      h(
        'ul',
        {},
        [...proof.skipped, ...notes].map(text => h('li', {}, clean(text))),
      ),
      h('h3', {}, 'Check it again'),
      h(
        'code',
        {},
        `origin-dump --check ${quoted(clean(this.model.result.file))}` +
          `${this.model.source ? ` --source ${quoted(clean(this.model.source.file))}` : ''}`,
      ),
      ...(certificate
        ? [
            h('h3', {}, 'Proved in exact arithmetic'),
            h('p', {}, 'Of its own rewrites, the run that wrote the result says:'),
            h('p', {}, clean(certificate)),
            h('h3', {}, 'Prove it from outside'),
            h(
              'code',
              {},
              `origin-dump --prove ${this.model.source ? quoted(clean(this.model.source.file)) : 'SOURCE'} ` +
                quoted(clean(this.model.result.file)),
            ),
          ]
        : []),
    ];
  }
  toggleScope(scope) {
    if (this.collapsed.has(scope)) this.collapsed.delete(scope);
    else if (scope.endsWith('/')) this.collapsed.add(scope);
    for (const name of Object.keys(this.panes)) this.showGraph(name, this.shown[name]);
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
    const here = this.selection?.side === pane.side ? this.nodeOf(pane, this.selection) : undefined,
      display = pane.display,
      nodes = display.nodes;
    const near = list =>
      list.length
        ? list.reduce((best, node) => (Math.abs(nodes[node].x - nodes[here].x) < Math.abs(nodes[best].x - nodes[here].x) ? node : best))
        : undefined;
    const beside = step => {
      const at = display.byRow.indexOf(here) + step,
        next = display.byRow[at];
      return next !== undefined && nodes[next].row === nodes[here].row ? next : undefined;
    };
    const moves = {
      ArrowUp: () => near(display.preds[here]),
      ArrowDown: () => near(display.succs[here]),
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
    };
    if (moves[event.key]) {
      const next = here === undefined ? display.byRow.find(node => nodes[node].item) : moves[event.key]();
      const item = next === undefined ? null : (nodes[next].item ?? pane.memberOf(nodes[next]));
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
    const opened =
      node.item &&
      [...this.openedBy].findLast(row => [node.item, ...this.links.counterparts(node.item)].some(one => row[1].has(keyOf(one))));
    if (opened) {
      this.unfolded.delete(opened[0]);
      this.openedBy.delete(opened[0]);
      this.refold(pane, node.item);
      return this.select(node.item, { from: null });
    }
    const scope = node.item?.type === 'op' ? pane.graph.scopes(node.item.index).at(-1) : undefined;
    if (scope) {
      this.toggleScope(scope);
      this.select(node.item, { from: null });
    }
  }
  /** To the other side; again: back to the next of what is tied to where it began. */
  across(pane) {
    const other = this.linked?.find(item => item.side !== pane.side && this.panes[item.side]);
    if (!other) return;
    this.select(other);
    this.panes[other.side].canvas.focus();
  }
}

globalThis.origo = new App(new Model(await unpack($('data').textContent)));
