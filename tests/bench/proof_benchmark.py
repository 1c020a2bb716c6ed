#!/usr/bin/env python3
"""What a proof from outside costs, beside runs of the reference engine: processor time, and the most memory.

usage: proof_benchmark.py BIN MODEL...     A line a model: a run of the reference engine, the proof of what -O1 makes of the
model, which runs both twice, how many runs of the engine one of these is, and the peaks of both in MiB. Inputs are random.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def cost(*command):
    """Seconds of the processor, and the peak in MiB."""
    child = subprocess.Popen([str(each) for each in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 2):
        return None
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    binaries, *models = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made.circle"
        for model in map(Path, models):
            if cost(f"{binaries}/circle2circle", "-O1", model, made) is None:
                continue
            many = 4
            once = cost(f"{binaries}/circle-interpreter", "--engine=reference", "--seed=1", model)
            more = cost(f"{binaries}/circle-interpreter", "--engine=reference", "--seed=1", f"--runs={many + 1}", model)
            proof = cost(f"{binaries}/origin-dump", "--prove", model, made)
            if None in (once, more, proof):
                print(f"{model.name}: cannot be run")
                continue
            run = (more[0] - once[0]) / many
            if run < 0.05:
                print(f"{model.name}: too small to tell")
                continue
            print(f"{model.name}: {run:.2f} s a run, {proof[0]:.2f} s the proof, a quarter of which is"
                  f" {proof[0] / 4 / run:.1f} runs; {once[1]:.0f} and {proof[1]:.0f} MiB")


main()
