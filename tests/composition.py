#!/usr/bin/env python3
"""Two runs through a file give what one run gives: the same model, and a map with the same core (what is left of it without the names of
files and the numbers of runs and rewrites).

usage: composition.py BIN networks|models

Takes every fifth public model, every eighth of those that the tree makes; ORIGO_THOROUGH=1 in the environment takes them all."""
import glob, os, re, sys
from many import Tools, line, read, swept, thorough

tools, what = Tools(sys.argv[1]), sys.argv[2]
NAMES = re.compile(rb'^  "chain": \[(\],$|$.*?^  \],$)|"(generator|file)": "([^"\\]|\\.)*",? ?|"(run|rewrite)": [0-9]+,? ?', re.M | re.S)
DUPLICATES, SWISH = "--passes=common-subexpressions,merge-duplicate-constants", "--passes=decompose-hard-swish"
STEPS = ["tflite2circle", "-O0", "-O1", "--passes=fuse-scale-into-linear,fuse-shift-into-linear,fuse-activation",
         "--passes=remove-identity,substitute-to-reshape,merge-reshapes,merge-transposes", "--passes=fold-constants", DUPLICATES, SWISH]


def comparable(first, second, file):
    """One run has an order of its own, so it is asked only where order cannot matter: a product with 1 is a scale to one list and nothing to
    another, and which of two equal constants stays depends on what went before. The unit models, of one pattern each, have no such choices
    between the lists that -O1 is made of."""
    if first == second or "-O0" in (first, second) or first == "tflite2circle":
        return True
    return "/recipes/" in file and not {DUPLICATES, SWISH} & {first, second}


def apply(step, source, result):
    return tools("tflite2circle", source, result) if step == "tflite2circle" else tools("circle2circle", *step.split(), source, result)


def differs(a, b):
    """What two results do not have in common; empty: nothing."""
    models = [tools("origin-dump", "--strip", path).out for path in (a, b)]
    cores = [NAMES.sub(b"", read(f"{path}.origin.json")) for path in (a, b)]
    if models[0] != models[1] or not models[0]:
        return "the models differ"
    return "the cores differ" if cores[0] != cores[1] or b'"subgraphs"' not in cores[0] else ""


def pairs(file):
    """Of every ordered pair of tools, and through the other format, what is wrong."""
    verdicts, name = [], os.path.basename(file)
    for first in STEPS:
        if first == "tflite2circle" and not file.endswith(".tflite"):
            continue
        # Back into its own format where there is another in between.
        ending = "tflite" if first == "tflite2circle" else "circle"
        between, two, one = (f"{tools.scratch}/{path}" for path in ("between.circle", f"two.{ending}", f"one.{ending}"))
        done = apply(first, file, between)
        if done.status:
            verdicts.append(f"FAILED {name}: {first}: {line(done.err)}")
            continue
        for second in STEPS[1:]:
            if not comparable(first, second, file):
                continue
            both = second if first == "tflite2circle" else " ".join(step for step in (first, second) if step != "-O0") or "-O0"
            done = apply(second, between, two)
            done = done if done.status else apply(both, file, one)
            why = line(done.err) if done.status else differs(two, one)
            verdicts.append(f"FAILED {name}: {first}, then {second}: {why}" if why else "same")
    return verdicts


folder = swept(what, 1)[0]
files = [file for some in {
    "models": ("*.circle", "recipes/Net_*.tflite", "blazeface_front_f32.tflite", "lyra_quantizer_2sig_f32.tflite", "sdpa_composite_f32.tflite",
               "toy_llm_kv_2sig_f32.tflite", "yunet_i8.tflite", "mnist_lstm_i8.tflite"),
    # The first case of each file of tests/golden, and networks.
    "networks": ("*.circle", "recipes/*_1.*", "*.tflite")}[what] for file in sorted(glob.glob(f"{folder}/{some}"))]
files = [file for file in files if file.endswith((".tflite", ".circle"))]
taken = [file for file in files[::1 if thorough else {"models": 5, "networks": 8}[what]] if os.path.getsize(file) < 4000000]
verdicts = [verdict for some in tools.sweep(pairs, taken) for verdict in some]
tools.close()
failures = sorted(set(verdicts) - {"same"})
for failure in failures:
    print(failure)
print(f"models: {len(taken)} of {len(files)} files through two runs: {len(verdicts)} pairs compared with one run, {len(failures)} failed")
sys.exit(bool(failures) or len(verdicts) <= 15 * len(taken) or len(taken) <= 10)
