#!/usr/bin/python3
"""Prints, as a regular expression for ctest, the names of tests that a change can reach.

usage: changed.py BUILD [FILE...]      FILE: what changed, from the root of the tree; without any, what git says since the upstream branch

A script reaches the tests that run it, or something of its folder; a page those that read it; a unit test itself. Anything else is part of
what all tests run, and reaches all but the suite of public models, which ./check --models runs.
"""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
DOCUMENTS = {"documents"}


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def changed():
    base = git("merge-base", "HEAD", "@{upstream}") or ["HEAD"]
    return sorted(set(git("diff", "--name-only", base[0]) + git("ls-files", "--others", "--exclude-standard")))


def reached(file, tests):
    """The names of tests; None: all."""
    folder, name = os.path.split(file)
    if name.endswith(".md"):
        return DOCUMENTS | {test for test in tests if test == "page_" + name[:-3]}
    if re.fullmatch(r"tests/\w+_test\.cpp", file):
        with open(os.path.join(ROOT, file)) as text:
            suites = set(re.findall(r"^(?:TEST|TEST_F|TEST_P)\((\w+),", text.read(), re.M))
        return {"format"} | {test for test in tests if suites & set(re.split(r"[./]", test))}
    if folder.startswith("tests") and not name.endswith((".cpp", ".h", ".txt")):
        part = os.path.join(ROOT, file if folder == "tests" else os.path.join(*folder.split("/")[:2]) + "/")
        return {test for test, command in tests.items() if any(word.startswith(part) for word in command)} or None
    return None


def main():
    said = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-LE", "models", "--show-only=json-v1"], capture_output=True, text=True, check=True)
    tests = {test["name"]: test.get("command", []) for test in json.loads(said.stdout)["tests"]}
    names = set()
    for file in sys.argv[2:] or changed():
        some = reached(file, tests)
        names |= set(tests) if some is None else some
        print(f"{file}: {'all tests' if some is None else ' '.join(sorted(some)) or 'no test'}", file=sys.stderr)
    if not names:
        sys.exit("changed.py: nothing that a test reads has changed since the upstream branch")
    print("." if len(names) == len(tests) else "^(" + "|".join(map(re.escape, sorted(names))) + ")$")


main()
