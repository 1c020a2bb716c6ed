#!/usr/bin/python3
"""Compares onnx2circle on a model whose data, 1 GB, lies in a file beside it with `cp` of both files, and samples its peak of anonymous memory: of
weights that are stored as circle stores them, and of those that are transposed. And how long chains of nodes take.

usage: onnx_benchmark.py BIN [FOLDER]     needs 5 GB in FOLDER
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

BIN, FOLDER = os.path.realpath(sys.argv[1]), (sys.argv[2:] or [None])[0]
PAIRS, SIDE, LAYERS = 7, 3950, 16


def number(field, value):
    return varint(field << 3) + varint(value)


def varint(value):
    size = bytearray()
    while value > 127:
        size.append(value & 127 | 128)
        value >>= 7
    return bytes(size) + bytes([value])


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def node(op, inputs, output, attributes=b""):
    return text(1, b"".join(text(1, i) for i in inputs) + text(2, output) + text(3, "node_" + output) + text(4, op) + attributes)


def model(nodes, constants, output, width):
    shape = text(2, b"".join(text(1, number(1, d)) for d in (1, width)))
    info = text(11, text(1, "x") + text(2, text(1, number(1, 1) + shape)))
    return number(1, 8) + text(7, b"".join(nodes) + text(2, "main") + b"".join(constants) + info + text(12, text(1, output))) + text(8, text(1, "") + number(2, 17))


def beside(name, offset):
    entries = {"location": "net.data", "offset": str(offset), "length": str(SIDE * SIDE * 4)}
    return text(5, number(1, SIDE) + number(1, SIDE) + number(2, 1) + text(8, name) + b"".join(text(13, text(1, k) + text(2, v)) for k, v in entries.items())
                + number(14, 1))


def write_weights(transposed):
    attributes = b"" if transposed else text(5, text(1, "transB") + number(3, 1) + number(20, 2))
    nodes = [node("Gemm", [f"y{i - 1}" if i else "x", f"w{i}"], f"y{i}", attributes) for i in range(LAYERS)]
    with open("net.onnx", "wb") as file:
        file.write(model(nodes, [beside(f"w{i}", i * SIDE * SIDE * 4) for i in range(LAYERS)], f"y{LAYERS - 1}", SIDE))


def write_chain(count):
    nodes = [node(("Relu", "Neg", "Abs", "Exp")[i % 4], [f"y{i - 1}" if i else "x"], f"y{i}") for i in range(count)]
    with open("chain.onnx", "wb") as file:
        file.write(model(nodes, [], f"y{count - 1}", 4))


def seconds(*words):
    begin = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def peak(*words):
    """The most of anonymous memory, in MiB. (The kernel keeps no peak of it alone, so it is sampled.)"""
    most, process = 0, subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status") as file:
            most = max([most] + [int(line.split()[1]) for line in file if line.startswith("RssAnon")])
        time.sleep(0.001)
    if process.returncode:
        sys.exit(f"{words}: exit {process.returncode}")
    return most // 1024


def copied():
    return seconds("sh", "-c", "cp net.onnx copy.onnx && cp net.data copy.data")


def compare(label):
    """Pairs of both, in turn; the first warms up."""
    tool, times = [os.path.join(BIN, "onnx2circle"), "net.onnx", "net.circle"], []
    for _ in range(PAIRS + 1):
        times.append((copied(), seconds(*tool)))
        for name in "copy.onnx", "copy.data", "net.circle", "net.circle.origin.json":
            if os.path.exists(name):
                os.remove(name)
    cp, own = (statistics.median(column) for column in zip(*times[1:]))
    print(f"| 1 GB beside the file, {label} | {cp:.2f} | {own:.2f} | {own / cp:.2f} | {peak(*tool)} |", flush=True)
    os.remove("net.circle")


def main():
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        os.chdir(folder)
        with open("net.data", "wb") as file:
            for _ in range(LAYERS):  # equal ones would be stored once
                file.write(os.urandom(SIDE * SIDE * 4))
        print("| | `cp` (s) | onnx2circle (s) | ratio | anonymous memory (MiB) |\n|---|---|---|---|---|")
        for transposed, label in (False, "weights as circle has them"), (True, "weights that are transposed"):
            write_weights(transposed)
            compare(label)
        print("\n| nodes in a chain | onnx2circle (s) | `-O1` behind it (s) |\n|---|---|---|")
        for count in 12500, 25000, 50000, 100000:
            write_chain(count)
            first = statistics.median(seconds(os.path.join(BIN, "onnx2circle"), "chain.onnx", "chain.circle") for _ in range(3))
            second = statistics.median(seconds(os.path.join(BIN, "circle2circle"), "-O1", "chain.circle", "o1.circle") for _ in range(3))
            print(f"| {count:,} | {first:.2f} | {second:.2f} |", flush=True)


main()
