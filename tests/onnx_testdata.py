#!/usr/bin/python3
"""The test models of ONNX itself, which Debian packages as libonnx-testdata: how many are taken, and compute what they should.
As they are, and where they are refused with those inputs bound that decide a shape, an axis or an option.

usage: onnx_testdata.py BIN [NAME...]     with names, what becomes of these models
Prints a table. ORIGO_BLESS=1 in the environment writes it into docs/onnx.md, which else has to have it.
"""

import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from many import Tools
from onnx_read import fields, names, tensor

BIN = os.path.realpath(sys.argv[1])
TOOLS = Tools(BIN)
DATA = "/usr/share/libonnx-testdata/data"
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
# By operator: the operands that say how, and are no data.
PARAMETERS = {"Resize": (1, 2, 3), "Upsample": (1,), "Dropout": (1, 2), "Pad": (1, 2, 3), "Loop": (0, 1), "STFT": (1, 2, 3), "MelWeightMatrix": (0, 1, 2, 3, 4),
              "CenterCropPad": (1,), "Reshape": (1,), "Tile": (1,), "Expand": (1,), "TopK": (1,), "OneHot": (1,), "Slice": (1, 2, 3, 4), "Split": (1,),
              "SplitToSequence": (1,), "SequenceAt": (1,), "SequenceInsert": (2,), "SequenceErase": (1,), "Trilu": (1,), "DFT": (1, 2), "MaxUnpool": (2,), "LSTM": (4,), "GRU": (4,), "RNN": (4,)}


def parameters(model):
    """The values of a graph that parameters of its nodes are, or are computed from, if not from a shape."""
    graph = next(value for number, value in fields(model) if number == 7)
    makers, found = {}, []
    for node in (value for number, value in fields(graph) if number == 1):
        op = next(value.decode() for number, value in fields(node) if number == 4)
        taken = [value.decode() for number, value in fields(node) if number == 1]
        makers.update({value.decode(): [] if op in ("Shape", "Size") else taken for number, value in fields(node) if number == 2})
        found += [name for i, name in enumerate(taken) if i in PARAMETERS.get(op, ())]
    for name in found:
        found += [other for other in makers.get(name, ()) if other not in found]
    return set(found)


def run(*words):
    return TOOLS.run(*words, seconds=60)


def close(got, wanted):
    if wanted.dtype == np.float16:
        return np.allclose(got.astype(np.float64), wanted.astype(np.float64), 1e-2, 1e-3, equal_nan=True)
    if wanted.dtype.kind == "f":
        return got.dtype.kind == "f" and np.allclose(got.astype(np.float64), wanted.astype(np.float64), 1e-3, 1e-5, equal_nan=True)
    return got.dtype == wanted.dtype and np.array_equal(got, wanted)


class Refused(Exception):
    pass


class Wrong(Exception):
    pass


class Case:
    """A folder with inputs and outputs of a model."""

    def __init__(self, path, case, inputs, outputs):
        def read(kind, i):
            with open(os.path.join(DATA, path, case, f"{kind}_{i}.pb"), "rb") as data:
                return tensor(data.read())[1]
        self.model = os.path.join(DATA, path, "model.onnx")
        self.read, self.inputs, self.outputs = read, inputs, outputs

    def convert(self, folder, bound):
        words = []
        for i, name in enumerate(self.inputs):
            if name in bound:
                np.save(os.path.join(folder, f"{i}.npy"), self.read("input", i))
                words.append(f"--bind={name}={folder}/{i}.npy")
        done = run("onnx2circle", *words, self.model, os.path.join(folder, "net.circle"))
        if done.returncode == 1:
            raise Refused(done.stderr.strip().split(": ", 3)[-1])
        if done.returncode:
            raise Wrong(f"exit {done.returncode}: {done.stderr.strip()[-200:]}")

    def compare(self, folder, bound):
        into, out = os.path.join(folder, "in"), os.path.join(folder, "out")
        os.mkdir(into)
        for i, name in enumerate(self.inputs):
            if name not in bound:
                np.save(os.path.join(into, name.replace("/", "_") + ".npy"), self.read("input", i))
        done = run("circle-interpreter", "--inputs=" + into, "--outputs=" + out, os.path.join(folder, "net.circle"))
        if done.returncode:
            raise Wrong(done.stderr.strip()[-200:])
        for i, name in enumerate(self.outputs):
            wanted, file = self.read("output", i), os.path.join(out, name.replace("/", "_") + ".npy")
            got = np.load(file) if os.path.exists(file) else None
            if got is None or got.shape != wanted.shape or not close(got, wanted):
                raise Wrong(f"{name}: {None if got is None else (got.dtype, got.shape, got.ravel()[:5])}, not {wanted.dtype, wanted.shape, wanted.ravel()[:5]}")


