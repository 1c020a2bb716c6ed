// Colours that people tell apart who see few of them, and that carry readable text in light and dark.
// Okabe and Ito.
export const classes = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#8c8c8c'];
// Cividis, from few to much.
const scale = [
  [0, 34, 78],
  [35, 62, 108],
  [87, 93, 109],
  [124, 123, 120],
  [165, 156, 116],
  [210, 193, 99],
  [254, 232, 56],
];

export const hex = rgb => '#' + rgb.map(c => Math.round(c).toString(16).padStart(2, '0')).join('');
export const rgbOf = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
export function mix(a, b, share) {
  return hex(rgbOf(a).map((c, i) => c + (rgbOf(b)[i] - c) * share));
}

/** A number from 0 to 1. */
export function heat(share) {
  const at = Math.min(Math.max(share, 0), 1) * (scale.length - 1),
    low = Math.min(Math.floor(at), scale.length - 2);
  return hex(scale[low].map((c, i) => c + (scale[low + 1][i] - c) * (at - low)));
}

function luminance(text) {
  const [r, g, b] = rgbOf(text)
    .map(c => c / 255)
    .map(c => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
export function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}
/** Black or white, whichever is easier to read on this. */
export const inkOn = back => (contrast(back, '#000000') >= contrast(back, '#ffffff') ? '#000000' : '#ffffff');

// How much of the page's back is mixed in, by class: so that text is read on it, and who sees few colours tells them apart.
const light = [0.66, 0.25, 0.25, 0.28, 0.8, 0.25, 0.61, 0.6],
  dark = [0.57, 0.55, 0.35, 0.16, 0.15, 0.75, 0.1, 0.75];
/** A class's colour as the back of text. */
export function tint(colour, isDark) {
  return mix(colour, isDark ? '#16181c' : '#ffffff', (isDark ? dark : light)[classes.indexOf(colour)]);
}

/** Operators of one sort have one colour: there are too many kinds for one each. */
export function familyOf(kind) {
  if (/CONV|FULLY_CONNECTED|MATMUL|MATRIX|LSTM|RNN|GRU|SVDF|EINSUM/.test(kind)) return 0;
  if (/POOL|REDUCE|^MEAN|^SUM|ARG_|SOFTMAX|CUMSUM|NORM|TOPK|SEGMENT/.test(kind)) return 1;
  if (/QUANTIZE|CAST/.test(kind)) return 3;
  if (
    /RESHAPE|TRANSPOSE|CONCAT|SPLIT|SLICE|PAD|PACK|GATHER|SCATTER|TILE|SQUEEZE|EXPAND|SPACE|DEPTH_TO|BATCH_TO/.test(kind) ||
    /REVERSE|SHAPE|FILL|BROADCAST|SELECT|WHERE|ONE_HOT|RESIZE|RANGE/.test(kind)
  )
    return 4;
  if (/RELU|TANH|LOGISTIC|GELU|SWISH|ELU|PRELU|HARD/.test(kind)) return 2;
  if (/WHILE|^IF$|CALL|VAR_HANDLE|VARIABLE|CUSTOM|STABLEHLO/.test(kind)) return 5;
  return 6;
}
export const families = [
  'matrix, convolution',
  'reduction, pooling',
  'activation',
  'precision',
  'movement, shape',
  'control, custom',
  'arithmetic',
];
