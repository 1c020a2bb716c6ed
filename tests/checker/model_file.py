"""What docs/origin-map.md needs of a .tflite or .circle file: operators, tensors, who reads and makes what."""
import copy
import functools
import re
import struct
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]


class Table:
    """A table of a flatbuffer, by slots."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]
        self.slots = (struct.unpack_from("<H", data, self.vtable)[0] - 4) // 2

    def field(self, slot):
        if slot >= self.slots:
            return 0
        offset = struct.unpack_from("<H", self.data, self.vtable + 4 + 2 * slot)[0]
        return self.at + offset if offset else 0

    def number(self, slot, form="i", default=0):
        at = self.field(slot)
        return struct.unpack_from("<" + form, self.data, at)[0] if at else default

    def reference(self, slot):
        at = self.field(slot)
        return at + struct.unpack_from("<I", self.data, at)[0] if at else 0

    def table(self, slot):
        at = self.reference(slot)
        return Table(self.data, at) if at else None

    def has(self, slot):
        return self.field(slot) != 0

    def vector(self, slot, form="i"):
        at = self.reference(slot)
        if not at:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        return list(struct.unpack_from(f"<{count}{form}", self.data, at + 4))

    def bytes(self, slot):
        at = self.reference(slot)
        if not at:
            return b""
        count = struct.unpack_from("<I", self.data, at)[0]
        return self.data[at + 4:at + 4 + count]

    def text(self, slot):
        return self.bytes(slot).decode("utf-8", "replace")

    def tables(self, slot):
        at = self.reference(slot)
        if not at:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        entries = range(at + 4, at + 4 + 4 * count, 4)
        return [Table(self.data, entry + struct.unpack_from("<I", self.data, entry)[0]) for entry in entries]


class Kind:
    """A row of schema/Operators.def."""

    def __init__(self, name, code, operands, options, options2, traits, effects, extras):
        self.name, self.code = name, code
        self.operands = [re.match(r"(\w+)(.*)", operand).groups() for operand in operands.split()]
        self.options = options if options != "NONE" else options2
        self.traits, self.effects = traits, effects
        found = re.search(r'\.subgraphs = "([^"]*)"', extras)
        self.subgraphs = found[1].split() if found else []
        found = re.search(r"\.trades = ([\w| ]+)", extras)
        self.trades = found[1].split(" | ") if found else []

    def has(self, word):
        return word in self.traits or word in self.trades

    def mark(self, operand):
        return self.operands[operand][1] if operand < len(self.operands) else ""


def kinds():
    text = re.sub(r"//[^\n]*", "", (TREE / "schema/Operators.def").read_text())
    rows = {}
    for row in re.finditer(r"^OPERATOR\((.*?)\)\s*$", text, re.S | re.M):
        body = re.sub(r'"\s*\n\s*"', "", row[1])
        strings = re.findall(r'"([^"]*)"', body)
        plain = re.sub(r'"[^"]*"', "''", body)
        name, code, _, _, options, options2, traits, effects, *extras = [part.strip() for part in plain.split(",")]
        tail = body[body.rfind(strings[1]):]
        rows[int(code)] = Kind(name, int(code), strings[0], options, options2, traits.split(" | "),
                               effects.split(" | "), tail)
    return rows


KINDS = kinds()


@functools.cache
def slots_of(table):
    """The slots of the fields of a table in the schema; a union takes two."""
    text = re.sub(r"//[^\n]*", "", (TREE / "schema/circle.fbs").read_text())
    found = re.search(r"table " + table + r"\s*{(.*?)}", text, re.S)
    unions = set(re.findall(r"union (\w+)", text))
    slots, next_slot = {}, 0
    for name, kind in re.findall(r"(\w+)\s*:\s*(\[?\w+\]?)", found[1]) if found else []:
        next_slot += kind in unions
        slots[name] = (next_slot, kind)
        next_slot += 1
    return slots


class Operator:
    def __init__(self, graph, index, table, code):
        self.graph, self.index = graph, index
        self.kind, self.custom, self.callees = KINDS.get(code[0]), code[1], []
        self.name = self.kind.name if self.kind else str(code[0])
        self.inputs, self.outputs = table.vector(1), table.vector(2)  # -1: absent
        self.intermediates = table.vector(8)
        for slot in (4, 12) if self.kind and self.kind.subgraphs else ():
            options = table.table(slot)
            known = slots_of(self.kind.options)
            for name in self.kind.subgraphs if options else ():
                position, form = known[name]
                self.callees += options.vector(position) if form[0] == "[" else [options.number(position)]

        self.activation = 0
        if self.kind and self.name in ("ADD", "SUB", "MUL", "DIV") and (options := table.table(4)):
            self.activation = options.number(slots_of(self.kind.options)["fused_activation_function"][0], "b")

    def has(self, trait):
        return bool(self.kind) and self.kind.has(trait)


class Tensor:
    def __init__(self, table, buffers):
        self.shape = table.vector(0)
        self.has_shape = table.has(0)
        self.type = table.number(1, "b")
        buffer = table.number(2, "I")
        self.data = buffers[buffer] if buffer < len(buffers) else b""
        self.name = table.text(3)
        details = table.table(4)
        self.zero_points = details.vector(3, "q") if details else []
        self.quantized = bool(details) and bool(details.vector(2, "f") or details.number(4, "B"))
        self.variable = bool(table.number(5, "b"))
        self.signature = table.vector(7)
        self.has_rank = bool(table.number(8, "b"))


class Subgraph:
    def __init__(self, table, index, buffers, codes):
        self.tensors = [Tensor(each, buffers) for each in table.tables(0)]
        self.inputs, self.outputs = table.vector(1), table.vector(2)
        self.operators = [Operator(index, i, each, codes[each.number(0, "I")])
                          for i, each in enumerate(table.tables(3))]
        self.name = table.text(4)
        for op in self.operators:
            op.callees = list(dict.fromkeys(op.callees))


class Model:
    """Operators and tensors are counted through all subgraphs; operands and results are such numbers, or -1."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        root = Table(data, struct.unpack_from("<I", data, 0)[0])
        self.format = {b"TFL3": "tflite"}.get(data[4:8], "circle")
        buffers = []
        for buffer in root.tables(4):
            content = buffer.bytes(0)
            offset, size = buffer.number(1, "Q"), buffer.number(2, "Q")
            buffers.append(content or data[offset:offset + size] if size or content else b"")
        self.buffers = buffers
        codes = []
        for code in root.tables(1):
            old = code.number(0, "b")
            new = code.number(3, "i")
            codes.append((max(old, new) if old >= 0 else old, code.text(1)))
        self.bound = frozenset()
        self.graphs = [Subgraph(each, i, buffers, codes) for i, each in enumerate(root.tables(2))]
        self.operators = [op for graph in self.graphs for op in graph.operators]
        self.tensors = [tensor for graph in self.graphs for tensor in graph.tensors]
        self.first_tensor, self.first_operator, tensors, operators = [], [], 0, 0
        for graph in self.graphs:
            self.first_tensor.append(tensors)
            self.first_operator.append(operators)
            tensors += len(graph.tensors)
            operators += len(graph.operators)
        self.producer = [-1] * tensors
        self.users = [[] for _ in range(tensors)]
        self.is_input, self.is_output = [False] * tensors, [False] * tensors
        self.operands, self.results, self.intermediates = [], [], []
        for number, op in enumerate(self.operators):
            self.operands.append([self.tensor(op.graph, i) for i in op.inputs])
            self.results.append([self.tensor(op.graph, i) for i in op.outputs])
            self.intermediates.append({self.tensor(op.graph, i) for i in op.intermediates})
            for i in self.results[-1]:
                if i >= 0:
                    self.producer[i] = number
            for position, i in enumerate(self.operands[-1]):
                if i >= 0:
                    self.users[i].append((number, position))
        for g, graph in enumerate(self.graphs):
            for i in graph.inputs:
                self.is_input[self.tensor(g, i)] = True
            for i in graph.outputs:
                self.is_output[self.tensor(g, i)] = True

    def tensor(self, graph, index):
        return self.first_tensor[graph] + index if index >= 0 else -1

    def graph_inputs(self, graph):
        return [self.tensor(graph, i) for i in self.graphs[graph].inputs]

    def graph_outputs(self, graph):
        return [self.tensor(graph, i) for i in self.graphs[graph].outputs]

    def operands_and_called(self, op):
        """What a call is given of what it may call counts behind its own operands."""
        more = [i for callee in self.operators[op].callees if 0 <= callee < len(self.graphs)
                for i in self.graph_outputs(callee)]
        return self.operands[op] + more

    def with_constants(self, inputs):
        """The same model with inputs that are constants, of unknown bytes."""
        other = copy.copy(self)
        other.bound = frozenset(inputs)
        return other

    def kind_of(self, i):
        tensor = self.tensors[i]
        if i in self.bound:
            return "constant"
        if self.is_input[i]:
            return "input"
        if self.producer[i] >= 0:
            return "activation"
        if tensor.variable:
            return "variable"
        return "constant" if tensor.data or 0 in tensor.shape else "absent"

    def elements(self, i):
        """Of a static shape, else None."""
        tensor = self.tensors[i]
        if not tensor.shape and not tensor.has_rank and self.kind_of(i) != "constant":
            return None
        if any(size < 0 for size in tensor.signature) or any(size < 0 for size in tensor.shape):
            return None
        count = 1
        for size in tensor.shape:
            count *= size
        return count

    def is_static(self, i):
        return i < 0 or self.elements(i) is not None or not self.tensors[i].shape
