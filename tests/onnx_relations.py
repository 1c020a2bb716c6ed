#!/usr/bin/python3
"""What an imported model says of the nodes of its source, held against ONNX Runtime: each relation of a tensor to a value of the graph, its steps
applied, has the numbers that the runtime computes there, after the import and after -O1. No relation leads to another tensor than it says.

Where the numbers are others, it is told why, of each relation by itself: Explainer has the reasons that there are, each of which is computed.
Of int8 behind -O1, whose steps add up, each value is that which its map says, and none that is much nearer.

All outputs are the runtime's as well: on both engines, and in LiteRT through .tflite, after the import and after -O1.

usage: onnx_relations.py BIN NODE_MODULES LITERT [FOLDER [NETWORK…]]     FOLDER has public networks, of which a sample is taken; else the models of onnx.py are
With ORIGO_THOROUGH=1 or NETWORKs it also prints of which kinds of nodes the values have no relation.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from many import Tools
from onnx_read import feeds, fields, names, sizes, tensor

BIN, MODULES, LITERT, FOLDER = *map(os.path.realpath, sys.argv[1:4]), (sys.argv[4:] or [None])[0]
TOOLS = Tools(BIN)
HERE = os.path.dirname(os.path.realpath(__file__))
# Of each kind of exporter and of network one, without those that take long; ORIGO_THOROUGH=1: all.
SAMPLE = sys.argv[5:] or ("mnist_pytorch2_docstrings_op16", "kws_f32_tf2onnx_op15", "wakeword_tf2onnx_op15", "silero_vad_openvino_16k", "espcn_subpixel_op11",
          "simplified_ssd_head_op14", "yunet_n_320_op11", "ultraface_slim320_nopost_op9", "policy_go1_tf2onnx_op11", "gpt2_one_layer_op11", "dtln_2_op11",
          "ppocr_cls_paddle_op11", "hummingbird_lgbm_regressor_op9", "sdp_op17", "xfeat_320x160",
          "kws_qdq_op15", "qdq_layout_reshape_op11", "qdq_minimal_op13", "qdq_resblock_op13", "attention_mask_f16_op11", "attention_past_op11", "gpt2_past_op11",
          "silero_vad_16k_op15", "silero_vad_dynamo_op18", "tiny_gpt2_contrib_op11")
THOROUGH = not sys.argv[5:] and FOLDER and os.environ.get("ORIGO_THOROUGH")
# How many relations are compared at least, and of the values of floats that nodes compute, what share has one: after import, after -O1.
LEAST, SHARES = ((16000, (0.85, 0.55)) if THOROUGH else (6500, (0.9, 0.6))) if FOLDER else (600, (0.95, 0.95))


def run(*words):
    return TOOLS.run(*words, seconds=120)


def message(field, value):
    size, length = bytearray(), len(value)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([field << 3 | 2]) + bytes(size) + bytes([length]) + value


Node = namedtuple("Node", "op inputs attributes")


class Model:
    """A file, and what its graph has."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.path, self.graph = path, next(value for number, value in fields(self.data) if number == 7)
        nodes = [list(fields(value)) for number, value in fields(self.graph) if number == 1]
        text = lambda node, field: [value.decode() for number, value in node if number == field]
        self.makers = {output: Node(text(node, 4)[0], text(node, 1), [dict(fields(value)) for number, value in node if number == 5])
                       for node in nodes for output in text(node, 2)}
        self.follows = set(names(self.data, 11)) - set(names(self.data, 5))  # what is computed from inputs
        for node in nodes:
            if self.follows.intersection(text(node, 1)):
                self.follows.update(text(node, 2))
        self.computed = [value.decode() for node in nodes for number, value in node if number == 2 and value]
        self.constants = dict(tensor(value) for number, value in fields(self.graph) if number == 5)

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


def allowed(wanted):
    """How far a number may be off that floats make which are added up in another order."""
    finite = wanted[np.isfinite(wanted)]
    return 1e-3 * (np.ptp(finite) if finite.size else 0) + 1e-6 * np.abs(finite).max(initial=0) + 1e-5


