// What a file says beside its graphs: properties, metadata, what is packed with it.
import { clean } from './data.js';
import { bytes, count } from './people.js';
import { h } from './table.js';

const MANY = 200; // of a list, and characters of a text: a file may say that it has any number

const bytesOf = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0));
/** '' where it is no text. */
function textOf(data) {
  const text = new TextDecoder().decode(data.subarray(0, 4 * MANY), { stream: true }).replace(/\0+$/, '');
  return /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(text) ? '' : clean(text.slice(0, MANY)) + (text.length > MANY ? '…' : '');
}

/** A table of a flatbuffer. What lies outside of the bytes is a RangeError. */
class Flat {
  constructor(view, at) {
    Object.assign(this, { view, at });
  }
  static root(data) {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    return new Flat(view, view.getUint32(0, true));
  }
  /** Where what a field refers to is; 0: it is absent. */
  to(field) {
    const vtable = this.at - this.view.getInt32(this.at, true),
      slot = 4 + 2 * field;
    if (slot >= this.view.getUint16(vtable, true)) return 0;
    const offset = this.view.getUint16(vtable + slot, true);
    return offset ? this.at + offset + this.view.getUint32(this.at + offset, true) : 0;
  }
  byte(field) {
    const vtable = this.at - this.view.getInt32(this.at, true),
      slot = 4 + 2 * field,
      offset = slot < this.view.getUint16(vtable, true) ? this.view.getUint16(vtable + slot, true) : 0;
    return offset ? this.view.getUint8(this.at + offset) : 0;
  }
  table(field) {
    const at = this.to(field);
    return at ? new Flat(this.view, at) : null;
  }
  text(field) {
    const at = this.to(field);
    if (!at) return '';
    const size = Math.min(this.view.getUint32(at, true), this.view.byteLength - at - 4);
    return textOf(new Uint8Array(this.view.buffer, this.view.byteOffset + at + 4, size));
  }
  tables(field) {
    const at = this.to(field);
    return at
      ? Array.from(
          { length: Math.min(this.view.getUint32(at, true), MANY) },
          (_, i) => new Flat(this.view, at + 4 + 4 * i + this.view.getUint32(at + 4 + 4 * i, true)),
        )
      : [];
  }
}

/** What TFLite Support says that a tensor holds. */
function holdsOf(tensor) {
  const content = tensor.table(3),
    word = ['', 'Feature', 'Image', 'BoundingBox', 'Audio'][content?.byte(0) ?? 0] ?? '';
  return word === 'Image' ? `Image${['', '(RGB)', '(Grayscale)'][content.table(1)?.byte(0) ?? 0] ?? ''}` : word;
}
/** The metadata that TFLite Support writes, as pairs. */
function supportOf(data) {
  try {
    const root = Flat.root(data),
      rows = ['name', 'description', 'version', '', 'author', 'license', '', 'min_parser_version'].flatMap((name, i) =>
        name ? [[name, root.text(i)]] : [],
      );
    for (const graph of root.tables(3).slice(0, 8))
      for (const [field, word] of [
        [2, 'input'],
        [3, 'output'],
      ])
        graph.tables(field).forEach((tensor, i) =>
          rows.push([
            `${word} ${i}`,
            tensor.text(0) +
              (holdsOf(tensor) && `, ${holdsOf(tensor)}`) +
              (tensor.text(1) && `: ${tensor.text(1)}`) +
              tensor
                .tables(6)
                .slice(0, 8)
                .map(file => ` (with ${file.text(0)})`)
                .join(''),
          ]),
        );
    for (const file of root.tables(6)) rows.push(['file', [file.text(0), file.text(1)].filter(Boolean).join(': ')]);
    return rows;
  } catch (error) {
    if (error instanceof RangeError) return [['it', 'cannot be read']];
    throw error;
  }
}

/** Names and sizes in the list at the end of a zip archive. */
function packedOf(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength),
    files = [];
  for (let at = 0; at + 46 <= data.length && files.length < MANY; ++at)
    if (view.getUint32(at, true) === 0x02014b50) {
      const size = view.getUint16(at + 28, true);
      files.push([textOf(data.subarray(at + 46, at + 46 + size)), view.getUint32(at + 24, true)]);
      at += 45 + size;
    }
  return files;
}

export class About {
  constructor(model, details) {
    Object.assign(this, { model, details });
  }
  contents() {
    return [this.model.result, this.model.source].filter(side => side && this.model.data[side.name].about).flatMap(side => this.of(side));
  }
  of(side) {
    const { strings } = this.model,
      { about, signatures } = this.model.data[side.name],
      text = id => clean(strings[id]),
      graph = side.graphs[0],
      end = (title, list) => {
        const items = list.filter(tensor => tensor >= 0).map(index => ({ side: side.name, type: 'tensor', graph: 0, index }));
        return this.details.list(title, items, item =>
          [graph.type(item.index), graph.shape(item.index), graph.quantization(item.index)].filter(Boolean).join(' '),
        );
      };
    const kinds = new Map();
    for (const one of side.graphs) for (let op = 0; op < one.ops; ++op) kinds.set(one.kind(op), (kinds.get(one.kind(op)) ?? 0) + 1);
    const versions = new Map(about.opcodes.map(([name, version]) => [strings[name], version])),
      support = about.metadata.find(row => strings[row[0]] === 'TFLITE_METADATA' && row[2]);
    const packed = about.archive ? packedOf(bytesOf(about.listing)) : [];
    return [
      h('h2', {}, clean(side.file)),
      this.details.pairs([
        ['format', `${side.format}, version ${about.version}`],
        ['description', text(about.description)],
        [
          'subgraphs',
          `${side.graphs.length}: ${side.graphs
            .slice(0, MANY)
            .map((one, i) => clean(one.name()) || i)
            .join(', ')}`,
        ],
        ['operators', side.graphs.reduce((sum, one) => sum + one.ops, 0)],
        ['tensors', side.graphs.reduce((sum, one) => sum + one.tensors, 0)],
        ['buffers', about.buffers],
        ['signatures', (signatures ?? []).map(row => text(row[0]) || 'without a key').join(', ')],
      ]),
      ...end('Inputs', graph?.inputs ?? []),
      ...end('Outputs', graph?.outputs ?? []),
      h('h3', {}, 'Operators by kind'),
      this.details.pairs(
        [...kinds]
          .sort((a, b) => b[1] - a[1])
          .map(([kind, number]) => {
            const version = versions.get(kind) ?? versions.get(kind.replace(/^[^:]*:/, ''));
            return [clean(kind), `${number}${version === undefined ? '' : `, version ${version}`}`];
          }),
      ),
      about.metadata.length ? h('h3', {}, 'Metadata') : null,
      this.details.pairs(
        about.metadata
          .slice(0, MANY)
          .map(([name, size, data]) => [text(name), `${bytes(size)}${data && textOf(bytesOf(data)) ? `: ${textOf(bytesOf(data))}` : ''}`]),
      ),
      support ? [h('h3', {}, 'For users of the model (TFLite Support)'), this.details.pairs(supportOf(bytesOf(support[2])))] : null,
      packed.length
        ? [
            h('h3', {}, `Packed with it: ${count(packed.length, 'file')} in ${bytes(about.archive)}`),
            this.details.pairs(packed.map(([name, size]) => [name, bytes(size)])),
          ]
        : null,
    ];
  }
}
