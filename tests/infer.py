#!/usr/bin/env python3
"""Origins that are found, beside those that were kept: networks are rewritten and quantised, forget them, and get them back.

usage: infer.py BIN [FOLDER...]     FOLDER: of models, besides those of the tree; ORIGO_BLESS=1 writes the table of docs/infer.md
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "tests/checker"))
from model_file import Model  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
RECIPES = {
    "-O1": ["circle2circle", "-O1"],
    "int8": ["circle-quantizer", "--scheme=int8", "--data=random"],
    "int16x8": ["circle-quantizer", "--scheme=int16x8", "--data=random"],
    "dynamic": ["circle-quantizer", "--scheme=dynamic"],
    "float16": ["circle-quantizer", "--scheme=float16"],
}


def run(*command, timeout=300):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, errors="replace",
                          timeout=timeout)


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

    def make(self, recipe, seed, *spoil):
        words = RECIPES[recipe]
        result, self.forgotten = self.folder / "result.circle", self.folder / "forgotten.circle"
        for path in self.folder.glob("*"):
            path.unlink()
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


def trivial(relation):
    return not relation["steps"]


def compare(pair, counts):
    kept, found = tensor_rows(pair.kept), tensor_rows(pair.found)
    wrong = []
    for g, order in enumerate(pair.places["tensors"]):
        for new, old in enumerate(order):
            kind, ours = kept[g, old]
            _, theirs = found[g, new]
            if not ours["relations"]:
                counts[kind, "more" if theirs["relations"] else "none", ""] += 1
                continue
            sort = "plain" if any(trivial(each) for each in ours["relations"]) else "steps"
            known = {each["tensor"] for each in ours["relations"]}
            if not theirs["relations"]:
                counts[kind, "missed", sort] += 1
                wrong.append(("missed", kind, sort, new, ours["relations"][:1]))
            elif theirs["relations"][0]["tensor"] in known or pair.equal(theirs["relations"][0]["tensor"], known):
                counts[kind, "same", sort] += 1
            else:
                counts[kind, "other", sort] += 1
                wrong.append(("other", kind, sort, new, ours["relations"][:1], theirs["relations"]))
    for g, order in enumerate(pair.places["operators"]):
        ours, theirs = (each["target"]["subgraphs"][g]["operators"] for each in (pair.kept, pair.found))
        for new, old in enumerate(order):
            a, b = set(ours[old]["origins"]), set(theirs[new]["origins"])
            sort = "plain" if len(a) == 1 else "steps"
            what = "same" if a == b else "superset" if a < b else "subset" if b < a and b else "missed" if not b else "other"
            if not a:
                what = "same" if "synthetic" in theirs[new] and theirs[new]["synthetic"]["reason"] != "unknown" else "more" if b else "missed"
            counts["operators", what, sort] += 1
            if what != "same":
                wrong.append((what, ours[old]["op"], new, sorted(a), sorted(b), theirs[new].get("synthetic")))
    fates = [{("tensor" in row, row.get("tensor", row.get("operator"))): row["fate"] for row in each["ledger"]}
             for each in (pair.kept, pair.found)]
    for key in set(fates[0]) | set(fates[1]):
        a, b = (each.get(key, "live") for each in fates)
        counts["ledger", "same" if a == b else "unknown" if b == "unknown" else "other", a if a == b else a + "/" + b] += 1
    return wrong


def main():
    models = [path for folder in sys.argv[2:] for path in sorted(Path(folder).iterdir())
              if path.suffix in (".tflite", ".circle")]
    verbose = os.environ.get("VERBOSE")
    total = {}
    with tempfile.TemporaryDirectory() as folder:
        for recipe in os.environ.get("RECIPES", "-O1 int8 int16x8 dynamic float16").split():
            counts = total[recipe] = Counter()
            for path in models:
                pair = Pair(path.stem, path, Path(folder))
                try:
                    if not pair.make(recipe, 3):
                        continue
                    if not pair.kept_is_of_source():
                        continue
                    counts["models", "all", ""] += 1
                    if not pair.infer():
                        counts["models", "refused", ""] += 1
                        print(recipe, path.name, pair.said.strip()[:200])
                        continue
                    wrong = compare(pair, counts)
                    if verbose:
                        print("==", recipe, path.name, json.loads(pair.said.splitlines()[0])["whole"] if pair.said.startswith("{") else pair.said[:100])
                        for each in wrong[:int(verbose)]:
                            print("   ", each)
                except subprocess.TimeoutExpired:
                    print(recipe, path.name, "takes too long")
    for recipe, counts in total.items():
        print("##", recipe)
        for key, count in sorted(counts.items()):
            print("  ", *key, count)


if __name__ == "__main__":
    main()
