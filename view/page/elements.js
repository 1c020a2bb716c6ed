// Elements of a constant, from its bytes.

/** Of several in a byte the first has the lowest bits. */
const packed = (bits, signed) => data =>
  Array.from({ length: (data.byteLength * 8) / bits }, (_, i) => {
    const value = (data.getUint8(Math.floor((i * bits) / 8)) >> ((i * bits) % 8)) & ((1 << bits) - 1);
    return signed && value >> (bits - 1) ? value - (1 << bits) : value;
  });
const each = (size, read) => data => Array.from({ length: Math.floor(data.byteLength / size) }, (_, i) => read(data, i * size));
const half = bits => {
  const sign = bits & 0x8000 ? -1 : 1,
    power = (bits >> 10) & 31,
    rest = bits & 1023;
  if (power === 31) return rest ? NaN : sign * Infinity;
  return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : 2 ** -14 * (rest / 1024));
};

/** As many texts as there are, each between two places in the bytes. */
function texts(data) {
  const count = data.getInt32(0, true),
    bytes = new Uint8Array(data.buffer);
  return Array.from({ length: Math.min(count, data.byteLength / 4 - 2) }, (_, i) => {
    const [from, to] = [4 + 4 * i, 8 + 4 * i].map(at => data.getInt32(at, true));
    return `"${new TextDecoder().decode(bytes.subarray(from, to))}"`;
  });
}

const readers = {
  FLOAT32: each(4, (data, at) => data.getFloat32(at, true)),
  FLOAT64: each(8, (data, at) => data.getFloat64(at, true)),
  FLOAT16: each(2, (data, at) => half(data.getUint16(at, true))),
  BFLOAT16: each(2, (data, at) => new Float32Array(new Uint32Array([data.getUint16(at, true) << 16]).buffer)[0]),
  INT8: each(1, (data, at) => data.getInt8(at)),
  UINT8: each(1, (data, at) => data.getUint8(at)),
  BOOL: each(1, (data, at) => data.getUint8(at) !== 0),
  INT16: each(2, (data, at) => data.getInt16(at, true)),
  UINT16: each(2, (data, at) => data.getUint16(at, true)),
  INT32: each(4, (data, at) => data.getInt32(at, true)),
  UINT32: each(4, (data, at) => data.getUint32(at, true)),
  INT64: each(8, (data, at) => data.getBigInt64(at, true)),
  UINT64: each(8, (data, at) => data.getBigUint64(at, true)),
  INT4: packed(4, true),
  UINT4: packed(4, false),
  INT2: packed(2, true),
  STRING: texts,
};

/** Numbers or texts; null for a type that is read here by nobody, or bytes that are none of it. */
export function elementsOf(type, base64) {
  try {
    return readers[type]?.(new DataView(Uint8Array.from(atob(base64), c => c.charCodeAt(0)).buffer)) ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** With as many digits as tell it from all other floats of 32 bits. */
export function digits(value) {
  if (typeof value !== 'number' || !Number.isFinite(value) || Number.isInteger(value)) return String(value);
  for (let places = 1; places < 9; ++places) {
    const short = Number(value.toPrecision(places));
    if (Math.fround(short) === Math.fround(value)) return String(short);
  }
  return String(value);
}
