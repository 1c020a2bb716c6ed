// Figures and words as people read them.

const steps = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** Three digits and a letter: 56.3 M. */
export function short(value) {
  if (!Number.isFinite(value)) return '';
  for (const [size, letter] of steps) if (Math.abs(value) >= 0.9995 * size) return `${Number((value / size).toPrecision(3))} ${letter}`;
  return String(Number(value.toPrecision(3)));
}
export const bytes = value => {
  const text = short(value);
  return /[A-Z]$/i.test(text) ? `${text}B` : `${text} B`;
};
/** "1 rewrite", "8 operators". */
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;
/** What became of a figure: "1 % smaller"; the words are those of the thing. */
export function change(before, after, [less, more, same] = ['smaller', 'larger', 'as large as before']) {
  if (before === after) return same;
  if (!before) return more;
  if (Math.abs(after - before) * 1000 < before) return `about ${same}`;
  const share = (Math.abs(after - before) / before) * 100,
    text = share < 10 ? Number(share.toFixed(1)) : Math.round(share);
  return after > before && share >= 200
    ? `${Number((after / before).toPrecision(2))} times as ${more === 'larger' ? 'large' : 'much'}`
    : `${text} % ${after < before ? less : more}`;
}
/** "−1 %", for a narrow place; '' where it is next to nothing. */
export function percent(before, after) {
  const share = before ? ((after - before) / before) * 100 : 0,
    size = Math.abs(share);
  return size < 0.1 ? '' : `${share < 0 ? '−' : '+'}${size < 10 ? Number(size.toFixed(1)) : Math.round(size)} %`;
}
/** Milliseconds from nanoseconds. */
export const time = ns =>
  ns >= 1e9
    ? `${Number((ns / 1e9).toPrecision(3))} s`
    : ns >= 1e6 || ns === 0
      ? `${Number((ns / 1e6).toPrecision(3))} ms`
      : ns >= 1e3
        ? `${Number((ns / 1e3).toPrecision(3))} µs`
        : `${Math.round(ns)} ns`;
