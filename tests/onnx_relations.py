#!/usr/bin/python3
"""What an imported model says of the nodes of its source, held against ONNX Runtime: each relation of a tensor to a value of the graph, its steps
applied, has the numbers that the runtime computes there, after the import and after -O1. No relation leads to another tensor than it says.

usage: onnx_relations.py BIN NODE_MODULES [FOLDER]     FOLDER has public networks, of which a sample is taken; else the models of onnx.py are
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from onnx_read import fields, inputs, names, tensor

BIN, MODULES, FOLDER = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), (sys.argv[3:] or [None])[0]
HERE = os.path.dirname(os.path.realpath(__file__))
# Of each kind of exporter and of network one, without those that take long. Where integers stand between layers, a number at a half goes
# to either side, and what lies behind is off by steps: no networks of integers.
SAMPLE = ("mnist_pytorch2_docstrings_op16", "kws_f32_tf2onnx_op15", "wakeword_tf2onnx_op15", "silero_vad_openvino_16k", "espcn_subpixel_op11",
          "simplified_ssd_head_op14", "yunet_n_320_op11", "ultraface_slim320_nopost_op9", "policy_go1_tf2onnx_op11", "gpt2_one_layer_op11", "dtln_2_op11",
          "ppocr_cls_paddle_op11", "hummingbird_lgbm_regressor_op9", "sdp_op17", "xfeat_320x160")
# How many relations are compared at least, and of the values of floats that nodes compute, what share has one: after import, after -O1.
LEAST, SHARES = (1900, (0.85, 0.55)) if FOLDER else (600, (0.95, 0.95))


def run(*words):
    return subprocess.run([os.path.join(BIN, words[0]), *words[1:]], capture_output=True, text=True, timeout=120)


def message(field, value):
    size, length = bytearray(), len(value)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([field << 3 | 2]) + bytes(size) + bytes([length]) + value


class Model:
    """A file, and what its graph has."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.path, self.graph = path, next(value for number, value in fields(self.data) if number == 7)
        nodes = [list(fields(value)) for number, value in fields(self.graph) if number == 1]
        self.computed = [value.decode() for node in nodes for number, value in node if number == 2 and value]
        self.constants = dict(tensor(value) for number, value in fields(self.graph) if number == 5)

    def types(self):
        """Element type and shape of the inputs; None: one is no tensor, or has no shape."""
        numbers = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 2: np.uint8, 3: np.int8}
        found = {}
        for number, info in fields(self.graph):
            if number == 11:
                parts = dict(fields(info))
                found[parts[1].decode()] = numbers.get(dict(fields(dict(fields(parts[2])).get(1, b""))).get(1))
        known = lambda size, at, rank: size if isinstance(size, int) else 1 if at == 0 else 64 if rank == 4 and at > 1 else 8
        sizes = {name: [known(size, at, len(dims)) for at, size in enumerate(dims)] for name, dims in inputs(self.data)}
        return None if None in [found[name] for name in sizes] else {name: (found[name], dims) for name, dims in sizes.items()}

    def tapped(self, path):
        """The same with all that nodes compute as outputs: a second graph in a file is merged into the first."""
        outputs = set(names(self.data, 12))
        more = b"".join(message(12, message(1, name.encode())) for name in dict.fromkeys(self.computed) if name not in outputs)
        with open(path, "wb") as file:
            file.write(self.data + message(7, more))


def applied(steps, array, value_of):
    """The steps of a relation; None: what they need is not at hand."""
    flat = False
    for (kind, how), in (step.items() for step in steps):
        if kind == "reshape":
            array, flat = array.reshape(-1), True
        elif kind == "cast" or kind == "quantize":
            pass
        elif kind in ("affine", "affine-by-source") and not (flat and how["axis"] >= 0):
            terms = [1 if how["scale"] is None else how["scale"], 0 if how["shift"] is None else how["shift"]]
            for i, term in enumerate(terms):
                if how["scale" if i == 0 else "shift"] is not None and isinstance(term, int):
                    terms[i] = value_of(term) if kind == "affine-by-source" else None
                    if terms[i] is None:
                        return None
                    terms[i] = terms[i].astype(float).reshape([-1] + [1] * (array.ndim - 1 - how["axis"])) if how["axis"] >= 0 else terms[i].astype(float)
            array = array * terms[0] + terms[1]
        elif flat:
            return None
        elif kind == "permute":
            array = array.transpose(how)
        elif kind == "slice":
            array = array[tuple(slice(b, b + n) for b, n in zip(how["begin"], how["size"]))]
        elif kind == "scaled":
            array = array * np.reshape(how["by"], [-1] + [1] * (array.ndim - 1 - how["axis"]))
        else:
            return None
    return array


def differs(got, wanted):
    """How far apart they are, where that is further than floats that are added up in another order."""
    if wanted.size != got.size or (wanted.ndim > 1 and wanted.shape != got.shape):
        return f"{list(got.shape)}, not {list(wanted.shape)}"
    got, wanted = got.astype(float).ravel(), wanted.astype(float).ravel()
    finite = np.isfinite(wanted)
    span = np.ptp(wanted[finite]) if finite.any() else 0
    most = np.abs(wanted[finite]).max(initial=0)
    with np.errstate(invalid="ignore"):
        off = np.abs(got - wanted)[finite].max(initial=0)
    return None if off <= 1e-3 * span + 1e-6 * most + 1e-5 else f"off by {off:.6g} of {span:.6g}"


class Verdict:
    def __init__(self):
        self.faults, self.compared, self.floats, self.related, self.why = [], 0, 0, [0, 0], None


