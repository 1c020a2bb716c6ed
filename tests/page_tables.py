"""Tables that scripts make of the shared folder, and write into a page."""

import os
import sys


def shared_folder(what):
    """Where models are; leaves the process with 77 (skipped) where there is no such folder or file in it."""
    beside = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../shared")
    shared = os.path.realpath(os.environ.get("ORIGO_SHARED") or beside)
    if not os.path.exists(os.path.join(shared, what)):
        print(f"skipped: there is no {shared}/{what} (ORIGO_SHARED says where the shared folder is)")
        sys.exit(77)
    return shared


def write_tables(path, tables):
    """Each between <!-- NAME --> and <!-- end of NAME -->."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        page = page.split(begin)[0] + begin + table + end + page.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
