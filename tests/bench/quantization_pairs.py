#!/usr/bin/env python3
"""How far our quantised files equal those that other people's converters made of the same float networks, number by number:
writes the table of docs/quantization.md.

usage: quantization_pairs.py BIN [PAGE]             without PAGE the table is printed
       quantization_pairs.py BIN --check models     only what has to hold, as a test
       quantization_pairs.py BIN --check networks   of generated networks: all integers are the nearest, whoever else quantises
ORIGO_MODELS says where the models are. Numbers of activations hang on the records that ranges are taken from, which are known of
the two mnist alone.
"""

import os
import struct
import subprocess
import sys
import tempfile
from array import array

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from one_networks import Table  # noqa: E402
from page_tables import generated_floats, public_folder, write_tables  # noqa: E402

DIGITS = "pairs/mnist_calibration"
# Float network, what a converter made of it, options, and records to take ranges from.
FULL, ALONE = ["--scheme", "int8", "--input_type", "int8", "--output_type", "int8"], ["--scheme", "dynamic"]
PAIRS = [("pairs/mnist_valid_f32", "pairs/mnist_valid_i8", FULL, DIGITS),
         ("pairs/mnist_dw_f32", "pairs/mnist_dw_i8", FULL, DIGITS),
         ("models/cifar10_f32", "pairs/cifar10_i8", FULL, "random"),
         ("models/resnet8_cifar_f32", "models/resnet8_cifar_i8", FULL, "random"),
         ("pairs/ad01_f32", "pairs/ad01_i8", FULL, "random"),
         ("models/vww_96_f32", "pairs/vww_96_i8", FULL, "random"),
         ("models/yunet_f32", "models/yunet_i8", FULL, "random"),
         ("models/yunet_f32", "pairs/yunet_i8floatio", FULL[:2], "random"),
         ("models/mnist_lstm_f32", "models/mnist_lstm_i8", FULL, "random"),
         ("pairs/toycar_f32", "pairs/toycar_hybrid", ALONE, ""),
         ("models/dtln_1_f32", "models/dtln_1_hybrid", ALONE, ""),
         ("models/yunet_f32", "models/yunet_hybrid", ALONE, "")]
BRIDGES = (6, 114)  # DEQUANTIZE, QUANTIZE
TYPES = {0: "f", 2: "i", 4: "q", 7: "h", 9: "b"}


