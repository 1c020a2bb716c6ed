#!/usr/bin/env python3
"""What -O2 --target is worth: what the back end takes of networks as they are, with -O1 and with -O2, and how long the native
TensorFlow Lite needs for them, in processor time, in turn.

usage: target_benchmark.py BIN TARGET NATIVE|- ROUNDS MODEL...
    NATIVE: native_tflite, which tests/runtimes/native.sh makes; -: no times. The better of its two modes counts.
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from o1_benchmark import processor_ms

VARIANTS = {
    "as it is": None,
    "-O1": ["-O1"],
    "-O2": ["-O2"],
    "-O2, both requests": ["-O2", "--allow-one-step", "--allow-hybrid-to-float"],
}


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def taken(binaries, target, model):
    checked = run(f"{binaries}/circle-check", "--target", target, "--json", model)
    if checked.returncode not in (0, 2):
        return "-"
    partition = json.loads(checked.stdout)["partition"]
    if partition["refused_for"]:
        return f"refused of {partition['operators']}"
    return f"{partition['taken']} of {partition['operators']} in {len(partition['parts'])}"


def least_ms(native, model):
    """Of both modes; none where neither runs it."""
    return min(filter(None, (processor_ms(native, model, 1, 0.3, mode) for mode in "10")), default=None)


def main(binaries, target, native, rounds, *models):
    names = list(VARIANTS)
    print("| network | " + " | ".join(f"{name}: taken" for name in names) + " |"
          + ("" if native == "-" else " ms as it is | " + " | ".join(f"/ {name}" for name in names[1:]) + " |"))
    print("|---" * (len(names) + 1 + (0 if native == "-" else len(names))) + "|")
    ratios = {name: [] for name in names[1:]}
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for name, options in VARIANTS.items():
                files[name] = model
                if options is None:
                    continue
                files[name] = str(pathlib.Path(folder) / (name.replace(" ", "_") + ".tflite"))
                made = run(f"{binaries}/circle2circle", *options, "--target", target, model, files[name])
                if made.returncode:
                    print(f"{model}: {made.stderr[:300]}", file=sys.stderr)
                    files[name] = None
            row = [f"`{pathlib.Path(model).stem}`"]
            row += [taken(binaries, target, files[name]) if files[name] else "-" for name in names]
            if native != "-":
                times = {name: [] for name in names}
                for _ in range(int(rounds)):
                    for name in names:  # in turn
                        times[name].append(least_ms(native, files[name]) if files[name] else None)
                if None in times["as it is"]:
                    row += ["-"] * len(names)
                else:
                    row.append(f"{min(times['as it is']):.2f}")
                    for name in names[1:]:
                        if None in times[name]:
                            row.append("does not run")
                            continue
                        pairs = sorted(a / b for a, b in zip(times["as it is"], times[name]))
                        ratios[name].append(statistics.median(pairs))
                        row.append(f"{statistics.median(pairs):.2f} ({pairs[0]:.2f}..{pairs[-1]:.2f})")
            print("| " + " | ".join(row) + " |", flush=True)
    for name, each in ratios.items():
        if each:
            print(f"\n{name}: {math.exp(sum(map(math.log, each)) / len(each)):.2f} in the geometric mean of {len(each)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
