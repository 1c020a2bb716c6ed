#!/usr/bin/env python3
"""Whether networks are as quick after -O1 as they are: operators and processor time before and after, in the native TensorFlow
Lite 2.9 with its plain kernels and with XNNPACK, and in our fast engine.

usage: o1_benchmark.py BIN NATIVE FOLDER [PAGE]     of the networks of FOLDER; with PAGE the table of docs/records/levels.md is written
    BIN       has circle2circle and session_benchmark
    NATIVE    native_tflite, which tests/runtimes/native.sh makes
Each engine is alone in a process of its own, on one thread and warm, for SECONDS_EACH=0.1, the file as it is and that of -O1 in turn; each
signature is measured by itself. Of a process counts the median of its runs (where machines are virtual, single times of the processor
are too short by what the host is believed to have taken), and a round gives one ratio. There are ROUNDS=6, and while -O1 looks slower by
more than 2 %, up to MOST=24. A network is named as slower where the median of the ratios is above 1.03, and all of the interval in which
that lies with 95 % above 1. ONLY=yunet takes a part of the names; what no rewrite changes is left out.
"""
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from one_networks import Table  # noqa: E402
from page_tables import write_tables  # noqa: E402

ENGINES = ["plain", "XNNPACK", "Origo"]
SLOWER = 1.03


def processor_ms(*command, column=0):
    """The least time of a run, or the median (column 1); None where the network is refused."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, "CPU_TIME": "1"})
    return float(ran.stdout.split()[column]) if ran.returncode == 0 and ran.stdout else None


def signatures(model):
    """The subgraph of each, by its name."""
    data = pathlib.Path(model).read_bytes()
    root = Table(data, struct.unpack_from("<I", data, 0)[0])
    return {each.text(2): each.number(4, "I") for each in root.tables(7)}


def in_front(model, subgraph, path):
    """The model with this subgraph in the place of the first one, the only one that the native library runs."""
    data = bytearray(pathlib.Path(model).read_bytes())
    first = Table(data, struct.unpack_from("<I", data, 0)[0]).target(2) + 4
    places = [first, first + 4 * subgraph]
    tables = [place + struct.unpack_from("<I", data, place)[0] for place in places]
    for place, table in zip(places, reversed(tables)):
        struct.pack_into("<I", data, place, table - place)
    pathlib.Path(path).write_bytes(data)
    return path


def interval(ratios):
    """Their median, and where that lies with 95 %, by the binomial distribution."""
    count, low = len(ratios), 0
    below = term = 2.0 ** -count
    while low < count // 2:
        term *= (count - low) / (low + 1)
        below += term
        if below > 0.025:
            break
        low += 1
    return statistics.median(ratios), sorted(ratios)[low], sorted(ratios)[-1 - low]


def measure(before, after, rounds, most):
    """Commands that measure the network before and after: the median of their medians, and of the ratio its interval."""
    times, sure = ([], []), None
    while len(times[0]) < rounds or (len(times[0]) < most and sure[0] > 1.02):
        for which in (0, 1) if len(times[0]) % 2 else (1, 0):
            times[which].append(processor_ms(*(before, after)[which], column=1))
        if None in (times[0][-1], times[1][-1]):
            return times[0][-1], times[1][-1], None
        sure = interval([b / a for a, b in zip(*times)])
    return statistics.median(times[0]), statistics.median(times[1]), sure


def commands(binaries, native, scratch, model, signature, subgraph):
    """What measures the model in each engine."""
    seconds = os.environ.get("SECONDS_EACH", "0.1")
    front = in_front(model, subgraph, f"{scratch}/front{pathlib.Path(model).parent.name}.tflite") if subgraph else model
    ours = [f"{binaries}/session_benchmark", "--alone", f"--seconds={seconds}", f"--signature={signature}", model]
    return [[native, front, 1, seconds, 0], [native, front, 1, seconds, 1], ours]


class Report:
    """The rows, and what the lines below them say."""

    def __init__(self):
        self.rows, self.ratios = [], {each: [] for each in ENGINES}
        self.slower, self.lost, self.same = [], [], []

    def add(self, name, counts, measured):
        cells = [f"`{name}`", counts]
        for engine, (before, after, sure) in zip(ENGINES, measured):
            if before is None or after is None:
                cells += [" → ".join("refused" if each is None else f"{each:.3f}" for each in (before, after)), "-"]
                if before is not None:
                    self.lost.append(f"{name} ({engine})")
                continue
            ratio, low, high = sure
            self.ratios[engine].append(ratio)
            cells += [f"{before:.3f} → {after:.3f}", f"{ratio:.2f}"]
            if ratio > SLOWER and low > 1:
                self.slower.append(f"`{name}` ({engine}, {ratio:.2f}, {low:.2f} to {high:.2f})")
        self.rows.append("| " + " | ".join(cells) + " |\n")
        print(self.rows[-1], end="", flush=True)

    def lines(self):
        """What stands below the table."""
        means = [f"{engine} {math.exp(sum(map(math.log, each)) / len(each)):.3f} of {len(each)}"
                 for engine, each in self.ratios.items() if each]
        text = f"\nTime after `-O1` / before, in the geometric mean: {', '.join(means) or 'none runs'}.\n\n"
        text += f"Slower by more than 3 % beyond noise: {', '.join(self.slower) or 'none'}.\n"
        text += f"\nRefused after `-O1` only: {', '.join(self.lost)}.\n" if self.lost else ""
        return text + (f"\nNo rewrite changes {', '.join(self.same)}.\n" if self.same else "")


def main(binaries, native, folder, page=None):
    rounds, most, only = (os.environ.get(*each) for each in (("ROUNDS", "6"), ("MOST", "24"), ("ONLY", "")))
    report = Report()
    head = "| network | operators | " + " | ".join(f"{each}: ms | ratio" for each in ENGINES) + " |\n" + "|---" * 8 + "|\n"
    print(head, end="")
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch, "made").mkdir()
        for model in sorted(each for each in pathlib.Path(folder).glob("*.tflite") if only in each.name):
            made = f"{scratch}/made/{model.name}"
            done = subprocess.run([f"{binaries}/circle2circle", "-O1", "--no-origin-json", model, made], capture_output=True, text=True)
            if done.returncode:
                print(f"{model.name}: left out: {done.stderr[:200].strip()}", file=sys.stderr)
                continue
            counts = re.search(r"(\d+) operators?, (\d+) after (\d+) rewrite", done.stderr)
            if counts[3] == "0":
                report.same.append(f"`{model.stem}`")
                continue
            before, after = signatures(model), signatures(made)
            parts = [(each, before[each], after[each]) for each in sorted(before)] if len(before) > 1 else [("", 0, 0)]
            for signature, subgraph, later in parts:
                pairs = zip(commands(binaries, native, scratch, str(model), signature, subgraph),
                            commands(binaries, native, scratch, made, signature, later))
                measured = [measure(*pair, int(rounds), int(most)) for pair in pairs]
                if all(each[0] is None and each[1] is None for each in measured):
                    print(f"{model.name}: left out: no engine runs it", file=sys.stderr)
                    continue
                report.add(model.stem + (f": {signature}" if signature else ""), f"{counts[1]} → {counts[2]}", measured)
    print(report.lines(), end="")
    if page:
        write_tables(page, {"o1": head + "".join(report.rows) + report.lines()})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
