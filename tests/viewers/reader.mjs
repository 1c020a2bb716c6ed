// Netron's own reader of .tflite, of the package that netron.sh tells of.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

// 64 bit numbers come from a library that is not there.
class Long {
  constructor(low, high) {
    Object.assign(this, { low, high });
  }
  toString() {
    return String((BigInt(this.high | 0) << 32n) | BigInt(this.low >>> 0));
  }
}

// Nor is this in Node.js.
const getFloat16 = `DataView.prototype.getFloat16 ??= function (at) {
  const bits = this.getUint16(at, true), sign = bits >> 15 ? -1 : 1, power = bits >> 10 & 31, rest = bits & 1023;
  return sign * (power === 31 ? (rest ? NaN : Infinity) : power ? 2 ** (power - 15) * (1 + rest / 1024) : rest * 2 ** -24);
}`;

/** A function from a file to what Netron makes of it; the package lies in SCRATCH/package. */
export function netron(scratch) {
  // Scripts of one page: what one of them declares, the next one sees.
  const page = vm.createContext({ TextDecoder, Uint8Array, long: { Long }, base: {} });
  vm.runInContext(getFloat16, page);
  const script = (name) => fs.readFileSync(path.join(scratch, 'package/dist', name), 'utf8');
  for (const name of ['flatbuffers.js', 'tflite-schema.js', 'tflite.js']) vm.runInContext(script(name), page, name);
  const reader = vm.runInContext('new tflite.ModelFactory()', page);
  return (file) =>
    reader.open({ identifier: path.basename(file), buffer: new Uint8Array(fs.readFileSync(file)) },
      { require: async () => {}, request: async (_, name) => script(name) });
}
