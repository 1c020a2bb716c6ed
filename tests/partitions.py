#!/usr/bin/env python3
"""Which operators a back end really took, beside what circle-check foretells.

usage: partitions.py BIN TABLE MODELS TARGET    TABLE: tests/facts/partitions-*.tsv; MODELS: a folder of public models
"""
import json
import pathlib
import subprocess
import sys

LEAST_OPERATORS, LEAST_NETWORKS = 0.998, 0.97


def places(text):
    """"0:0-2,5;1:3" as pairs of subgraph and position."""
    found = set()
    for graph in text.split(";") if ":" in text else []:
        subgraph, rows = graph.split(":")
        for row in rows.split(","):
            first, _, last = row.partition("-")
            found |= {(int(subgraph), i) for i in range(int(first), int(last or first) + 1)}
    return found


def main(binaries, table, models, target):
    operators = right = networks = whole = failed = 0
    for line in pathlib.Path(table).read_text().splitlines():
        if line.startswith("#") or line.startswith("network\t"):
            continue
        name, count, parts, taken = line.split("\t")
        model = pathlib.Path(models) / (name + ".tflite")
        if not model.exists():
            print(f"FAILED {name}: is not in {models}")
            failed += 1
            continue
        run = subprocess.run([f"{binaries}/circle-check", "--target", target, "--json", model], capture_output=True, text=True)
        if run.returncode not in (0, 2):
            print(f"FAILED {name}: {run.stderr[:300]}")
            failed += 1
            continue
        partition = json.loads(run.stdout)["partition"]
        foretold = {(part["subgraph"], i) for part in partition["parts"] for i in part["op_indices"]}
        wrong = foretold ^ places(taken)
        if partition["operators"] != int(count):
            print(f"FAILED {name}: has {count} operators, and circle-check counts {partition['operators']}")
            failed += 1
        operators += int(count)
        right += int(count) - len(wrong)
        networks += 1
        same = not wrong and len(partition["parts"]) == int(parts)
        whole += same
        if not same:
            print(f"differs {name}: {parts} parts, foretold {len(partition['parts'])}; operators {sorted(wrong)[:8]}")
    print(f"{right} of {operators} operators, {whole} of {networks} networks")
    if not networks or right < LEAST_OPERATORS * operators or whole < LEAST_NETWORKS * networks:
        print("FAILED: too few")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
