#!/usr/bin/env python3
"""Both checkers of origin maps judge the same maps: those of the golden cases and of random graphs, and edited ones.

usage: agree.py BIN [EDITS]      ORIGO_THOROUGH=1 in the environment: all golden cases, and 100,000 edited maps

Laws 1 to 5 and 8 to 10 have to be broken, or not, by the same maps. Of laws 6, 7 and 11 the page allows more than the
second checker follows, so what it refuses the first one has to refuse, and what the first one refuses counts.
"""
import collections
import copy
import itertools
import json
import os
import random
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path.append(str(TREE / "tests"))
import origin_checker  # noqa: E402
from many import Tools  # noqa: E402
from model_file import Model  # noqa: E402

TOOLS = Tools(sys.argv[1])
SAME = {1, 2, 3, 4, 5, 8, 9, 10}


def run(program, *words):
    return TOOLS.run(program.name, *words)


class Case:
    def __init__(self, name, text, flags):
        self.name, self.text, self.flags = name, text, flags

    def make(self, bin_folder, folder):
        """Source and result as files, the result's map beside it. False: it is refused."""
        self.folder = Path(folder)
        (self.folder / "model.origo").write_bytes(self.text)
        tool = bin_folder / "circle2circle"
        source, result = self.folder / "source.circle", self.folder / "result.circle"
        if run(tool, "--embed-origin=none", "--no-origin-json", self.folder / "model.origo", source).returncode:
            return False
        if run(tool, *self.flags, "--embed-origin=none", source, result).returncode or not result.exists():
            return False
        self.side = self.folder / "result.circle.origin.json"
        if not self.side.exists():
            return False
        self.map = json.loads(self.side.read_text())
        self.source, self.result = Model(source), Model(result)
        self.prints = []
        for path in (source, result):
            words = run(bin_folder / "origin-dump", "--fingerprint", path).stdout.split()
            self.prints.append((words[1], words[3]))
        return True

    def first(self, bin_folder, edited):
        """What origin-dump says: the laws that are broken."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            return self.first_in(bin_folder, edited, Path(folder))

    def first_in(self, bin_folder, edited, folder):
        model = folder / "result.circle"
        os.link(self.folder / "result.circle", model)
        (folder / "result.circle.origin.json").write_text(json.dumps(edited))
        said = run(bin_folder / "origin-dump", "--check", "--source", self.folder / "source.circle", model)
        text = said.stdout + said.stderr
        if said.returncode == 0:
            return set(), text
        laws = {int(law) for law in re.findall(r"^law (\d+):", text, re.M)}
        return laws or {0}, text

    def second(self, edited):
        violations = origin_checker.check(self.source, self.result, edited, self.prints)
        return {law for law, _ in violations}, violations


def golden_cases():
    for path in sorted((TREE / "tests/golden").glob("*.txt")):
        for number, case in enumerate(path.read_bytes().split(b"\n-----\n")):
            before = case.split(b"\n=>")[0]
            flags = re.findall(rb"^// RUN: (.*)$", before, re.M)
            lines = [line for line in before.split(b"\n") if not line.startswith(b"//")]
            if flags and lines:
                yield Case(f"{path.stem}/{number}", b"\n".join(lines) + b"\n", flags[0].decode().split())


def folder_cases(folder):
    for path in sorted(Path(folder).glob("*.origo")):
        yield Case(path.name, path.read_bytes(), ["-O1"])


def agrees(is_own, first, second):
    if is_own:
        return not first and not second
    if 0 in first:  # it is not read as a map at all
        return bool(second)
    if {1, 2, 3, 4} & first & second:
        return True  # what else is wrong is not judged by both
    invented = (second - SAME) - first
    return first & SAME == second & SAME and not (invented and not first)


def as_found(origin_map):
    """What a liar writes who says that nobody saw: the map was found, and what became of what is gone is not known."""
    found = copy.deepcopy(origin_map)
    found["target"]["inferred"] = "their word"
    for row in found["ledger"]:
        row.update({"fate": "unknown", "into": {"operators": [], "tensors": []}})
        for key in ("was", "with", "ledTo"):
            row.pop(key, None)
    return found


class Editor:
    """One change of a map, of a kind that the random numbers choose."""

    def __init__(self, case, seed):
        self.case, self.random = case, random.Random(seed)
        self.map = copy.deepcopy(case.map)
        target = self.map["target"]["subgraphs"]
        self.operators = [row for graph in target for row in graph["operators"]]
        self.values = [row for graph in target for row in graph["values"]]
        self.constants = [row for graph in target for row in graph["constants"]]
        self.count = {False: len(case.source.operators), True: len(case.source.tensors)}

    def some(self, rows):
        return self.random.choice(rows) if rows else None

    def an_id(self, is_tensor):
        return self.random.randrange(self.count[is_tensor]) if self.count[is_tensor] else 0

    def edit(self, likely):
        """`likely`: of the kind with this name, if it can be; empty: of any."""
        kinds = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("do_")]
        for attempt in range(20):
            kind = getattr(self, "do_" + likely) if likely and attempt == 0 else self.random.choice(kinds)
            if self.random.randrange(4) == 0:  # nobody is excused by a map that is old
                self.map["target"]["laws"] = self.random.randrange(14)
            if kind() is not None and self.map != self.case.map:
                return kind.__name__[3:]
        return None

    def sorted_with(self, ids, one):
        return sorted({*ids, one})

    def do_add_origin(self):
        row = self.some([row for row in self.operators if row["origins"]])
        if row:
            row["origins"] = self.sorted_with(row["origins"], self.an_id(False))
            return True

    def do_bind(self):
        """An input was given once and for all, they say."""
        inputs = self.case.source.graph_inputs(0)
        tensor = self.random.choice(inputs) if inputs and self.random.randrange(4) else self.an_id(True)
        source = self.map["source"]
        source["bound"] = [{"tensor": tensor, "sha256": self.random.randbytes(32).hex()}]
        if self.random.randrange(4):
            source["content"] = origin_checker.Checker.with_bound(source["content"], source["bound"])
        return True

    def do_infer(self):
        """The map was found, they say; a fate may be unknown then."""
        self.map["target"]["inferred"] = "their word"
        row = self.some(self.map["ledger"])
        if row and self.random.randrange(2):
            row["fate"] = "unknown"
            row["into"] = {"operators": [], "tensors": []}
        return True

    def do_drop_origin(self):
        row = self.some([row for row in self.operators if len(row["origins"]) > 1])
        if row:
            row["origins"].remove(self.some(row["origins"]))
            return True

    def do_drop_all_origins(self):
        row = self.some([row for row in self.operators if row["origins"]])
        if row:
            row["origins"] = []
            return True

    def do_move_origin(self):
        one, other = self.some(self.operators), self.some(self.operators)
        if one and one is not other and one["origins"] and other["origins"]:
            i = self.some(one["origins"])
            one["origins"].remove(i)
            other["origins"] = self.sorted_with(other["origins"], i)
            return True

    def do_swap_origins(self):
        one, other = self.some(self.operators), self.some(self.operators)
        if one and one is not other and one["origins"] and other["origins"]:
            one["origins"], other["origins"] = other["origins"], one["origins"]
            return True

    def do_origin_out_of_range(self):
        row = self.some(self.operators)
        if row:
            row["origins"] = [*row["origins"], self.count[False] + self.random.randrange(3)]
            return True

    def do_turn_origins(self):
        row = self.some([row for row in self.operators if len(row["origins"]) > 1])
        if row:
            row["origins"].reverse()
            return True

    def do_synthetic(self):
        row = self.some(self.operators)
        if row:
            reason = self.some([*sorted(origin_checker.REASONS), "because"])
            serves = [self.an_id(False)] if self.random.randrange(4) else []
            row["synthetic"] = {"reason": reason, "serves": serves}
            if self.random.randrange(4):
                row["origins"] = []
            return True

    def do_ledger_lost(self):
        if self.map["ledger"]:
            self.map["ledger"].remove(self.some(self.map["ledger"]))
            return True

    def do_fate(self):
        row = self.some(self.map["ledger"])
        if row:
            row["fate"] = self.some(sorted(origin_checker.FATES[True] | {"evaporated"}))
            return True

    def do_ledger_into(self):
        row = self.some(self.map["ledger"])
        if row:
            key, into = self.some(["operators", "tensors"]), self.some(["into", "into", "ledTo"])
            graph = self.random.randrange(len(self.map["target"]["subgraphs"]) + (self.random.randrange(8) == 0))
            most = 1
            if graph < len(self.map["target"]["subgraphs"]):
                listed = self.map["target"]["subgraphs"][graph]
                most = len(listed["operators"]) if key == "operators" else len(listed["constants"] + listed["values"])
            places = row.setdefault(into, {"operators": [], "tensors": []})
            places[key] = [] if places[key] and self.random.randrange(2) else [
                [graph, self.random.randrange(most + 1)]]
            return True

    def do_ledger_added(self):
        is_tensor = bool(self.random.randrange(2))
        self.bury("tensor" if is_tensor else "operator", self.an_id(is_tensor))
        return True

    def bury(self, key, i):
        self.map["ledger"] = [row for row in self.map["ledger"] if row.get(key) != i]
        self.map["ledger"].append({key: i, "fate": "dead", "pass": "x", "run": 0, "rewrite": 1,
                                   "into": {"operators": [], "tensors": []}})

    def do_kill(self):
        """A source operator or constant leaves all rows and is said to be dead."""
        is_tensor = bool(self.random.randrange(2))
        i = self.an_id(is_tensor)
        for row in self.operators if not is_tensor else []:
            if i in row["origins"] and len(row["origins"]) > 1:
                row["origins"].remove(i)
        for row in self.values + self.constants if is_tensor else []:
            row["relations"] = [one for one in row["relations"] if one["tensor"] != i]
            if not row["relations"]:
                row["reason"] = "new-intermediate"
            if i in row.get("tensors", []):
                row["tensors"].remove(i)
                if not row["tensors"] and not row["operators"]:
                    row["synthetic"] = {"reason": "invented-constant"}
        self.bury("tensor" if is_tensor else "operator", i)
        return True

    def do_relation_to(self):
        row = self.some([row for row in self.values + self.constants if row["relations"]])
        if row:
            self.some(row["relations"])["tensor"] = self.random.randrange(self.count[True] + 1)
            return True

    def do_relation_added(self):
        row = self.some(self.values + self.constants)
        if row:
            row["relations"].append({"tensor": self.an_id(True), "steps": [], "exact": True})
            return True

    def do_relation_lost(self):
        row = self.some([row for row in self.values + self.constants if row["relations"]])
        if row:
            row["relations"].remove(self.some(row["relations"]))
            return True

    def do_steps(self):
        row = self.some([row for row in self.values + self.constants if row["relations"]])
        if row:
            shape = [self.random.randrange(3) for _ in range(self.random.randrange(1, 4))]
            order = list(range(self.random.randrange(1, 5)))
            self.random.shuffle(order)
            step = self.some([{"permute": order}, {"permute": shape}, {"reshape": True},
                              {"slice": {"begin": shape, "size": [1] * len(shape)}},
                              {"placed": {"begin": shape, "size": [2] * len(shape)}}])
            self.some(row["relations"])["steps"].append(step)
            return True

    def do_unneeded_lost(self):
        rows = [row for row in self.map["ledger"] + self.map.get("unneeded", []) if row.get("unneeded")]
        row = self.some(rows)
        if row:
            row["unneeded"].remove(self.some(row["unneeded"]))
            if not row["unneeded"]:
                del row["unneeded"]
                if "fate" not in row:
                    self.map["unneeded"].remove(row)
            return True

    def do_unneeded_changed(self):
        rows = [row for row in self.map["ledger"] + self.map.get("unneeded", []) if row.get("unneeded")]
        row = self.some(rows)
        if row:
            one = self.some(row["unneeded"])
            key = self.some(["operator", "operand", "reason"])
            one[key] = (self.an_id(False) if key == "operator" else self.random.randrange(4) if key == "operand" else
                        self.some(["shape-only", "times-zero", "branch-not-taken", "not-in-slice", "empty", "taken-away", "luck"]))
            return True

    def do_constant_from(self):
        row = self.some(self.constants)
        if row:
            key, is_tensor = self.some([("tensors", True), ("operators", False)])
            more = self.sorted_with(row[key], self.an_id(is_tensor))
            row[key] = [] if row[key] and self.random.randrange(2) else more
            return True

    def do_lineage(self):
        row = self.some([row for row in self.operators + self.constants if row.get("lineages")])
        if row:
            one = self.some(row["lineages"])
            key = self.some(sorted(one))
            if key == "operands" and one[key]:
                one[key][self.random.randrange(len(one[key]))] += 1
            elif key != "operands":
                one[key] = [] if one[key] else [0]
            return True

    def do_moved_past(self):
        """What changed places does not say so, or what did not does."""
        row = self.some([row for row in self.operators if row.get("movedPast")])
        if row and self.random.randrange(2):
            row["movedPast"].remove(self.some(row["movedPast"]))
        elif row := self.some(self.operators):
            made = {one["id"] for graph in self.map["source"]["subgraphs"] for one in graph["operators"]
                    if row["origins"] and set(one["tensors"]) & {i for other in self.source_rows(row) for i in other["operands"]}}
            row["movedPast"] = self.sorted_with(row.get("movedPast", []), self.some(sorted(made) or [self.an_id(False)]))
        return True

    def do_exact(self):
        """What is exact, and by itself or not, is told otherwise."""
        rows = self.operators + self.values + self.constants
        row = self.some([row for row in rows if row.get("inexact")] if self.random.randrange(2) else rows)
        relation = self.some(row["relations"]) if row and row.get("relations") and self.random.randrange(2) else None
        if relation:
            key = self.some(["exact", "inherited"])
            relation[key] = not relation.get(key, False)
        elif row:
            row["inexact"] = not row.get("inexact", False)
        return bool(row) or None

    def source_rows(self, row):
        """Of its origins, as far as the source tells operands."""
        rows = [one for graph in self.map["source"]["subgraphs"] for one in graph["operators"]]
        return [one for one in rows if one["id"] in row["origins"] and "operands" in one]

    def do_list_of_source(self):
        graph = self.some(self.map["source"]["subgraphs"])
        rows = graph["operators"] if self.random.randrange(2) else graph["tensors"]
        row = self.some(rows)
        if row:
            key = self.some([key for key in ("op", "name", "kind", "tensors", "operands") if key in row])
            row[key] = ([*row[key], 0] if isinstance(row[key], list) else
                        self.some(["constant", "input", "activation", "absent"]) if key == "kind" else
                        self.some(["ABS", "NEG"]) if key == "op" else "other")
            return True

    def do_list_of_target(self):
        graph = self.some(self.map["target"]["subgraphs"])
        row = self.some(graph["operators"] + graph["values"] + graph["constants"])
        if row:
            key = "op" if "op" in row else "name"
            row[key] = "ABS" if key == "op" else "other"
            return True

    def do_fingerprint(self):
        part = self.map[self.some(["source", "target"])]
        key = self.some(["fingerprint", "content"])
        digit = self.random.randrange(10, len(part[key]))
        part[key] = part[key][:digit] + ("0" if part[key][digit] != "0" else "1") + part[key][digit + 1:]
        return True


class Rare:
    """Which kinds of edits break one law alone, so that the law that is rarest so far is asked about more often."""

    def __init__(self, alone):
        self.alone, self.tried, self.broke = alone, collections.Counter(), collections.defaultdict(collections.Counter)

    def note(self, kind, laws):
        self.tried[kind] += 1
        if len(laws) == 1:
            self.broke[next(iter(laws))][kind] += 1

    def kind(self, seed):
        """Every second time one that is good for it."""
        if seed % 2 or not self.broke:
            return ""
        law = min(self.broke, key=lambda law: (self.alone[law], law))
        good = {kind: count / self.tried[kind] for kind, count in self.broke[law].items()}
        return max(good, key=lambda kind: (good[kind], kind))


def main():
    bin_folder = Path(sys.argv[1]).resolve()
    thorough = os.environ.get("ORIGO_THOROUGH", "0") != "0"
    edits = int(sys.argv[2]) if len(sys.argv) > 2 else 100000 if thorough else 400
    shown = int(os.environ.get("SHOWN", 10))
    failed, judged = 0, 0
    both, alone, only_first = collections.Counter(), collections.Counter(), collections.Counter()
    excused, found, rare = [], 0, Rare(alone)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        graphs = Path(scratch) / "graphs"
        run(bin_folder / "circle-fuzz", f"--write={graphs}", f"--graphs={400 if thorough else 40}", "--seed=77000")
        cases = list(golden_cases())[::1 if thorough else 8] + list(folder_cases(graphs))

        def make(item):
            number, case = item
            folder = Path(scratch) / str(number)
            folder.mkdir()
            return case if case.make(bin_folder, folder) else None

        made = [case for case in pool.map(make, enumerate(cases)) if case]

        def jobs():
            for case in made:
                yield case, None, case.map
            for seed in range(edits if made else 0):
                case = made[seed % len(made)]
                editor = Editor(case, seed)
                kind = editor.edit(rare.kind(seed))
                if kind:
                    yield case, f"{kind}, seed {seed}", editor.map

        def judge(job):
            case, kind, edited = job
            first = case.first(bin_folder, edited)
            excuse = case.first(bin_folder, as_found(edited))[0] if kind and first[0] & {7, 11} else None
            return case, kind, first, case.second(edited), excuse

        for batch in iter(lambda made_jobs=jobs(): list(itertools.islice(made_jobs, 256)), []):
            for case, kind, (first, text), (second, violations), excuse in pool.map(judge, batch):
                judged += 1
                rare.note((kind or "").split(",")[0], first if kind and first == second else ())
                found += excuse is not None
                if excuse == set():
                    excused.append(f"{case.name} ({kind}): {text.strip().splitlines()[:1]}")
                if agrees(kind is None, first, second):
                    for law in first & second:
                        both[law] += 1
                    if len(first) == 1 and first == second:
                        alone[next(iter(first))] += 1
                    for law in (first - SAME) - second:
                        only_first[law] += 1
                    continue
                failed += 1
                if failed <= shown:
                    print(f"DISAGREE {case.name} ({kind}): origin-dump {sorted(first)}, the page {sorted(second)}")
                    print("  " + "\n  ".join(text.strip().splitlines()[:3] + [str(each) for each in violations[:3]]))

    def told(counter):
        return ", ".join(f"law {law}: {counter[law]}" for law in sorted(counter))

    print(f"checkers: {len(made)} maps of {len(cases)} cases, {judged} judged with edited ones, {failed} disagreements")
    print(f"refused by both: {told(both)}\nfor one law alone: {told(alone)}")
    print(f"by the first for more laws: {told(only_first)}")
    print(f"refused for law 7 or 11: {found}, and {len(excused)} of them pass for maps that were found")
    print("".join(f"  {each}\n" for each in excused[:shown]), end="")
    # Maps that nobody edited are most of what there is to be right about.
    return 1 if failed or excused or len(made) < len(cases) * 0.8 else 0


if __name__ == "__main__":
    sys.exit(main())
