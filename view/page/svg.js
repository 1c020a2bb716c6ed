// A picture as SVG: what a pane calls of a canvas's context, written down.

const escape = text =>
    text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '␣').replace(/[<>&"']/g, c => `&#${c.codePointAt(0)};`),
  round = value => Number(value.toFixed(2));

export class Vector {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: '', at: [1, 0, 0, 1, 0, 0], left: 0, states: [], dash: [] });
    Object.assign(this, {
      fillStyle: '#000000',
      strokeStyle: '#000000',
      lineWidth: 1,
      globalAlpha: 1,
      font: '10px sans-serif',
      textAlign: 'left',
      textBaseline: 'alphabetic',
    });
    this.ruler = document.createElement('canvas').getContext('2d');
  }
  /** What is drawn from here on stands so far at the right, and in a box of its own. */
  begin(left, width) {
    this.left = left;
    const id = `box${this.parts.length}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${left}" y="0" width="${width}" height="${this.height}"/></clipPath><g clip-path="url(#${id})">`,
    );
  }
  end() {
    this.parts.push('</g>');
  }
  setTransform(a, b, c, d, e, f) {
    this.at = [a, b, c, d, e, f];
  }
  translate(x, y) {
    const [a, , , d, e, f] = this.at;
    this.at = [a, 0, 0, d, e + a * x, f + d * y];
  }
  scale(x, y) {
    const [a, , , d, e, f] = this.at;
    this.at = [a * x, 0, 0, d * y, e, f];
  }
  save() {
    this.states.push(this.at);
  }
  restore() {
    this.at = this.states.pop();
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  x(x) {
    return round(this.left + x * this.at[0] + this.at[4]);
  }
  y(y) {
    return round(y * this.at[3] + this.at[5]);
  }
  beginPath() {
    this.path = '';
  }
  closePath() {
    this.path += 'Z';
  }
  moveTo(x, y) {
    this.path += `M${this.x(x)} ${this.y(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${this.x(x)} ${this.y(y)}`;
  }
  bezierCurveTo(...points) {
    this.path += `C${points.map((value, i) => (i % 2 ? this.y(value) : this.x(value))).join(' ')}`;
  }
  box(x, y, w, h) {
    return `M${this.x(x)} ${this.y(y)}H${this.x(x + w)}V${this.y(y + h)}H${this.x(x)}Z`;
  }
  roundRect(x, y, w, h, radius) {
    const r = Math.min(radius, w / 2, h / 2),
      arc = (px, py) => `A${round(r * this.at[0])} ${round(r * this.at[3])} 0 0 1 ${this.x(px)} ${this.y(py)}`;
    this.path +=
      `M${this.x(x + r)} ${this.y(y)}H${this.x(x + w - r)}${arc(x + w, y + r)}V${this.y(y + h - r)}${arc(x + w - r, y + h)}` +
      `H${this.x(x + r)}${arc(x, y + h - r)}V${this.y(y + r)}${arc(x + r, y)}Z`;
  }
  /** As a Path2D, of rectangles. */
  shape() {
    let path = '';
    return { rect: (x, y, w, h) => (path += this.box(x, y, w, h)), text: () => path };
  }
  put(path, style) {
    if (path) this.parts.push(`<path d="${path}" ${style}${this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ''}/>`);
  }
  filled() {
    return `fill="${this.fillStyle}"`;
  }
  stroked() {
    const size = this.at[0];
    const dash = this.dash.map(one => round(one * size)).join(' ');
    return `fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth * size)}"${dash && ` stroke-dasharray="${dash}"`}`;
  }
  fill(shape) {
    this.put(shape ? shape.text() : this.path, this.filled());
  }
  stroke() {
    this.put(this.path, this.stroked());
  }
  fillRect(...box) {
    this.put(this.box(...box), this.filled());
  }
  strokeRect(...box) {
    this.put(this.box(...box), this.stroked());
  }
  text(text, x, y, most, style) {
    const [, bold, size, face] = /^(\d+ )?([\d.]+)px (.*)$/.exec(this.font),
      middle = this.textBaseline === 'middle' ? Number(size) * 0.35 : 0,
      wide = this.measureText(text).width;
    this.parts.push(
      `<text x="${this.x(x)}" y="${this.y(y + middle)}" font-size="${round(size * this.at[3])}" font-family="${escape(face)}"` +
        `${bold ? ` font-weight="${bold.trim()}"` : ''}` +
        `${this.textAlign === 'right' ? ' text-anchor="end"' : ''}` +
        `${most < wide ? ` textLength="${round(most * this.at[0])}" lengthAdjust="spacingAndGlyphs"` : ''} ${style}>${escape(text)}</text>`,
    );
  }
  fillText(text, x, y, most = Infinity) {
    this.text(text, x, y, most, this.filled());
  }
  strokeText(text, x, y) {
    this.text(text, x, y, Infinity, this.stroked());
  }
  toString() {
    const { width, height } = this;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${this.parts.join('\n')}</svg>\n`;
  }
}
