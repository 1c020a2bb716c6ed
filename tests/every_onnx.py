#!/usr/bin/python3
"""Public ONNX models (tests/models.tsv): each is converted, and its map leads to the file, then and after -O1; or it is refused in one line.
What is refused as it is, as dimensions are open, is given shapes: those of SOURCES.tsv.
Nothing that is made of one names the folders of who made it, nor whoever that is.

Sanitizers see every third.

usage: every_onnx.py BIN FOLDER     FOLDER has networks, and in units/, contrib/ and external/ small models, in refuse/ what has to be refused
"""

import base64
import glob
import os
import re
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor

from many import Tools
from onnx_read import sizes

BIN, FOLDER = os.path.realpath(sys.argv[1]), sys.argv[2]
TOOLS = Tools(BIN)
# How many of each folder are taken, at least.
LEAST = {"": 53, "units": 116, "contrib": 6, "external": 5, "refuse": 0}
EVERY = 3 if b"__asan_init" in open(os.path.join(BIN, "onnx2circle"), "rb").read() else 1

FOLDERS = rb"/home/|/Users/|/root/|/tmp/|/content/|[A-Za-z]:\\\\?Users|/ipykernel_"
PEOPLE = re.compile(rb"(?:/home/|/Users/|:\\\\?Users\\\\?)([\w.-]{3,})")  # whose folders they are


def run(*words):
    return TOOLS.run(*words, seconds=120)


def judge(path):
    """None where it is refused, else what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        circle, after = os.path.join(folder, "net.circle"), os.path.join(folder, "o1.circle")
        done = run("onnx2circle", path, circle)
        if done.returncode == 1 and os.path.dirname(path) in (FOLDER.rstrip("/"), os.path.join(FOLDER, "units")):
            done = run("onnx2circle", *sizes(path, FOLDER)[1], path, circle)
        if done.returncode == 1 and len(done.stderr.splitlines()) == 1 and not os.listdir(folder):
            return None
        if done.returncode:
            return [f"exit {done.returncode}: {done.stderr[-300:]}"]
        faults = []
        with open(path, "rb") as file:
            own = file.read()
        people = set(PEOPLE.findall(own))
        private = re.compile(b"|".join([FOLDERS, *(rb"(?<!\w)" + re.escape(name) + rb"(?!\w)" for name in people)]))
        for file in circle, after:
            if file == after and (done := run("circle2circle", "-O1", circle, after)).returncode:
                return faults + ["-O1: " + done.stderr[-300:]]
            check = run("origin-dump", "--check", "--source", path, file)
            if check.stdout != "ok\n":
                faults.append(f"{os.path.basename(file)}: {(check.stdout + check.stderr)[:300]}")
            for what, data in said(file, folder, bool(private.search(own))):
                if found := private.search(data):
                    faults.append(f"{os.path.basename(file)}: {what} has {data[max(0, found.start() - 20) : found.end() + 40]!r}")
        return faults


def unpacked(data):
    """Of a page also what is in it as base64, deflated or not."""
    for blob in re.findall(rb"[A-Za-z0-9+/]{80,}=*", data):
        own = base64.b64decode(blob[:len(blob) // 4 * 4])
        for bits in 47, -15:
            try:
                own = zlib.decompressobj(bits).decompress(own)
                break
            except zlib.error:
                pass
        data += own
    return data


def said(file, folder, all):
    """What is written of a model, each with its name; all: of one whose source has something to hide, whatever else shows it."""
    yield "the model", open(file, "rb").read()
    yield "its map", run("origin-dump", "--json", file).stdout.encode()
    if all:
        page, lite, packed = (os.path.join(folder, name) for name in ("page.html", "lite.tflite", "packed.circle"))
        run("origin-view", "-o", page, file)
        run("circle2circle", file, lite)
        run("circle2circle", "--embed-origin=full", "-O1", "--trace=" + page + ".trace", file, packed)
        for path in page, lite, lite + ".origin.json", packed, page + ".trace":
            if os.path.exists(path):
                yield os.path.basename(path), unpacked(open(path, "rb").read())
        for words in ("origin-dump",), ("origin-dump", "--where=.*"), ("circledump", "--origins"), ("circle-metrics", "--per=line"), ("circle-metrics", "--per=scope"):
            done = run(*words, file)
            yield " ".join(words), (done.stdout + done.stderr).replace(folder, "").encode()


failed = False
for part, least in LEAST.items():
    paths = sorted(glob.glob(os.path.join(FOLDER, part, "**" if part == "external" else "", "*.onnx"), recursive=True))[::EVERY]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = dict(zip(paths, pool.map(judge, paths)))
    taken = [path for path, faults in verdicts.items() if faults is not None]
    for path in taken:
        for fault in verdicts[path]:
            print("FAILED", path, fault)
            failed = True
    print(f"models: {len(paths)} ONNX files of {part or 'networks'}: {len(taken)} converted and their maps checked, {len(paths) - len(taken)} refused")
    if len(taken) < least // EVERY or not paths or (part == "refuse" and taken):
        print("FAILED: fewer are taken than", least, "or any that has to be refused")
        failed = True
sys.exit(failed)
