// Tables of any length: sorted, filtered, and only the rows that are seen are in the document.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/** Gives the reader a file. */
export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const ROW = 22;

const LETTER = 6; // pixels that one takes at least

/** The end of a name is what tells it from others; of what stands beside each other in a path, as much as there is room for. */
export function endOf(text, characters) {
  return text.length <= characters ? text : `…${text.slice(text.length - Math.max(characters - 1, 3))}`;
}

/**
 * columns: {title, width, of(row) → text or number, numeric, end: it is cut at its front}; rows: anything; itemOf(row) → item or null
 * events: select(item); marked(item) → 'selected' | 'linked' | ''; among() → items that the search finds, or null
 * how: {sort: column, key: what makes of the first column's figures what they are sorted by, note: what the table is of}
 */
export class Table {
  constructor(columns, rows, itemOf, events, name, how = {}) {
    Object.assign(this, { columns, rows, itemOf, events });
    this.sortKey = how.key; // of what it is sorted by at first
    this.shown = rows.slice();
    this.at = -1;
    this.sorted = { column: how.sort ?? -1, down: true };
    this.filter = h('input', { type: 'search', placeholder: 'filter', 'aria-label': `Filter ${name}`, oninput: () => this.apply() });
    this.count = h('output', { class: 'soft' });
    const template = columns.map(column => column.width).join(' '),
      wide = columns.reduce((sum, column) => sum + parseInt(/\d+/.exec(column.width)[0]), 0);
    const heads = columns.map((column, i) =>
      h(
        'div',
        {
          role: 'columnheader',
          class: column.numeric ? 'number' : '',
          'aria-sort': i !== this.sorted.column ? 'none' : 'descending',
          title: column.says,
        },
        h('button', { onclick: () => this.sort(i) }, column.title),
      ),
    );
    this.head = h('div', { role: 'row', class: 'top' }, heads);
    this.head.style.gridTemplateColumns = this.template = template;
    this.body = h('div', { class: 'body', role: 'rowgroup' });
    this.body.style.minWidth = this.head.style.minWidth = `${wide}px`;
    this.scroller = h(
      'div',
      {
        class: 'rows',
        role: 'grid',
        tabindex: 0,
        'aria-label': name,
        'aria-rowcount': rows.length,
        onscroll: () => this.draw(),
        onkeydown: event => this.key(event),
      },
      h('div', { role: 'rowgroup', class: 'top' }, this.head),
      this.body,
    );
    this.element = [
      h(
        'div',
        { class: 'filter' },
        this.filter,
        this.count,
        h('button', { title: 'Save these rows as CSV', onclick: () => this.save(name) }, 'CSV'),
      ),
      how.note ? h('div', { class: 'note soft' }, how.note) : null,
      this.scroller,
    ].filter(Boolean);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.apply();
  }
  /** The rows that are shown, all columns, whole. A text that a spreadsheet would take for a formula is a text. */
  csv() {
    const cell = value => {
      if (value === null || value === undefined) return '';
      if (typeof value === 'number') return String(value);
      const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
      return /[",\n\r']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const line = values => `${values.map(cell).join(',')}\n`;
    return (
      line(this.columns.map(column => column.title)) + this.shown.map(row => line(this.columns.map(column => column.of(row)))).join('')
    );
  }
  save(name) {
    download(new Blob([this.csv()], { type: 'text/csv' }), `${name.split(/[;,]/)[0].replaceAll(/[^\w.]+/g, '-')}.csv`);
  }
  setFilter(text) {
    this.filter.value = text;
    this.apply();
  }
  sort(column) {
    this.sorted = { column, down: this.sorted.column === column ? !this.sorted.down : !!this.columns[column].numeric };
    [...this.head.children].forEach((cell, i) =>
      cell.setAttribute('aria-sort', i !== column ? 'none' : this.sorted.down ? 'descending' : 'ascending'),
    );
    this.apply();
  }
  apply() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = words.length
      ? this.rows.filter(row => {
          const text = this.columns
            .map(column => column.of(row) ?? '')
            .join('\n')
            .toLowerCase();
          return words.every(word => text.includes(word));
        })
      : this.rows.slice();
    const among = this.events.among?.();
    if (among)
      this.shown = this.shown.filter(row => {
        const item = this.itemOf(row);
        return item && among.has(item);
      });
    const { column, down } = this.sorted;
    if (column >= 0) {
      const plain = this.columns[column].of,
        of = this.sortKey && column === 0 ? row => this.sortKey(plain(row)) : plain,
        sign = down ? -1 : 1,
        keyed = this.shown.map((row, i) => [of(row), i, row]);
      const nothing = value => value === null || value === undefined || value === '';
      keyed.sort(
        ([a, i], [b, j]) =>
          nothing(a) - nothing(b) ||
          (typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0) * sign ||
          i - j,
      );
      this.shown = keyed.map(entry => entry[2]);
    }
    this.count.textContent = this.shown.length === this.rows.length ? `${this.rows.length}` : `${this.shown.length} of ${this.rows.length}`;
    this.at = -1;
    this.body.style.height = `${this.shown.length * ROW}px`;
    this.draw();
  }
  draw() {
    if (!this.shown.length)
      return this.body.replaceChildren(
        h('div', { class: 'none' }, this.rows.length ? 'No row has all of these words.' : 'There is nothing to show.'),
      );
    const top = this.scroller.scrollTop,
      high = this.scroller.clientHeight || 400;
    this.pen ??= document.createElement('canvas').getContext('2d');
    this.pen.font = getComputedStyle(this.body).font;
    this.rooms = [...this.head.children].map(cell => cell.clientWidth - 12);
    const first = Math.max(Math.floor(top / ROW) - 4, 0),
      end = Math.min(Math.ceil((top + high) / ROW) + 4, this.shown.length);
    this.cuts = this.columns.map((column, at) =>
      column.end && this.rooms[at] > 30
        ? this.cutsOf(
            this.shown.slice(first, end).map(row => String(column.of(row) ?? '')),
            this.rooms[at],
          )
        : null,
    );
    this.body.replaceChildren(...Array.from({ length: Math.max(end - first, 0) }, (_, i) => this.row(first + i)));
  }
  row(i) {
    const row = this.shown[i],
      item = this.itemOf(row),
      mark = item ? this.events.marked(item) : '';
    const element = h(
      'div',
      {
        role: 'row',
        'aria-rowindex': i + 2,
        'aria-selected': mark === 'selected' || i === this.at,
        class: mark === 'linked' ? 'linked' : '',
        onclick: () => {
          this.at = i;
          this.choose();
        },
      },
      this.columns.map((column, at) => {
        const value = column.of(row),
          text =
            value === null || value === undefined
              ? ''
              : typeof value === 'number' && column.numeric
                ? (column.text ?? figure)(value)
                : String(value);
        return h(
          'div',
          { role: 'gridcell', class: column.numeric ? 'number' : '', title: text.length > 12 ? text : null },
          this.cuts?.[at]?.get(text) ?? text,
        );
      }),
    );
    element.style.gridTemplateColumns = this.template;
    element.style.top = `${i * ROW}px`;
    return element;
  }
  /**
   * By text that stands in a column what of it there is room for: of names that an exporter joined the first, of a name the end. What
   * ends as others do is cut there as well, so that what differs is seen.
   */
  cutsOf(texts, room) {
    const cuts = new Map(),
      alike = new Map();
    for (const text of texts) {
      const name = this.pen.measureText(text).width > room ? text.split(';')[0] : text,
        cut = this.endIn(name, room);
      cuts.set(text, cut);
      if (cut === name) continue;
      if (!alike.has(cut)) alike.set(cut, new Map());
      alike.get(cut).set(text, name);
    }
    for (const names of alike.values()) {
      if (names.size < 2) continue;
      const paths = [...names.values()].map(name => name.split('/')),
        least = Math.min(...paths.map(path => path.length)) - 1;
      let common = 0;
      while (common < least && paths.every(path => path.at(-1 - common) === paths[0].at(-1 - common))) ++common;
      if (!common) continue;
      const rest = room - this.pen.measureText('/…').width;
      for (const [text, name] of names) cuts.set(text, `${this.endIn(name.split('/').slice(0, -common).join('/'), rest)}/…`);
    }
    return cuts;
  }
  endIn(text, room) {
    let count = Math.floor(room / LETTER),
      cut = endOf(text, count);
    while (count > 4 && this.pen.measureText(cut).width > room) cut = endOf(text, --count);
    return cut;
  }
  choose() {
    const row = this.shown[this.at];
    if (row === undefined) return;
    const item = this.itemOf(row);
    if (item) this.events.select(item);
    else this.events.choose?.(row);
    this.draw();
  }
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (step) this.at = Math.min(Math.max(this.at + step, 0), this.shown.length - 1);
    else if (event.key === 'Home') this.at = 0;
    else if (event.key === 'End') this.at = this.shown.length - 1;
    else if (event.key === 'Enter' || event.key === ' ') this.choose();
    else return;
    event.preventDefault();
    event.stopPropagation();
    const y = this.at * ROW,
      { scrollTop, clientHeight } = this.scroller;
    if (y < scrollTop) this.scroller.scrollTop = y;
    else if (y + 2 * ROW > scrollTop + clientHeight) this.scroller.scrollTop = y + 2 * ROW - clientHeight;
    this.draw();
  }
}

/** A number for people; whole ones in full. */
export function figure(value) {
  if (value === null || value === undefined) return '';
  return Number.isInteger(value) ? value.toLocaleString('en-US') : Number(value.toPrecision(4)).toString();
}
