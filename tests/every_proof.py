#!/usr/bin/env python3
"""What -O1 and the quantiser make of networks is proved equal from outside, or a reason of a closed list is told.

usage: every_proof.py BIN networks|models    Files are those of every third network; ORIGO_THOROUGH=1: all
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What exact arithmetic does not know, as docs/proof.md says. Anything else is a fault.
UNDECIDED = [r"^[A-Z0-9_]+ has no exact kernel$", r" with effects$", r" of integer weights$", r"^what is not numbers$",
             r" of so many elements$", r"^a comparison that the doubles do not decide$",
             r"^of a source tensor that depends on the inputs, or that no kernel computes$"]
# What cannot be run on numbers at random says so.
NOT_RUN = r"cannot be run|new shape|is outside|out of range|would take|takes more than|not the size|negative|elements"
LEAST_EQUAL = {"networks": 0.9, "models": 0.9}
SCHEMES = ["", "int8", "float16", "int16x8", "dynamic"]


def prove(binaries, source, scheme, scratch):
    """The verdict, and reasons where it is not equal; None: there is nothing to prove."""
    made = scratch / "made.circle"
    if subprocess.run([f"{binaries}/circle2circle", "-O1", source, made], capture_output=True).returncode:
        return None
    if scheme:
        stored = scratch / "stored.circle"
        if subprocess.run([f"{binaries}/circle-quantizer", f"--scheme={scheme}", "--input_data=random", made, stored],
                          capture_output=True).returncode:
            return None
        made = stored
    run = subprocess.run([f"{binaries}/origin-dump", "--prove", "--json", source, made], capture_output=True, text=True)
    if run.returncode not in (0, 2):
        return "not run", [run.stderr.strip()[:300] or f"exit status {run.returncode}"]
    told = json.loads(run.stdout)
    if (told["verdict"] == "equal") != (run.returncode == 0):
        return "unequal", [f"exit status {run.returncode} for {told['verdict']}"]
    reasons = told["different"] or [*told["constants"]["untold"], *told["tensors"]["undecided"]]
    return told["verdict"], reasons


def main(binaries, which):
    folder = pathlib.Path(os.environ["ORIGO_MODELS" if which == "models" else "ORIGO_NETWORKS"])
    files = sorted(file for file in folder.iterdir() if re.search(r"_f32\.(tflite|circle)$", file.name))
    step = 1 if os.environ.get("ORIGO_THOROUGH", "0") not in ("", "0") else 3
    verdicts, failed = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, file in enumerate(files[::step]):
            for scheme in (SCHEMES if step == 1 else ["", SCHEMES[1 + number % 4]]):
                proved = prove(binaries, file, scheme, pathlib.Path(scratch))
                if proved is None:
                    continue
                verdict, reasons = proved
                verdicts[verdict] += 1
                known = {"equal": [".*"], "undefined": [".*"], "undecided": UNDECIDED, "not run": [NOT_RUN]}.get(verdict, [])
                for reason in reasons or [""]:
                    if not any(re.search(one, reason) for one in known):
                        print(f"FAILED {file.name} {scheme}: {verdict}: {reason[:300]}")
                        failed += 1
    print(f"models: proved from outside: {dict(sorted(verdicts.items()))}")
    every = sum(verdicts.values())
    if not every or verdicts["equal"] < LEAST_EQUAL[which] * every:
        print(f"FAILED: only {verdicts['equal']} of {every} are proved equal")
        failed += 1
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
