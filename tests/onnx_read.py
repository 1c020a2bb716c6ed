"""What tests read of an ONNX file: its messages, tensors, the names and shapes of its inputs, and what it can be run on."""

import csv
import os

import numpy as np

TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64,
         12: np.uint32, 13: np.uint64}


def fields(data):
    """Of a message of protobuf: number and value, bytes where it has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        else:
            size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
            at += size
            yield tag >> 3, data[at - size:at]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def integers(value):
    """Of a repeated field of integers, packed or not."""
    return [value] if isinstance(value, int) else [n for _, n in fields(b"".join(b"\x08" + part for part in split(value)))]


def split(packed):
    begin = 0
    for at, byte in enumerate(packed):
        if byte < 128:
            yield packed[begin:at + 1]
            begin = at + 1


def tensor(data):
    """Name and array of a TensorProto; None where it is none of numbers."""
    dims, dtype, raw, typed, name = [], 0, None, {}, ""
    for number, value in fields(data):
        if number == 1:
            dims += integers(value)
        elif number == 2:
            dtype = value
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
        elif number in (4, 10):
            typed.setdefault(number, []).extend(np.frombuffer(value, np.float32 if number == 4 else np.float64))
        elif number in (5, 7, 11):
            typed.setdefault(number, []).extend(map(signed, integers(value)))
    if dtype not in TYPES:
        return name, None
    if raw is not None:
        return name, np.frombuffer(raw, TYPES[dtype]).reshape(dims)
    numbers = next(iter(typed.values()), [])
    if dtype == 10:
        return name, np.array(numbers, np.uint16).view(np.float16).reshape(dims)
    return name, np.array(numbers).astype(TYPES[dtype]).reshape(dims)


def names(model, field):
    """Of the graph's inputs (11) or outputs (12), and of its initializers (5)."""
    graph = next(value for number, value in fields(model) if number == 7)
    key = 8 if field == 5 else 1
    return [next((v.decode() for n, v in fields(value) if n == key), "") for number, value in fields(graph) if number == field]


def inputs(model):
    """Name and shape of each input that is no initializer; of a dimension that is open, what it is called."""
    graph = next(value for number, value in fields(model) if number == 7)
    known, found = set(names(model, 5)), []
    for number, info in fields(graph):
        if number != 11:
            continue
        parts = dict(fields(info))
        tensor_type = dict(fields(dict(fields(parts[2])).get(1, b"")))
        dims = []
        for dim in (dict(fields(value)) for n, value in fields(tensor_type.get(2, b"")) if n == 1):
            dims.append(dim[1] if 1 in dim else dim.get(2, b"").decode())
        if parts[1].decode() not in known:
            found.append((parts[1].decode(), dims))
    return found


def types(model):
    """Element type of each input."""
    graph = next(value for number, value in fields(model) if number == 7)
    found = {}
    for parts in (dict(fields(info)) for number, info in fields(graph) if number == 11):
        found[parts[1].decode()] = TYPES.get(dict(fields(dict(fields(parts[2])).get(1, b""))).get(1))
    return found


def arguments(path, folder):
    """What SOURCES.tsv says that a model is run on: the words behind each flag, in order."""
    found = {"--shape": {}, "--dim": {}, "--fill": {}, "--int-range": None}
    table = os.path.join(folder, "SOURCES.tsv") if folder else ""
    if not os.path.exists(table):
        return found
    with open(table) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["file"] == os.path.relpath(path, folder):
                words = (row["oracle_args"] or "").split()
                for flag, word in zip(words[::2], words[1::2]):
                    if flag == "--int-range":
                        found[flag] = tuple(map(int, word.split(",")))
                    elif flag in found:
                        found[flag][word.split("=")[0]] = word.split("=")[1]
    return found


def sizes(path, folder):
    """The shape of each input: as the file has it, where that is open as SOURCES.tsv says, or else 1, 64 or 8 by position. Of those that are open, too,
    what --shape says."""
    with open(path, "rb") as file:
        known = inputs(file.read())
    asked = arguments(path, folder)
    named = {name: int(size) for name, size in asked["--dim"].items()}
    found, options = {}, []
    for i, (name, dims) in enumerate(known):
        for at, dim in enumerate(dims):
            if not isinstance(dim, int):  # what has a name has one size
                named.setdefault(dim, 1 if at == 0 else 64 if len(dims) == 4 and at > 1 else 8)
        found[name] = [dim if isinstance(dim, int) else named[dim] for dim in dims]
        if (given := asked["--shape"].get(str(i))) is not None:
            found[name] = [int(size) for size in given.split(",") if size]
        if any(not isinstance(dim, int) for dim in dims):
            options.append(f"--shape={name}={','.join(map(str, found[name]))}")
    return found, options


def feeds(path, folder, seed=3):
    """Random inputs, as SOURCES.tsv wants them. None: one is of no type of numbers."""
    with open(path, "rb") as file:
        kinds = types(file.read())
    asked, shapes = arguments(path, folder), sizes(path, folder)[0]
    if any(kinds[name] is None for name in shapes):
        return None
    random, made = np.random.RandomState(seed), {}
    low, high = asked["--int-range"] or (0, 3)
    for i, (name, dims) in enumerate(shapes.items()):
        array = random.uniform(-1, 1, dims) if np.dtype(kinds[name]).kind == "f" else low + np.arange(np.prod(dims, dtype=int)).reshape(dims) % (high - low + 1)
        if str(i) in asked["--fill"]:
            array = np.full(dims, float(asked["--fill"][str(i)]))
        made[name] = np.asarray(array).astype(kinds[name])
    return made
