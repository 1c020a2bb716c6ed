#!/usr/bin/env python3
"""How much a .tflite file grows under `circle2circle -O1`: by at most 1.5 % or 4 kB, whichever is larger, origins included.

usage: sizes.py BIN networks         networks that the tree generates
       sizes.py BIN models [PAGE]    public ones; with PAGE the table of docs/records/sizes.md is written
"""

import os
import subprocess
import sys
import tempfile

from page_tables import write_tables

# What grows by more all the same, and why. None of these may be here in vain.
KNOWN = {"language_model_2sg_f32.tflite": "two signatures share weights, into which a scale is folded in each: two copies"}


def size_after(binaries, model, out, *options):
    """None: the model is refused."""
    command = [os.path.join(binaries, "circle2circle"), "-O1", "--no-origin-json", *options, model, out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"FAILED: {' '.join(command)}: exit status {done.returncode}: {done.stderr[-300:]}")
    return os.path.getsize(out) if done.returncode == 0 else None


def main():
    binaries, what, page = sys.argv[1], sys.argv[2], sys.argv[3:]
    variable = {"networks": "ORIGO_NETWORKS", "models": "ORIGO_MODELS"}[what]
    if variable not in os.environ:
        sys.exit(f"FAILED: {variable} has to name the folder of {what}")
    folder = os.environ[variable]
    rows, failed, refused = [], [], 0
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.tflite")
        for name in sorted(name for name in os.listdir(folder) if name.endswith(".tflite")):
            model = os.path.join(folder, name)
            before, after = os.path.getsize(model), size_after(binaries, model, out)
            if after is None:
                refused += 1
                continue
            bare = size_after(binaries, model, out, "--embed-origin=none")
            rows.append((name[:-len(".tflite")], before, after, after - bare))
            if (after - before > max(0.015 * before, 4096)) == (name in KNOWN):
                continue
            if name in KNOWN:
                failed.append(f"FAILED: {name} does not grow any more, and need not be known for that")
            else:
                failed.append(f"FAILED: {name} grows from {before} to {after} bytes, by origins {after - bare}")
    print("\n".join(failed), end="\n" if failed else "")
    before, after, origins = (sum(row[i] for row in rows) for i in (1, 2, 3))
    grown = sum(row[2] > row[1] for row in rows)
    print(f"models: {len(rows)} {what}, {before} bytes, {after} after -O1, of which {origins} are origins; {grown} grow, "
          f"{len(failed)} by more than allowed, {refused} refused")
    if page:
        write_tables(page[0], {"sizes": "| network | bytes | after `-O1` | growth | of it origins |\n|---|---|---|---|---|\n" + "".join(
            f"| `{name}` | {b} | {a} | {100 * (a - b) / b:+.1f} % | {o} |\n" for name, b, a, o in rows)})
    return bool(failed) or len(rows) < {"networks": 60, "models": 50}[what]


sys.exit(main())
