#!/usr/bin/env python3
"""Every model file through the tools that know of targets.

usage: every_target.py BIN limits networks|models   what `circle-check --limits-of eval` lets through runs in circle-interpreter
       every_target.py BIN parts networks|models    the parts of --partition, of circle-opselector and of circle-resizer keep the law

Every eighth is taken, of networks that the tree makes every second; ORIGO_THOROUGH=1 in the environment takes them all."""
import collections, glob, json, os, re, sys
from many import Tools, line, swept, thorough

tools, what = Tools(sys.argv[1]), sys.argv[2]
# What no limits on types, ranks and options can say: a file that contradicts itself, or numbers that an operator cannot compute with.
# A kernel that is missing, or refuses a type, is none of these.
VALUES = re.compile(
    rb"states another shape|has another shape|another number of elements|division by zero|stride of 0|is missing|index -?[0-9]+ of|"
    rb"axis -?[0-9]+ of|axis or batch dimensions out of range|dimension [0-9]+ is not 1|elements in a new shape|another length than|"
    rb"(RESHAPE|SLICE)\): the shape of result|axis -?[0-9]+ is (not one|out)|must be (a|two)|not a single|computed by nothing|cut beyond|"
    rb"not a permutation|a range that does not end|largest elements of|is outside dimension|was never assigned|do not add up|elements below zero")
NPU = {"target": "npu", "ops": {name: {} for name in
                                "CONV_2D DEPTHWISE_CONV_2D RELU RELU6 ADD MUL FULLY_CONNECTED RESHAPE WHILE LESS".split()}}


def limits(file, name):
    checked = tools("circle-check", "--target", f"{tools.folder}/eval.json", "--json", file)
    if checked.status in (1, 2):
        return [("refused" if checked.status == 1 else "other", name)]
    if checked.status:
        return [("FAILED", f"{name}: circle-check: {line(checked.err)}")]
    ran = tools("circle-interpreter", "--seed=1", file, f"{tools.scratch}/ran.", seconds=300)
    said = ran.err.split(b"\n")[0]
    if ran.status == 0:
        return [("ran", name)]
    if ran.status == 1 and VALUES.search(said):
        return [("value", f"{name}: {line(said)}")]
    return [("FAILED", f"{name}: accepted, but ends with {ran.status}: {line(said)}")]


def refusal(done, what):
    """Exit status 1 with one line is a refusal; anything else but 0 and 2 is a failure."""
    word = "refused" if done.status == 1 and done.err.count(b"\n") == 1 else "FAILED"
    return word, f"{what}: ends with {done.status}: {line(done.err)}"


def lawful(model, source, what):
    checked = tools("origin-dump", "--check", "--source", source, model)
    holds = checked.status == 0 and checked.out.rstrip().split(b"\n")[-1] == b"ok"
    return ("kept", what) if holds else ("FAILED", f"{what}: {line(checked.out + checked.err, 400)}")


def parts(file, name):
    verdicts, out = [], f"{tools.scratch}/parts"
    # What was optimised has a history, which has to come along.
    optimised = f"{tools.scratch}/net.circle"
    if tools("circle2circle", "-O1", file, optimised).status:
        optimised = file
    done = tools("circle-check", "--target", f"{tools.folder}/npu.json", "--partition", "--work_path", out, optimised)
    if done.status in (0, 2):
        for part in sorted(glob.glob(f"{out}/*_*.circle"))[:12]:
            verdicts.append(lawful(part, file, f"part {name} {os.path.basename(part)}"))
        for ending in (".part", ".conn.ini", ".conn.json"):
            if not any(os.path.getsize(path) for path in glob.glob(f"{out}/*{ending}")):
                verdicts.append(("FAILED", f"part {name}: no {ending}"))
    else:
        verdicts.append(refusal(done, f"part {name}"))
    for ids in ("0", "0-2", "1"):
        selected = f"{tools.scratch}/selected.circle"
        done = tools("circle-opselector", "--by_id", ids, optimised, selected)
        verdicts.append(refusal(done, f"select {name} {ids}") if done.status else lawful(selected, file, f"select {name} {ids}"))
    return verdicts


with open(f"{tools.folder}/eval.json", "wb") as file:
    file.write(tools("circle-check", "--limits-of", "eval").out)
with open(f"{tools.folder}/npu.json", "w") as file:
    json.dump(NPU, file)
folder, files = swept(sys.argv[3], 8, 2)
judge = {"limits": limits, "parts": parts}[what]
verdicts = tools.sweep(lambda file: judge(file, os.path.relpath(file, folder)), [file for file in files if sys.argv[3] == "models" or "_Neg_" not in file])
verdicts = sorted(verdict for some in verdicts for verdict in some)
tools.close()
for verdict, text in verdicts:
    if verdict in ("FAILED", "value") or (verdict, text[:4]) == ("refused", "part"):
        print(verdict, text)
count = collections.Counter(verdict for verdict, _ in verdicts)
print(f"models: {len(files)} files, {what}: {dict(sorted(count.items()))}")
least = (300 if thorough else 60) * (3 if what == "parts" else 1)
sys.exit(bool(count["FAILED"]) or count["ran"] + count["kept"] < least)