class Tensor:
    def __init__(self, table, buffers):
        self.name, self.shape = table.text(3), table.vector(0, "i")
        kind, data = TYPES.get(table.number(1, "b")), buffers[table.number(2, "I")].vector(0, "B")
        self.numbers = array(kind, bytes(data)) if kind and data else None
        self.kind = kind
        q = table.table(4)
        self.scale = q.vector(2, "f") if q else []
        self.zero = q.vector(3, "q") if q else []
        self.axis = q.number(6, "i") if q else 0

    def scale_of(self, at):
        if len(self.scale) == 1:
            return self.scale[0]
        inner = 1
        for size in self.shape[self.axis + 1:]:
            inner *= size
        return self.scale[at // inner % len(self.scale)]


def operators(path):
    """Of each operator but bridges: code, operands and results."""
    with open(path, "rb") as file:
        data = file.read()
    model = Table(data, struct.unpack_from("<I", data, 0)[0])
    codes = [max(code.number(0, "b"), code.number(3, "i")) for code in model.tables(1)]
    graph, buffers = model.tables(2)[0], model.tables(4)
    tensors = [Tensor(table, buffers) for table in graph.tables(0)]
    return [(codes[op.number(0, "I")], *([tensors[i] if i >= 0 else None for i in op.vector(field, "i")] for field in (1, 2)))
            for op in graph.tables(3) if codes[op.number(0, "I")] not in BRIDGES]


def paired(of, by):
    """Operators of two files that are one: by the names of constants, or of results, where an order is another one."""
    if [op[0] for op in of] == [op[0] for op in by]:
        return list(zip(of, by))

    def names(op):
        return [(op[0], tensor.name) for tensor in op[2] + op[1] if tensor and (tensor in op[2] or tensor.numbers)]

    named = {name: op for op in reversed(by) for name in names(op)}
    found = ((op, next((named[name] for name in names(op) if name in named), None)) for op in of)
    return [(op, other) for op, other in found if other]


def near(a, b, by=1e-6):
    return abs(a - b) <= by * abs(b)


class Figures:
    def __init__(self, source, theirs, ours):
        self.weights = self.nearest = self.equal = self.ties = 0
        self.scales = self.equal_scales = self.guarded = self.biases = self.equal_biases = self.ranges = self.equal_ranges = 0
        self.seen = set()
        floats, published = operators(source), operators(theirs)
        mine = {id(a): b for a, b in paired(floats, operators(ours))}
        for real, their in paired(floats, published):
            our = mine.get(id(real))
            if our:
                bias = real[1][2] if len(real[1]) == 3 else None
                for x, a, b in zip(real[1], our[1], their[1]):
                    self.operand(x, a, b, bias, their[1][0])
                for a, b in zip(our[2], their[2]):
                    self.activation(a, b)
        self.missed = sum(tensor.kind == "b" and bool(tensor.numbers and tensor.scale) and id(tensor) not in self.seen
                          for op in published for tensor in op[1] if tensor)

    def operand(self, x, a, b, bias, data):
        if not x or not a or not b or id(b) in self.seen:
            return
        self.seen.add(id(b))
        if not b.numbers or not b.scale or x.kind != "f" or not x.numbers:
            self.activation(a, b)
        elif b.kind == "b":
            self.filter(x, a, b, bias, data)
        else:
            self.biases += len(b.numbers)
            self.equal_biases += sum(p == q for p, q in zip(a.numbers, b.numbers, strict=True))

    def filter(self, x, a, b, bias, data):
        self.scales += len(b.scale)
        for channel, (have, want) in enumerate(zip(a.scale, b.scale, strict=True)):
            if near(have, want):
                self.equal_scales += 1
            elif bias and bias.numbers and data.scale:
                self.guarded += near(want, 2 * abs(bias.numbers[channel]) / ((2 ** 31 - 1) * data.scale[0]), 1e-5)
        for i, (want, have) in enumerate(zip(b.numbers, a.numbers, strict=True)):
            away = abs(x.numbers[i] / b.scale_of(i) + (b.zero[0] if len(b.zero) == 1 else 0) - want)
            self.weights += 1
            self.nearest += away <= 0.5001
            self.equal += a.kind == b.kind and want == have
            self.ties += want != have and abs(away - 0.5) < 1e-4

    def activation(self, a, b):
        if a and b and a.scale and b.scale and not b.numbers:
            self.ranges += 1
            self.equal_ranges += a.kind == b.kind and near(a.scale[0], b.scale[0]) and a.zero == b.zero


def figures(tools, shared):
    for source, theirs, options, data in PAIRS:
        network, other = (os.path.join(shared, name + ".tflite") for name in (source, theirs))
        with tempfile.TemporaryDirectory() as work:
            records = os.path.join(shared, data) if data == DIGITS else data
            ours = os.path.join(work, "ours.tflite")
            subprocess.run([f"{tools}/circle-quantizer", *options, *(["--input_data", records] if data else []), network, ours],
                           check=True, stderr=subprocess.DEVNULL)
            yield os.path.basename(theirs), data, Figures(network, other, ours)


def check(name, data, f):
    """What has to hold: no filter is left out, all integers are the nearest, and ours the same but for ties; scales too but for
    guarded biases."""
    right = f.weights and not f.missed and f.nearest == f.weights and f.equal + f.ties == f.weights
    right = right and f.equal_scales + f.guarded == f.scales
    if data == DIGITS:
        right = right and f.ties == 0 and f.equal_scales == f.scales
        right = right and f.biases == f.equal_biases > 30 and f.ranges == f.equal_ranges > 10
    return [] if right else [name]


def generated(tools):
    failed, weights, scales = [], 0, 0
    for network in generated_floats():
        with tempfile.TemporaryDirectory() as work:
            ours = os.path.join(work, "ours.tflite")
            if subprocess.run([f"{tools}/circle-quantizer", *FULL[:2], "--input_data", "random", network, ours], stderr=subprocess.DEVNULL).returncode:
                continue  # every_quantized.py looks at these
            f = Figures(network, ours, ours)
        weights, scales = weights + f.weights, scales + f.scales
        if f.nearest != f.weights:
            failed.append(f"{os.path.basename(network)} ({f.weights - f.nearest} of {f.weights})")
    print(f"models: {weights} weights of generated networks are the nearest integers of {scales} scales")
    sys.exit(f"FAILED: {', '.join(failed)}" if failed or weights < 10000 else 0)


def row(name, data, f):
    # Integers of biases, and scales of activations, are comparable where the records are known.
    known = [f"{f.equal_biases} of {f.biases}", f"{f.equal_ranges} of {f.ranges}"] if data == DIGITS else ["", ""]
    why = [f"{f.ties} ties" if f.ties > 1 else "1 tie"] if f.ties else []
    why += [f"{f.guarded} scales make room for a bias"] if f.guarded else []
    cells = [name, f"{f.nearest} of {f.weights}", f"{f.equal} of {f.weights}", f"{f.equal_scales} of {f.scales}", *known, ", ".join(why)]
    return "| " + " | ".join(cells) + " |\n"


def main():
    tools = os.path.realpath(sys.argv[1])
    if sys.argv[2:] == ["--check", "networks"]:
        generated(tools)
    shared = public_folder("pairs")
    table = "| published | its weights are the nearest | ours are the same | scales of weights | biases | activations | what differs |\n"
    table += "|---|---|---|---|---|---|---|\n"
    failed, page = [], sys.argv[2] if len(sys.argv) > 2 else ""
    for item in figures(tools, shared):
        table += row(*item)
        failed += check(*item)
    if not page or page == "--check":
        print(table, end="")
        sys.exit(f"FAILED: {', '.join(failed)}" if failed else 0)
    write_tables(page, {"pairs": table})


if __name__ == "__main__":
    main()
