#!/usr/bin/env python3
"""Runs files that are made to break whoever runs them: nothing crashes or hangs, and what is refused says why.

usage: every_run.py BIN networks|models

Files of hostile/ may run or be refused; those that an operator must refuse (mini/*_Neg*) must not run, unless docs/kernels.md says why
they are right. Both engines have to say the same. Sanitizers see every second; ORIGO_THOROUGH=1 in the environment: all."""
import collections, glob, os, re, sys
from many import Tools, line, read, root, swept, thorough

tools, what = Tools(sys.argv[1]), sys.argv[2]
right = read(f"{root}/docs/kernels.md")


def judge(file):
    """The verdict, and why."""
    name = os.path.relpath(file, folder)
    run = lambda *words: tools("circle-interpreter", "--seed", "1", "--timeout", "30", *words)
    reference, before = run(file, f"{tools.scratch}/result"), os.listdir(tools.scratch)
    fast = run("--engine", "fast", file, f"{tools.scratch}/fast")
    said = f"{name}: {line(reference.err)}"
    # Under sanitizers a big convolution takes minutes; that it ends, the other builds show.
    if tools.sanitized and -14 in (reference.status, fast.status):
        return "slow", name
    if reference.status == 1:
        if not re.fullmatch(rb"(circle-interpreter: error: .+\n)+", reference.err):
            return "FAILED", f"{said}: refused without a reason"
        if before:
            return "FAILED", f"{said}: refused, but there is output"
        if fast.status != 1 or fast.err != reference.err:
            return "FAILED", f"{said}: the fast engine says another thing: {line(fast.err)}"
        return "refused", said
    if reference.status or fast.status:
        return "FAILED", f"{said}: exit status {reference.status}, and {fast.status} of the fast engine: {line(fast.err)}"
    if name.startswith("mini/") and os.path.basename(file).encode() not in right:
        return "FAILED", f"{name}: runs, although an operator in it must be refused"
    return "ran", name


folder = swept(what, 1)[0]
files = sorted(file for some in ("hostile/**", "mini/*_Neg*") for file in glob.glob(f"{folder}/{some}", recursive=True)
               if file.endswith((".tflite", ".circle")))[::2 if tools.sanitized and not thorough else 1]
verdicts = tools.sweep(judge, files)
tools.close()
for verdict, text in sorted(verdicts):
    if verdict == "FAILED":
        print(verdict, text)
count = collections.Counter(verdict for verdict, _ in verdicts)
print(f"models: {len(files)} files run: {count['ran']} ran, {count['refused']} refused, {count['slow']} too slow for sanitizers, {count['FAILED']} failed")
sys.exit(bool(count["FAILED"]) or not count["refused"] or count["slow"] > 2 or count["ran"] < (what == "models"))
