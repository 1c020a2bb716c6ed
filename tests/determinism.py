#!/usr/bin/env python3
"""The same model and options give the same bytes, model and side file, whatever the address space, the heap, the environment, the working
directory and the name of the output are.

usage: determinism.py BIN networks|models"""
import glob, os, re, subprocess, sys
from many import Tools, read, root, swept

bin, what = sys.argv[1:]
tools = Tools(bin)
elsewhere = f"{tools.folder}/deeper"
os.mkdir(elsewhere)
HEAP = {"MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "4096"}
WAYS = {"again": tools, "with four threads": tools, "under another name": tools, "with another heap": Tools(bin, environment=HEAP),
        "from another directory": Tools(bin, folder=elsewhere)}
# Some containers refuse it; addresses are others in each process then.
if subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode == 0:
    WAYS["without address randomisation"] = Tools(bin, launcher=("setarch", "-R"), environment={"BIG": "0" * 60000})


def write(way, source, written):
    threads = ["--threads=4"] if way == "with four threads" else []
    if way == "from another directory":
        source, written = (os.path.relpath(path, elsewhere) for path in (source, written))
    done = WAYS[way]("circle2circle", "-O1", "--common_subexpression_elimination", "--remove_duplicate_const", "--decompose_hardswish",
                     *threads, source, written)
    return done.status == 0


def map_of(path, way):
    """Its side file, which names its target."""
    text = read(f"{path}.origin.json")
    return re.sub(rb'("target": \{[^{]*?"file": )"[^"]*"', rb"\1", text) if way == "under another name" else text


def judge(file):
    """Each way to write it, and what is wrong; none: it is refused, and every_model looks at these."""
    ending = ".tflite" if file.endswith(".tflite") else ".circle"
    first = f"{tools.scratch}/first/model{ending}"
    os.mkdir(os.path.dirname(first))
    if not write("again", file, first):
        return None
    verdicts = []
    for way in WAYS:
        folder = f"{tools.scratch}/{len(verdicts)}"
        os.mkdir(folder)
        written = f"{folder}/{'other' if way == 'under another name' else 'model'}{ending}"
        if not write(way, file, written):
            verdicts.append(f"{way} it is refused")
        elif read(first) != read(written):
            verdicts.append(f"{way} it gives another model")
        elif map_of(first, way) != map_of(written, way):
            verdicts.append(f"{way} it gives another side file")
        else:
            verdicts.append("")
    return [f"FAILED {os.path.basename(file)}: {verdict}" if verdict else "" for verdict in verdicts]


folder = swept(what, 1)[0]
files = sorted(file for some in (f"{folder}/*.tflite", f"{folder}/*.circle", f"{root}/res/*.origo") for file in glob.glob(some))
judged = [verdicts for verdicts in tools.sweep(judge, files) if verdicts is not None]
for each in {*WAYS.values()}:
    each.close()
verdicts = [verdict for some in judged for verdict in some]
for verdict in filter(None, verdicts):
    print(verdict)
print(f"models: {len(judged)} files written in {len(WAYS)} other ways: {len(verdicts)} compared, {sum(map(bool, verdicts))} differ")
sys.exit(any(verdicts) or len(judged) <= 40 or len(verdicts) != len(WAYS) * len(judged))
