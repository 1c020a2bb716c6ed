// A pane: one graph on a canvas, with panning, zooming, and what is under the pointer.
import { CONSTANT } from './data.js';
import { HEIGHT, LANES, PITCH, WIDTH, mainOf } from './place.js';

// Pixels of text at least; scales from which there is text, shapes beside edges, and edges that are curves; below FAR nodes have no frame.
const PIXELS = 10,
  CONDENSED = 1.2,
  TEXT = 0.45,
  LABELS = 0.72,
  DETAIL = 0.25,
  FAR = 0.12;

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

  /** Of rows, from one to the next. */
  get pitch() {
    return this.display?.pitch ?? PITCH;
  }
  show(graph, display) {
    this.graph = graph;
    display.nodes.forEach((node, i) => {
      node.index = i;
    });
    this.display = this.extent = display; // how far it reaches: left, right, rows
    this.redraw();
  }
  /** Without the strip at the right, which shows the whole. */
  size() {
    if (this.sized) return this.sized;
    const width = this.canvas.clientWidth || 1;
    return [width - this.strip(), this.canvas.clientHeight || 1];
  }
  /** Units across that can be read. */
  room() {
    return (this.size()[0] - 16) / LABELS;
  }
  strip() {
    return this.canvas.clientWidth >= 260 ? 38 : 9;
  }
  // Pixels a unit across, and down. From far away a deep graph would be a hair, so it does not shrink in breadth as long as there
  // is room; nor a wide one in height.
  across(scale = this.view.scale) {
    return this.stretched(scale, this.size()[0], this.extent?.right - this.extent?.left);
  }
  down(scale = this.view.scale) {
    return this.stretched(scale, this.size()[1], this.extent?.rows * this.pitch);
  }
  stretched(scale, room, units) {
    return scale >= FAR || !(units > 0) ? scale : Math.max(scale, Math.min(FAR, (room * 0.8) / units));
  }
  fit() {
    const [width, height] = this.size(),
      d = this.display;
    const wide = d.right - d.left + 60,
      high = d.rows * this.pitch + 20;
    this.view = {
      x: (d.left + d.right) / 2,
      y: ((d.rows - 1) * this.pitch) / 2,
      scale: Math.max(Math.min(width / wide, height / high, 1.2), 0.0005),
    };
    this.redraw();
  }
  /** Nodes that are wholly seen from a view, and how much of the pane the box around them covers. */
  seen(view) {
    const [width, height] = this.size(),
      { nodes, byRow } = this.display,
      half = height / 2 / view.scale,
      [begin, end] = this.display.between(Math.floor((view.y - half) / this.pitch), Math.ceil((view.y + half) / this.pitch));
    let left = Infinity,
      right = -Infinity,
      top = Infinity,
      bottom = -Infinity;
    const list = [];
    let beyond = 0, // are in its rows, and not in it
      works = 0;
    for (let i = begin; i < end; ++i) {
      const node = nodes[byRow[i]],
        x = Math.abs(node.x - view.x) + node.w / 2,
        y = node.row * this.pitch + node.dy;
      if ((Math.abs(y - view.y) + node.h / 2) * view.scale > height / 2) continue;
      if (x * view.scale > width / 2 && ++beyond) continue;
      list.push(byRow[i]);
      works += isWork(node);
      ((left = Math.min(left, node.x - node.w / 2)),
        (right = Math.max(right, node.x + node.w / 2)),
        (top = Math.min(top, y - node.h / 2)),
        (bottom = Math.max(bottom, y + node.h / 2)));
    }
    return { list, beyond, works, covers: list.length ? ((right - left) * (bottom - top) * view.scale ** 2) / width / height : 0 };
  }
  /**
   * The beginning at a scale that can be read and that shows enough of it, for this pane and for those that move with it. What it
   * returns is below 1 where it does not show enough.
   */
  start(others = []) {
    const panes = [this, ...others],
      least = this.display.column ? 0.46 : 0.62,
      [width, height] = this.size(),
      fewest = panes.map(pane => Math.min(pane.display.nodes.filter(isWork).length, 5)), // operators that are to be seen; of none, none lacks
      rows = Math.max(...panes.map(pane => pane.display.rows)),
      wide = Math.max(...panes.map(pane => pane.breadth(13))),
      isWhole = panes.every(({ display }) => (display.right - display.left) * least <= width); // else something is beyond an edge anyway
    const most = Math.max(
      Math.min(
        height / (Math.min(rows, 13) * this.pitch + 20),
        Math.max(width / (wide + 20), 0.75),
        width < 400 ? 1.8 : Math.max(3, width / 240),
      ),
      least,
    );
    let best = null;
    for (let scale = most; ; scale = Math.max(scale * 0.92, least)) {
      for (const view of panes.flatMap(pane => pane.beginnings(scale))) {
        const seen = panes.map(one => one.seen(view)),
          enough = seen.map(
            // Of a few nodes none is to be cut off, even where they are broad and low.
            (one, i) => 3 * Math.min(one.list.length / Math.min(12, panes[i].display.nodes.length), 1) + Math.min(one.covers * 4, 1),
          );
        const score =
          Math.min(...enough) * 2 +
          enough.reduce((a, b) => a + b, 0) / enough.length -
          (isWhole && seen.some(one => one.beyond) ? 12 : 0) -
          6 * Math.max(...seen.map((one, i) => (one.works < fewest[i] ? 1 - one.works / fewest[i] : 0)));
        if (!best || score > best.score + 1e-6) best = { view, score, enough: Math.min(...seen.map((one, i) => panes[i].isEnough(one))) };
      }
      if (best.score >= 11.999 || scale <= least) break;
    }
    this.view = best.view;
    this.redraw();
    // Nor is it enough where nodes are cut off at the sides.
    return panes.some(pane => pane.seen(best.view).beyond) ? Math.min(best.enough, 0.5) : best.enough;
  }
  /** Below 1: what is seen has few nodes, or they take little of the pane. */
  isEnough({ list, covers }) {
    return Math.min(list.length / Math.min(12, this.display.nodes.length), covers * 4);
  }
  /** Of so many rows from the first on. */
  breadth(rows) {
    const { nodes, byRow } = this.display,
      first = byRow.length ? nodes[byRow[0]].row : 0,
      [left, right] = this.display.reach(first, first + rows - 1);
    return Math.max(right - left, WIDTH) + this.lanes();
  }
  /** What lines need at the left of nodes that stand one below the other. */
  lanes() {
    return this.display.column ? LANES : 0;
  }
  /** The first rows, and of these what is in the middle, or what else is as wide as the pane. */
  beginnings(scale) {
    const [width, height] = this.size(),
      d = this.display,
      room = height / scale,
      wide = width / scale;
    const from = Math.max((d.nodes.length ? d.nodes[d.byRow[0]].row : 0) - 1, 0),
      [begin, end] = d.between(from, from + Math.floor(room / this.pitch) - 1),
      places = [];
    for (let i = begin; i < end; ++i) places.push(d.nodes[d.byRow[i]]);
    const reach = d.reach(from, from + Math.floor(room / this.pitch) - 1),
      left = reach[0] - this.lanes(),
      right = reach[1];
    const middle = places
      .filter(node => node.state !== 'beside')
      .map(node => node.x)
      .sort((a, b) => a - b);
    const all = this.extent ?? d,
      x = !places.length
        ? 0
        : all.right - all.left + 16 <= wide && !d.column
          ? (all.left + all.right) / 2
          : right - left + 16 <= wide
            ? (left + right) / 2
            : middle[middle.length >> 1] -
              (places.some(node => node.state === 'beside') ? Math.min(60, Math.max((wide - WIDTH) / 2 - 8, 0)) : 0);
    const y = d.rows * this.pitch + 16 <= room ? ((d.rows - 1) * this.pitch) / 2 : room / 2 + from * this.pitch - HEIGHT / 2 - 12,
      xs = [x];
    const lefts =
        right - left + 16 <= wide || places.length > 2000
          ? []
          : [...new Set(places.map(node => node.x - node.w / 2))].sort((a, b) => a - b),
      step = Math.max(lefts.length / 24, 1);
    for (let i = 0; i < lefts.length; i += step) xs.push(lefts[Math.floor(i)] + wide / 2 - 8);
    const views = xs.map(x => ({ x, y, scale })),
      work = places.some(isWork) ? undefined : d.byRow.find(i => isWork(d.nodes[i]));
    if (work !== undefined) views.push({ x: d.nodes[work].x, y: d.nodes[work].row * this.pitch, scale }); // behind many inputs
    return views;
  }
  toGraph(x, y) {
    const [width, height] = this.size();
    return [(x - width / 2) / this.across() + this.view.x, (y - height / 2) / this.down() + this.view.y];
  }
  zoom(factor, x, y) {
    const [width, height] = this.size();
    const [gx, gy] = this.toGraph(x ?? width / 2, y ?? height / 2),
      scale = Math.min(Math.max(this.view.scale * factor, 0.0005), Math.max(3, this.view.scale));
    this.view = {
      scale,
      x: gx - ((x ?? width / 2) - width / 2) / this.across(scale),
      y: gy - ((y ?? height / 2) - height / 2) / this.down(scale),
    };
    this.moved();
  }
  moved() {
    this.redraw();
    this.events.viewed(this);
  }
  /** Where the middle of a node is on the canvas. */
  place(node) {
    const [width, height] = this.size(),
      { x, row, dy } = this.display.nodes[node];
    return [width / 2 + (x - this.view.x) * this.across(), height / 2 + (row * this.pitch + dy - this.view.y) * this.down()];
  }
  isVisible(node) {
    const [width, height] = this.size(),
      { x, row, w } = this.display.nodes[node];
    return (
      Math.abs(x - this.view.x) * this.across() < width / 2 - (w / 2) * this.across() &&
      Math.abs(row * this.pitch - this.view.y) * this.down() < height / 2 - HEIGHT
    );
  }
  /** Moves until the node can be seen, if it cannot. */
  reveal(node) {
    if (node === undefined || this.isVisible(node)) return;
    const { x, row } = this.display.nodes[node],
      scale = Math.max(this.view.scale, 0.5),
      // The beginning and the end of a graph are no further in than they have to be.
      half = this.size()[1] / 2 / this.down(scale) - this.pitch,
      last = (this.extent.rows - 1) * this.pitch,
      y = Math.max(Math.min(row * this.pitch, last - half), Math.min(half, last / 2)),
      target = { x, y, scale };
    cancelAnimationFrame(this.flight);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.view = target;
      this.moved();
      return;
    }
    const from = { ...this.view },
      begin = performance.now();
    const step = now => {
      const share = Math.min((now - begin) / 180, 1),
        ease = share * (2 - share);
      this.view = Object.fromEntries(['x', 'y', 'scale'].map(key => [key, from[key] + (target[key] - from[key]) * ease]));
      this.moved();
      if (share < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  listen() {
    const canvas = this.canvas,
      at = event => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
    let held = null;
    const fingers = new Map(),
      spread = () => {
        const [a, b] = [...fingers.values()];
        return { wide: Math.max(Math.hypot(a[0] - b[0], a[1] - b[1]), 1), at: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] };
      };
    canvas.addEventListener('pointerdown', event => {
      cancelAnimationFrame(this.flight);
      fingers.set(event.pointerId, at(event));
      held = { at: at(event), view: { ...this.view }, moved: false, strip: at(event)[0] > this.size()[0] };
      canvas.setPointerCapture(event.pointerId);
      if (held.strip) this.jump(at(event)[1]);
    });
    canvas.addEventListener('pointermove', event => {
      const [x, y] = at(event);
      if (!held) {
        this.events.hover(this.hit(x, y));
        return;
      }
      // Two fingers: what is between them stays there, and grows as they part.
      if (fingers.size === 2 && fingers.has(event.pointerId)) {
        const before = spread(),
          after = (fingers.set(event.pointerId, [x, y]), spread());
        this.view = {
          ...this.view,
          x: this.view.x - (after.at[0] - before.at[0]) / this.across(),
          y: this.view.y - (after.at[1] - before.at[1]) / this.down(),
        };
        this.zoom(after.wide / before.wide, ...after.at);
        held = { ...held, at: [x, y], view: { ...this.view }, moved: true };
        return;
      }
      if (held.strip) {
        this.jump(y);
        return;
      }
      const dx = x - held.at[0],
        dy = y - held.at[1];
      held.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (held.moved) {
        this.view = { ...held.view, x: held.view.x - dx / this.across(), y: held.view.y - dy / this.down() };
        this.moved();
      }
    });
    canvas.addEventListener('pointerup', event => {
      fingers.delete(event.pointerId);
      if (held && !held.moved && !held.strip) this.events.select(this.hit(...at(event)), this);
      held = fingers.size ? { ...held, at: [...fingers.values()][0], view: { ...this.view }, moved: true } : null;
    });
    canvas.addEventListener('pointercancel', event => {
      fingers.delete(event.pointerId);
      held = null;
    });
    canvas.addEventListener('pointerleave', () => this.events.hover(null));
    canvas.addEventListener('dblclick', event => {
      const node = this.nodeAt(...at(event));
      if (node !== undefined) this.events.open(this.display.nodes[node], this);
    });
    canvas.addEventListener(
      'wheel',
      event => {
        event.preventDefault();
        cancelAnimationFrame(this.flight);
        if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 200), ...at(event));
        else {
          this.view = { ...this.view, x: this.view.x + event.deltaX / this.across(), y: this.view.y + event.deltaY / this.down() };
          this.moved();
        }
      },
      { passive: false },
    );
  }

  /** To what the strip shows at a height. */
  jump(y) {
    this.view = { ...this.view, y: ((y / this.size()[1]) * Math.max(this.extent.rows, 1) - 0.5) * this.pitch };
    this.moved();
  }

  nodeAt(x, y) {
    const [gx, gy] = this.toGraph(x, y),
      row = Math.round(gy / this.pitch);
    if (!this.display || Math.abs(gy - row * this.pitch) > HEIGHT / 2 + 4) return undefined;
    const [first, end] = this.display.between(row, row);
    for (let i = first; i < end; ++i) {
      const node = this.display.nodes[this.display.byRow[i]];
      if (Math.abs(node.x - gx) <= node.w / 2 + 2 && Math.abs(node.row * this.pitch + node.dy - gy) <= node.h / 2 + 3)
        return this.display.byRow[i];
    }
    return undefined;
  }
  /** The item under the pointer: a constant's dot, a node, or the tensor of an edge. */
  hit(x, y) {
    if (!this.display || x > this.size()[0]) return null;
    const [gx, gy] = this.toGraph(x, y),
      index = this.nodeAt(x, y);
    if (index !== undefined) {
      const node = this.display.nodes[index];
      const dot =
        this.view.scale >= TEXT && gy < node.row * this.pitch - HEIGHT / 2 + 5
          ? this.constants(node).find((_, i) => Math.abs(this.dotX(node, i) - gx) < 6)
          : undefined;
      if (dot !== undefined) return { side: this.graph.side, type: 'tensor', graph: this.graph.index, index: dot };
      return node.item ?? this.memberOf(node);
    }
    if (this.view.scale < DETAIL || this.display.past) return null;
    const row = Math.floor(gy / this.pitch);
    for (const edge of this.display.edges) {
      const from = this.display.nodes[edge.from],
        to = this.display.nodes[edge.to];
      if (edge.beside || from.row > row || to.row <= row || (!edge.route && from.row !== row && to.row !== row + 1)) continue;
      const points = edge.route
        ? [from.x, ...edge.route, to.x]
        : [from.x, from.x, ...Array(Math.max(to.row - from.row - 2, 0)).fill(Infinity), to.x, to.x];
      const a = points[row - from.row],
        b = points[row - from.row + 1],
        share = gy / this.pitch - row,
        ease = share * share * (3 - 2 * share);
      if (Math.abs(a + (b - a) * ease - gx) < 7 && this.graph.side)
        return { side: this.graph.side, type: 'tensor', graph: this.graph.index, index: edge.tensor };
    }
    return null;
  }
  memberOf(node) {
    return node.members ? mainOf(this.graph, node.members) : null;
  }
  constants(node) {
    if (node.past || node.state === 'group' || node.state === 'beside') return [];
    const ops = node.members ?? (node.item?.type === 'op' ? [node.item] : []);
    return ops
      .flatMap(item => this.graph.operands(item.index))
      .filter(tensor => tensor >= 0 && this.graph.tensorKind(tensor) === CONSTANT)
      .slice(0, 10);
  }
  dotX(node, i) {
    return node.x - node.w / 2 + 14 + i * 13;
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }
  /** On its canvas, or, for a picture, on something else. */
  draw(c = this.context, ratio = devicePixelRatio || 1) {
    const [width, height] = this.size(),
      canvas = this.canvas,
      isPicture = c !== this.context,
      full = width + (isPicture ? 0 : this.strip());
    if (isPicture);
    else if (canvas.width !== Math.round(full * ratio) || canvas.height !== Math.round(height * ratio))
      ((canvas.width = Math.round(full * ratio)), (canvas.height = Math.round(height * ratio)));
    const begin = performance.now();
    this.ratio = ratio;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(canvas),
      value = name => style.getPropertyValue(name).trim();
    this.colours = {
      pane: value('--pane'),
      text: value('--text'),
      soft: value('--soft'),
      edge: value('--edge'),
      accent: value('--accent'),
      mark: value('--mark'),
      good: value('--good'),
      bad: value('--bad'),
      node: value('--node'),
      back: value('--back'),
    };
    c.fillStyle = this.colours.pane;
    c.fillRect(0, 0, full, height);
    this.written = [];
    if (!this.display) return;
    const { x, y, scale } = this.view,
      across = this.across(),
      down = this.down();
    c.translate(width / 2, height / 2);
    c.scale(across, down);
    c.translate(-x, -y);
    const top = y - height / 2 / down,
      bottom = y + height / 2 / down;
    this.window = {
      first: Math.floor(top / this.pitch) - 1,
      last: Math.ceil(bottom / this.pitch) + 1,
      left: x - width / 2 / across - WIDTH,
      right: x + width / 2 / across + WIDTH,
    };
    this.drawEdges(c, scale);
    if (scale >= LABELS && this.pitch >= PITCH) this.drawShapes(c, scale);
    this.drawNodes(c, scale);
    if (isPicture) return;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawStrip(c, width, height);
    ++this.drawn;
    this.frameTime = performance.now() - begin;
  }

  drawEdges(c, scale) {
    const { nodes, edges } = this.display,
      { first, last, left, right } = this.window,
      near = this.marks,
      strong = [];
    c.strokeStyle = this.colours.edge;
    c.lineWidth = Math.max(1.2, 0.7 / scale);
    c.beginPath();
    for (const edge of edges) {
      const from = nodes[edge.from],
        to = nodes[edge.to];
      if (to.row < first || from.row > last || (edge.beside && !edge.route)) continue;
      if (near.near.has(edge) || near.edges?.has(edge)) {
        strong.push(edge);
        continue;
      }
      if (!edge.route ? from.row < first && to.row > last : (from.x < left && to.x < left) || (from.x > right && to.x > right)) continue;
      if (scale < FAR) {
        // a straight line, unless it is no longer than a point
        if ((to.row - from.row) * this.pitch * this.down() > 2 && edge.route)
          (c.moveTo(from.x, from.row * this.pitch),
            c.lineTo(edge.route[edge.route.length >> 1] ?? to.x, ((from.row + to.row) / 2) * this.pitch),
            c.lineTo(to.x, to.row * this.pitch));
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
    c.save();
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.lineWidth = width;
    c.stroke();
    c.restore();
  }
  trace(c, edge, from, to, scale, whole) {
    if (edge.beside && edge.route) {
      const y = from.row * this.pitch;
      (c.moveTo(from.x + from.w / 2, y + from.dy), c.lineTo(to.x - to.w / 2, y + from.dy / 2));
      return;
    }
    const y0 = from.row * this.pitch + HEIGHT / 2,
      y1 = to.row * this.pitch - HEIGHT / 2;
    if (!edge.route && !whole) {
      // only its two ends
      (c.moveTo(from.x, y0), c.lineTo(from.x + 5, y0 + 9), c.moveTo(to.x - 5, y1 - 9), c.lineTo(to.x, y1));
      return;
    }
    c.moveTo(from.x, y0);
    let x = from.x,
      y = y0;
    const to1 = (nx, ny) => {
      const half = (ny - y) / 2;
      if (scale > DETAIL && nx !== x) c.bezierCurveTo(x, y + half, nx, ny - half, nx, ny);
      else c.lineTo(nx, ny);
      ((x = nx), (y = ny));
    };
    if (!edge.route) {
      // beside everything
      const side = Math.min(from.x, to.x) - WIDTH;
      (to1(side, y0 + this.pitch), to1(side, y1 - this.pitch));
    } else
      edge.route.forEach((place, i) => {
        const at = (from.row + 1 + i) * this.pitch;
        to1(place, at - HEIGHT / 2);
        c.lineTo(place, (y = at + HEIGHT / 2));
      });
    to1(to.x, y1);
    if (scale > TEXT) (c.moveTo(to.x - 3.5, y1 - 6), c.lineTo(to.x, y1), c.lineTo(to.x + 3.5, y1 - 6));
  }

  /** Of what is between two nodes, beside the line. */
  drawShapes(c, scale) {
    const { nodes, edges } = this.display,
      { first, last, left, right } = this.window,
      size = Math.max(10.5, PIXELS / scale),
      shapes = new Map();
    if (!this.graph.data.shape || this.display.past) return;
    c.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (const edge of edges) {
      const from = nodes[edge.from];
      if (from.row < first || from.row > last || from.x < left || from.x > right || edge.beside || from.state === 'io') continue;
      if (!shapes.has(from)) shapes.set(from, new Set());
      shapes.get(from).add(this.graph.shape(edge.tensor));
    }
    // Of several: as many as there is room for, and how many more.
    for (const [from, all] of shapes) {
      const list = [...all].filter(text => text && text !== '?'),
        some = count => list.slice(0, count).join(', ') + (count < list.length ? ` +${list.length - count}` : ''),
        text = list.map((_, i) => some(list.length - i)).find(one => width(c, one) <= WIDTH / 2 + 10),
        x = from.x + 7,
        y = from.row * this.pitch + HEIGHT / 2 + (this.pitch - HEIGHT) / 2 - 1;
      if (!text) continue;
      const wide = width(c, text),
        place = [x, x - 14 - wide].find(left => !this.isTaken(from.row + 1, left, left + wide));
      if (place === undefined) continue;
      // Lines pass behind it.
      ((c.fillStyle = this.colours.pane), c.fillRect(place - 2, y - size / 2, wide + 4, size));
      ((c.fillStyle = this.colours.soft), c.fillText(text, place, y));
    }
  }
  /** Is what is said of constants above the nodes of a row? */
  isTaken(row, left, right) {
    const { nodes, byRow } = this.display,
      [begin, end] = this.display.between(row, row);
    for (let i = begin; i < end; ++i) {
      const node = nodes[byRow[i]];
      if (left < node.x - 4 && right > node.x - node.w / 2 + 8 && this.constants(node).length) return true;
    }
    return false;
  }

  drawNodes(c, scale) {
    const { nodes, byRow } = this.display,
      { first, last, left, right } = this.window,
      [begin, end] = this.display.between(first, last);
    const text = scale >= TEXT,
      marks = this.marks;
    this.labels = new Map();
    if (scale < FAR) return this.drawFar(c, scale, begin, end);
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (let i = begin; i < end; ++i) {
      const index = byRow[i],
        node = nodes[index],
        { w, h, state } = node;
      if (node.x < left || node.x > right) continue;
      const x = node.x - w / 2,
        y = node.row * this.pitch + node.dy - h / 2,
        { fill, ink, gone, bridge, shares } = (node.painted ??= this.paint(node, this));
      c.globalAlpha = this.dims && !marks.found.has(index) ? 0.3 : 1;
      c.fillStyle = fill;
      if (!text && !gone) {
        c.fillRect(x, y, w, h);
        if (scale > 0.1) ((c.strokeStyle = this.colours.edge), (c.lineWidth = 1), c.strokeRect(x, y, w, h));
      } else {
        const round = state === 'io' ? h / 2 : state === 'group' ? 3 : 6;
        c.strokeStyle = gone ? this.colours.mark : this.colours.edge;
        c.lineWidth = Math.max(gone || bridge ? 1.6 : 1, 0.9 / scale);
        if ((state === 'fused' || state === 'group') && text) {
          // a card upon another
          (c.beginPath(), c.roundRect(x + 4, y + 4, w, h, round), c.fill(), c.stroke());
        }
        c.beginPath();
        c.roundRect(x, y, w, h, round);
        c.fill();
        c.setLineDash(gone ? [5, 4] : bridge ? [2, 3] : []);
        c.stroke();
        c.setLineDash([]);
        if (shares) this.drawShares(c, shares, x, y + h - 5, w);
      }
      this.outline(c, node, index, x, y, scale, marks);
      if (text) this.write(c, node, x, y, ink, scale);
      c.globalAlpha = 1;
    }
  }
  drawShares(c, shares, x, y, w) {
    let at = x + 1;
    for (const [colour, share] of shares) {
      const part = share * (w - 2);
      ((c.fillStyle = colour), c.fillRect(at, y, part, 4));
      at += part;
    }
  }
  /** From far away: one path for each colour, and of what falls on one point, one. */
  drawFar(c, scale, begin, end) {
    const { nodes, byRow } = this.display,
      { left, right } = this.window,
      paths = new Map(),
      marks = this.marks,
      across = this.across(),
      down = this.down(),
      high = Math.max(HEIGHT, 1 / down),
      wide = Math.max(WIDTH, 1 / across);
    const over = [
      [marks.signature, this.colours.good],
      [marks.found, this.colours.mark],
      [marks.changed, this.colours.good],
      [marks.hovered, this.colours.accent],
      [marks.linked, this.colours.mark],
      [marks.selected, this.colours.accent],
    ];
    let lastX = NaN,
      lastY = NaN;
    for (let i = begin; i < end; ++i) {
      const index = byRow[i],
        node = nodes[index];
      if (node.x < left || node.x > right) continue;
      const x = node.x - node.w / 2,
        y = node.row * this.pitch + node.dy - HEIGHT / 2;
      if (this.dims && !marks.found.has(index)) continue;
      if (Math.abs(x - lastX) * across < 1 && Math.abs(y - lastY) * down < 0.5) continue;
      ((lastX = x), (lastY = y));
      const { fill, far, gone } = (node.painted ??= this.paint(node, this)),
        colour = gone ? this.colours.mark : (far ?? fill);
      if (!paths.has(colour)) paths.set(colour, c.shape?.() ?? new Path2D());
      paths.get(colour).rect(x, y, wide, high);
    }
    c.globalAlpha = 0.9;
    for (const [colour, path] of paths) ((c.fillStyle = colour), c.fill(path));
    c.globalAlpha = 1;
    // What is marked is a bar that reaches out on both sides.
    for (const [set, colour] of over) {
      c.fillStyle = colour;
      for (const index of set ?? [])
        c.fillRect(
          nodes[index].x - WIDTH / 2 - 5 / across,
          nodes[index].row * this.pitch - Math.max(HEIGHT / 2, 1.5 / down),
          WIDTH + 10 / across,
          Math.max(HEIGHT, 3 / down),
        );
    }
  }
  /** Two lines where there is room for text that can be read, else one. */
  write(c, node, x, y, ink, scale) {
    const { w } = node,
      h = node.state === 'group' ? node.h - 3 : node.h,
      face = 'system-ui, "DejaVu Sans", sans-serif',
      big = Math.max(12, PIXELS / scale),
      small = Math.max(11, PIXELS / scale),
      room = w - 16,
      left = x + 8;
    const two = node.subtitle && big + small + (node.state === 'group' && !this.display.column ? 2 : 6) <= h,
      middle = y + (two ? h / 2 - small / 2 - 1 : h / 2),
      called = node.calls?.length ? `↳ ${node.calls.join(' ')}` : '',
      full = node.note || called || node.detail;
    c.fillStyle = ink;
    const put = (text, whole, at, size, wide = room) => {
      c.fillText(text, left, at, Math.max(wide, 1));
      this.written.push({ text, full: whole, size: size * scale, node });
    };
    c.font = `600 ${big}px ${face}`;
    const wide = width(c, node.title);
    c.font = `${big}px ${face}`;
    // Of a scope the name says more than the word for what it holds.
    const said = node.state === 'group' && !node.note && wide + width(c, full) + 10 > room ? String(node.members.length) : full,
      whole = said ? width(c, said) + 10 : 0;
    c.font = `600 ${big}px ${face}`;
    const note = whole && (node.note || called || width(c, node.title) + whole <= room * 1.1 || node.state === 'group') ? whole : 0,
      isNamed = node.state === 'group' && !node.kinds,
      // In one line the end of the name has room, too: it tells a node from others of its kind.
      tail = two || isNamed || !node.subtitle ? 0 : Math.min(width(c, node.subtitle), 64 / scale) + 8,
      kept = Math.max(room - note - tail, Math.min(room - note, 56 / scale)),
      title = isNamed ? shorten(c, node.title, kept, 'front') : titleIn(c, node.title, kept);
    const head = this.distinct(c, title, node.title, kept, node);
    put(head, node.title, middle, big, room - note);
    const end = Math.min(width(c, head), room - note) + 8;
    if (note) {
      c.font = `${big}px ${face}`;
      c.textAlign = 'right';
      c.fillText(said, x + w - 8, middle);
      c.textAlign = 'left';
    }
    // Where there is one line, the name stands behind the kind.
    c.font = `${small}px ${face}`;
    if (!two && node.subtitle && room - note - end >= Math.min(width(c, node.subtitle), 40 / scale)) {
      const beside = room - note - end,
        text = this.distinct(c, shorten(c, node.subtitle, beside, 'front'), node.subtitle, beside, node);
      c.fillText(text, left + end, middle, beside);
      this.written.push({ text, full: node.subtitle, size: small * scale, node });
    }
    if (two) {
      c.font = `${small}px ${face}`;
      const said = node.figures?.join(', ') ?? '',
        isTight = said && width(c, said) + Math.min(width(c, node.subtitle) + 12, 90 / scale) > room,
        figures = said && !isTight ? `${said} · ` : said,
        rest = room - width(c, figures),
        // Kinds that are counted are no name that is cut.
        text = isTight ? '' : isNamed ? titleIn(c, node.subtitle, rest) : shorten(c, node.subtitle, rest, 'front'),
        name = isNamed && !text.includes('…') ? text : node.subtitle;
      if (isTight) put(figures, figures, y + h / 2 + big / 2 + 1, small);
      else put(figures + this.distinct(c, text, name, rest, node), figures + name, y + h / 2 + big / 2 + 1, small);
    }
    const dots = this.constants(node);
    dots.forEach((tensor, i) => {
      const marked = this.marks.tensors?.has(tensor),
        px = this.dotX(node, i);
      c.beginPath();
      (c.moveTo(px, y - 8), c.lineTo(px + 5, y - 3), c.lineTo(px, y + 2), c.lineTo(px - 5, y - 3));
      c.closePath();
      c.fillStyle = marked ? this.colours.accent : this.colours.node;
      c.fill();
      c.strokeStyle = marked ? this.colours.accent : this.colours.edge;
      c.lineWidth = 1.2;
      c.stroke();
    });
    // The shape of the largest, in front of the line that comes in.
    if (!dots.length || scale < LABELS || !this.graph.data.shape) return;
    const most = dots.reduce((a, b) => (this.graph.data.bytes[b] > this.graph.data.bytes[a] ? b : a)),
      text = `${this.graph.shape(most)} ${shortType(this.graph.type(most))}`,
      size = Math.max(9.5, PIXELS / scale),
      above = this.pitch - node.h,
      begin = this.dotX(node, dots.length) - 4;
    c.font = `${size}px ${face}`;
    const words = [text, text.split(' ')[0]].find(one => begin + width(c, one) <= node.x - 5);
    if (!words || above < size + 4) return;
    ((c.fillStyle = this.colours.pane), c.fillRect(begin - 1, y - size - 2, width(c, words) + 2, size));
    c.fillStyle = this.colours.soft;
    c.fillText(words, begin, y - size / 2 - 2);
  }
  /** What is cut must not look like another that is seen. */
  distinct(c, text, full, room, node) {
    const before = this.labels.get(text);
    if (before === undefined) this.labels.set(text, full);
    if (text === full || before === undefined || before === full) return text;
    const number = ` #${node.item?.index ?? node.members?.[0]?.index ?? ''}`;
    return shorten(c, text, room - width(c, number), text.startsWith('…') ? 'front' : 'end') + number;
  }
  outline(c, node, index, x, y, scale, marks) {
    const ring = (colour, width, grow, dash) => {
      c.strokeStyle = colour;
      c.lineWidth = Math.max(width, (width * 0.6) / scale);
      c.setLineDash(dash);
      c.beginPath();
      c.roundRect(x - grow, y - grow, node.w + 2 * grow, node.h + 2 * grow, node.state === 'io' ? node.h / 2 + grow : 7);
      c.stroke();
      c.setLineDash([]);
    };
    if (marks.signature?.has(index)) ring(this.colours.good, 2, 5, []);
    if (marks.found.has(index) && !this.dims) ring(this.colours.mark, 1.5, 5, [3, 3]);
    if (marks.changed.has(index)) ring(this.colours.good, 3, 4, [7, 3]);
    if (marks.hovered.has(index)) ring(this.colours.accent, 2, 2, []);
    if (marks.linked.has(index)) ring(this.colours.mark, 3, 2, []);
    if (marks.selected.has(index)) ring(this.colours.accent, 3.5, 2, []);
    if (!marks.rises?.has(index)) return;
    c.fillStyle = this.colours.bad;
    c.beginPath();
    (c.moveTo(x - 15, y + node.h / 2 - 8), c.lineTo(x - 3, y + node.h / 2), c.lineTo(x - 15, y + node.h / 2 + 8));
    c.fill();
  }
  /** The whole at the right, in its colours: where in it this is, and where marked nodes are. */
  drawStrip(c, wide, height) {
    const rows = Math.max(this.extent?.rows ?? this.display.rows, 1),
      room = this.strip(),
      y = row => ((row + 0.5) / rows) * height,
      ratio = devicePixelRatio || 1;
    const { nodes } = this.display,
      span = Math.max((this.extent ?? this.display).right - (this.extent ?? this.display).left, 1),
      left = (this.extent ?? this.display).left;
    c.fillStyle = this.colours.back;
    c.fillRect(wide, 0, room, height);
    if (room > 20) {
      const key = [wide, height, ratio, rows, span, this.dims, this.colours.back].join(' ');
      if (this.whole?.display !== this.display || this.whole.key !== key || this.whole.stale) {
        const picture = this.whole?.picture ?? document.createElement('canvas'),
          p = picture.getContext('2d');
        ((picture.width = Math.round(room * ratio)), (picture.height = Math.round(height * ratio)));
        p.scale(ratio, ratio);
        const high = Math.min(Math.max((height / rows) * 0.7, 1), 10),
          inside = room - 8,
          broad = Math.min(Math.max((WIDTH / span) * inside, 2.5), inside * 0.6);
        for (const node of nodes) {
          const { fill, far, gone } = (node.painted ??= this.paint(node, this));
          p.fillStyle = gone ? this.colours.mark : (far ?? fill);
          p.globalAlpha = this.dims && !this.marks.found.has(node.index) ? 0.15 : 1;
          p.fillRect(
            4 +
              (span <= WIDTH ? (inside - broad) / 2 : Math.min(Math.max(((node.x - left) / span) * inside - broad / 2, 0), inside - broad)),
            y(node.row) - high / 2,
            broad,
            high,
          );
        }
        this.whole = { display: this.display, key, picture };
      }
      c.drawImage(this.whole.picture, wide, 0, room, height);
    }
    const top = Math.max(y(this.view.y / this.pitch - height / 2 / this.down() / this.pitch), 0),
      bottom = Math.min(y(this.view.y / this.pitch + height / 2 / this.down() / this.pitch), height);
    c.fillStyle = this.colours.edge;
    c.globalAlpha = 0.22;
    c.fillRect(wide, top, room, Math.max(bottom - top, 6));
    c.globalAlpha = 1;
    c.strokeStyle = this.colours.edge;
    c.lineWidth = 1;
    c.strokeRect(wide + 0.5, top + 0.5, room - 1, Math.max(bottom - top, 6) - 1);
    for (const [set, colour] of [
      [this.marks.changed, this.colours.good],
      [this.dims ? [] : this.marks.found, this.colours.mark],
      [this.marks.linked, this.colours.mark],
      [this.marks.selected, this.colours.accent],
    ]) {
      c.fillStyle = colour;
      for (const index of set) c.fillRect(wide, y(nodes[index].row) - 1.5, room, 3);
    }
  }
}

/** Neither an input nor an output, nor at somebody's side. */
const isWork = node => node.state !== 'io' && node.state !== 'beside';
const shortType = type => type.toLowerCase().replace('float', 'f').replace('uint', 'u').replace('int', 'i');
const widths = new Map();
function width(c, text) {
  const key = c.font + text;
  if (!widths.has(key)) {
    if (widths.size > 50000) widths.clear();
    widths.set(key, c.measureText(text).width);
  }
  return widths.get(key);
}
/** Cut at its front, in its middle or at its end. */
function shorten(c, text, room, where = 'middle') {
  if (text.length < 12 || width(c, text) <= room) return text;
  const end = { front: 1, middle: 0.5, end: 0 }[where],
    cut = count => `${text.slice(0, count - Math.floor(count * end))}…${text.slice(text.length - Math.floor(count * end))}`;
  let count = Math.min(Math.floor((room / width(c, text)) * text.length), text.length - 1);
  while (count > 4 && width(c, cut(count)) > room) --count;
  return cut(count);
}
/** Kinds that are fused: as many as there is room for, and how many more. */
function titleIn(c, text, room) {
  const parts = text.split(' + ');
  if (width(c, text) <= room * CONDENSED || parts.length < 2) return width(c, text) <= room * CONDENSED ? text : shorten(c, text, room);
  // An operator and its activation, both.
  if (parts.length === 2) {
    const [head, tail] = [shorten(c, parts[0], room * CONDENSED - width(c, ` + ${parts[1]}`)), parts[1]];
    if (head.length > 6 && width(c, `${head} + ${tail}`) <= room * CONDENSED) return `${head} + ${tail}`;
  }
  for (let kept = parts.length - 1; kept > 0; --kept) {
    const short = `${parts.slice(0, kept).join(' + ')} +${parts.length - kept}`;
    if (width(c, short) <= room || kept === 1) return shorten(c, short, room);
  }
  return text;
}