def compare(model, folder, file, runtime, verdict, i):
    """What the map of a file says beside what the runtime has computed. (Constants are related, and are not tapped.)"""
    taps = file + ".taps"
    done = run("circle-interpreter", "--engine=fast", "--inputs=" + folder + "/in", "--outputs=" + folder + "/out", "--tap=" + taps, file)
    if done.returncode:
        verdict.faults.append(f"{os.path.basename(file)}: {done.stderr.strip()[-200:]}")
        return
    with open(file + ".origin.json") as text:
        found = json.load(text)
    source = {row["id"]: row["name"] for row in found["source"]["subgraphs"][0]["tensors"]}
    value_of = lambda id: runtime.get(source.get(id), model.constants.get(source.get(id)))
    related = set()
    for at, graph in enumerate(found["target"]["subgraphs"]):
        for row in graph["values"] + graph["constants"]:
            known = [relation for relation in row["relations"] if relation["tensor"] in source]
            related |= {source[relation["tensor"]] for relation in known}
            path = os.path.join(taps, f"{at}_{row['index']}.npy")
            if not known or not os.path.exists(path):
                continue
            got = np.load(path)
            for relation in known:
                wanted = value_of(relation["tensor"])
                try:
                    wanted = None if wanted is None else applied(relation["steps"], wanted, value_of)
                    if wanted is None:
                        continue
                    fault = differs(got, wanted)
                except ValueError as error:  # steps for other shapes
                    fault = str(error)
                verdict.compared += 1
                if fault:
                    verdict.faults.append(f"{os.path.basename(file)}: {row['name']} as {source[relation['tensor']]} {str(relation['steps'])[:100]}: {fault}")
    verdict.related[i] = sum(name in related for name, value in runtime.items() if value.dtype.kind == "f" and name in model.computed)


def judge(path, runtime_of):
    verdict, model = Verdict(), Model(path)
    types = model.types()
    with tempfile.TemporaryDirectory() as folder:
        for name in "in", "runtime":
            os.mkdir(os.path.join(folder, name))
        if types is None:
            verdict.why = "an input of another type"
            return verdict
        random = np.random.RandomState(3)
        made = {}
        for i, (name, (dtype, dims)) in enumerate(types.items()):
            array = random.uniform(-1, 1, dims) if dtype == np.float32 else np.arange(np.prod(dims, dtype=int)).reshape(dims) % 4
            made[name] = os.path.join(folder, "in", name.replace("/", "_") + ".npy")
            np.save(made[name], array.astype(dtype))
        shapes = [f"--shape={name}={','.join(map(str, types[name][1]))}" for name, dims in inputs(model.data) if dims and not all(isinstance(d, int) for d in dims)]
        first, second = os.path.join(folder, "circle1.circle"), os.path.join(folder, "circle2.circle")
        if run("onnx2circle", path, first).returncode and run("onnx2circle", *shapes, path, first).returncode:
            verdict.why = "refused"
            return verdict
        model.tapped(os.path.join(folder, "tapped.onnx"))
        said = runtime_of({"model": os.path.join(folder, "tapped.onnx"), "inputs": made, "outputs": os.path.join(folder, "runtime")})
        if "error" in said:
            verdict.why = "the runtime: " + said["error"][:100]
            return verdict
        runtime = {name: np.load(os.path.join(folder, "runtime", f"{i}.npy")) for i, name in enumerate(said["outputs"])}
        runtime |= {name: np.load(made[name]) for name in made}
        verdict.floats = sum(value.dtype.kind == "f" and name in model.computed for name, value in runtime.items())
        run("circle2circle", "-O1", first, second)
        for i, file in enumerate((first, second)):
            compare(model, folder, file, runtime, verdict, i)
    return verdict


class Runtimes:
    """A process of the runtime for each thread."""

    def __init__(self):
        self.all = {}

    def __call__(self, job):
        own = threading.get_ident()
        if own not in self.all or self.all[own].poll() is not None:
            command = ["node", os.path.join(HERE, "runtimes/onnx/onnx-run.mjs"), MODULES]
            self.all[own] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process = self.all[own]
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline() or '{"error": "it died"}')

    def end(self):
        for process in self.all.values():
            process.stdin.close()
            process.wait()


def main():
    runtimes = Runtimes()
    with tempfile.TemporaryDirectory() as seeds:
        if FOLDER:
            paths = [os.path.join(FOLDER, name + ".onnx") for name in SAMPLE]
        else:
            subprocess.run(["/usr/bin/python3", "-B", os.path.join(HERE, "onnx.py"), "--seeds", seeds], check=True)
            paths = sorted(glob.glob(seeds + "/*.onnx"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = dict(zip(paths, pool.map(lambda path: judge(path, runtimes), paths)))
    runtimes.end()
    for path, verdict in verdicts.items():
        for fault in verdict.faults:
            print("FAILED", os.path.basename(path), fault)
        if verdict.why and FOLDER:
            print("FAILED", os.path.basename(path), verdict.why)
    compared = sum(verdict.compared for verdict in verdicts.values())
    floats = sum(verdict.floats for verdict in verdicts.values())
    shares = [sum(verdict.related[i] for verdict in verdicts.values()) / max(floats, 1) for i in (0, 1)]
    print(f"onnx_relations: {compared} relations of {sum(not v.why for v in verdicts.values())} of {len(verdicts)} models are what ONNX Runtime computes; of {floats} values of "
          f"floats {shares[0]:.1%} have one after import, {shares[1]:.1%} after -O1")
    failed = any(verdict.faults or (verdict.why and FOLDER) for verdict in verdicts.values())
    if compared < LEAST or any(share < least for share, least in zip(shares, SHARES)):
        print("FAILED: fewer than", LEAST, "relations, or smaller shares than", SHARES)
        failed = True
    sys.exit(failed)


main()
