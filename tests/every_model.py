#!/usr/bin/env python3
"""Sends every model file through circle2circle -O1 and lets origin-dump --check judge the result by the bytes of the two files.

usage: every_model.py BIN networks|models           each is done right, or refused and listed in docs/refused-models.md
       every_model.py BIN samples                   the same for res/
       every_model.py BIN hostile networks|models   each of their hostile/ is done right or refused in one line; nothing crashes,
                                                    hangs or grows

Every second public model is taken, of the models of few operators that the tree makes every fifth, and a sixth of these under sanitizers;
ORIGO_THOROUGH=1 in the environment takes them all."""
import glob, os, sys
from many import Tools, line, read, root, swept

tools, what = Tools(sys.argv[1]), sys.argv[2]
listed = read(f"{root}/docs/refused-models.md")
every = {"models": 2, "networks": 5}.get(what, 1) * (6 if tools.sanitized else 1)


def one(file, ending):
    """The verdict on one file that is written as `ending`, and why."""
    written, name = f"{tools.scratch}/model.{ending}", os.path.relpath(file, folder)
    before = os.listdir(tools.scratch)
    done = tools("circle2circle", "-O1", file, written, bytes=(128 << 20) + 8 * os.path.getsize(file))
    said = f"{name}: {line(done.err)}"
    if done.status == 1:
        if done.err.count(b"\n") != 1:
            return f"FAILED {said}: not one line"
        if os.listdir(tools.scratch) != before:
            return f"FAILED {said}: refused, but there is output"
        if what != "hostile" and os.path.basename(file).encode() not in listed:
            return f"FAILED {said}: not in docs/refused-models.md"
        return f"refused {said}"
    if done.status:
        return f"FAILED {said}: exit status {done.status}"
    checked = tools("origin-dump", "--check", "--source", file, written)
    if checked.status:
        return f"FAILED {name}: origin-dump --check: exit status {checked.status}: {line(checked.out + checked.err)}"
    return f"done {name}"


def both(file):
    """To circle, which is what the toolchain takes, and back into its own format."""
    verdict = one(file, "circle")
    return one(file, "tflite") if verdict.startswith("done") and file.endswith(".tflite") else verdict


def sample(text):
    """A text is made a file first, so that the checker has bytes to look at."""
    file = f"{tools.scratch}/sample.tflite"
    done = tools("circle2circle", "--no-origin-json", text, file)
    return both(file) if done.status == 0 else f"FAILED {text}: cannot be converted: {line(done.err)}"


if what == "samples":
    folder, files = f"{root}/res", sorted(glob.glob(f"{root}/res/**/*.origo", recursive=True))
elif what == "hostile":
    folder = f"{swept(sys.argv[3], 1)[0]}/hostile"
    files = sorted(path for path in glob.glob(f"{folder}/**", recursive=True) if path.endswith((".tflite", ".circle")))
else:
    folder, files = swept(what, every)
verdicts = tools.sweep(sample if what == "samples" else both, files)
tools.close()
for verdict in sorted(verdicts):
    if verdict.startswith("FAILED" if what == "hostile" else ("FAILED", "refused")):
        print(verdict)
count = lambda word: sum(verdict.startswith(word + " ") for verdict in verdicts)
print(f"models: {len(files)} files of {what}: {count('done')} optimised and their maps checked, {count('refused')} refused, {count('FAILED')} failed")
sys.exit(not files or count("FAILED") > 0)
