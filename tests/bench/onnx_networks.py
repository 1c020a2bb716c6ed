#!/usr/bin/python3
"""ONNX networks beside ONNX Runtime: outputs after the import and after -O1, on both engines where that is no long time; operators that -O1 leaves beside the nodes that the
runtime's `basic` level leaves, and TRANSPOSEs among them; and the least time of a run on one thread, of the fast engine and of the runtime with all that it has.

usage: onnx_networks.py BIN NODE_MODULES FOLDER [NETWORK…]     FOLDER has networks, and SOURCES.tsv, which says what they are run on
"""

import csv
import glob
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from onnx_read import feeds, fields, sizes  # noqa: E402

BIN, MODULES, FOLDER, CHOSEN = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3], sys.argv[4:]
RUNTIME = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../runtimes/onnx/onnx-run.mjs")
RUNS = 7
LONG = 5  # ms; the reference engine takes about forty times as long, and is left out where the fast one takes more


def run(*words, seconds=300):
    try:
        done = subprocess.run([os.path.join(BIN, words[0]), *words[1:]], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "it takes long", ""
    return (None if done.returncode == 0 else done.stderr.strip()[-200:]), done.stdout


def runtime(**job):
    done = subprocess.run(["node", RUNTIME, MODULES], input=json.dumps(job) + "\n", capture_output=True, text=True)
    return json.loads(done.stdout or '{"error": "it died"}')


def differs(wanted, got):
    """How far the outputs are off, as a share of what is allowed: 1e-3 of the range and 1e-5, ten times as much of float16, 1 of integers."""
    if got is None or got.shape != wanted.shape:
        return np.inf
    if wanted.dtype.kind != "f":
        return np.abs(got.astype(float) - wanted.astype(float)).max(initial=0)
    wanted, got, share = wanted.astype(float), got.astype(float), 1e-2 if wanted.dtype == np.float16 else 1e-3
    finite = np.isfinite(wanted)
    span = np.ptp(wanted[finite]) if finite.any() else 0
    return np.abs(got - wanted)[finite].max(initial=0) / (share * span + 1e-5)


class Network:
    def __init__(self, path):
        self.path, self.faults, self.row = path, [], []
        self.name = os.path.basename(path)[:-5]

    def measure(self, folder):
        one, two = os.path.join(folder, "one.circle"), os.path.join(folder, "two.circle")
        if run("onnx2circle", self.path, one)[0] and (error := run("onnx2circle", *sizes(self.path, FOLDER)[1], self.path, one)[0]):
            return self.faults.append(error)
        if error := run("circle2circle", "-O1", one, two)[0]:
            return self.faults.append(error)
        inputs, outputs = os.path.join(folder, "in"), os.path.join(folder, "runtime")
        os.mkdir(inputs), os.mkdir(outputs)
        files = {}
        for name, array in feeds(self.path, FOLDER).items():
            files[name] = os.path.join(inputs, name.replace("/", "_") + ".npy")
            np.save(files[name], array)
        said = runtime(model=self.path, inputs=files, outputs=outputs)
        if "error" in said:
            return self.faults.append(said["error"])
        wanted = {name: np.load(os.path.join(outputs, f"{i}.npy")) for i, name in enumerate(said["outputs"])}
        times = self.times(two, files, inputs, folder)
        engines = ("reference", "fast") if times[0] and times[0] < LONG else ("fast",)
        worst = max(self.worst(file, engine, inputs, wanted) for file in (one, two) for engine in engines)
        self.row = [worst, *self.operators(two), self.nodes(files, folder), *times]

    def worst(self, file, engine, inputs, wanted):
        out = file + "." + engine
        error, _ = run("circle-interpreter", "--engine=" + engine, "--inputs=" + inputs, "--outputs=" + out, file)
        if error:
            self.faults.append(f"{engine}: {error}")
            return np.inf
        load = lambda name: np.load(os.path.join(out, name.replace("/", "_") + ".npy"))
        off = max((differs(array, load(name)), name) for name, array in wanted.items())
        if off[0] > 1:
            self.faults.append(f"{os.path.basename(file)}, {engine}: {off[1]} is off by {off[0]:.3g} times what is allowed")
        return off[0]

    def operators(self, file):
        with open(file + ".origin.json") as text:
            kinds = Counter(op["op"] for graph in json.load(text)["target"]["subgraphs"] for op in graph["operators"])
        return sum(kinds.values()), kinds["TRANSPOSE"]

    def nodes(self, files, folder):
        """What the runtime's level leaves, bodies of nodes not counted."""
        saved = os.path.join(folder, "basic.onnx")
        said = runtime(model=self.path, inputs=files, outputs=folder, optimize="basic", save=saved)
        if "error" in said:
            return None
        with open(saved, "rb") as file:
            graph = next(value for number, value in fields(file.read()) if number == 7)
        return sum(number == 1 for number, _ in fields(graph))

    def times(self, file, files, inputs, folder):
        error, text = run("circle-interpreter", "--engine=fast", f"--runs={RUNS}", "--json", "--inputs=" + inputs, file)
        said = runtime(model=self.path, inputs=files, outputs=folder, optimize="all", runs=RUNS)
        return None if error else json.loads(text)["runs"]["leastMs"], said.get("ms")


def main():
    with open(os.path.join(FOLDER, "SOURCES.tsv")) as file:
        kinds = {row["file"]: row["kind"] for row in csv.DictReader(file, delimiter="\t")}
    paths = [os.path.join(FOLDER, name + ".onnx") for name in CHOSEN] or sorted(glob.glob(FOLDER + "/*.onnx"))
    networks = [Network(path) for path in paths]
    print("| network | operators after `-O1` | TRANSPOSE | nodes after `basic` | fast engine (ms) | ONNX Runtime (ms) |\n|---|---|---|---|---|---|")
    for network in networks:
        with tempfile.TemporaryDirectory() as folder:
            network.measure(folder)
        for fault in network.faults:
            print(f"FAILED {network.name}: {fault}", file=sys.stderr, flush=True)
        if network.row:
            _, operators, transposes, nodes, own, theirs = network.row
            ms = lambda time: "-" if time is None else f"{time:.2f}"
            print(f"| `{network.name}` | {operators} | {transposes} | {nodes or '-'} | {ms(own)} | {ms(theirs)} |", flush=True)
    rows = [(kinds.get(network.name + ".onnx", ""), *network.row) for network in networks if network.row]
    compared = [row for row in rows if row[4]]
    vision = [row for row in rows if "vision" in row[0]]
    timed = [row for row in rows if row[5] and row[6]]
    print(f"\n{sum(not network.faults for network in networks)} of {len(networks)} networks have all outputs within what is allowed. No more operators than nodes: "
          f"{sum(row[2] <= row[4] for row in compared)} of {len(compared)}. Vision networks with at most 4 TRANSPOSEs: {sum(row[3] <= 4 for row in vision)} of {len(vision)}. "
          f"Time of the fast engine by the runtime's, geometric mean of {len(timed)}: {np.exp(np.mean([np.log(row[5] / row[6]) for row in timed])):.2f}")
    sys.exit(any(network.faults for network in networks))


main()
