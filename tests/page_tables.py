"""Tables that scripts make of public models, and write into a page."""

import os
import sys


def public_folder(what):
    """The folder that holds models/ and `what` beside it."""
    if "ORIGO_MODELS" not in os.environ:
        sys.exit("FAILED: ORIGO_MODELS has to name the folder of public models (tests/models.tsv)")
    folder = os.path.dirname(os.path.realpath(os.environ["ORIGO_MODELS"]))
    if not os.path.exists(os.path.join(folder, what)):
        sys.exit(f"FAILED: there is no {folder}/{what}")
    return folder


def generated_floats():
    """The float networks that the tree generates."""
    folder = os.environ.get("ORIGO_NETWORKS", "")
    found = sorted(name for name in os.listdir(folder or os.curdir) if name.endswith("_f32.tflite"))
    if not folder or not found:
        sys.exit("FAILED: ORIGO_NETWORKS has to name the folder of generated networks")
    return [os.path.join(folder, name) for name in found]


def write_tables(path, tables):
    """Each between <!-- NAME --> and <!-- end of NAME -->."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        page = page.split(begin)[0] + begin + table + end + page.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
