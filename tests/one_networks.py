#!/usr/bin/env python3
"""Float networks, quantised in ONE's three steps.

usage: one_networks.py BIN models [PAGE]     public ones, against what ONE's quantiser made of them; with PAGE the table of
                                             docs/quantization.md is written
       one_networks.py BIN networks          generated ones: scales and zero points are those that follow from the ranges of the
                                             second step and from the weights
"""

import gzip
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

from page_tables import generated_floats, public_folder, write_tables


class Table:
    """A table of a FlatBuffers file, by the positions that the schema gives to fields."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def slot(self, index):
        size = struct.unpack_from("<H", self.data, self.fields)[0]
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * index)[0] if 4 + 2 * index < size else 0
        return self.at + offset if offset else None

    def number(self, index, kind):
        at = self.slot(index)
        return struct.unpack_from("<" + kind, self.data, at)[0] if at else 0

    def target(self, index):
        at = self.slot(index)
        return at + struct.unpack_from("<I", self.data, at)[0] if at else None

    def table(self, index):
        at = self.target(index)
        return Table(self.data, at) if at else None

    def vector(self, index, kind):
        at = self.target(index)
        count = struct.unpack_from("<I", self.data, at)[0] if at else 0
        return list(struct.unpack_from(f"<{count}{kind}", self.data, at + 4)) if at else []

    def tables(self, index):
        at = self.target(index)
        count = struct.unpack_from("<I", self.data, at)[0] if at else 0
        places = [at + 4 + 4 * i for i in range(count)]
        return [Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]) for place in places]

    def text(self, index):
        return bytes(self.vector(index, "B")).decode()


def read(path):
    """By name of tensor: type, scales, zero points, shape, and the beginning of the SHA-256 of its bytes."""
    with open(path, "rb") as file:
        data = file.read()
    model = Table(data, struct.unpack_from("<I", data, 0)[0])
    graph, buffers = model.tables(2)[0], model.tables(4)
    tensors, inputs = {}, []
    for tensor in graph.tables(0):
        q = tensor.table(4)
        payload = bytes(buffers[tensor.number(2, "I")].vector(0, "B"))
        tensors.setdefault(tensor.text(3), []).append({
            "type": tensor.number(1, "b"), "shape": tensor.vector(0, "i"),
            "scale": q.vector(2, "f") if q else [], "zp": q.vector(3, "q") if q else [],
            "min": q.vector(0, "f") if q else [], "max": q.vector(1, "f") if q else [],
            "sha": hashlib.sha256(payload).hexdigest()[:16] if payload else ""})
    for index in graph.vector(1, "i"):
        inputs.append(graph.tables(0)[index].vector(0, "i"))
    return tensors, inputs


def difference(have, want):
    if have["type"] != want["type"] or have["shape"] != want["shape"]:
        return "type or shape"
    if len(have["scale"]) != len(want["scale"]):
        return "count of scales"
    # Another interpreter sums in another order.
    off = max((abs(a - b) / abs(b) for a, b in zip(have["scale"], want["scale"]) if b), default=0)
    if off > 2e-4:
        return "scale, slightly" if off < 5e-3 else "scale"
    if any(abs(a - b) > 1 for a, b in zip(have["zp"], want["zp"])):
        return "zero point"
    return ""


def steps(tools, work, network, kind, *data):
    """The three steps: what the last two make."""
    def tool(*words):
        subprocess.run([os.path.join(tools, words[0]), *words[1:]], check=True, cwd=work, stderr=subprocess.DEVNULL)

    words = ["float32", kind, "channel"]
    tool("tflite2circle", network, "0.circle")
    tool("circle-quantizer", "--quantize_dequantize_weights", *words, "0.circle", "1.circle")
    tool("record-minmax", "--input_model", "1.circle", *data, "--output_model", "2.circle")
    tool("circle-quantizer", "--quantize_with_minmax", *words, "2.circle", "3.circle")
    return [read(os.path.join(work, f"{step}.circle"))[0] for step in (2, 3)]


def expected(kind, low, high):
    """Scale and zero point of a range, which has to hold zero."""
    low, high = min(low, 0), max(high, 0)
    if kind == "int16":
        return max(-low, high) / 32767, 0
    scale = (high - low) / 255
    return scale, round(-low / scale) if scale else 0


def generated(tools):
    ranges, right, others = 0, 0, []
    for network in generated_floats():
        for kind in ("int16", "uint8"):
            with tempfile.TemporaryDirectory() as work:
                try:
                    recorded, made = steps(tools, work, network, kind, "--input_data", "random")
                except subprocess.CalledProcessError:
                    continue  # every_quantized.py looks at these
            for name, tensors in recorded.items():
                have = made.get(name, [])
                if len(tensors) != 1 or len(have) != 1 or len(tensors[0]["min"]) != 1 or have[0]["type"] not in (3, 7):
                    continue
                scale, zero = expected(kind, tensors[0]["min"][0], tensors[0]["max"][0])
                ranges += 1
                # A scale may be another tensor's, with which this one is joined, or an operator's own.
                if have[0]["scale"] and abs(have[0]["scale"][0] - scale) <= 1e-5 * scale and abs(have[0]["zp"][0] - zero) <= 1:
                    right += 1
                else:
                    others.append(f"{os.path.basename(network)} {kind}: {name}: {have[0]['scale']} {have[0]['zp']}, not {scale} {zero}")
    print(f"models: {right} of {ranges} tensors of generated networks have the scales of their ranges")
    if ranges > 10000 and right > 0.8 * ranges:
        return 0
    print("FAILED", *others, sep="\n")
    return 1


def main():
    tools = os.path.realpath(sys.argv[1])
    if sys.argv[2] == "networks":
        return generated(tools)
    models = public_folder("models")
    with gzip.open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "facts/one-networks.json.gz")) as file:
        networks = json.load(file)
    failed, table = False, "| network | type | tensors | as ONE's | with other integers in them |\n|---|---|---|---|---|\n"
    with tempfile.TemporaryDirectory() as work:
        for name in sorted(networks):
            network = os.path.join(models, "models", name + ".tflite")
            generator, lines = random.Random(name), []
            shapes = read(network)[1]
            for record in range(4):
                files = []
                for i, shape in enumerate(shapes):
                    count = 1
                    for size in shape:
                        count *= size
                    files.append(os.path.join(work, f"{record}.{i}"))
                    with open(files[-1], "wb") as file:
                        file.write(struct.pack(f"<{count}f", *(generator.uniform(-1, 1) for _ in range(count))))
                lines.append(" ".join(files) + "\n")
            with open(os.path.join(work, "list.txt"), "w") as file:
                file.writelines(lines)
            for kind, wanted in sorted(networks[name].items()):
                made = steps(tools, work, network, kind, "--input_data", "list.txt", "--input_data_format", "list")[1]
                everything = [one for same in made.values() for one in same]
                wrong, equal, slight, bytes_differ = [], 0, 0, 0
                for tensor, want in wanted.items():
                    have = made.get(tensor, [])
                    why = [difference(one, want) for one in have] or ["missing"]
                    # A shape that RESHAPE states as an option is a tensor there; copies are called otherwise.
                    stated = want["type"] == 2 and not want["scale"] and len(want["shape"]) == 1
                    copied = any(one["sha"] == want["sha"] and not difference(one, want) for one in everything)
                    if not have and (stated or copied):
                        equal += 1
                        continue
                    slight += why[0] == "scale, slightly"
                    if "" not in why and why[0] != "scale, slightly":
                        wrong.append((tensor, why[0], want, have[:1]))
                        continue
                    equal += "" in why
                    bytes_differ += want["type"] in (3, 7) and all(one["sha"] != want["sha"] for one in have)
                print(f"{name} {kind}: {equal} of {len(wanted)} tensors as ONE's, {bytes_differ} of them with other bytes")
                table += f"| {name.removesuffix('_f32')} | {kind} | {len(wanted)} | {equal} | {bytes_differ or ''} |\n"
                for item in wrong[:5]:
                    print("  ", *item)
                # What is nearly nothing, as in pose_hourglass_v1, hangs on the order of sums more than on anything else.
                failed |= bool(wrong) or slight > 0.02 * len(wanted) or (kind == "uint8" and bytes_differ > 0.03 * len(wanted))
    if len(sys.argv) > 3:
        write_tables(sys.argv[3], {"networks": table})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