def differs(got, wanted):
    """How far apart they are, where that is further than allowed."""
    if wanted.size != got.size or (wanted.ndim > 1 and wanted.shape != got.shape):
        return f"{list(got.shape)}, not {list(wanted.shape)}"
    got, wanted = got.astype(float).ravel(), wanted.astype(float).ravel()
    finite = np.isfinite(wanted)
    span = np.ptp(wanted[finite]) if finite.any() else 0
    with np.errstate(invalid="ignore"):
        off = np.abs(got - wanted)[finite].max(initial=0)
    return None if off <= allowed(wanted) else f"off by {off:.6g} of {span:.6g}"


class Explainer:
    """Why a relation has other numbers than the runtime computes. Each reason is computed from what the runtime had, in doubles."""

    HALF = 1e-4  # steps of a quantisation between a number and a half: what floats of a sum may be off there

    def __init__(self, model, value_of):
        self.model, self.value_of, self.at_half = model, value_of, set()

    def value(self, name):
        """What the runtime computed, or a constant of the file."""
        found = self.value_of(name)
        maker = self.model.makers.get(name)
        if found is None and maker and maker.op == "Constant":
            found = next((tensor(a[5])[1] for a in maker.attributes if 5 in a), None)
        return found

    def from_half(self, name):
        """How far each number of a value is from a half, in the steps that it was rounded to; None: it was not."""
        maker = self.model.makers.get(name)
        if maker is None:
            return None
        if maker.op == "DequantizeLinear":
            return self.from_half(maker.inputs[0])
        if maker.op != "QuantizeLinear":
            return None
        x, scale = self.value(maker.inputs[0]), self.value(maker.inputs[1])
        if x is None or scale is None or scale.size != 1:
            return None
        steps = x.astype(np.float64) / scale.astype(np.float64).ravel()[0]
        return np.abs(steps - np.floor(steps) - 0.5)

    def behind(self, name):
        """All values that one is computed from."""
        seen, left = set(), [name]
        while left:
            for operand in (maker.inputs if (maker := self.model.makers.get(left.pop())) else ()):
                if operand not in seen:
                    seen.add(operand)
                    left.append(operand)
        return seen

    def why(self, name, steps, got, wanted):
        """A reason, and what was computed for it; None: there is none."""
        if got.size != wanted.size:
            return None
        got, numbers = got.astype(float).reshape(wanted.shape), wanted.astype(float)
        off = np.abs(got - numbers)
        wrong = ~(off <= allowed(numbers))
        span, most = np.ptp(numbers), np.abs(numbers).max(initial=0)
        if span <= 1e-5 * most or most <= 1e-5:
            return ("its range is none", f"{span:.2g} of {most:.3g}") if off.max() <= 1e-4 * max(most, 1) else None
        distance = self.from_half(name)
        if distance is not None:
            distance = applied([step for step in steps if next(iter(step)) in ("permute", "reshape", "slice")], distance, self.value)
            if distance.size == wanted.size and (far := distance.reshape(wanted.shape)[wrong].max()) <= self.HALF:
                self.at_half.add(name)
                return "at a half", f"{wrong.sum()} of {wrong.size} numbers, within {far:.1e} steps of it"
        if near := sorted(self.behind(name) & self.at_half):
            return "follows from one at a half", near[-1]
        return None


def scales(file):
    """Of what stands for reals: by name, scale and zero point."""
    known = re.finditer(r"^\s*%(.+?): \w+\[[^]]*\](?: ranked)? q\{scale=([^,[]+), zero_point=(-?\d+)\}", run("circledump", file).stdout, re.M)
    return {row[1]: (float(row[2]), int(row[3])) for row in known}


