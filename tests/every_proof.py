#!/usr/bin/env python3
"""What -O1 and the quantiser make of networks is proved equal from outside, or a reason of a closed list is told; and is
not, where a weight of the result is moved by two units in the last place.

usage: every_proof.py BIN networks|models    Networks are those of at most 15 million multiply-adds, each with one scheme;
                                             ORIGO_THOROUGH=1: all, with all
"""
import collections
import json
import pathlib
import re
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "checker"))
import model_file
from many import Tools, line, swept, thorough

# What exact arithmetic does not know, as docs/proof.md says. Anything else is a fault.
UNDECIDED = [r"^[A-Z0-9_]+ has no exact kernel$", r" with effects$", r" of integer weights$", r"^what is not numbers$",
             r" of so many elements$", r"^a comparison that the doubles do not decide$",
             r"^of a source tensor that depends on the inputs, or that no kernel computes$",
             r"^reshaped to a shape that the map does not tell", r" never (acted|ran|took one of its sides)", r" always said the same$",
             r" was (at its bounds always|given one sign only)$"]
# What cannot be run on numbers at random says so.
NOT_RUN = r"cannot be run|new shape|is outside|out of range|would take|takes more than|not the size|negative|elements"
LEAST_EQUAL = {"networks": 0.9, "models": 0.9}
MOST_MULTIPLY_ADDS = 15e6
SCHEMES = ["", "int8", "float16", "int16x8", "dynamic"]


def prove(tools, source, scheme):
    """The verdict, and reasons where it is not equal; None: there is nothing to prove."""
    made = f"{tools.scratch}/made.circle"
    if tools("circle2circle", "-O1", source, made).status:
        return None
    if scheme:
        stored = f"{tools.scratch}/stored.circle"
        if tools("circle-quantizer", f"--scheme={scheme}", "--input_data=random", made, stored, seconds=600).status:
            return None
        made = stored
    run = tools("origin-dump", "--prove", "--json", source, made, seconds=600)
    if run.status not in (0, 2):
        return "not run", [line(run.err) or f"exit status {run.status}"]
    told = json.loads(run.out)
    if (told["verdict"] == "equal") != (run.status == 0):
        return "unequal", [f"exit status {run.status} for {told['verdict']}"]
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


def weights_that_move(tools, source, most):
    """How many constants were moved, and those whose move nobody saw. Zeros become the least numbers that are none."""
    if (prove(tools, source, "") or [""])[0] != "equal":
        return 0, []
    made, moved = (pathlib.Path(tools.scratch, name) for name in ("made.circle", "moved.circle"))
    data = made.read_bytes()
    constants = sorted(float_constants(data), key=lambda one: zlib.crc32(f"{source.name} {one[0]}".encode()))[:most]
    unseen = []
    for index, at, count in constants:
        at += 4 * (zlib.crc32(f"{index}".encode()) % count)
        bits = struct.unpack_from("<I", data, at)[0]
        other = bytearray(data)
        struct.pack_into("<I", other, at, bits - 2 if bits & 0x7fffffff == 0x7f7fffff else bits + 2)
        moved.write_bytes(other)
        status = tools("origin-dump", "--prove", "--json", source, moved, seconds=600).status
        if status not in (1, 2):  # 1: the map itself does not fit such a file any more
            unseen.append(f"buffer {index} of {count} numbers: exit status {status}")
    return len(constants), unseen


def is_small(tools, file):
    """Whether its proof takes seconds, and not minutes."""
    said = tools("circle-metrics", "--json", file)
    return said.status == 0 and sum(graph["macs"] for graph in json.loads(said.out)["subgraphs"]) <= MOST_MULTIPLY_ADDS


def judge(tools, one):
    """The verdict on a network that is stored in a scheme, and what is wrong with it."""
    file, scheme = one
    proved = prove(tools, file, scheme)
    if proved is None:
        return None, []
    verdict, reasons = proved
    known = {"equal": [".*"], "undefined": [".*"], "undecided": UNDECIDED, "not run": [NOT_RUN]}.get(verdict, [])
    return verdict, [f"{file.name} {scheme}: {verdict}: {reason[:300]}" for reason in reasons or [""]
                     if not any(re.search(one, reason) for one in known)]


def main(binaries, which):
    folder = pathlib.Path(swept(which, 1)[0])
    files = sorted(file for file in folder.iterdir() if re.search(r"_f32\.(tflite|circle)$", file.name))
    tools = Tools(binaries)
    if not thorough:
        files = [file for file, small in zip(files, tools.sweep(lambda file: is_small(tools, file), files)) if small]
    pairs = [(file, scheme) for number, file in enumerate(files)
             for scheme in (SCHEMES if thorough else ["", SCHEMES[1 + number % 4]])]
    # Weights move in the smallest that have some.
    some = [one for one in files if len(list(float_constants(one.read_bytes()))) >= 8]
    small = sorted(some, key=lambda one: (one.stat().st_size, one.name))[:10]
    judged = tools.sweep(lambda one: judge(tools, one), pairs)
    moves = tools.sweep(lambda file: (file, *weights_that_move(tools, file, 1 << 30 if thorough else 2)), small)
    tools.close()
    failures = [text for _, texts in judged for text in texts]
    failures += [f"{file.name}: a weight that was moved is proved equal: {text}" for file, _, texts in moves for text in texts]
    moved = sum(count for _, count, _ in moves)
    verdicts = collections.Counter(verdict for verdict, _ in judged if verdict)
    every = sum(verdicts.values())
    if not moved:
        failures.append("no weight was moved")
    if not every or verdicts["equal"] < LEAST_EQUAL[which] * every:
        failures.append(f"only {verdicts['equal']} of {every} are proved equal")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"models: {moved} weights moved by two units in the last place, and each seen but for what is told above")
    print(f"models: proved from outside: {dict(sorted(verdicts.items()))}")
    return 1 if failures else 0


sys.exit(main(*sys.argv[1:]))
