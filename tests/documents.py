#!/usr/bin/env python3
"""The pages hang together: links lead to a file and a heading, README leads to every page, and the glossary names what there is.

usage: documents.py
"""
import re
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
files = [Path(name) for name in subprocess.check_output(["git", "-C", TREE, "ls-files"], text=True).splitlines()]
pages = [page for page in files if page.suffix == ".md"]
faults = []


def text_of(page):
    """Without blocks and pieces of code."""
    text = re.sub(r"^```.*?^```", "", (TREE / page).read_text(), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("[", " ").replace("]", " "), text)


def anchors(page):
    """As GitHub makes them of headings; of equal ones, the second is numbered."""
    found = {}
    for heading in re.findall(r"^#+ (.*)$", (TREE / page).read_text(), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {name if not number else f"{name}-{number}" for name, most in found.items() for number in range(most + 1)}


links = 0
linked = set()
for page in pages:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"\w+:", link):
            continue
        links += 1
        name, _, anchor = link.partition("#")
        to = (TREE / page.parent / name).resolve() if name else TREE / page
        if not to.exists():
            faults.append(f"{page}: {link} leads nowhere")
        elif anchor and to.suffix == ".md" and anchor not in anchors(to):
            faults.append(f"{page}: {link}: there is no such heading")
        if page == Path("README.md"):
            linked.add(to)

for page in pages:
    if page.parts[0] == "docs" and page.name != "README.md" and (TREE / page) not in linked:
        faults.append(f"README.md: does not lead to {page}")

code = "\n".join((TREE / name).read_text() for name in files if name.suffix in (".h", ".cpp"))
terms = re.findall(r"`([A-Za-z:]+)`", (TREE / "docs/glossary.md").read_text())
names = [term for term in terms if term[0].isupper() and not term.startswith("MODEL")]
for name in names:
    scope, _, member = name.rpartition("::")
    if not re.search(rf"\b(class|struct|enum class|enum) {scope or member}\b", code) or not re.search(rf"\b{member}\b", code):
        faults.append(f"docs/glossary.md: there is no {name}")
if links < 200 or len(names) < 10:
    faults.append(f"only {links} links and {len(names)} names were looked at")
print("\n".join(faults) or f"documents: {links} links, {len(names)} names")
sys.exit(bool(faults))
