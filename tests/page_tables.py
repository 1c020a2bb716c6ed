"""Tables that a script writes into a page, each between <!-- NAME --> and <!-- end of NAME -->."""


def write_tables(path, tables):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        page = page.split(begin)[0] + begin + table + end + page.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
