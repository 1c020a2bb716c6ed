// A pane: one graph on a canvas, with panning, zooming, and what is under the pointer.
import { CONSTANT } from './data.js';
import { HEIGHT, PITCH, WIDTH } from './place.js';

const TEXT = 0.42, DETAIL = 0.25, FAR = 0.12; // scales from which there is text, and from which edges are curves, and below which nodes have no frame

export class Pane {
  /** events: hover(item), select(item, pane), viewed(pane) */
  constructor(frame, label, events) {
    this.events = events;
    this.canvas = frame.appendChild(document.createElement('canvas'));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-label', label);
    this.context = this.canvas.getContext('2d');
    this.view = { x: 0, y: 0, scale: 1 }; // the middle of the pane in the graph's units
    this.marks = { selected: new Set(), linked: new Set(), hovered: new Set(), near: new Set(), found: new Set(), changed: new Set() };
    this.display = null;
    this.paint = () => ({ fill: '#888888', ink: '#000000' });
    this.drawn = 0;
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    this.listen();
  }

  show(graph, display) {
    this.graph = graph;
    this.display = this.extent = display; // how far it reaches: left, right, rows
    this.redraw();
  }
  size() { return [this.canvas.clientWidth || 1, this.canvas.clientHeight || 1]; }
  /** Pixels a unit across, and down. From far away a deep graph would be a hair, so it does not shrink in breadth as long as there is room; nor a wide one in height. */
  across(scale = this.view.scale) { return this.stretched(scale, this.size()[0], this.extent?.right - this.extent?.left); }
  down(scale = this.view.scale) { return this.stretched(scale, this.size()[1], this.extent?.rows * PITCH); }
  stretched(scale, room, units) { return scale >= FAR || !(units > 0) ? scale : Math.max(scale, Math.min(FAR, room * 0.8 / units)); }
  fit() {
    const [width, height] = this.size(), d = this.display;
    const wide = d.right - d.left + 60, high = d.rows * PITCH + 20;
    this.view = { x: (d.left + d.right) / 2, y: (d.rows - 1) * PITCH / 2, scale: Math.max(Math.min(width / wide, height / high, 1.2), 0.0005) };
    this.redraw();
  }
  /** The beginning of the graph at a scale that can be read. */
  start() {
    const [width, height] = this.size(), d = this.display, scale = Math.max(Math.min(width / (d.right - d.left + 60), 1), 0.7);
    const first = d.nodes[d.byRow[0]];
    this.view = { x: d.right - d.left + 40 < width / scale ? (d.left + d.right) / 2 : Math.min(Math.max(first?.x ?? 0, d.left + width / 2 / scale - 40), d.right - width / 2 / scale + 40), y: Math.max(height / scale / 2 - 40, 0), scale };
    if (d.rows * PITCH < height / scale) this.view.y = (d.rows - 1) * PITCH / 2;
    this.redraw();
  }
  toGraph(x, y) {
    const [width, height] = this.size();
    return [(x - width / 2) / this.across() + this.view.x, (y - height / 2) / this.down() + this.view.y];
  }
  zoom(factor, x, y) {
    const [width, height] = this.size();
    const [gx, gy] = this.toGraph(x ?? width / 2, y ?? height / 2), scale = Math.min(Math.max(this.view.scale * factor, 0.0005), 3);
    this.view = { scale, x: gx - ((x ?? width / 2) - width / 2) / this.across(scale), y: gy - ((y ?? height / 2) - height / 2) / this.down(scale) };
    this.moved();
  }
  moved() { this.redraw(); this.events.viewed(this); }
  isVisible(node) {
    const [width, height] = this.size(), { x, row } = this.display.nodes[node];
    return Math.abs(x - this.view.x) * this.across() < width / 2 - WIDTH / 2 * this.across() && Math.abs(row * PITCH - this.view.y) * this.down() < height / 2 - HEIGHT;
  }
  /** Moves until the node can be seen, if it cannot. */
  reveal(node) {
    if (node === undefined || this.isVisible(node)) return;
    const { x, row } = this.display.nodes[node], target = { x, y: row * PITCH, scale: Math.max(this.view.scale, 0.5) };
    cancelAnimationFrame(this.flight);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) { this.view = target; this.moved(); return; }
    const from = { ...this.view }, begin = performance.now();
    const step = now => {
      const share = Math.min((now - begin) / 180, 1), ease = share * (2 - share);
      this.view = Object.fromEntries(['x', 'y', 'scale'].map(key => [key, from[key] + (target[key] - from[key]) * ease]));
      this.moved();
      if (share < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  listen() {
    const canvas = this.canvas, at = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let held = null;
    canvas.addEventListener('pointerdown', event => {
      cancelAnimationFrame(this.flight);
      held = { at: at(event), view: { ...this.view }, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      const [x, y] = at(event);
      if (!held) { this.events.hover(this.hit(x, y)); return; }
      const dx = x - held.at[0], dy = y - held.at[1];
      held.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (held.moved) { this.view = { ...held.view, x: held.view.x - dx / this.across(), y: held.view.y - dy / this.down() }; this.moved(); }
    });
    canvas.addEventListener('pointerup', event => {
      if (held && !held.moved) this.events.select(this.hit(...at(event)), this);
      held = null;
    });
    canvas.addEventListener('pointercancel', () => { held = null; });
    canvas.addEventListener('pointerleave', () => this.events.hover(null));
    canvas.addEventListener('dblclick', event => { const node = this.nodeAt(...at(event)); if (node !== undefined) this.events.open(this.display.nodes[node], this); });
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      cancelAnimationFrame(this.flight);
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 200), ...at(event));
      else { this.view = { ...this.view, x: this.view.x + event.deltaX / this.across(), y: this.view.y + event.deltaY / this.down() }; this.moved(); }
    }, { passive: false });
  }

  nodeAt(x, y) {
    const [gx, gy] = this.toGraph(x, y), row = Math.round(gy / PITCH);
    if (!this.display || Math.abs(gy - row * PITCH) > HEIGHT / 2 + 4) return undefined;
    const [first, end] = this.display.between(row, row);
    for (let i = first; i < end; ++i) if (Math.abs(this.display.nodes[this.display.byRow[i]].x - gx) <= WIDTH / 2 + 2) return this.display.byRow[i];
    return undefined;
  }
  /** The item under the pointer: a constant's dot, a node, or the tensor of an edge. */
  hit(x, y) {
    if (!this.display) return null;
    const [gx, gy] = this.toGraph(x, y), index = this.nodeAt(x, y);
    if (index !== undefined) {
      const node = this.display.nodes[index];
      const dot = this.view.scale >= TEXT && gy < node.row * PITCH - HEIGHT / 2 + 5 ? this.constants(node).find((_, i) => Math.abs(this.dotX(node, i) - gx) < 6) : undefined;
      if (dot !== undefined) return { side: this.graph.side, type: 'tensor', graph: this.graph.index, index: dot };
      return node.item ?? node.members?.[0] ?? null;
    }
    if (this.view.scale < DETAIL || this.display.past) return null;
    const row = Math.floor(gy / PITCH);
    for (const edge of this.display.edges) {
      const from = this.display.nodes[edge.from], to = this.display.nodes[edge.to];
      if (from.row > row || to.row <= row || (!edge.route && from.row !== row && to.row !== row + 1)) continue;
      const points = edge.route ? [from.x, ...edge.route, to.x] : [from.x, from.x, ...Array(Math.max(to.row - from.row - 2, 0)).fill(Infinity), to.x, to.x];
      const a = points[row - from.row], b = points[row - from.row + 1], share = gy / PITCH - row, ease = share * share * (3 - 2 * share);
      if (Math.abs(a + (b - a) * ease - gx) < 7 && this.graph.side) return { side: this.graph.side, type: 'tensor', graph: this.graph.index, index: edge.tensor };
    }
    return null;
  }
  constants(node) {
    if (node.item?.type !== 'op' || node.past) return [];
    return this.graph.operands(node.item.index).filter(tensor => tensor >= 0 && this.graph.tensorKind(tensor) === CONSTANT).slice(0, 10);
  }
  dotX(node, i) { return node.x - WIDTH / 2 + 14 + i * 13; }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }
  draw() {
    const [width, height] = this.size(), ratio = devicePixelRatio || 1, canvas = this.canvas;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio);
    const c = this.context, begin = performance.now();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(canvas), value = name => style.getPropertyValue(name).trim();
    this.colours = { pane: value('--pane'), text: value('--text'), soft: value('--soft'), edge: value('--edge'), accent: value('--accent'), mark: value('--mark'), good: value('--good'), node: value('--node') };
    c.fillStyle = this.colours.pane;
    c.fillRect(0, 0, width, height);
    if (!this.display) return;
    const { x, y, scale } = this.view, across = this.across(), down = this.down();
    c.translate(width / 2, height / 2);
    c.scale(across, down);
    c.translate(-x, -y);
    const top = y - height / 2 / down, bottom = y + height / 2 / down;
    this.window = { first: Math.floor(top / PITCH) - 1, last: Math.ceil(bottom / PITCH) + 1, left: x - width / 2 / across - WIDTH, right: x + width / 2 / across + WIDTH };
    this.drawEdges(c, scale);
    this.drawNodes(c, scale);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawStrip(c, width, height);
    ++this.drawn;
    this.frameTime = performance.now() - begin;
  }

  drawEdges(c, scale) {
    const { nodes, edges } = this.display, { first, last, left, right } = this.window, near = this.marks, strong = [];
    c.strokeStyle = this.colours.edge;
    c.lineWidth = Math.max(1.2, 0.7 / scale);
    c.beginPath();
    for (const edge of edges) {
      const from = nodes[edge.from], to = nodes[edge.to];
      if (to.row < first || from.row > last) continue;
      if (near.near.has(edge) || near.edges?.has(edge)) { strong.push(edge); continue; }
      if (!edge.route ? from.row < first && to.row > last : (from.x < left && to.x < left) || (from.x > right && to.x > right)) continue;
      if (scale < FAR) { // a straight line, unless it is no longer than a point
        if ((to.row - from.row) * PITCH * this.down() > 2 && edge.route) c.moveTo(from.x, from.row * PITCH), c.lineTo(edge.route[edge.route.length >> 1] ?? to.x, (from.row + to.row) / 2 * PITCH), c.lineTo(to.x, to.row * PITCH);
        continue;
      }
      this.trace(c, edge, from, to, scale, false);
    }
    this.stroke(c, scale, 0.7);
    c.strokeStyle = this.colours.accent;
    c.lineWidth = Math.max(2.4, 1.6 / scale);
    c.beginPath();
    for (const edge of strong) this.trace(c, edge, nodes[edge.from], nodes[edge.to], scale, true);
    this.stroke(c, scale, 1.6);
  }
  /** Lines are as broad in all directions, from far away too. */
  stroke(c, scale, width) {
    if (scale >= FAR) return c.stroke();
    const ratio = devicePixelRatio || 1;
    c.save();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.lineWidth = width;
    c.stroke();
    c.restore();
  }
  trace(c, edge, from, to, scale, whole) {
    const y0 = from.row * PITCH + HEIGHT / 2, y1 = to.row * PITCH - HEIGHT / 2;
    if (!edge.route && !whole) { // only its two ends
      c.moveTo(from.x, y0), c.lineTo(from.x + 5, y0 + 9), c.moveTo(to.x - 5, y1 - 9), c.lineTo(to.x, y1);
      return;
    }
    c.moveTo(from.x, y0);
    let x = from.x, y = y0;
    const to1 = (nx, ny) => {
      const half = (ny - y) / 2;
      if (scale > DETAIL && nx !== x) c.bezierCurveTo(x, y + half, nx, ny - half, nx, ny); else c.lineTo(nx, ny);
      x = nx, y = ny;
    };
    if (!edge.route) { // beside everything
      const side = Math.min(from.x, to.x) - WIDTH;
      to1(side, y0 + PITCH), to1(side, y1 - PITCH);
    } else edge.route.forEach((place, i) => {
      const at = (from.row + 1 + i) * PITCH;
      to1(place, at - HEIGHT / 2);
      c.lineTo(place, y = at + HEIGHT / 2);
    });
    to1(to.x, y1);
    if (scale > TEXT) c.moveTo(to.x - 3.5, y1 - 6), c.lineTo(to.x, y1), c.lineTo(to.x + 3.5, y1 - 6);
  }

  drawNodes(c, scale) {
    const { nodes, byRow } = this.display, { first, last, left, right } = this.window, [begin, end] = this.display.between(first, last);
    const text = scale >= TEXT, marks = this.marks;
    if (scale < FAR) return this.drawFar(c, scale, begin, end);
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (let i = begin; i < end; ++i) {
      const index = byRow[i], node = nodes[index];
      if (node.x < left || node.x > right) continue;
      const x = node.x - WIDTH / 2, y = node.row * PITCH - HEIGHT / 2, { fill, ink, gone, bridge } = node.painted ??= this.paint(node, this);
      c.fillStyle = fill;
      if (!text && !gone) c.fillRect(x, y, WIDTH, HEIGHT);
      else {
        c.beginPath();
        c.roundRect(x, y, WIDTH, HEIGHT, node.state === 'io' ? 20 : node.state === 'group' ? 2 : 6);
        c.fill();
        c.setLineDash(gone ? [5, 4] : bridge ? [2, 3] : []);
        c.strokeStyle = gone ? this.colours.mark : this.colours.edge;
        c.lineWidth = gone || bridge ? 1.6 : 1;
        if (text || scale > 0.1) c.stroke();
        if (node.state === 'group' && text) c.strokeRect(x + 3, y + 3, WIDTH - 6, HEIGHT - 6);
        c.setLineDash([]);
      }
      this.outline(c, index, x, y, scale, marks);
      if (text) this.write(c, node, x, y, ink);
    }
  }
  /** From far away: one path for each colour, and of what falls on one point, one. */
  drawFar(c, scale, begin, end) {
    const { nodes, byRow } = this.display, { left, right } = this.window, paths = new Map(), marks = this.marks, across = this.across(), down = this.down(), high = Math.max(HEIGHT, 1 / down), wide = Math.max(WIDTH, 1 / across);
    const over = [[marks.signature, this.colours.good], [marks.found, this.colours.mark], [marks.changed, this.colours.good], [marks.hovered, this.colours.accent], [marks.linked, this.colours.mark], [marks.selected, this.colours.accent]];
    let lastX = NaN, lastY = NaN;
    for (let i = begin; i < end; ++i) {
      const index = byRow[i], node = nodes[index];
      if (node.x < left || node.x > right) continue;
      const x = node.x - WIDTH / 2, y = node.row * PITCH - HEIGHT / 2;
      if (Math.abs(x - lastX) * across < 1 && Math.abs(y - lastY) * down < 0.5) continue;
      lastX = x, lastY = y;
      const { fill, far, gone } = node.painted ??= this.paint(node, this), colour = gone ? this.colours.mark : far ?? fill;
      if (!paths.has(colour)) paths.set(colour, new Path2D());
      paths.get(colour).rect(x, y, wide, high);
    }
    c.globalAlpha = 0.9;
    for (const [colour, path] of paths) c.fillStyle = colour, c.fill(path);
    c.globalAlpha = 1;
    // What is marked is a bar that reaches out on both sides.
    for (const [set, colour] of over) {
      c.fillStyle = colour;
      for (const index of set ?? []) c.fillRect(nodes[index].x - WIDTH / 2 - 5 / across, nodes[index].row * PITCH - Math.max(HEIGHT / 2, 1.5 / down), WIDTH + 10 / across, Math.max(HEIGHT, 3 / down));
    }
  }
  write(c, node, x, y, ink) {
    c.fillStyle = ink;
    c.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
    const said = node.note || (node.calls?.length ? `↳ ${node.calls.join(' ')}` : ''), room = WIDTH - 18, note = said ? Math.max(said.length * 7, 20) : 0;
    c.fillText(shorten(c, node.title, room - note, node.state === 'group'), x + 9, y + (node.subtitle ? 13 : HEIGHT / 2));
    c.font = '11px system-ui, "DejaVu Sans", sans-serif';
    if (node.subtitle) c.fillText(shorten(c, node.subtitle, room, true), x + 9, y + 29);
    if (said) { c.textAlign = 'right'; c.fillText(said, x + WIDTH - 6, y + 13); c.textAlign = 'left'; }
    const dots = this.constants(node);
    dots.forEach((tensor, i) => {
      const marked = this.marks.tensors?.has(tensor), px = this.dotX(node, i);
      c.beginPath();
      c.moveTo(px, y - 5), c.lineTo(px + 5, y), c.lineTo(px, y + 5), c.lineTo(px - 5, y);
      c.closePath();
      c.fillStyle = marked ? this.colours.accent : this.colours.node;
      c.fill();
      c.strokeStyle = marked ? this.colours.accent : this.colours.edge;
      c.lineWidth = 1.2;
      c.stroke();
    });
  }
  outline(c, index, x, y, scale, marks) {
    const ring = (colour, width, grow, dash) => {
      c.strokeStyle = colour;
      c.lineWidth = Math.max(width, width * 0.6 / scale);
      c.setLineDash(dash);
      c.beginPath();
      c.roundRect(x - grow, y - grow, WIDTH + 2 * grow, HEIGHT + 2 * grow, 7);
      c.stroke();
      c.setLineDash([]);
    };
    if (marks.signature?.has(index)) ring(this.colours.good, 2, 5, []);
    if (marks.found.has(index)) ring(this.colours.mark, 1.5, 5, [3, 3]);
    if (marks.changed.has(index)) ring(this.colours.good, 3, 4, [7, 3]);
    if (marks.hovered.has(index)) ring(this.colours.accent, 2, 2, []);
    if (marks.linked.has(index)) ring(this.colours.mark, 3, 2, []);
    if (marks.selected.has(index)) ring(this.colours.accent, 3.5, 2, []);
  }
  /** A strip at the right: where in the graph this is, and where marked nodes are. */
  drawStrip(c, width, height) {
    const rows = Math.max(this.display.rows, 1), y = row => (row + 0.5) / rows * height;
    if (rows * PITCH * this.down() < height) return;
    c.fillStyle = this.colours.edge;
    c.globalAlpha = 0.35;
    c.fillRect(width - 9, y(Math.max(this.window.first, 0)), 9, Math.max(y(Math.min(this.window.last, rows)) - y(Math.max(this.window.first, 0)), 6));
    c.globalAlpha = 1;
    for (const [set, colour] of [[this.marks.changed, this.colours.good], [this.marks.found, this.colours.mark], [this.marks.linked, this.colours.mark], [this.marks.selected, this.colours.accent]]) {
      c.fillStyle = colour;
      for (const index of set) c.fillRect(width - 9, y(this.display.nodes[index].row) - 1.5, 9, 3);
    }
  }
}

const widths = new Map();
function width(c, text) {
  const key = c.font + text;
  if (!widths.has(key)) {
    if (widths.size > 50000) widths.clear();
    widths.set(key, c.measureText(text).width);
  }
  return widths.get(key);
}
function shorten(c, text, room, keepEnd) {
  if (text.length < 12 || width(c, text) <= room) return text;
  const cut = count => (keepEnd ? '…' + text.slice(text.length - count) : text.slice(0, count) + '…');
  let count = Math.min(Math.floor(room / width(c, text) * text.length), text.length - 1);
  while (count > 4 && width(c, cut(count)) > room) --count;
  return cut(count);
}