class Quantised:
    """What int8 is held against: the steps add up, so that a thousandth of the range says nothing, but a value is nearer to its own tensor
    than to others, unless it is off by a few of its steps only."""

    def __init__(self, file, runtime):
        self.scales, self.runtime = scales(file), [(name, value) for name, value in runtime.items() if value.dtype.kind == "f"]

    def real(self, name, stored):
        scale, zero = self.scales.get(name, (1, 0))
        return (stored.astype(float) - zero) * scale

    def nearer(self, name, relation, of, got, wanted, value_of):
        """Another value of the runtime that is much nearer; None: there is none."""
        far = lambda value: np.sqrt(np.nanmean((got.ravel() - value.astype(float).ravel()) ** 2))
        own, steps = far(wanted), [self.scales[key][0] for key in (name, name + "_Quantize") if key in self.scales]
        if wanted.size < 2 or not own > max(3 * max(steps, default=0), 2e-3):
            return None
        for other, value in self.runtime:
            if other == of:
                continue
            try:
                value = applied(relation["steps"], value, value_of)
            except (ValueError, IndexError):  # of another shape
                continue
            if value is not None and value.size == wanted.size and far(value) < own / 2:
                return f"{other} is nearer by far: {far(value):.3g}, not {own:.3g}"
        return None


class Verdict:
    def __init__(self):
        self.outputs, self.integers = 0, 0  # outputs that were compared, and relations of int8
        self.at_half = set()  # what was off, or follows from what was, as a number was at a half
        self.faults, self.compared, self.floats, self.related, self.why, self.reasons = [], 0, 0, [0, 0], None, []
        self.follow = [0, 0, 0]  # of values that are computed from inputs: all, with a relation after import, after -O1
        self.kinds, self.lost = Counter(), [Counter(), Counter()]  # values by the kind of their node; without a relation: after import, after -O1


def outputs(model, folder, file, runtime, verdict):
    """On both engines, on the reference engine where that is no long time."""
    for engine in ("fast", "reference"):
        out = f"{file}.{engine}"
        if run("circle-interpreter", "--engine=" + engine, "--timeout=2", "--inputs=" + folder + "/in", "--outputs=" + out, file).returncode == 0:
            same_outputs(model, os.path.basename(out), runtime, verdict, lambda i, name: os.path.join(out, name.replace("/", "_") + ".npy"))
        elif engine == "fast":
            verdict.faults.append(os.path.basename(out) + ": it does not run")


def same_outputs(model, where, runtime, verdict, path_of):
    for i, name in enumerate(names(model.data, 12)):
        if name not in runtime:
            continue
        got, wanted = np.load(path_of(i, name)), runtime[name]
        fault, at_half = differs(got, wanted), name in verdict.at_half or wanted.dtype.kind != "f"
        verdict.outputs += 1
        if fault and not (at_half and got.shape == wanted.shape):
            verdict.faults.append(f"{where}: output {name} is {fault}")


def integers(model, folder, file, runtime, verdict):
    """What the map of a quantised file says."""
    taps = file + ".taps"
    if run("circle-interpreter", "--engine=fast", "--inputs=" + folder + "/in", "--outputs=" + folder + "/out", "--tap=" + taps, file).returncode:
        verdict.faults.append(os.path.basename(file) + " does not run")
        return
    with open(file + ".origin.json") as text:
        found = json.load(text)
    source = {row["id"]: row["name"] for row in found["source"]["subgraphs"][0]["tensors"]}
    value_of, quantised = lambda id: runtime.get(source.get(id), model.constants.get(source.get(id))), Quantised(file, runtime)
    for at, graph in enumerate(found["target"]["subgraphs"]):
        for row in graph["values"]:
            path = os.path.join(taps, f"{at}_{row['index']}.npy")
            for relation in row["relations"] if os.path.exists(path) else ():
                wanted = value_of(relation["tensor"])
                wanted = None if wanted is None or wanted.dtype.kind != "f" else applied(relation["steps"], wanted, value_of)
                if wanted is None:
                    continue
                verdict.integers += 1
                got = quantised.real(row["name"], np.load(path))
                of = source[relation["tensor"]]
                fault = "another shape" if got.size != wanted.size else quantised.nearer(row["name"], relation, of, got, wanted, value_of)
                if fault:
                    verdict.faults.append(f"{os.path.basename(file)}: {row['name']} as {of}: {fault}")


