#!/usr/bin/env python3
"""Origins that are found, beside those that were kept: networks are rewritten and quantised, forget them, and get them back.

usage: infer.py BIN FOLDER...     FOLDER: of networks; ORIGO_BLESS=1 writes the table of docs/infer.md; RECIPES=-O1 VERBOSE=5 looks
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "tests/checker"))
import origin_checker  # noqa: E402
from many import Tools  # noqa: E402
from model_file import Model  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
TOOLS = Tools(BIN)
RECIPES = {
    "-O1": ["circle2circle", "-O1"],
    "ten sets of flags": ["circle2circle"],
    "NCHW to NHWC": ["circle2circle", "--convert_nchw_to_nhwc", "--nchw_to_nhwc_input_shape", "--nchw_to_nhwc_output_shape"],
    "int8": ["circle-quantizer", "--scheme=int8", "--data=random"],
    "int16x8": ["circle-quantizer", "--scheme=int16x8", "--data=random"],
    "dynamic": ["circle-quantizer", "--scheme=dynamic"],
    "weights": ["circle-quantizer", "--scheme=weights"],
    "float16": ["circle-quantizer", "--scheme=float16"],
}


def run(program, *words, timeout=300):
    return TOOLS.run(program.name, *words, seconds=timeout)


def sets_of_flags():
    """Ten sets of what the circle toolchain calls its rewrites, each flag in a third of them."""
    told = run(BIN / "circle2circle", "--help").stdout
    flags = re.findall(r"(?m)^  (--(?:fold|forward|fuse|decompose|remove|replace|resolve|expand|common)_\w+)", told)
    return [[flag for flag in flags if random.Random(f"{seed} {flag}").randrange(3) == 0] for seed in range(10)]


def tensor_rows(origin_map):
    rows = {}
    for g, graph in enumerate(origin_map["target"]["subgraphs"]):
        for kind in ("constants", "values"):
            for row in graph[kind]:
                rows[g, row["index"]] = (kind, row)
    return rows


class Pair:
    """A result with the map that was kept, and the one that is found."""

    def __init__(self, name, source, folder):
        self.name, self.source, self.folder = name, source, folder

    def make(self, recipe, seed, *spoil, flags=()):
        words, self.recipe = RECIPES[recipe] + list(flags), recipe
        result, self.forgotten = self.folder / "result.circle", self.folder / "forgotten.circle"
        for path in self.folder.glob("*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if run(BIN / words[0], *words[1:], self.source, result).returncode or not result.exists():
            return False
        side = self.folder / "result.circle.origin.json"
        if not side.exists():
            return False
        self.kept = json.loads(side.read_text())
        said = run(BIN / "forget", result, self.forgotten, seed, *spoil)
        if said.returncode:
            return False
        self.places = json.loads(said.stdout)
        return True

    def infer(self):
        self.found_path = self.folder / "found.json"
        said = run(BIN / "origin-infer", "--source", self.source, "-o", self.found_path, "--json", self.forgotten)
        self.said = said.stdout + said.stderr
        self.status = said.returncode
        self.found = json.loads(self.found_path.read_text()) if self.found_path.exists() else None
        return self.found is not None

    def checked(self):
        said = run(BIN / "origin-dump", "--check", "--origin-map", self.found_path, "--source", self.source, self.forgotten)
        return said.stdout

    def equal(self, tensor, known):
        """Constants of the same bytes."""
        if not hasattr(self, "model"):
            self.model = Model(self.source)
        data = self.model.tensors[tensor].data
        return bool(data) and any(self.model.tensors[each].data == data for each in known)

    def kept_is_of_source(self):
        """The kept map may lead further back than the source, which had one itself."""
        return len(self.kept["chain"]) == 0


class Lazy:
    """What is made when somebody asks."""

    def __init__(self, make):
        self.make = make

    def __getattr__(self, name):
        self.__dict__["made"] = self.__dict__.get("made") or self.make()
        return getattr(self.made, name)


class Values:
    """What the source computes on five inputs that nobody has seen."""
    SEEDS = range(77, 82)

    def __init__(self, source, folder):
        self.known, self.model = {}, Model(source)
        self.folders = [Path(folder) / f"tapped{seed}" for seed in self.SEEDS]
        for seed, each in zip(self.SEEDS, self.folders):
            each.mkdir(exist_ok=True)
            run(BIN / "circle-interpreter", f"--seed={seed}", f"--tap={each}", f"--save-inputs={each}/input", source)

    def of(self, tensor):
        """Bytes of a source tensor in each run, by its id; None: it has not been computed."""
        if tensor not in self.known:
            graph = max(g for g, first in enumerate(self.model.first_tensor) if first <= tensor)
            name = f"{graph}_{tensor - self.model.first_tensor[graph]}"
            inputs = list(self.model.graph_inputs(0))
            if tensor in inputs:
                name = f"input{inputs.index(tensor)}"
            paths = [each / name for each in self.folders]
            data = self.model.tensors[tensor].data
            self.known[tensor] = ([path.read_bytes() for path in paths] if all(map(Path.exists, paths)) else
                                  [data] * len(paths) if data else None)
        return self.known[tensor]

    def numbers(self, tensor, data):
        """In any order, as real numbers; None: nobody can tell."""
        about = self.model.tensors[tensor]
        code = {0: "f", 1: "e", 9: "b", 3: "B", 7: "h", 2: "i", 4: "q", 6: "?"}.get(about.type)
        if code is None or len(data) % struct.calcsize(code):
            return None
        return sorted(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data), key=lambda x: (x != x, x))

    def are_near(self, a, b, part=1e-4):
        """The same numbers, in any order, but for so large a part of the largest; None: nobody can tell."""
        if a == b:
            return True
        runs, others = self.of(a), self.of(b)
        if runs is None or others is None or self.model.tensors[a].type != self.model.tensors[b].type:
            return None
        for x, y in zip(runs, others):
            if x == y:
                continue
            if len(x) != len(y):
                return False
            x, y = self.numbers(a, x), self.numbers(b, y)
            if x is None or y is None:
                return None
            most = max([abs(each) for each in x + y if each == each and abs(each) != float("inf")] or [0])
            if not all(p == q or abs(p - q) <= part * most or p != p for p, q in zip(x, y)):
                return False
        return True

    def tell_nothing(self, tensor):
        """One element, or one number everywhere: then structure decides."""
        runs = self.of(tensor)
        numbers = [runs and self.numbers(tensor, each) for each in runs or [None]]
        return any(each is None or len(each) < 2 or each[0] == each[-1] for each in numbers)

    def are_twins(self, a, b):
        """Two source operators of a kind that make the same of these inputs."""
        one, other = self.model.operators[a], self.model.operators[b]
        if (one.name, one.custom) != (other.name, other.custom):
            return False
        return all(x >= 0 and y >= 0 and self.of(x) is not None and self.of(x) == self.of(y)
                   for x, y in zip(self.model.results[a], self.model.results[b]))

    def are_alike(self, origins, others):
        """The same origins, but for twins and for what moves data, which may have traded places: those count as one set."""
        a, b = ([each for each in sorted(ids) if not origin_checker.Checker.moves(self.model.operators[each])]
                for ids in (origins, others))
        return len(a) == len(b) and all(
            x in b or any(self.are_twins(x, y) for y in b if y not in a) for x in a)


def read_by(relation):
    """The constants of the source that a relation is about; which of them is called a factor of which, is no difference."""
    terms = [step["affine-by-source"].get(key) for step in relation["steps"] if "affine-by-source" in step
             for key in ("scale", "shift")]
    return {relation["tensor"], *(each for each in terms if isinstance(each, int))}


MOVES = {"TRANSPOSE", "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "CAST", "QUANTIZE", "DEQUANTIZE"}


def compare(pair, counts, source):
    """Counts by kind, what came of it, and whether there is more to it than being the same tensor, or the same operator."""
    kept, found = tensor_rows(pair.kept), tensor_rows(pair.found)
    told, values = [], Lazy(lambda: Values(source, pair.folder))
    for g, order in enumerate(pair.places["tensors"]):
        for new, old in enumerate(order):
            kind, ours = kept[g, old]
            _, theirs = found[g, new]
            if not ours["relations"]:
                continue
            sort = "plain" if any(not each["steps"] for each in ours["relations"]) else "steps"
            known = {each["tensor"] for each in ours["relations"]}
            counts[kind, sort, "all"] += 1
            if not theirs["relations"]:
                if kind == "values" and all(map(values.tell_nothing, known)):
                    counts[kind, sort, "all"] -= 1
                told.append(("missed", kind, sort, new, ours["relations"][:1]))
                continue
            tensors = [each["tensor"] for each in theirs["relations"]]
            same = any(each in known or pair.equal(each, known) for each in tensors) or any(
                len(read_by(a)) > 1 and read_by(a) == read_by(b) for a in ours["relations"] for b in theirs["relations"])
            if not same:
                # What is stored in 8 bits is told up to a quantum.
                part = 1 / 127 if pair.recipe.startswith("int") and kind == "values" else 1e-4
                near = [values.are_near(tensors[0], each, part) for each in known]
                same = True in near
                if not same and all(map(values.tell_nothing, known)):
                    counts[kind, sort, "all"] -= 1
                    continue
                if not same and None not in near:
                    counts[kind, sort, "wrong"] += 1
                told.append(("other" if same else "wrong", kind, sort, new, ours["relations"][:1], theirs["relations"]))
            counts[kind, sort, "found"] += same
    for g, order in enumerate(pair.places["operators"]):
        ours, theirs = (each["target"]["subgraphs"][g]["operators"] for each in (pair.kept, pair.found))
        for new, old in enumerate(order):
            a, b = set(ours[old]["origins"]), set(theirs[new]["origins"])
            sort = "plain" if len(a) == 1 else "steps"
            unknown = theirs[new].get("synthetic", {}).get("reason") == "unknown"
            good = a == b or (not unknown and (a and b or ours[old]["op"] in MOVES) and values.are_alike(a, b))
            results = [row for row in pair.kept["target"]["subgraphs"][g]["values"] if row["name"] in ours[old]["outputs"] and row["relations"]]
            if not good and results and all(values.tell_nothing(one["tensor"]) for row in results for one in row["relations"]):
                continue  # nothing tells who makes it
            counts["operators", sort, "all"] += 1
            counts["operators", sort, "found"] += good
            if not good:
                told.append((ours[old]["op"], new, sorted(a), sorted(b), theirs[new].get("synthetic")))
    live = {each["tensor"] for graph in pair.found["target"]["subgraphs"] for kind in ("values", "constants")
            for row in graph[kind] for each in row["relations"]}
    fates = [{("tensor" in row, row.get("tensor", row.get("operator"))): row["fate"] for row in each["ledger"]}
             for each in (pair.kept, pair.found)]
    for key, fate in fates[0].items():
        counts["ledger", fate, "all"] += 1
        # What is a tensor of the result by a relation that holds is more than our map says.
        good = fates[1].get(key) == fate or (key[0] and key[1] in live)
        counts["ledger", fate, "found"] += good
        if not good:
            told.append(("fate", *key, fate, fates[1].get(key)))
    told += [("unknown", *key) for key, fate in fates[1].items() if fate == "unknown" and key not in fates[0]]
    counts["unknown"] += sum(fate == "unknown" for fate in fates[1].values())
    counts["fates"] += len(fates[1])
    return told


# In parts of 1000, at least.
LEAST = {("constants", "plain"): 995, ("constants", "steps"): 970, ("values", "plain"): 995, ("values", "steps"): 970,
         ("operators", "plain"): 990, ("operators", "steps"): 950}


class Failures:
    def __init__(self):
        self.count = 0

    def __call__(self, text):
        self.count += 1
        print("FAILED:", text)


def changes_results(pair):
    """Did a pass have its turn that changes results by its very name?"""
    passes = {each for graph in pair.kept["target"]["subgraphs"] for row in graph["operators"] for each in row["passes"]}
    return bool(passes & {"remove-fake-quant", "remove-quant-dequant", "make-batch-norm-positive"}) or any(
        row["pass"] in ("remove-fake-quant", "remove-quant-dequant") for row in pair.kept["ledger"])


def sweep(models, folder, failed):
    verbose, total, flags = int(os.environ.get("VERBOSE", "0")), {}, sets_of_flags()
    for recipe in os.environ.get("RECIPES", ",".join(RECIPES)).split(","):
        counts = total[recipe] = Counter()
        for i, path in enumerate(models):
            pair = Pair(path.stem, path, Path(folder))
            if not pair.make(recipe, 3, flags=flags[i % 10] if "flags" in recipe else []) or not pair.kept_is_of_source():
                continue
            counts["models"] += 1
            if not pair.infer():
                # Where a flag takes a rounding away that all else hangs on, they are not related.
                if not (changes_results(pair) and "not related" in pair.said):
                    failed(f"{recipe} {path.name}: {pair.said.strip()[:200]}")
                continue
            said = json.loads(next(line for line in pair.said.splitlines() if line.startswith("{")))
            if "differs" in said:
                counts["alarms"] += 1
                print(f"{recipe} {path.name}: {said['differs']}")
            if (pair.status == 0) != said["whole"]:
                failed(f"{recipe} {path.name}: exit status {pair.status}")
            if not (checked := pair.checked()).startswith("ok"):
                failed(f"{recipe} {path.name}: {checked[:300]}")
            # What it says of lists is not about what was found.
            second = [each for each in origin_checker.check(Model(path), Model(pair.forgotten), pair.found) if each[0] != 4]
            if second:
                failed(f"{recipe} {path.name}: the second checker: {second[:3]}")
            told = compare(pair, counts, path)
            for each in told[:verbose]:
                print("   ", recipe, path.name, *each)
    return total


def table(total):
    lines = ["| made by | models | constants | with steps | tensors | with steps | operators | of several | fates |",
             "|---|---|---|---|---|---|---|---|---|"]
    for recipe, counts in total.items():
        cells = [f"{counts[key, sort, 'found']} of {counts[key, sort, 'all']}"
                 for key in ("constants", "values", "operators") for sort in ("plain", "steps")]
        fates = "{} of {}".format(*(sum(n for key, n in counts.items() if isinstance(key, tuple) and key[0] == "ledger" and key[2] == what)
                                    for what in ("found", "all")))
        name = f"`{recipe}`" if recipe[0] == "-" or recipe in ("int8", "int16x8", "dynamic", "weights", "float16") else recipe
        lines.append(f"| {name} | {counts['models']} | " + " | ".join(cells) + f" | {fates} |")
    return "\n".join(lines)


def fates(totals):
    """By kind, of all that was swept."""
    all_of = Counter()
    for total in totals:
        for counts in total.values():
            all_of.update(counts)
    kinds = sorted({key[1] for key in all_of if isinstance(key, tuple) and key[0] == "ledger"})
    lines = ["| fate | found |", "|---|---|"]
    lines += [f"| `{kind}` | {all_of['ledger', kind, 'found']} of {all_of['ledger', kind, 'all']} |" for kind in kinds]
    lines += [f"| `unknown`, of all that are told | {all_of['unknown']} of {all_of['fates']} |"]
    return "\n".join(lines)


def graphs(folder):
    """Graphs of circle-fuzz, as models: one in 25 of 500; ORIGO_THOROUGH=1: all."""
    every, folder = 1 if os.environ.get("ORIGO_THOROUGH", "0") != "0" else 25, Path(folder)
    run(BIN / "circle-fuzz", "--graphs=500", f"--write={folder}")
    paths = sorted(folder.glob("*.origo"))[::every]
    for path in paths:
        run(BIN / "circle2circle", "--embed-origin=none", "--no-origin-json", path, path.with_suffix(".circle"))
    return [path.with_suffix(".circle") for path in paths]


def judge(what, total, failed):
    for recipe, counts in total.items():
        for kind in ("constants", "values"):
            if wrong := sum(counts[kind, sort, "wrong"] for sort in ("plain", "steps")):
                failed(f"{what}, {recipe}: {wrong} {kind} are said to be what they are not")
    for (kind, sort), least in LEAST.items():
        of = sum(counts[kind, sort, "all"] for counts in total.values())
        found = sum(counts[kind, sort, "found"] for counts in total.values())
        if found * 1000 < least * of:
            failed(f"{what}, {kind}, {sort}: {found} of {of}")
    if alarms := sum(counts["alarms"] for counts in total.values()):
        print(f"{what}: {alarms} results are said to compute something else, and do not")


def moves_by(right, wrong, tensors, folder):
    """By how much of the largest number of a tensor two models differ on the same input, at most."""
    taps = []
    for name, model in (("right", right), ("wrong", wrong)):
        taps.append(Path(folder) / name)
        taps[-1].mkdir()
        run(BIN / "circle-interpreter", "--seed=5", f"--tap={taps[-1]}", model)
    most = 0
    for i in tensors:
        x, y = ((tap / f"0_{i}").read_bytes() for tap in taps)
        if Model(right).tensors[i].type != 0:
            most = max(most, 1 if x != y else 0)
            continue
        x, y = (struct.unpack(f"<{len(each) // 4}f", each) for each in (x, y))
        most = max(most, max(abs(p - q) for p, q in zip(x, y)) / max(map(abs, x + y)))
    return most


def liars(networks, folder, failed):
    """A channel of a constant is wrong by 1 %."""
    named = drawn = 0
    for recipe in ("-O1", "int8"):
        for name in ("mobilenet_unfused_f32", "resnet_f32", "efficientnet_f32", "densenet_f32", "keywords_f32"):
            for seed in range(8):
                pair = Pair(name, networks / (name + ".tflite"), Path(folder))
                if not pair.make(recipe, seed, "spoil") or not pair.infer():
                    failed(f"liar {recipe} {name} {seed}: {getattr(pair, 'said', '')[:200]}")
                    continue
                said = json.loads(next(line for line in pair.said.splitlines() if line.startswith("{")))
                spoilt = pair.places["spoilt"]
                _, row = tensor_rows(pair.found)[0, spoilt]
                model = Model(pair.forgotten)
                users = [user for user, _ in model.users[spoilt]]
                good = said.get("differs", {}).get("operator") in users
                if not good:
                    run(BIN / "forget", pair.folder / "result.circle", pair.folder / "right.circle", seed)
                    moved = moves_by(pair.folder / "right.circle", pair.forgotten, [i for user in users for i in model.results[user]], pair.folder)
                    if moved <= 3e-5:
                        continue  # its rounding explains that much
                    print(f"liar {recipe} {name} {seed}: constant {spoilt} of {users}, which moves by {moved:.2g}: {said.get('differs')}")
                drawn += 1
                named += good
                if any(not each["steps"] or each["steps"] == [{"quantize": True}] for each in row["relations"]):
                    failed(f"liar {recipe} {name} {seed}: constant {spoilt} is still said to be the source's")
    print(f"{named} of {drawn} wrong constants named")
    if named * 100 < drawn * 96 or drawn < 77:
        failed("wrong constants are not named")


def rescaled(networks, folder, failed):
    """Another program has scaled channels, and the weights of who uses them make up for it: no fault, and all of it is found."""
    drawn = 0
    for source in sorted(networks.glob("*.tflite")):
        for seed in range(2):
            pair = Pair(source.stem, source, Path(folder))
            pair.forgotten = pair.folder / "rescaled.tflite"
            if run(BIN / "forget", source, pair.forgotten, seed, "rescale").returncode:
                continue  # no operator has such a user
            drawn += 1
            if not pair.infer() or pair.status != 0:
                failed(f"rescaled {source.stem} {seed}: {pair.said[:400]}")
                continue
            kinds = [step for _, row in tensor_rows(pair.found).values() for each in row.get("relations", []) for step in each["steps"]]
            if not any("scaled" in step or "affine" in step for step in kinds):
                failed(f"rescaled {source.stem} {seed}: no relation has a factor")
            if pair.checked().splitlines()[-1:] != ["ok"]:
                failed(f"rescaled {source.stem} {seed}: {pair.checked()[:300]}")
    print(f"{drawn} rescaled networks")
    if drawn < 20:
        failed("too few networks can be rescaled")


def handed_on(model, operators):
    """These, and what reads what they only move: whose result is the first that is off."""
    found, work = set(), list(operators)
    while work:
        found.add(op := work.pop())
        if origin_checker.Checker.moves(model.operators[op]):
            work += [user for i in model.results[op] for user, _ in model.users[i] if user not in found]
    return found


def dropped(networks, folder, failed):
    """An operator is left out: what reads its operand in its place computes something else."""
    named = drawn = 0
    unary = r"(RELU|RELU6|LEAKY_RELU|TANH|LOGISTIC|ABS|HARD_SWISH|SQRT|RSQRT|EXP|ELU)"
    for name in ("resnet_f32", "elementwise_f32", "densenet_f32", "keywords_f32", "efficientnet_f32", "conformer_f32",
                 "mobilenet_unfused_f32", "pyramid_f32"):
        pair = Pair(name, networks / (name + ".tflite"), Path(folder))
        for seed in range(4):
            if not pair.make("float16" if seed % 2 else "dynamic", seed):
                failed(f"dropped {name}: no result")
                continue
            text = pair.folder / "text.origo"
            run(BIN / "circle2circle", "--origin=ignore", "--embed-origin=none", pair.forgotten, text)
            lines = text.read_text().splitlines()
            found = [(i, at) for i, line in enumerate(lines)
                     if (at := re.match(rf"  %(\S+): (\S+) = {unary}\(\w+=%(\S+?)\)", line))]
            found = [(i, at) for i, at in found
                     if sum(bool(re.search(rf"=%{at[1]}[,)]", line)) for line in lines) and f"(%{at[1]})" not in lines[3]]
            if not found:
                continue
            i, at = found[seed * 7 % len(found)]
            users = [re.match(r"  %(\S+):", line)[1] for line in lines if re.search(rf"=%{at[1]}[,)]", line)]
            kept = [re.sub(rf"=%{at[1]}([,)])", rf"=%{at[4]}\1", line) for k, line in enumerate(lines)
                    if k != i and not line.startswith(("  order ", "opcodes "))]
            text.write_text("\n".join(kept) + "\n")
            if run(BIN / "circle2circle", "--origin=ignore", "--embed-origin=none", text, pair.forgotten).returncode:
                continue
            if not pair.infer():
                failed(f"dropped {name} {seed}: {pair.said[:200]}")
                continue
            said = json.loads(next(line for line in pair.said.splitlines() if line.startswith("{")))
            model = Model(pair.forgotten)
            readers = [op for op, results in enumerate(model.results) if any(model.tensors[k].name in users for k in results)]
            if "differs" not in said and not any(said[of]["unknown"] for of in ("operators", "tensors", "constants")):
                print(f"dropped {name} {seed} {at[3]}: nothing comes of it")
                continue
            drawn += 1
            good = said.get("differs", {}).get("operator") in handed_on(model, readers)
            named += good
            if not good:
                print(f"dropped {name} {seed} {at[3]}: {said.get('differs')} and not {readers}")
    print(f"{named} of {drawn} operators that are left out are seen where they were")
    if named < drawn or drawn < 20:
        failed("operators that are left out are not seen")


def lies(networks, folder, failed):
    """What became of something needs evidence where nobody saw it."""
    pair = Pair("lies", networks / "mobilenet_unfused_f32.tflite", Path(folder))
    if not pair.make("-O1", 1) or not pair.infer():
        return failed("no map to lie in")
    honest, source, model = pair.found, Model(pair.source), Model(pair.forgotten)

    def judged(what, edit):
        pair.found = json.loads(json.dumps(honest))
        edit(pair.found)
        pair.found_path.write_text(json.dumps(pair.found))
        if "law" not in pair.checked():
            failed(f"a map that {what} is taken")
        if not origin_checker.check(source, model, pair.found):
            failed(f"the second checker takes a map that {what}")

    def drop_all(lie):
        for graph in lie["target"]["subgraphs"]:
            for row in graph["values"]:
                row.update(relations=[], reason="new-intermediate")
        known = {row["tensor"] for row in lie["ledger"] if "tensor" in row}
        for i in range(len(source.tensors)):
            if source.kind_of(i) != "constant" and i not in known:
                lie["ledger"].append({"tensor": i, "fate": "fused-away", "pass": "", "run": 0, "rewrite": 0,
                                      "into": {"operators": [[0, 0]], "tensors": []}})

    judged("says of all tensors that they were fused into operator 0", drop_all)
    fused = [i for i, row in enumerate(honest["ledger"]) if row["fate"] == "fused-away" and "tensor" in row]
    for fate in ("decomposed", "identity", "inlined", "user-removed", "dead"):
        judged(f"says {fate} of what was fused", lambda lie: lie["ledger"][fused[0]].update(fate=fate))
    judged("forgets that it was inferred, and has unknown fates",
           lambda lie: (lie["target"].pop("inferred"), lie["ledger"][fused[0]].update(
               fate="unknown", into={"operators": [], "tensors": []})))
    # What is not known may be said where the map was inferred.
    pair.found = json.loads(json.dumps(honest))
    pair.found["ledger"][fused[0]].update(fate="unknown", into={"operators": [], "tensors": []})
    pair.found_path.write_text(json.dumps(pair.found))
    if pair.checked() != "ok\n" or origin_checker.check(source, model, pair.found):
        failed("an inferred map may not say that a fate is unknown")
    # Later runs go on from it.
    for path, flags in ((pair.folder / "later.circle", ["-O1"]), (pair.folder / "as_is.circle", [])):
        said = run(BIN / "circle2circle", *flags, "--origin-map", pair.found_path, pair.forgotten, path)
        checked = run(BIN / "origin-dump", "--check", "--source", pair.source, path)
        if said.returncode or checked.stdout != "ok\n":
            failed(f"a run that goes on from an inferred map: {said.stderr}{checked.stdout}")
        later = json.loads(run(BIN / "origin-dump", "--json", path).stdout)
        if not later["chain"] or not later["chain"][-1].get("inferred"):
            failed("the chain does not say that a map was inferred")


def ends(networks, folder, failed):
    """Inputs in another order, by name, from records; and a file that carries what was found."""
    folder = Path(folder)
    text = ("origo 1\nmodel circle\nsubgraph @main({}: f32[1,4], {}: f32[1,4]) -> (%y) {{\n"
            "  %s: f32[1,4] = SUB({}, {})\n  %y: f32[1,4] = TANH(%s)\n}}\n")
    paths = {}
    for name, words in (("straight", ("%a", "%b", "%a", "%b")), ("turned", ("%q", "%p", "%p", "%q"))):
        (folder / f"{name}.origo").write_text(text.format(*words))
        paths[name] = folder / f"{name}.circle"
        run(BIN / "circle2circle", "--embed-origin=none", "--no-origin-json", folder / f"{name}.origo", paths[name])

    def found(what, status, *words, says=""):
        said = run(BIN / "origin-infer", "--source", paths["straight"], "-o", folder / "ends.json", *words, paths["turned"])
        if said.returncode != status or says not in said.stdout + said.stderr:
            failed(f"{what}: exit {said.returncode}, {said.stdout}{said.stderr}")

    found("inputs in another order", 0)
    found("bound as they are", 0, "--bind=a=p", "--bind=b=q")
    found("bound the wrong way", 2, "--bind=a=q", "--bind=b=p", says="computes something else")
    found("bound to what is not there", 1, "--bind=a=nobody", says='the result has no input "nobody"')
    found("bound to nothing", 1, "--bind=a", says="is not A=B")
    for name, values in (("x", range(8)), ("y", range(8, 16)), ("alone", range(8))):
        (folder / f"{name}.bin").write_bytes(struct.pack("8f", *(v / 8 - 1 for v in values)))
    for name, records in (("two", ("x", "y")), ("one", ("alone",))):
        (folder / f"{name}.txt").write_text("".join(f"{folder / each}.bin\n" for each in records))
    found("records", 0, f"--data={folder / 'two.txt'}")
    if "records 0 to 1" not in json.loads((folder / "ends.json").read_text())["target"]["inferred"]:
        failed("the map does not say that records were the evidence")
    found("one record", 1, f"--data={folder / 'one.txt'}", says="at least two records")
    found("no record", 1, f"--data={folder / 'none.txt'}", says="none.txt")
    pair = Pair("embed", networks / "mobilenet_unfused_f32.tflite", folder)
    if not pair.make("-O1", 1):
        return failed("no result to embed in")
    known = folder / "known.circle"
    said = run(BIN / "origin-infer", "--source", pair.source, "--embed", known, pair.forgotten)
    checked = run(BIN / "origin-dump", "--check", "--source", pair.source, known)
    if said.returncode or checked.stdout != "ok\n" or list(folder.glob("*.origin.json")) != [folder / "result.circle.origin.json"]:
        failed(f"a file that carries its map: {said.stderr}{checked.stdout}{checked.stderr}")
    if not json.loads(run(BIN / "origin-dump", "--json", known).stdout)["chain"][-1].get("inferred"):
        failed("the file that carries its map does not say that it was inferred")
    kept = pair.forgotten.read_bytes()
    said = run(BIN / "origin-infer", "--source", pair.source, "--embed", pair.forgotten, pair.forgotten)
    if said.returncode != 1 or pair.forgotten.read_bytes() != kept:
        failed("RESULT is written upon")


def unseen(folder, failed):
    """What no run on two inputs shows: bounds that never act there, outputs and signatures that are others."""
    folder = Path(folder)
    head = "origo 1\nmodel tflite version 3\n"
    bounded = (head + "subgraph @main(%x: f32[1,4]) -> (%y) {{\n  %w: f32[4,4] = const seed 1 normal 0 0.3\n"
               "  %f: f32[1,4] = FULLY_CONNECTED(%x, %w){}\n  %m: f32[] = const [50]\n{}}}\n")
    minimum, tanh = "  %e: f32[1,4] = MINIMUM(%f, %m)\n  %y: f32[1,4] = TANH(%e)\n", "  %y: f32[1,4] = TANH(%f)\n"
    six, relu = " {fused_activation_function=RELU6}", " {fused_activation_function=RELU}"
    two = head + ("subgraph @main(%x: f32[1,4]) -> ({}) {{\n  %y: f32[1,4] = TANH(%x)\n  %z: f32[1,4] = NEG(%x)\n}}\n")
    graph = ("subgraph @{}(%x: f32[1,4]) -> (%y) {{\n  %k: f32[4] = const [1,2,3,{}]\n  %y: f32[1,4] = MUL(%x, %k)\n}}\n"
             'signature "{}" @{} inputs("x"=%x) outputs("y"=%y)\n')

    def signed(first, second):
        return head + graph.format("main", 4, first, "main") + graph.format("two", 7, second, "two")

    sided = (head + "subgraph @main(%x: f32[1,4]) -> (%y) {{\n  %z: f32[] = const [100]\n  %a: i32[2] = const [0,1]\n"
             "  %s: f32[] = SUM(%x, %a)\n  %g: bool[] = GREATER(%s, %z)\n  %t: f32[1,4] = TANH(%x)\n  %q: f32[1,4] = {}(%x)\n"
             "  %y: f32[1,4] = SELECT_V2(%g, %q, %t)\n}}\n")
    pairs = [("bound", bounded.format(six, tanh), bounded.format(relu, tanh), 'the bound of FULLY_CONNECTED "f" of the source'),
             ("minimum", bounded.format("", minimum), bounded.format("", tanh), 'the bound of MINIMUM "e" of the source'),
             ("new bound", bounded.format("", tanh), bounded.format("", minimum), ""),
             ("outputs", two.format("%y, %z"), two.format("%y, %y"), 'output "z" of the source is none of the result'),
             ("signatures", signed("a", "b"), signed("b", "a"), "is another graph in the source"),
             ("side", sided.format("NEG"), sided.format("ABS"), ""),
             ("outputs in another order", two.format("%y, %z"), two.format("%z, %y"), None)]
    for what, before, after, says in pairs:
        files = []
        for name, text in (("before", before), ("after", after)):
            (folder / f"{name}.origo").write_text(text)
            files.append(folder / f"{name}.tflite")
            run(BIN / "circle2circle", "--embed-origin=none", "--no-origin-json", folder / f"{name}.origo", files[-1])
        said = run(BIN / "origin-infer", "--json", "--source", files[0], "-o", folder / "unseen.json", files[1])
        told = json.loads(said.stdout or "{}")
        if said.returncode != (0 if says is None else 2) or (says or "") not in said.stderr or \
                (says and not (told["doubts"] and any(says in note for note in told["notes"]))) or \
                (says is None and (told["doubts"] or not told["whole"])):
            failed(f"unseen {what}: exit {said.returncode}, {said.stdout}{said.stderr}")


def edited(pair):
    """The result as a tool leaves it that keeps names and forgets maps: an operator is put in front of each output."""
    text = pair.folder / "text.origo"
    run(BIN / "circle2circle", "--origin=ignore", "--embed-origin=none", pair.folder / "result.circle", text)
    lines = [line for line in text.read_text().splitlines() if not line.startswith(("  order ", "opcodes "))]
    at = next(i for i, line in enumerate(lines) if line.startswith("subgraph "))
    outputs = re.findall(r"%[^,)]+", lines[at][lines[at].rindex("("):])
    end = next(i for i in range(at, len(lines)) if lines[i].startswith("}"))
    types = {each: next(line.split(": ")[1].split(" = ")[0] for line in lines[at:end] if line.startswith(f"  {each}: "))
             for each in outputs}
    lines[at] = lines[at][:lines[at].rindex("(")] + "(" + ", ".join(f"%new{i}" for i in range(len(outputs))) + ") {"
    lines[end:end] = [f"  %new{i}: {types[each]} = NEG(x={each})" for i, each in enumerate(outputs)]
    text.write_text("\n".join(lines) + "\n")
    path = pair.folder / "edited.circle"
    return path if not run(BIN / "circle2circle", "--embed-origin=none", "--no-origin-json", text, path).returncode else None


def repaired(networks, folder, failed):
    """A map that is stale, as somebody edited the result: what still holds of it is kept, and nothing else."""
    kept_rows = same = alone = 0
    for name in ("resnet_f32", "deeplab_f32", "movement_f32", "bert_f32", "unrolled_lstm_f32", "mobilenet_v3_f32"):
        pair = Pair(name, networks / f"{name}.tflite", Path(folder))
        if not pair.make("-O1", 1) or not (path := edited(pair)):
            failed(f"repaired {name}: nothing to repair")
            continue
        found, beside = pair.folder / "repaired.json", pair.folder / "result.circle.origin.json"

        def infer(*words, on=path):
            said = run(BIN / "origin-infer", "--source", pair.source, "-o", found, "--json", *words, on)
            told = json.loads(next((line for line in said.stdout.splitlines() if line.startswith("{")), "{}"))
            return said, told, json.loads(found.read_text()) if said.returncode != 1 else None

        def rows(told):
            return {tuple(row["outputs"]): row for row in told["target"]["subgraphs"][0]["operators"]}

        kept = rows(pair.kept)
        alone += sum(rows(infer()[2])[key]["origins"] == row["origins"] for key, row in kept.items())
        said, told, mended = infer("--from", beside)
        checked = run(BIN / "origin-dump", "--check", "--origin-map", found, "--source", pair.source, path).stdout
        if checked != "ok\n":
            failed(f"repaired {name}: {said.stderr}{checked[:300]}")
            continue
        kept_rows += len(kept)
        same += sum(rows(mended)[key]["origins"] == row["origins"] for key, row in kept.items())
        for key, row in kept.items():
            if rows(mended)[key]["origins"] != row["origins"]:
                print(f"repaired {name}: {key} has {rows(mended)[key]['origins']}, and had {row['origins']}")
        if not told["kept"] or "as an earlier map says" not in mended["target"]["inferred"]:
            failed(f"repaired {name}: the map does not say what was kept")
        # Of a file as it was, all that has a name is kept; a file is as good as the map in it.
        if infer("--from", pair.folder / "result.circle", on=pair.folder / "result.circle")[1]["kept"] < len(kept) * 9 // 10:
            failed(f"repaired {name}: of a result that nobody edited, rows are lost")
        # What does not hold is not kept: two tensors are said to be each other, and operators to have made them.
        lie = json.loads(beside.read_text())
        (graph,) = lie["target"]["subgraphs"][:1]
        values = [row for row in graph["values"] if len(row["relations"]) == 1 and not row["relations"][0]["steps"]]
        a, b = values[len(values) // 3], values[2 * len(values) // 3]
        a["relations"], b["relations"] = b["relations"], a["relations"]
        makers = [next((row for row in graph["operators"] if each["name"] in row["outputs"]), None) for each in (a, b)]
        if None in makers:
            continue
        truth = {tuple(row["outputs"]): row["origins"] for row in makers}
        makers[0]["origins"], makers[1]["origins"] = makers[1]["origins"], makers[0]["origins"]
        (pair.folder / "lie.json").write_text(json.dumps(lie))
        said, told, mended = infer("--from", pair.folder / "lie.json")
        if any(rows(mended)[key]["origins"] != origins for key, origins in truth.items()):
            failed(f"repaired {name}: a lie is kept")
        if not told["kept"]: # then the map as a whole was found to be against the laws
            failed(f"repaired {name}: because of a lie, what is true is lost, too")
    print(f"{same} of {kept_rows} operators have the origins that they had; {alone} without the stale map")
    if same < kept_rows or alone >= same:
        failed("what still holds of a stale map is lost")
    other = run(BIN / "origin-infer", "--source", networks / "unet_f32.tflite", "-o", found, "--from", beside, path)
    if other.returncode != 1 or "another source" not in other.stderr:
        failed(f"a map of another source is taken: {other.stderr}")
    none = run(BIN / "origin-infer", "--source", pair.source, "-o", found, "--from", path, path)
    if none.returncode != 1 or "has no origin map" not in none.stderr:
        failed(f"a file without a map is taken for one: {none.stderr}")


def measured(*command):
    """Exit status, seconds of processors, and the most memory in bytes."""
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen([str(each) for each in command], stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def costs(folder, failed):
    """Time and memory are linear in lines of operators, with equal users and numbers that cannot be told apart."""
    for shape in ("relu", "add"):
        took = []
        for count in (1000, 10000):
            lines = ["origo 1", "model circle", "subgraph @main(%x: f32[1,8]) -> (%y) {",
                     *(["  %c: f32[8] = const [1, 2, 3, 4, 5, 6, 7, 8]"] if shape == "add" else [])]
            for i in range(count):
                name, before = "%y" if i == count - 1 else f"%t{i}", f"%t{i - 1}" if i else "%x"
                operator = f"RELU({before})" if shape == "relu" else f"ADD({before}, %c)"
                lines.append(f"  {name}: f32[1,8] = {operator}")
            text, source, result = (Path(folder) / name for name in ("line.origo", "line.circle", "forgot.circle"))
            text.write_text("\n".join(lines + ["}"]) + "\n")
            run(BIN / "circle2circle", "--embed-origin=none", "--no-origin-json", text, source)
            run(BIN / "forget", source, result, 1)
            _, _, once = measured(BIN / "circle-interpreter", "--seed=1", source)
            status, seconds, most = measured(BIN / "origin-infer", "--source", source, "-o", Path(folder) / "line.json", result)
            took.append(seconds)
            if status != 0:
                failed(f"{count} {shape}: exit status {status}")
            # Two reference runs, and a kilobyte for each tensor of both models.
            if most > 2 * once + 2 * 1024 * count:
                failed(f"{count} {shape} take {most} bytes, and a run {once}")
        print(f"{shape}: {took[0]:.2f} s for 1000 operators, {took[1]:.2f} s for 10000")
        if took[1] > 2:
            failed(f"10000 {shape} take {took[1]:.1f} s")


def main():
    failed = Failures()
    folders = [Path(each) for each in sys.argv[2:]]
    # One of 10000 operators would outweigh all others; its cost is measured by the lines below.
    models = [path for folder in folders for path in sorted(folder.iterdir())
              if path.suffix in (".tflite", ".circle") and path.stem != "ten_thousand_f32"]
    with tempfile.TemporaryDirectory() as folder:
        (drawn := Path(folder) / "drawn").mkdir()
        (work := Path(folder) / "work").mkdir()
        total, others = sweep(models, work, failed), sweep(graphs(drawn), work, failed)
        tables = "\n".join(["Networks of this tree:", "", table(total), "", "Graphs that `circle-fuzz` draws:", "", table(others), "",
                            "What became of what is gone:", "", fates([total, others])])
        print(tables)
        if not os.environ.get("RECIPES"):
            judge("networks", total, failed)
            judge("graphs", others, failed)
            folder = work
            liars(folders[0], folder, failed)
            rescaled(folders[0], folder, failed)
            dropped(folders[0], folder, failed)
            lies(folders[0], folder, failed)
            repaired(folders[0], folder, failed)
            ends(folders[0], folder, failed)
            unseen(folder, failed)
            costs(folder, failed)
            two = [run(BIN / "origin-infer", "--source", folders[0] / "resnet_f32.tflite", "-o",
                       Path(folder) / "none.json", folders[0] / f"{name}.tflite") for name in ("bert_f32", "unet_f32")]
            if any(said.returncode != 1 or "not related" not in said.stderr for said in two):
                failed("two networks that have nothing in common have a map")
            page = TREE / "docs/infer.md"
            text = page.read_text()
            new, found = re.subn(r"(?s)(<!-- made by tests/infer.py -->\n).*?(<!-- -->)", lambda at: f"{at[1]}{tables}\n{at[2]}", text)
            if not found:
                failed("docs/infer.md has no place for the table")
            if os.environ.get("ORIGO_BLESS"):
                page.write_text(new)
            elif new != text and os.environ.get("ORIGO_THOROUGH", "0") == "0":
                failed("the table of docs/infer.md is another; ORIGO_BLESS=1 writes it")
    return 1 if failed.count else 0


if __name__ == "__main__":
    sys.exit(main())
