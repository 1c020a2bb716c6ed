#!/usr/bin/env python3
"""What -O1 and the quantiser make of networks is proved equal from outside, or a reason of a closed list is told; and is
not, where a weight of the result is moved by two units in the last place.

usage: every_proof.py BIN networks|models    Files are those of every third network; ORIGO_THOROUGH=1: all
"""
import collections
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "checker"))
import model_file

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


def float_constants(data):
    """Where the bytes of constants of floats are: the index of the buffer, its first byte, and the number of elements."""
    model = model_file.Table(data, struct.unpack_from("<I", data, 0)[0])
    subgraphs, buffers, type_float32 = 2, 4, 0
    used = {tensor.number(2, "I") for graph in model.tables(subgraphs) for tensor in graph.tables(0)
            if tensor.number(1, "b") == type_float32}
    for index, buffer in enumerate(model.tables(buffers)):
        at = buffer.reference(0)
        size = struct.unpack_from("<I", data, at)[0] if at else 0
        if index in used and size >= 4:
            yield index, at + 4, size // 4


def weights_that_move(binaries, source, scratch, most):
    """How many constants were moved, and those whose move nobody saw. Zeros become the least numbers that are none."""
    made, moved = scratch / "made.circle", scratch / "moved.circle"
    if subprocess.run([f"{binaries}/circle2circle", "-O1", source, made], capture_output=True).returncode:
        return 0, []
    if prove(binaries, source, "", scratch)[0] != "equal":
        return 0, []
    data = made.read_bytes()
    constants = sorted(float_constants(data), key=lambda one: zlib.crc32(f"{source.name} {one[0]}".encode()))[:most]
    unseen = []
    for index, at, count in constants:
        at += 4 * (zlib.crc32(f"{index}".encode()) % count)
        bits = struct.unpack_from("<I", data, at)[0]
        other = bytearray(data)
        struct.pack_into("<I", other, at, bits - 2 if bits & 0x7fffffff == 0x7f7fffff else bits + 2)
        moved.write_bytes(other)
        run = subprocess.run([f"{binaries}/origin-dump", "--prove", "--json", source, moved], capture_output=True, text=True)
        if run.returncode not in (1, 2):  # 1: the map itself does not fit such a file any more
            unseen.append(f"buffer {index} of {count} numbers: exit status {run.returncode}")
    return len(constants), unseen


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
    networks, moves = 10, 0
    most = 1 << 30 if step == 1 else 2
    with tempfile.TemporaryDirectory() as scratch:
        # The smallest that have some.
        some = [one for one in files if len(list(float_constants(one.read_bytes()))) >= 8]
        for file in sorted(some, key=lambda one: (one.stat().st_size, one.name))[:networks]:
            count, unseen = weights_that_move(binaries, file, pathlib.Path(scratch), most)
            moves += count
            for text in unseen:
                print(f"FAILED {file.name}: a weight that was moved is proved equal: {text}")
            failed += len(unseen)
    print(f"models: {moves} weights moved by two units in the last place, and each seen but for what is told above" if moves else
          "FAILED: no weight was moved")
    failed += not moves
    print(f"models: proved from outside: {dict(sorted(verdicts.items()))}")
    every = sum(verdicts.values())
    if not every or verdicts["equal"] < LEAST_EQUAL[which] * every:
        print(f"FAILED: only {verdicts['equal']} of {every} are proved equal")
        failed += 1
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
