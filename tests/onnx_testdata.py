#!/usr/bin/python3
"""The test models of ONNX itself, which Debian packages as libonnx-testdata: how many are taken, and compute what they should.

usage: onnx_testdata.py BIN [NAME...]     with names, what becomes of these models
Prints a table. ORIGO_BLESS=1 in the environment writes it into docs/onnx.md, which else has to have it.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

BIN = os.path.realpath(sys.argv[1])
DATA = "/usr/share/libonnx-testdata/data"
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64,
         12: np.uint32, 13: np.uint64}


def fields(data):
    """Of a message of protobuf: number and value, bytes where it has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        else:
            size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
            at += size
            yield tag >> 3, data[at - size:at]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def integers(value):
    """Of a repeated field of integers, packed or not."""
    return [value] if isinstance(value, int) else [n for _, n in fields(b"".join(b"\x08" + part for part in split(value)))]


def split(packed):
    begin = 0
    for at, byte in enumerate(packed):
        if byte < 128:
            yield packed[begin:at + 1]
            begin = at + 1


def tensor(data):
    """Name and array of a TensorProto; None where it is none of numbers."""
    dims, dtype, raw, typed, name = [], 0, None, {}, ""
    for number, value in fields(data):
        if number == 1:
            dims += integers(value)
        elif number == 2:
            dtype = value
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
        elif number in (4, 10):
            typed.setdefault(number, []).extend(np.frombuffer(value, np.float32 if number == 4 else np.float64))
        elif number in (5, 7, 11):
            typed.setdefault(number, []).extend(map(signed, integers(value)))
    if dtype not in TYPES:
        return name, None
    if raw is not None:
        return name, np.frombuffer(raw, TYPES[dtype]).reshape(dims)
    numbers = next(iter(typed.values()), [])
    if dtype == 10:
        return name, np.array(numbers, np.uint16).view(np.float16).reshape(dims)
    return name, np.array(numbers).astype(TYPES[dtype]).reshape(dims)


def names(model, field):
    """Of the graph's inputs (11) or outputs (12), and of its initializers (5)."""
    graph = next(value for number, value in fields(model) if number == 7)
    key = 8 if field == 5 else 1
    return [next((v.decode() for n, v in fields(value) if n == key), "") for number, value in fields(graph) if number == field]


def run(*words):
    try:
        return subprocess.run([os.path.join(BIN, words[0]), *words[1:]], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", "does not end")


def close(got, wanted):
    if wanted.dtype == np.float16:
        return np.allclose(got.astype(np.float64), wanted.astype(np.float64), 1e-2, 1e-3, equal_nan=True)
    if wanted.dtype.kind == "f":
        return got.dtype.kind == "f" and np.allclose(got.astype(np.float64), wanted.astype(np.float64), 1e-3, 1e-5, equal_nan=True)
    return got.dtype == wanted.dtype and np.array_equal(got, wanted)


def judge(path):
    """What becomes of the model in a folder: "right", "refused" or "wrong", and why."""
    with open(os.path.join(DATA, path, "model.onnx"), "rb") as file:
        model = file.read()
    initialized = set(names(model, 5))
    inputs = [name for name in names(model, 11) if name not in initialized]
    outputs = names(model, 12)
    with tempfile.TemporaryDirectory() as folder:
        circle = os.path.join(folder, "net.circle")
        done = run("onnx2circle", os.path.join(DATA, path, "model.onnx"), circle)
        if done.returncode not in (0, 1):
            return "wrong", f"exit {done.returncode}: {done.stderr.strip()[-200:]}"
        if done.returncode:
            return "refused", done.stderr.strip().split(": ", 3)[-1]
        for case in sorted(entry for entry in os.listdir(os.path.join(DATA, path)) if entry.startswith("test_data_set")):
            def read(kind, i):
                file = os.path.join(DATA, path, case, f"{kind}_{i}.pb")
                with open(file, "rb") as data:
                    return tensor(data.read())[1]
            into, out = os.path.join(folder, "in"), os.path.join(folder, "out")
            shutil.rmtree(into, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)
            os.mkdir(into)
            for i, name in enumerate(inputs):
                np.save(os.path.join(into, name.replace("/", "_") + ".npy"), read("input", i))
            done = run("circle-interpreter", "--inputs=" + into, "--outputs=" + out, circle)
            if done.returncode:
                return "wrong", done.stderr.strip()[-200:]
            for i, name in enumerate(outputs):
                wanted, file = read("output", i), os.path.join(out, name.replace("/", "_") + ".npy")
                got = np.load(file) if os.path.exists(file) else None
                if got is None or got.shape != wanted.shape or not close(got, wanted):
                    return "wrong", f"{name}: {None if got is None else (got.dtype, got.shape, got.ravel()[:5])}, not {wanted.dtype, wanted.shape, wanted.ravel()[:5]}"
    return "right", ""


# float64 is computed as float32, which does not have their numbers: what the memory held when they were written.
KNOWN = {"pytorch-operator/" + name for name in ("test_operator_add_broadcast", "test_operator_add_size1_right_broadcast",
                                                 "test_operator_add_size1_singleton_broadcast", "test_operator_addconstant")}


def reason(why):
    """The operator, or what else a model is refused for."""
    taken = re.match(r"\d+ operators? (?:is|are) not taken: (\S+)", why)
    return taken[1] if taken else re.sub(r'"[^"]*" |: \d+ of ONNX', "", why)


def table(verdicts):
    count = lambda verdict: sum(one == verdict for one, _ in verdicts.values())
    reasons = {}
    for verdict, why in verdicts.values():
        if verdict == "refused":
            reasons[reason(why)] = reasons.get(reason(why), 0) + 1
    lines = [f"Of ONNX's own {len(verdicts)} test models (Debian's `libonnx-testdata`), taken as they are, **{count('right')}** compute what they should, "
             f"{count('refused')} are refused by name, and {count('wrong')} compute something else, which add numbers that a float32 does not have.", "",
             "| refused for | models |", "|---|---|"]
    return "\n".join(lines + [f"| {why} | {n} |" for why, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]) + "\n"


def check_page(text):
    """Does docs/onnx.md have the table?"""
    path, mark = os.path.join(ROOT, "docs/onnx.md"), "<!-- test models -->\n"
    with open(path) as file:
        page = file.read()
    before, _, rest = page.partition(mark)
    wanted = before + mark + text + "\n" + rest[rest.index("## "):]
    if os.environ.get("ORIGO_BLESS"):
        with open(path, "w") as file:
            file.write(wanted)
    elif page != wanted:
        sys.exit("onnx_testdata: docs/onnx.md has another table; ORIGO_BLESS=1 writes it")


def main():
    chosen = sys.argv[2:]
    paths = sorted(os.path.relpath(folder, DATA) for folder, _, files in os.walk(DATA) if "model.onnx" in files
                   and any(entry.startswith("test_data_set") for entry in os.listdir(folder)))
    paths = [path for path in paths if not chosen or os.path.basename(path) in chosen]
    if not paths:
        sys.exit("onnx_testdata: no models in " + DATA + "; Debian's libonnx-testdata has them")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = dict(zip(paths, pool.map(judge, paths)))
    wrong = {path for path, (verdict, _) in verdicts.items() if verdict == "wrong"}
    for path, (verdict, why) in verdicts.items():
        if chosen or path in wrong - KNOWN:
            print(verdict, path, why)
    if chosen:
        return
    print(table(verdicts), end="")
    check_page(table(verdicts))
    sys.exit(wrong != KNOWN)


main()