def judged(cases, bound):
    """What becomes of a model: "right", "refused" or "wrong", and why."""
    try:
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                case.convert(folder, bound)
                case.compare(folder, bound)
                if bound and "ok" != (check := run("origin-dump", "--check", "--source", case.model, os.path.join(folder, "net.circle"))).stdout.strip():
                    return "wrong", check.stdout + check.stderr
    except Refused as error:
        return "refused", str(error)
    except Wrong as error:
        return "wrong", str(error)
    return "right", ""


def judge(path):
    """What becomes of the model in a folder as it is, and with what can be bound."""
    with open(os.path.join(DATA, path, "model.onnx"), "rb") as file:
        model = file.read()
    initialized = set(names(model, 5))
    inputs = [name for name in names(model, 11) if name not in initialized]
    folders = sorted(entry for entry in os.listdir(os.path.join(DATA, path)) if entry.startswith("test_data_set"))
    cases = [Case(path, folder, inputs, names(model, 12)) for folder in folders]
    as_is = judged(cases, set())
    is_open = as_is[0] == "refused" and not as_is[1].startswith("input ")  # an input that is no tensor cannot be bound
    bound = parameters(model) & set(inputs) if is_open else set()
    return as_is, judged(cases, bound) if bound else as_is


# float64 is computed as float32, which does not have their numbers: what the memory held when they were written.
KNOWN = {"pytorch-operator/" + name for name in ("test_operator_add_broadcast", "test_operator_add_size1_right_broadcast",
                                                 "test_operator_add_size1_singleton_broadcast", "test_operator_addconstant")}
# What they compare with takes other places than ONNX says; ONNX Runtime does not agree with them either.
KNOWN |= {"node/test_resize_downsample_scales_" + name for name in ("cubic_align_corners", "linear_align_corners")}


def reason(why):
    """The operator, or what else a model is refused for."""
    taken = re.match(r"\d+ operators? (?:is|are) not taken: (\S+)", why)
    return taken[1] if taken else re.sub(r'"[^"]*" |: \d+ of ONNX', "", why)


def table(verdicts):
    count = lambda verdict, bound: sum(each[bound][0] == verdict for each in verdicts.values())
    reasons = {}
    for both in verdicts.values():
        for bound, (verdict, why) in enumerate(both):
            if verdict == "refused":
                reasons.setdefault(reason(both[0][1]), [0, 0])[bound] += 1
    lines = [f"Of ONNX's own {len(verdicts)} test models (Debian's `libonnx-testdata`), taken as they are, **{count('right', 0)}** compute what they should, "
             f"{count('refused', 0)} are refused by name, and {count('wrong', 0)} compute something else, which add numbers that a float32 does not have. With "
             f"inputs [bound](#inputs-that-are-bound) that decide a shape, an axis or an option, while data stays open, **{count('right', 1)}** are right.", "",
             "| refused for | models | with inputs bound |", "|---|---|---|"]
    return "\n".join(lines + [f"| {why} | {n} | {m} |" for why, (n, m) in sorted(reasons.items(), key=lambda item: (-item[1][0], item[0]))]) + "\n"


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
    wrong = {path for path, both in verdicts.items() if "wrong" in {verdict for verdict, _ in both}}
    for path, both in verdicts.items():
        for (verdict, why), how in zip(both, ("", " bound")):
            if chosen or path in wrong - KNOWN:
                print(verdict + how, path, why)
    if chosen:
        return
    print(table(verdicts), end="")
    check_page(table(verdicts))
    sys.exit(wrong != KNOWN)


main()