class LiteRt:
    """Files that are run at the end, as starting the runtime takes long."""

    LACKS = re.compile(r"kernels/split_v\.cc:\d+ input_type")  # it has no SPLIT_V of halves

    def __init__(self, folder):
        self.folder, self.jobs, self.lacking = folder, [], 0

    def add(self, model, file, given, runtime, verdict, *flags):
        """The model as .tflite."""
        own = os.path.join(self.folder, str(len(self.jobs)) + os.path.basename(model.path) + "".join(flags))
        os.mkdir(own)
        os.mkdir(own + "/in")
        for i, array in enumerate(given.values()):
            np.save(f"{own}/in/input_{i}.npy", array)
        # LiteRT takes no convolution without a bias.
        done = run("circle2circle", *flags, "--passes=add-missing-bias", "--embed-origin=none", file, own + "/net.tflite")
        if done.returncode:
            verdict.faults.append(f"as .tflite: {done.stderr.strip()[-200:]}")
        else:
            wanted = {name: runtime[name] for name in names(model.data, 12) if name in runtime}
            self.jobs.append((model, own, wanted, verdict))

    def run(self):
        lines = "".join(json.dumps({"model": own + "/net.tflite", "inputs": own + "/in", "outputs": own + "/out"}) + "\n" for _, own, _, _ in self.jobs)
        command = ["node", os.path.join(LITERT, "tflite-oracle.mjs"), "--batch", f"--jobs={os.cpu_count()}", "--timeout=120"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True)
        said = {row["model"]: row for row in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines()))}
        for model, own, wanted, verdict in self.jobs:
            answer = said.get(own + "/net.tflite", {"error": "the runtime says nothing"})
            if self.LACKS.search(answer.get("error", "")):
                self.lacking += 1
            elif "error" in answer:
                verdict.faults.append(f"LiteRT, {os.path.basename(own)}: {answer['error'][:200]}")
            else:
                same_outputs(model, "LiteRT, " + os.path.basename(own), wanted, verdict, lambda i, name: f"{own}/out/output_{i}.npy")


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
    related, explainer = set(), Explainer(model, lambda name: runtime.get(name, model.constants.get(name)))
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
                    reason = fault and explainer.why(source[relation["tensor"]], relation["steps"], got, wanted)
                except ValueError as error:  # steps for other shapes
                    fault, reason = str(error), None
                verdict.compared += 1
                if fault and reason:
                    verdict.at_half.add(source[relation["tensor"]])
                    verdict.reasons.append((os.path.basename(file), row["name"], fault, *reason))
                elif fault:
                    verdict.faults.append(f"{os.path.basename(file)}: {row['name']} as {source[relation['tensor']]} {str(relation['steps'])[:100]}: {fault}")
    floats = [name for name, value in runtime.items() if value.dtype.kind == "f" and name in model.computed]
    verdict.related[i] = sum(name in related for name in floats)
    verdict.follow = [sum(name in model.follows for name in floats), *verdict.follow[1:]]
    verdict.follow[i + 1] = sum(name in model.follows and name in related for name in floats)
    verdict.kinds = Counter(model.makers[name].op for name in floats)
    verdict.lost[i] = Counter(model.makers[name].op for name in floats if name not in related)


def goes_further(path):
    """Is a model quantised, and run in LiteRT? Of single operators it lacks kernels for many types; of networks every second is taken."""
    return FOLDER and (THOROUGH or sys.argv[5:] or SAMPLE.index(os.path.basename(path).removesuffix(".onnx")) % 2 == 0)


def judge(path, runtime_of, litert):
    verdict, model = Verdict(), Model(path)
    with tempfile.TemporaryDirectory() as folder:
        for name in "in", "runtime":
            os.mkdir(os.path.join(folder, name))
        given = feeds(path, FOLDER)
        if given is None:
            verdict.why = "an input of another type"
            return verdict
        made = {name: os.path.join(folder, "in", name.replace("/", "_") + ".npy") for name in given}
        for name, array in given.items():
            np.save(made[name], array)
        first, second = os.path.join(folder, "circle1.circle"), os.path.join(folder, "circle2.circle")
        shapes = sizes(path, FOLDER)[1]  # LiteRT takes no others than the file says
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
            outputs(model, folder, file, runtime, verdict)
        if not goes_further(path):
            return verdict
        np.savez(folder + "/records.npz", **{name: array[None] for name, array in given.items()})
        third, known = os.path.join(folder, "circle3.circle"), os.path.join(folder, "known.circle")
        # What no int8 is made of says so; that is another test's.
        if run("circle-quantizer", "--scheme=int8", "--data=" + folder + "/records.npz", second, third).returncode == 0:
            integers(model, folder, third, runtime, verdict)
        run("onnx2circle", *shapes, path, known)
        for flags in ((), ("-O1",)):
            litert.add(model, known, given, runtime, verdict, *flags)
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
    with tempfile.TemporaryDirectory() as seeds, tempfile.TemporaryDirectory() as kept:
        litert = LiteRt(kept)
        if FOLDER:
            paths = sorted(glob.glob(FOLDER + "/*.onnx")) if THOROUGH else [os.path.join(FOLDER, name + ".onnx") for name in SAMPLE]
        else:
            subprocess.run(["/usr/bin/python3", "-B", os.path.join(HERE, "onnx.py"), "--seeds", seeds], check=True)
            paths = sorted(glob.glob(seeds + "/*.onnx"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = dict(zip(paths, pool.map(lambda path: judge(path, runtimes, litert), paths)))
        runtimes.end()
        if litert.jobs:
            litert.run()
    for path, verdict in verdicts.items():
        for fault in verdict.faults:
            print("FAILED", os.path.basename(path), fault)
        if FOLDER and verdict.related[1] < 0.5 * verdict.floats:
            lost = ", ".join(f"{count} {op}" for op, count in verdict.lost[1].most_common(6))
            print(f"below half: {os.path.basename(path)}  {verdict.related[1]} of {verdict.floats} after -O1, without {lost}")
        for reason in verdict.reasons:
            print("explained:", os.path.basename(path), *reason, sep="  ")
        if verdict.why and FOLDER:
            print("FAILED", os.path.basename(path), verdict.why)
    compared = sum(verdict.compared for verdict in verdicts.values())
    floats = sum(verdict.floats for verdict in verdicts.values())
    shares = [sum(verdict.related[i] for verdict in verdicts.values()) / max(floats, 1) for i in (0, 1)]
    reasons = Counter(reason[3] for verdict in verdicts.values() for reason in verdict.reasons)
    print(f"onnx_relations: {compared - sum(reasons.values())} of {compared} relations of {sum(not v.why for v in verdicts.values())} of {len(verdicts)} models are what "
          f"ONNX Runtime computes, and {', '.join(f'{count} {reason}' for reason, count in reasons.most_common()) or 'none is explained otherwise'}; of {floats} values of "
          f"floats {shares[0]:.1%} have one after import, {shares[1]:.1%} after -O1")
    print(f"onnx_relations: {sum(v.outputs for v in verdicts.values())} outputs are the runtime's, {len(litert.jobs) - litert.lacking} of {len(litert.jobs)} files "
          f"ran in LiteRT, {litert.lacking} want a kernel that it lacks, and "
          f"{sum(v.integers for v in verdicts.values())} relations of int8 lead to no other value")
    if sys.argv[5:] or THOROUGH:
        kinds, lost = sum((v.kinds for v in verdicts.values()), Counter()), [sum((v.lost[i] for v in verdicts.values()), Counter()) for i in (0, 1)]
        all, first, second = (sum(v.follow[i] for v in verdicts.values()) for i in range(3))
        print(f"of {all} that are computed from inputs {first / all:.1%} after import, {second / all:.1%} after -O1")
        print("node  values  none after import  after -O1")
        for op, count in lost[1].most_common(25):
            print(op, kinds[op], lost[0][op], count, sep="  ")
    failed = any(verdict.faults or (verdict.why and FOLDER) for verdict in verdicts.values())
    if not sys.argv[5:] and (compared < LEAST or any(share < least for share, least in zip(shares, SHARES))):
        print("FAILED: fewer than", LEAST, "relations, or smaller shares than", SHARES)
        failed = True
    sys.exit(failed)


main()
