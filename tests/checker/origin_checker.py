#!/usr/bin/env python3
"""A second checker of origin maps, written from docs/origin-map.md alone, in another language than the first.

usage: origin_checker.py SOURCE MODEL MAP.json [SOURCE_FINGERPRINT MODEL_FINGERPRINT]

Prints a line a violation, "law N: …", and ends with exit status 2, or prints ok. Fingerprints are what
`origin-dump --fingerprint` prints; without them law 5 is not judged.
"""
import hashlib
import json
import math
import struct
import sys

from model_file import KINDS, Model

FATES = {
    False: {"dead", "identity", "duplicate-of", "folded-to-constant", "layout-cancelled", "quantization-cancelled",
            "cancelled", "inlined", "user-removed", "elsewhere"},
    True: {"dead", "identity", "duplicate-of", "folded-to-constant", "layout-cancelled", "quantization-cancelled",
           "cancelled", "inlined", "user-removed", "elsewhere", "fused-away", "decomposed", "unused-in-source"},
}
NOWHERE = {"dead", "user-removed", "elsewhere", "unused-in-source"}
LIVES_ON = {"identity", "duplicate-of", "layout-cancelled", "quantization-cancelled", "cancelled"}
CANCELS = {"layout-cancelled", "quantization-cancelled", "cancelled"}
BRIDGES = {"type-bridge": {"CAST"}, "layout-bridge": {"TRANSPOSE", "RESHAPE"}, "scale-bridge": {"MUL"},
           "quantize-border": {"QUANTIZE", "DEQUANTIZE", "CAST"}, "broadcast": {"BROADCAST_TO"}}
REASONS = set(BRIDGES) | {"user-inserted", "invented-constant", "not-recorded"}
NO_RELATION = {"new-intermediate", "approximated", "split-sum", "state", "synthetic"}


class Checker:
    def __init__(self, source, target, origin_map, fingerprints=None):
        self.source, self.target, self.map, self.fingerprints = source, target, origin_map, fingerprints
        self.violations = []
        self.inferred = bool(self.map["target"].get("inferred"))
        self.inferred_once = self.inferred or any(each.get("inferred") for each in self.map["chain"])

    def add(self, law, text):
        self.violations.append((law, text))

    def run(self):
        self.listings()
        if any(law == 4 for law, _ in self.violations):
            return self.violations  # what follows needs lists that are true
        self.index()
        self.bound()
        self.rows()
        self.ledger()
        if any(law in (1, 2, 3) for law, _ in self.violations):
            return self.violations
        self.relations()
        self.exactness()
        if self.inferred:
            self.evidence()
        self.makers()
        self.parents()
        self.converted()
        self.living()
        self.neighbours()
        return self.violations

    # Laws 4 and 5: the lists are those of the files, and so are the fingerprints.

    def listings(self):
        source, target = self.map["source"], self.map["target"]
        if self.fingerprints:
            for part, (fingerprint, content) in zip((source, target), self.fingerprints):
                if (part["fingerprint"], part["content"]) != (fingerprint, self.with_bound(content, part.get("bound", []))):
                    self.add(5, "a fingerprint is another")
        if source["format"] != self.source.format and source["format"] != "onnx":
            self.add(4, "the source has another format")
        if target["format"] != self.target.format:
            self.add(4, "the target has another format")
        if len(source["subgraphs"]) != len(self.source.graphs) or len(target["subgraphs"]) != len(self.target.graphs):
            return self.add(4, "another number of subgraphs")
        for g, (listed, graph) in enumerate(zip(source["subgraphs"], self.source.graphs)):
            self.source_graph(g, listed, graph)
        for g, (listed, graph) in enumerate(zip(target["subgraphs"], self.target.graphs)):
            self.target_graph(g, listed, graph)

    def source_graph(self, g, listed, graph):
        first, operators = self.source.first_tensor[g], self.source.first_operator[g]
        if listed["name"] != graph.name:
            self.add(4, f"source subgraph {g} has another name")
        if len(listed["operators"]) != len(graph.operators) or len(listed["tensors"]) != len(graph.tensors):
            return self.add(4, f"source subgraph {g} has another number of rows")
        for i, (row, op) in enumerate(zip(listed["operators"], graph.operators)):
            outputs = self.source.results[operators + i]
            if (row["id"], row["index"], row["op"]) != (operators + i, i, op.name) or row["tensors"] != outputs:
                self.add(4, f"source operator {operators + i} is another")
            if row.get("custom_code", "") != op.custom:
                self.add(4, f"source operator {operators + i} has another name")
            if "operands" in row and row["operands"] != self.source.operands[operators + i]:
                self.add(4, f"source operator {operators + i} has other operands")
        for i, (row, tensor) in enumerate(zip(listed["tensors"], graph.tensors)):
            if (row["id"], row["index"], row["name"]) != (first + i, i, tensor.name):
                self.add(4, f"source tensor {first + i} is another")
            if row["kind"] != self.source.kind_of(first + i):
                self.add(4, f"source tensor {first + i} is of another kind")

    def target_graph(self, g, listed, graph):
        first = self.target.first_tensor[g]
        if listed["name"] != graph.name:
            self.add(4, f"subgraph {g} has another name")
        seen = [False] * len(graph.tensors)
        for is_constant, rows in ((True, listed["constants"]), (False, listed["values"])):
            for row in rows:
                i = row["index"]
                if not 0 <= i < len(graph.tensors) or seen[i]:
                    self.add(4, f"row of tensor {i}, which is not there, or has one")
                    continue
                seen[i] = True
                if row["name"] != graph.tensors[i].name:
                    self.add(4, f"tensor {first + i} has another name")
                if is_constant != (self.target.kind_of(first + i) == "constant"):
                    self.add(4, f"tensor {first + i} is listed as what it is not")
        if not all(seen):
            self.add(1, f"a tensor of subgraph {g} has no row")
        if len(listed["operators"]) != len(graph.operators):
            return self.add(1, f"subgraph {g} has another number of operators")
        for i, (row, op) in enumerate(zip(listed["operators"], graph.operators)):
            names = ["" if k < 0 else graph.tensors[k].name for k in op.outputs]
            said = row["index"], row["op"], row.get("custom_code", ""), row["outputs"]
            if said != (i, op.name, op.custom, names):
                self.add(4, f"operator {i} of subgraph {g} is another")

    # Rows by number.

    def index(self):
        self.operator_rows = [row for graph in self.map["target"]["subgraphs"] for row in graph["operators"]]
        self.tensor_rows = [None] * len(self.target.tensors)
        for g, graph in enumerate(self.map["target"]["subgraphs"]):
            for row in graph["constants"] + graph["values"]:
                self.tensor_rows[self.target.first_tensor[g] + row["index"]] = row
        self.gone = {False: {}, True: {}}
        self.unneeded = set()
        self.unneeded_rows = []

    # Inputs of the source that are bound: constants of what follows.

    @staticmethod
    def with_bound(content, bound):
        if not bound:
            return content
        data = bytes.fromhex(content.removeprefix("sha256:"))
        for one in bound:
            data += struct.pack("<I", one["tensor"]) + bytes.fromhex(one["sha256"])
        return "sha256:" + hashlib.sha256(data).hexdigest()

    def bound(self):
        bound, last = {}, -1
        for one in self.map["source"].get("bound", []):
            tensor = one["tensor"]
            if not last < tensor < len(self.source.graphs[0].tensors) or not self.source.is_input[tensor]:
                self.add(2, f"source tensor {tensor} is no input, or bound out of order")
            else:
                bound[tensor] = one["sha256"]
            last = tensor
        for number, row in enumerate(self.tensor_rows):
            for relation in row["relations"] if row else []:
                if relation["tensor"] not in bound:
                    continue
                if self.target.is_input[number] and number in self.target.graph_inputs(0):
                    self.add(8, f"tensor {number} is given, and holds what is bound")
                elif self.is_constant(number) and relation.get("exact") and not relation["steps"]:
                    if hashlib.sha256(self.target.tensors[number].data).hexdigest() != bound[relation["tensor"]].lower():
                        self.add(8, f"tensor {number} holds other bytes than what is bound")
        self.source = self.source.with_constants(bound)

    def is_constant(self, tensor):
        return self.target.kind_of(tensor) == "constant"

    def relations_of(self, tensor):
        row = self.tensor_rows[tensor] if tensor >= 0 else None
        return row["relations"] if row else []

    def lineages(self, tensor):
        """How many lineages what is read there has."""
        maker = self.target.producer[tensor]
        row = self.operator_rows[maker] if maker >= 0 else self.tensor_rows[tensor]
        return max(1, len(row.get("lineages", [])))

    # Laws 1 and 2.

    def ids(self, ids, limit, what):
        if any(not 0 <= i < limit for i in ids):
            self.add(2, what + " that is not there")
        elif any(a >= b for a, b in zip(ids, ids[1:])):
            self.add(2, what + " out of order")

    def rows(self):
        operators, tensors = len(self.source.operators), len(self.source.tensors)
        if len(self.operator_rows) != len(self.target.operators) or None in self.tensor_rows:
            return
        for number, row in enumerate(self.operator_rows):
            synthetic = row.get("synthetic")
            if bool(row["origins"]) == bool(synthetic):
                self.add(1, f"operator {number} has to have origins or be synthetic")
            self.ids(row["origins"], operators, "an origin")
            self.ids(row.get("calls", []), operators, "a call")
            self.ids(row.get("movedPast", []), operators, "what was moved past")
            if synthetic:
                self.synthetic(number, synthetic)
            self.operator_lineages(number, row)
            if self.out_of_order(row, "origins", "operands"):
                self.add(1, f"operator {number} has lineages out of order or twice")
        for number, row in enumerate(self.tensor_rows):
            constant = self.is_constant(number)
            if constant:
                self.constant(number, row)
            if not row["relations"] and row.get("reason", "") in ("", None):
                self.add(1, f"tensor {number} has no relation for no reason")
            for relation in row["relations"]:
                self.relation_ids(number, relation)
        for graph in self.map["target"]["subgraphs"]:
            if any(not 0 <= i < len(self.source.graphs) for i in graph["source"]):
                self.add(2, "a source subgraph that is not there")

    def synthetic(self, number, synthetic):
        reason = synthetic["reason"]
        self.ids(synthetic.get("serves", []), len(self.source.operators), "a served operator")
        if not synthetic.get("serves"):
            self.add(1, f"operator {number} serves nobody")
        if reason == "unknown" and self.inferred_once:
            return
        if reason not in REASONS:
            self.add(1, f"operator {number} is synthetic for no known reason")
        elif self.target.operators[number].name not in BRIDGES.get(reason, ()):
            self.add(1, f"operator {number} is no {reason}")

    def out_of_order(self, row, *keys):
        lineages = [[one[key] for key in keys] for one in row.get("lineages", [])]
        return any(a >= b for a, b in zip(lineages, lineages[1:]))

    def operator_lineages(self, number, row):
        lineages = row.get("lineages", [])
        if not lineages:
            return
        if sorted({i for one in lineages for i in one["origins"]}) != row["origins"]:
            self.add(1, f"the lineages of operator {number} have other origins")
        operands = self.target.operands[number]
        for one in lineages:
            self.ids(one["origins"], len(self.source.operators), "an origin of a lineage")
            if len(one["operands"]) != len(operands):
                self.add(1, f"a lineage of operator {number} has another number of operands")
                continue
            for used, operand in zip(one["operands"], operands):
                if used and (operand < 0 or used >= self.lineages(operand)):
                    self.add(2, f"operator {number} uses a lineage that is not there")

    def constant(self, number, row):
        self.ids(row["tensors"], len(self.source.tensors), "a source constant")
        self.ids(row["operators"], len(self.source.operators), "a folded operator")
        for i in row["tensors"]:
            if 0 <= i < len(self.source.tensors) and self.source.kind_of(i) != "constant":
                self.add(2, f"constant {number} comes from what is none")
        nothing = not row["tensors"] and not row["operators"]
        if nothing != bool(row.get("synthetic")):
            self.add(1, f"constant {number} has to come from something or be synthetic")
        lineages = row.get("lineages", [])
        if self.out_of_order(row, "operators", "tensors"):
            self.add(1, f"constant {number} has lineages out of order or twice")
        for key in ("tensors", "operators") if lineages else ():
            if sorted({i for one in lineages for i in one[key]}) != row[key]:
                self.add(1, f"the lineages of constant {number} come from something else")

    def relation_ids(self, number, relation):
        if not 0 <= relation["tensor"] < len(self.source.tensors):
            return self.add(2, f"tensor {number} is related to what is not there")
        if relation.get("lineage", 0) >= self.lineages(number):
            self.add(2, f"tensor {number} is related by a lineage that is not there")
        g = next(g for g in reversed(range(len(self.target.graphs))) if self.target.first_tensor[g] <= number)
        for step in relation["steps"]:
            for key, value in step.items():
                terms = [value.get("scale"), value.get("shift")] if key.startswith("affine") else []
                for term in terms:
                    if not isinstance(term, int) or isinstance(term, bool):
                        continue
                    if key == "affine":
                        size = len(self.target.graphs[g].tensors)
                        if not 0 <= term < size or not self.is_constant(self.target.tensor(g, term)):
                            self.add(2, f"tensor {number} is scaled by what is no constant")
                    elif not 0 <= term < len(self.source.tensors) or self.source.kind_of(term) != "constant":
                        self.add(2, f"tensor {number} is scaled by what is no constant of the source")

    # Laws 3 and 8: what is live, what is gone.

    def ledger(self):
        for row in self.map["ledger"]:
            self.ledger_row(row)
        for row in self.map.get("unneeded", []):
            self.note("tensor" in row, row.get("tensor", row.get("operator")), row["unneeded"])
        if len(self.operator_rows) != len(self.target.operators) or None in self.tensor_rows:
            return
        self.live_operators = {i for row in self.operator_rows for i in row["origins"]}
        self.live_tensors = {relation["tensor"] for row in self.tensor_rows for relation in row["relations"]}
        for number, row in enumerate(self.tensor_rows):
            if self.is_constant(number):
                self.live_tensors |= set(row["tensors"])
        for is_tensor, live, count in ((False, self.live_operators, len(self.source.operators)),
                                       (True, self.live_tensors, len(self.source.tensors))):
            for i in range(count):
                gone = i in self.gone[is_tensor]
                what = f"source {'tensor' if is_tensor else 'operator'} {i}"
                if i not in live and not gone:
                    self.add(3, what + " has vanished")
                if i in live and gone:
                    self.add(8, what + " is live and gone")
        if any(law == 2 for law, _ in self.violations):
            return
        for is_tensor in (False, True):
            for i, row in self.gone[is_tensor].items():
                self.fate(is_tensor, i, row)

    def note(self, is_tensor, i, rows):
        for row in rows:
            self.unneeded.add((is_tensor, i, row["operator"], row["operand"]))
            self.unneeded_rows.append((is_tensor, i, row["operator"], row["operand"], row["reason"]))

    def ledger_row(self, row):
        is_tensor = "tensor" in row
        i = row["tensor"] if is_tensor else row["operator"]
        count = len(self.source.tensors if is_tensor else self.source.operators)
        if not 0 <= i < count:
            return self.add(2, "a ledger row of what is not there")
        if i in self.gone[is_tensor]:
            return self.add(3, f"two ledger rows of {i}")
        self.gone[is_tensor][i] = row
        self.note(is_tensor, i, row.get("unneeded", []))
        for key, of in (("operators", lambda g: g.operators), ("tensors", lambda g: g.tensors)):
            for graph, index in row["into"][key] + row.get("ledTo", {key: []})[key]:
                if not 0 <= graph < len(self.target.graphs) or not 0 <= index < len(of(self.target.graphs[graph])):
                    self.add(2, f"the ledger leads from {i} to what is not there")
        self.ids(row.get("with", []), len(self.source.operators), "an operator that cancelled out")

    def into(self, row):
        operators = [self.target.first_operator[g] + i for g, i in row["into"]["operators"]]
        tensors = [self.target.tensor(g, i) for g, i in row["into"]["tensors"]]
        return operators, tensors

    def fate(self, is_tensor, i, row):
        fate = row["fate"]
        what = f"source {'tensor' if is_tensor else 'operator'} {i}"
        if fate == "unknown" and self.inferred_once:
            if row["into"]["operators"] or row["into"]["tensors"]:
                self.add(8, f"{what} is unknown, and leads somewhere")
            return
        if fate not in FATES[is_tensor]:
            return self.add(8, f"{what} has the fate {fate}, which it cannot have")
        leads = bool(row["into"]["operators"] or row["into"]["tensors"])
        if leads == (fate in NOWHERE):
            self.add(8, f"{what} is {fate}, and leads " + ("somewhere" if leads else "nowhere"))
        if is_tensor and fate == "dead" and self.is_kept_output(i):
            self.add(8, f"{what} is an output of the model, and dead")
        if is_tensor:
            self.places(i, row)
        if fate == "elsewhere" and not (row.get("part") or {}).get("file"):
            self.add(8, f"{what} is in another part, and nobody knows in which")
        if fate == "unused-in-source" and (self.source.users[i] or self.source.is_output[i]):
            self.add(8, f"{what} is used in the source")
        if fate == "inlined" and not is_tensor and not self.source.operators[i].callees:
            self.add(8, f"{what} calls nothing")
        if not is_tensor and fate in ("dead", "user-removed"):
            for output in self.source.results[i]:
                if output >= 0 and output in self.live_tensors:
                    self.add(8, f"{what} is {fate}, and tensor {output} is still there")
        if row.get("with") and (is_tensor or fate not in CANCELS | {"dead"} or i in row["with"]):
            self.add(8, f"{what} cannot have cancelled out with these")
        for other in row.get("with", []):
            with_row = self.gone[False].get(other)
            if with_row and (with_row["run"], with_row["rewrite"]) == (row["run"], row["rewrite"]):
                if i not in with_row.get("with", []) and with_row["fate"] in CANCELS and fate in CANCELS:
                    self.add(8, f"{what} cancelled out with {other}, which does not say so")

    def is_kept_output(self, i):
        """Outputs of the first subgraph keep their place while that is written."""
        graphs = self.map["target"]["subgraphs"]
        return bool(graphs) and 0 in graphs[0]["source"] and i in self.source.graph_outputs(0)

    def places(self, i, row):
        """The operator that a tensor went into does the work of one that made or used it, or is where that one went."""
        near = {op for op, _ in self.source.users[i]} | {self.source.producer[i]} | self.intermediate_of(i)
        near.discard(-1)
        for place in row["into"]["operators"]:
            into = self.operator_rows[self.target.first_operator[place[0]] + place[1]]
            work = {*into["origins"], *into.get("calls", []), *(into.get("synthetic") or {}).get("serves", [])}
            if not near & work and not any(place in self.gone[False][op]["into"]["operators"]
                                           for op in near if op in self.gone[False]):
                self.add(8, f"source tensor {i} went into operator {place}, which has nothing to do with it")

    def intermediate_of(self, i):
        return {number for number, inside in enumerate(self.source.intermediates) if i in inside}

    # Law 8: relations fit.

    def relations(self):
        if self.map["source"]["format"] == "onnx":
            return
        for number, row in enumerate(self.tensor_rows):
            for relation in row["relations"]:
                problem = self.misfit(number, relation)
                if problem:
                    self.add(8, f"tensor {number} is not source tensor {relation['tensor']}: {problem}")

    @staticmethod
    def sizes(model, i):
        """None: not known; −1: a size that is not."""
        tensor = model.tensors[i]
        if not tensor.shape and not tensor.has_rank and model.kind_of(i) != "constant":
            return None
        return list(tensor.signature if len(tensor.signature) == len(tensor.shape) else tensor.shape)

    @staticmethod
    def real_type(tensor):
        """A quantised tensor stands for the real numbers that it dequantises to."""
        return 0 if tensor.quantized else tensor.type

    def misfit(self, number, relation):
        to, of = self.target.tensors[number], self.source.tensors[relation["tensor"]]
        shape, changes_type = self.sizes(self.source, relation["tensor"]), False

        def count(sizes):
            product = 1
            for size in sizes if sizes is not None else [-1]:
                product = -1 if size < 0 or product < 0 else product * size
            return product

        elements = count(shape)  # of a shape that is not known, only that may be
        for step in relation["steps"]:
            (key, value), = step.items()
            if key in ("cast", "quantize"):
                changes_type = True
            elif key == "permute":
                if sorted(value) != list(range(len(value))) or (shape is not None and len(shape) != len(value)):
                    return "its permutation does not fit"
                shape = None if shape is None else [shape[i] for i in value]
            elif key == "reshape":
                shape = None
            elif key in ("slice", "placed"):
                begin, size = value["begin"], value["size"]
                if len(begin) != len(size) or any(each < 0 for each in begin + size):
                    return "its part is none"
                if key == "slice":
                    if shape is not None and (len(shape) != len(size) or any(
                            0 <= whole < b + s for b, s, whole in zip(begin, size, shape))):
                        return "its part does not fit"
                    shape, elements = list(size), count(size)
                else:
                    whole = shape
                    if whole is not None and (len(whole) != len(size) or any(
                            w >= 0 and w != s for w, s in zip(whole, size))):
                        return "its place does not fit"
                    if elements >= 0 and elements != count(size):
                        return "its place does not fit"
                    shape, elements = None, -1
                    last = self.sizes(self.target, number)
                    if step is relation["steps"][-1] and last is not None and (len(last) != len(size) or any(
                            0 <= w < b + s for b, s, w in zip(begin, size, last))):
                        return "its place does not fit"
            elif key.startswith("affine") or key == "scaled":
                if shape is not None and value.get("axis", -1) is not None and value.get("axis", -1) >= len(shape):
                    return "it has no such axis"
        if not changes_type and self.real_type(of) != self.real_type(to):
            return "another type"
        last = self.sizes(self.target, number)
        if shape is not None and last is not None and (len(shape) != len(last) or any(
                a >= 0 and b >= 0 and a != b for a, b in zip(shape, last))):
            return "another shape"
        if elements >= 0 and count(last) >= 0 and elements != count(last):
            return "another number of elements"
        return None

    # Law 8: what is computed from something inexact is not exact.

    def exactness(self):
        if self.inferred:
            return
        inexact = [bool(row.get("inexact")) for row in self.tensor_rows]
        for g in range(len(self.target.graphs)):
            inputs = [i for i in self.target.graph_inputs(g) if i >= 0]
            if any(inexact[i] for i in inputs):
                for i in inputs:
                    inexact[i] = True
        sees_all = True
        for number, op in enumerate(self.target.operators):
            sees_all &= bool(op.kind) and op.kind.effects == ["None"] and not op.callees
            if self.operator_rows[number].get("inexact") or any(inexact[i] for i in self.target.operands[number] if i >= 0):
                for i in self.target.results[number]:
                    if i >= 0:
                        inexact[i] = True
        for number, row in enumerate(self.tensor_rows):
            for relation in row["relations"]:
                exact, inherited = relation.get("exact", False), relation.get("inherited", False)
                if exact and (inexact[number] or inherited):
                    self.add(8, f"tensor {number} is exact, and computed from what is not")
                elif inherited and sees_all and not inexact[number]:
                    self.add(8, f"tensor {number} has inherited from nowhere that it is not exact")

    # What operators are.

    @staticmethod
    def moves(op):
        return op.has("DataMovement") or op.has("Recode")

    def origins(self, op, lineage=0):
        row = self.operator_rows[op]
        lineages = row.get("lineages", [])
        return set(lineages[lineage]["origins"] if lineage < len(lineages) else row["origins"])

    def operators_of(self, tensor, lineage=0):
        """What a constant was folded from."""
        row = self.tensor_rows[tensor]
        lineages = row.get("lineages", [])
        return set(lineages[lineage]["operators"] if lineage < len(lineages) else row.get("operators", []))

    def callable(self, op):
        """The operators of the subgraphs that a source operator may call."""
        seen, found, work = set(), set(), list(self.source.operators[op].callees)
        while work:
            graph = work.pop()
            if graph in seen or not 0 <= graph < len(self.source.graphs):
                continue
            seen.add(graph)
            for i, each in enumerate(self.source.graphs[graph].operators):
                found.add(self.source.first_operator[graph] + i)
                work += each.callees
        return found

    # Law 6: who makes a source tensor has the operator that made it.

    def makers(self):
        for number, row in enumerate(self.tensor_rows):
            for relation in row["relations"]:
                maker = self.source.producer[relation["tensor"]]
                if self.is_given(relation) and self.target.producer[number] >= 0 and \
                        self.origins_all(self.target.producer[number]):
                    self.add(6, f"tensor {number} is computed, and source tensor {relation['tensor']} is given")
                if maker >= 0 and not self.claims(number, relation, maker):
                    self.add(6, f"tensor {number} is source tensor {relation['tensor']}, but who makes it has nothing"
                                f" of source operator {maker}")

    def is_given(self, relation):
        """An input of the model as it is, in which no operator keeps its state."""
        tensor = relation["tensor"]
        return not relation["steps"] and tensor in self.source.graph_inputs(0) and not self.keepers(tensor)

    def keepers(self, tensor):
        """Operators that update it in place."""
        return [op for op, position in self.source.users[tensor]
                if not self.source.operators[op].kind or "!" in self.source.operators[op].kind.mark(position)]

    def claims(self, number, relation, maker):
        lineage = relation.get("lineage", 0)
        producer = self.target.producer[number]
        row = self.gone[False].get(maker)
        if row is not None and row["fate"] == "unknown" and self.inferred_once:
            # Of what is given, that nobody knows what became of who made it in the source refutes nothing; and a
            # constant may say itself that it was computed by it.
            if producer < 0 and (not self.is_constant(number) or maker in self.operators_of(number, lineage)):
                return True
        if row is not None:
            return self.ledger_tells(number, row, maker) or (row["fate"] == "inlined" and any(
                self.added_nothing(number, relation, op) for op in self.callable(maker)))
        if self.added_nothing(number, relation, maker):
            return True
        if producer < 0:
            if not self.is_constant(number):
                return self.moves(self.source.operators[maker]) or self.is_part() or self.reduces_nothing(maker) or \
                    self.adds_nothing(maker)
            return maker in self.operators_of(number, lineage)
        if maker in self.origins(producer, lineage):
            return True
        return self.made_in_front(producer, maker)

    def is_part(self):
        """Of a model that was divided, or of which the user took a part, inputs are made elsewhere: the ledger says so, or it has others."""
        return len(self.source.graph_inputs(0)) != len(self.target.graph_inputs(0)) or any(row["fate"] in ("elsewhere", "user-removed") for row in self.gone[False].values())

    def ledger_tells(self, number, row, maker):
        fate = row["fate"]
        if fate == "inlined":
            inside = self.callable(maker)
            producer = self.target.producer[number]
            outputs = [i for callee in self.source.operators[maker].callees for i in self.source.graph_outputs(callee)]
            if any(i >= 0 and self.source.producer[i] < 0 for i in outputs):
                return True  # it hands on what it was given, or a constant
            return producer < 0 or self.moves(self.target.operators[producer]) or \
                bool(inside & self.origins_all(producer))
        if fate in ("user-removed", "elsewhere", "dead"):
            return True
        if fate == "folded-to-constant":
            return self.is_constant(number)
        # It changed nothing, or was another one's equal: then it leads to what it is now.
        operators, tensors = self.into(row)
        return number in tensors or self.target.producer[number] in operators or fate == "duplicate-of"

    def made_in_front(self, producer, maker):
        """What only moves data has moved what another one made; a maximum of a window may be in front."""
        at, seen = producer, set()
        op = self.target.operators[at]
        if not self.moves(op) and self.operator_rows[at]["origins"]:
            pools = [self.target.producer[i] for i in self.target.operands[at] if i >= 0]
            return any(p >= 0 and self.target.operators[p].name == "MAX_POOL_2D" and maker in self.origins_all(p)
                       for p in pools)
        work = [at]
        while work:
            at = work.pop()
            if at in seen or not (self.moves(self.target.operators[at]) or not self.operator_rows[at]["origins"]):
                continue
            seen.add(at)
            for i in self.target.operands[at]:
                if i < 0:
                    continue
                before = self.target.producer[i]
                if before >= 0 and maker in self.origins_all(before):
                    return True
                if before < 0 and self.is_constant(i) and maker in self.operators_of(i):
                    return True
                if before >= 0:
                    work.append(before)
        return False

    def origins_all(self, op):
        return set(self.operator_rows[op]["origins"])

    # Law 7: no invented parents, where the page lets nothing trade places.

    def parents(self):
        for number, row in enumerate(self.operator_rows):
            if not row["origins"] or self.moves(self.target.operators[number]):
                continue
            for lineage in range(max(1, len(row.get("lineages", [])))):
                self.lineage_parents(number, lineage)

    def lineage_parents(self, number, lineage):
        outs = self.stands_for(number, lineage)
        if not outs or any(self.source.kind_of(tensor) in ("variable", "constant") for tensor in outs):
            return
        behind = self.between(number, outs)
        for origin in sorted(self.origins(number, lineage)):
            if origin in behind or self.moves(self.source.operators[origin]):
                continue
            self.add(7, f"operator {number} has origin {origin}, which is not between what it is given and makes")

    def ways_of(self, user, position, lineage):
        """The lineages of an operator that use this one of an operand."""
        lineages = self.operator_rows[user].get("lineages", [])
        return [own for own, one in enumerate(lineages or [{"operands": []}])
                if (one["operands"][position] if position < len(one["operands"]) else 0) == lineage]

    def stands_for(self, number, lineage):
        """The source tensors that a lineage of the results stands for; of one that stands for none, what is computed from it."""
        found, seen, work = set(), set(), [(i, lineage) for i in self.target.results[number] if i >= 0]
        while work:
            tensor, lineage = work.pop()
            if (tensor, lineage) in seen:
                continue
            seen.add((tensor, lineage))
            relations = [one for one in self.relations_of(tensor) if one.get("lineage", 0) == lineage]
            if relations:
                found |= {relation["tensor"] for relation in relations}
                continue
            for user, position in self.target.users[tensor]:
                work += [(i, own) for own in self.ways_of(user, position, lineage)
                         for i in self.target.results[user] if i >= 0]
                for callee in self.target.operators[user].callees:
                    return set()  # what a body makes of it is told elsewhere
            if self.target.is_output[tensor]:
                return set()
        return found

    def between(self, number, outs):
        """Source operators that the results are computed from; generously: whatever the inputs are."""
        found, work, seen = set(), list(outs), set()
        while work:
            tensor = work.pop()
            if tensor < 0 or tensor in seen:
                continue
            seen.add(tensor)
            for maker in {self.source.producer[tensor], *self.keepers(tensor), *self.callers(self.source, tensor)} - found - {-1}:
                found.add(maker)
                found |= self.callable(maker)
                work += self.source.operands_and_called(maker)
        return found

    # Law 9: a model that was only converted, or whose rewrites undid each other.

    def converted(self):
        source, target = self.map["source"], self.map["target"]
        retrained = self.map.get("retrained", False)
        if source["fingerprint"] != target["fingerprint"] or (source["content"] != target["content"] and not retrained):
            return
        rewritten = any(row["passes"] for row in self.operator_rows)
        for number, row in enumerate(self.operator_rows):
            more = len(row["passes"]) == 1 or row.get("synthetic") or row.get("wide") or row.get("calls")
            if row["origins"] != [number] or more:
                self.add(9, f"nothing was changed, and operator {number} is not source operator {number}")
        for number, row in enumerate(self.tensor_rows):
            first = row["relations"][0] if row["relations"] else {}
            itself = (first.get("tensor"), first.get("steps")) == (number, [])
            exact = first.get("exact", False)
            if self.is_constant(number):
                computed = rewritten and not first and row.get("expression")
                itself = retrained or ((computed or itself and exact) and row["tensors"] == [number] and not row["operators"])
            else:
                itself = itself and (exact or rewritten)
            if not itself:
                self.add(9, f"nothing was changed, and tensor {number} is not source tensor {number}")
        for g, graph in enumerate(target["subgraphs"]):
            if graph["source"] != [g]:
                self.add(9, f"nothing was changed, and subgraph {g} is not source subgraph {g}")
        if self.map["ledger"]:
            self.add(9, "nothing was changed, and the ledger has rows")

    # Law 10: nothing dies under the living.

    def inputs_of(self, user):
        return self.source.operands_and_called(user)

    def living(self):
        needed = self.needed()
        for user in range(len(self.source.operators)):
            row = self.gone[False].get(user)
            lives = user in self.live_operators or row is None or row["fate"] in LIVES_ON
            if not lives or not needed[user]:
                continue
            for position, tensor in enumerate(self.inputs_of(user)):
                if tensor < 0:
                    continue
                maker = self.source.producer[tensor]
                is_tensor = maker < 0
                death = self.gone[True].get(tensor) if is_tensor else self.gone[False].get(maker)
                if is_tensor and self.source.kind_of(tensor) != "constant":
                    continue
                if not death or death["fate"] != "dead":
                    continue
                if (is_tensor, tensor if is_tensor else maker, user, position) not in self.unneeded:
                    self.add(10, f"source {'tensor' if is_tensor else 'operator'} {tensor if is_tensor else maker} is"
                                 f" dead under source operator {user}, operand {position}")
        for row in self.unneeded_rows:
            problem = self.impossible(*row)
            if problem:
                self.add(10, f"operand {row[3]} of source operator {row[2]} {problem}")

    def needed(self):
        """One whose result every user is dead or said to do without, while it is no output, needs no operands."""
        count = len(self.source.operators)
        if not self.unneeded:
            return [True] * count
        needed, used = [False] * count, [False] * count
        for g in range(len(self.source.graphs)):
            for tensor in self.source.graph_outputs(g):
                if tensor >= 0 and self.source.producer[tensor] >= 0:
                    needed[self.source.producer[tensor]] = True
        uses = {}
        for user in range(count):
            for position, tensor in enumerate(self.inputs_of(user)):
                if tensor >= 0 and self.source.producer[tensor] >= 0:
                    maker = self.source.producer[tensor]
                    used[maker] = True
                    uses.setdefault(user, []).append((position, tensor, maker))
        work = []
        for op in range(count):
            kind = self.source.operators[op].kind
            if not used[op] or not kind or kind.effects != ["None"]:
                needed[op] = True
            if needed[op]:
                work.append(op)
        while work:
            op = work.pop()
            row = self.gone[False].get(op)
            for position, tensor, maker in uses.get(op, []):
                if needed[maker] or (row and row["fate"] == "dead"):
                    continue
                if (False, maker, op, position) not in self.unneeded:
                    needed[maker] = True
                    work.append(maker)
        return needed

    def impossible(self, is_tensor, i, user, position, reason):
        if not 0 <= user < len(self.source.operators):
            return "is not there"
        operands = self.inputs_of(user)
        if not 0 <= position < len(operands) or operands[position] < 0:
            return "is not there"
        tensor = operands[position]
        maker = self.source.producer[tensor]
        if (tensor if is_tensor else maker) != i or (is_tensor and maker >= 0):
            return "is another"
        rule = {"shape-only": self.not_shape_only, "times-zero": self.not_times_zero,
                "branch-not-taken": self.not_branch, "not-in-slice": self.not_in_slice,
                "empty": self.not_empty, "taken-away": self.not_taken_away}.get(reason)
        return rule(user, position) if rule else "was not needed for no reason"

    def not_shape_only(self, user, position):
        op = self.source.operators[user]
        kind = op.kind
        if op.name == "CUSTOM":
            called = {"BroadcastTo": "BROADCAST_TO", "onnx.Shape": "SHAPE", "onnx.Size": "SHAPE"}.get(op.custom)
            kind = next((each for each in KINDS.values() if each.name == called), kind)
        if self.is_one_size(user, position):
            return None
        if not kind or position >= len(kind.operands):
            return "is not known"
        mark = kind.mark(position)
        if "#" not in mark and "=" not in mark and not kind.has("ShapeQuery"):
            return "tells more than a shape"
        if kind.name == "RANK":
            return None
        if op.name == "RESHAPE" and "#" in mark:
            beside = self.beside_the_open_one(self.inputs_of(user)[0])
            if beside and beside == self.beside_the_open_one(self.source.results[user][0]):
                return None
        tensors = self.inputs_of(user) + self.source.results[user]
        if not all(self.source.is_static(i) for i in tensors):
            return "states a shape that is not static"
        return self.not_whole(user, kind) if "=" in mark else None

    def is_one_size(self, user, position):
        """One size of the shape of a RESHAPE, beside which no constant leaves another one open."""
        operands = self.inputs_of(user)
        name = self.source.operators[user].name
        if name != "PACK" and (name != "CONCATENATION" or self.source.elements(operands[position]) != 1):
            return False
        for i, tensor in enumerate(operands):
            if i != position and tensor >= 0 and self.source.kind_of(tensor) == "constant":
                each = self.source.tensors[tensor]
                width = {2: 4, 4: 8}.get(each.type)
                if not each.data or not width or any(int.from_bytes(each.data[at:at + width], "little", signed=True) < 1
                                                     for at in range(0, len(each.data) - width + 1, width)):
                    return False
        return bool(self.shapes() & set(self.source.results[user]))

    def shapes(self):
        """The tensors that are the shape of a RESHAPE, through CASTs too."""
        found = set()
        for op in reversed(range(len(self.source.operators))):
            operands, name = self.inputs_of(op), self.source.operators[op].name
            if name == "RESHAPE" and len(operands) > 1:
                found.add(operands[1])
            if name == "CAST" and operands and found & set(self.source.results[op]):
                found.add(operands[0])
        return found

    def beside_the_open_one(self, tensor):
        signature = self.source.tensors[tensor].signature if tensor >= 0 else []
        if list(signature).count(-1) != 1:
            return 0
        return math.prod(max(size, 0) for size in signature if size != -1)

    def not_whole(self, user, kind):
        operands = self.inputs_of(user)
        data = next(i for i, (_, mark) in enumerate(kind.operands) if "#" not in mark and "=" not in mark)
        if data >= len(operands) or operands[data] < 0:
            return "has no data"
        whole = self.source.elements(operands[data])
        if any(i >= 0 and self.source.elements(i) != whole for i in self.source.results[user]):
            return "leaves elements out, or adds some"
        for i, (name, _) in enumerate(kind.operands[:len(operands)]):
            if name == "strides" and self.may_be_negative(operands[i]):
                return "may turn the order round"
        return None

    def may_be_negative(self, tensor):
        if tensor < 0 or self.source.kind_of(tensor) != "constant":
            return True
        each = self.source.tensors[tensor]
        width = {2: 4, 4: 8}.get(each.type)
        return not each.data or not width or any(each.data[at + width - 1] & 0x80
                                                 for at in range(0, len(each.data) - width + 1, width))

    def not_times_zero(self, user, position):
        op, operands = self.source.operators[user], self.inputs_of(user)
        product = op.name in ("MUL", "DIV", "LOGICAL_AND", "BATCH_MATMUL", "STABLEHLO_MULTIPLY", "STABLEHLO_DIVIDE",
                              "STABLEHLO_AND") or op.has("Linear")

        def is_factor(i):
            return i < len(op.kind.operands) and "#" not in op.kind.mark(i) and op.kind.operands[i][0] != "bias"

        if not product or not is_factor(position):
            return "is not multiplied"
        for i, tensor in enumerate(operands):
            if i != position and is_factor(i) and tensor >= 0:
                if self.source.kind_of(tensor) != "constant" or self.is_zero(tensor):
                    return None
        return "is not multiplied by zero"

    def is_zero(self, tensor):
        each = self.source.tensors[tensor]
        if not each.data or each.zero_points:
            return True
        width = {1: 2, 0: 4, 10: 8}.get(each.type, 0)
        return not any(byte & (0x7F if width and i % width == width - 1 else 0xFF) for i, byte in enumerate(each.data))

    def not_branch(self, user, position):
        name = self.source.operators[user].name
        if name not in ("SELECT", "SELECT_V2", "IF", "WHILE", "STABLEHLO_SELECT", "STABLEHLO_CASE"):
            return "is chosen by nobody"
        return "is the choice" if position == 0 and name != "WHILE" else None

    def not_in_slice(self, user, position):
        return None if self.source.operators[user].has("DataMovement") else "is put together with nothing"

    def not_empty(self, user, position):
        operands = self.inputs_of(user)
        tensor = self.source.tensors[operands[position]]
        if self.source.elements(operands[position]) == 0 or not (tensor.shape or tensor.has_rank):
            return None
        results = [i for i in self.source.results[user] if i >= 0]
        return None if all(self.source.elements(i) == 0 for i in results) else "is not empty"

    def unmoved(self, tensor):
        for _ in range(16):
            maker = self.source.producer[tensor] if tensor >= 0 else -1
            if maker < 0 or not self.source.operators[maker].has("DataMovement") or not self.inputs_of(maker):
                break
            tensor = self.inputs_of(maker)[0]
        return tensor

    def not_taken_away(self, user, position):
        def is_a(op, name):
            return op >= 0 and self.source.operators[op].name == name and len(self.inputs_of(op)) == 2

        if is_a(user, "SUB"):
            return None if position == 1 else "is what is taken away from"
        if not is_a(user, "ADD"):
            return "is neither added nor taken away"
        beside = self.unmoved(self.inputs_of(user)[1 - position])
        difference = self.source.producer[beside] if beside >= 0 else -1
        if not is_a(difference, "SUB") or \
                self.unmoved(self.inputs_of(difference)[1]) != self.unmoved(self.inputs_of(user)[position]):
            return "is added to what it was not taken away from"
        return None

    # Law 8 where a map was found: a fate needs evidence.

    def evidence(self):
        source = self.source
        effects = [not op.kind or op.kind.effects != ["None"] or bool(op.callees) for op in source.operators]
        self.needed_operators, self.computed_tensors = set(), set()
        work = [source.producer[i] for i in range(len(source.tensors)) if source.is_output[i]]
        work += [op for op, has in enumerate(effects) if has]
        while work:
            op = work.pop()
            if op >= 0 and op not in self.needed_operators:
                self.needed_operators.add(op)
                work += [source.producer[i] for i in source.operands[op] if i >= 0]
        for i in range(len(source.tensors)):
            if source.producer[i] < 0 and source.kind_of(i) != "constant":
                self.computed_tensors.add(i)
        for op in range(len(source.operators)):
            if effects[op] or any(i in self.computed_tensors for i in source.operands[op]):
                self.computed_tensors |= {i for i in source.results[op] if i >= 0}
        for is_tensor in (False, True):
            for i, row in self.gone[is_tensor].items():
                holds = self.tensor_evidence if is_tensor else self.operator_evidence
                if row["fate"] != "unknown" and not holds(i, row):
                    self.add(8, f"source {'tensor' if is_tensor else 'operator'} {i} is {row['fate']}: no evidence")

    def operator_evidence(self, op, row):
        fate, (operators, tensors) = row["fate"], self.into(row)
        around = set(self.source.operands[op]) | set(self.source.results[op])
        if fate == "dead":
            return op not in self.needed_operators
        if fate in ("identity", "layout-cancelled", "quantization-cancelled"):
            if fate != "identity" and not self.moves(self.source.operators[op]):
                return False
            return bool(tensors) and not operators and all(
                any(relation["tensor"] in around for relation in self.relations_of(i)) for i in tensors)
        if fate == "folded-to-constant":
            return not operators and not any(i in self.computed_tensors for i in self.source.results[op]) and all(
                self.is_constant(i) and op in self.tensor_rows[i]["operators"] for i in tensors)
        if fate == "duplicate-of":
            kind = self.source.operators[op].name, self.source.operators[op].custom
            return not tensors and all(
                any(origin != op and (self.source.operators[origin].name, self.source.operators[origin].custom) == kind
                    for origin in self.operator_rows[number]["origins"]) for number in operators)
        return False

    def tensor_evidence(self, i, row):
        fate, (operators, tensors) = row["fate"], self.into(row)
        maker, users = self.source.producer[i], {op for op, _ in self.source.users[i]}
        origins = [set(self.operator_rows[number]["origins"]) for number in operators]
        if fate == "unused-in-source":
            return True
        if fate == "dead":
            without = {user for is_tensor, other, user, _ in self.unneeded if is_tensor and other == i}
            return maker not in self.needed_operators if maker >= 0 else not (users - without) & self.needed_operators
        if fate == "fused-away":
            one = all((maker < 0 or maker in each) and users & each for each in origins)
            traded = maker >= 0 and any(self.moves(self.source.operators[op]) for op in users | {maker}) and \
                any(maker in each for each in origins) and any(users & each for each in origins) and \
                all(maker in each or users & each for each in origins)
            return not tensors and (one or traded)
        if fate == "decomposed":
            return maker >= 0 and not tensors and len(origins) > 1 and all(maker in each for each in origins)
        went = [self.gone[False].get(op) for op in users | {maker}]
        return any(other and (other["fate"], other["into"]) == (fate, row["into"]) for other in went)

    # Law 11: neighbours keep their order.

    def neighbours(self):
        self.fronts = {}
        made = {}
        for number, row in enumerate(self.tensor_rows):
            for relation in row["relations"]:
                made.setdefault(relation["tensor"], []).append(number)
        carriers = {}
        for number, row in enumerate(self.operator_rows):
            for origin in row["origins"]:
                carriers.setdefault(origin, set()).add(number)
        self.moved_past()
        for user in range(len(self.source.operators)):
            if user not in carriers:
                continue
            for position, tensor in enumerate(self.source.operands[user]):
                maker = self.maker_through_identities(tensor)
                if maker is None or maker not in carriers or self.is_unneeded_there(tensor, user, position):
                    continue
                trades = self.may_trade(maker, user)
                direct = maker == self.source.producer[tensor]
                if trades and not direct:
                    continue
                for result in self.source.results[user]:
                    for number in made.get(result, []):
                        producer = self.target.producer[number]
                        told = direct and producer >= 0 and self.tells_moved(producer, user, maker)
                        if producer >= 0 and user in self.origins_all(producer) and not told and \
                                not self.is_in_front(producer, maker, not (direct and self.moves_data(maker))):
                            self.add(11, f"source operator {user} reads what {maker} made, and operator {producer} has"
                                         " nothing of it, nor has anything in front")

    def moved_past(self):
        for number, row in enumerate(self.operator_rows):
            for past in row.get("movedPast", []):
                lineages = [set(one["origins"]) for one in row.get("lineages", [])] or [set(row["origins"])]
                users = {user for own in lineages if past not in own for user in own
                         if any(i >= 0 and self.source.producer[i] == past for i in self.source.operands[user])}
                if past not in self.live_operators or not any(
                        self.may_trade(past, user) or self.scales_product(user, past) or
                        (self.scales_product(past, user) and self.scales_all(past, user))
                        for user in users) or \
                        self.is_still_in_front(number, past):
                    self.add(11, f"operator {number} has not changed places with source operator {past}")

    def tells_moved(self, number, user, past):
        """It says so, or a part of the same work in front of it does."""
        parts = [number]
        for part in parts:
            if past in self.operator_rows[part].get("movedPast", []):
                return True
            for i in self.target.operands[part]:
                producer = self.target.producer[i] if i >= 0 else -1
                if producer >= 0 and user in self.origins_all(producer) and producer not in parts:
                    parts.append(producer)
        return False

    def has_constant(self, number):
        """Nothing live makes one of its operands."""
        return any(i >= 0 and self.source.producer[i] not in self.live_operators for i in self.source.operands[number])

    def scales_product(self, scale, product):
        """A scale or shift by a constant goes in front of a product, a sum or an average, or behind it."""
        return self.scales(scale) and self.source.operators[product].has("Sum")

    def scales(self, number):
        op = self.source.operators[number]
        return (op.has("Scale") or op.has("Shift")) and self.has_constant(number)

    def scales_all(self, scale, total):
        """A scale in front of a sum goes behind it where all that is added up is scaled."""
        def is_scaled(i):
            maker = self.source.producer[i] if i >= 0 else -1
            return maker not in self.live_operators or \
                (self.source.operators[maker].has("Scale") and self.has_constant(maker))
        is_sum = self.source.operators[total].has("Shift")
        return not self.source.operators[scale].has("Scale") or not is_sum or \
            all(is_scaled(i) for i in self.source.operands[total])

    def is_still_in_front(self, number, past):
        computed = [i for i in self.target.operands[number] if i >= 0 and not self.is_constant(i)]
        return bool(computed) and all(self.comes_from(i, past) for i in computed)

    def comes_from(self, tensor, past):
        """Are the nearest 64 operators in front enough to tell?"""
        if any(not relation["steps"] and self.source.producer[relation["tensor"]] == past
               for relation in self.relations_of(tensor)):
            return True
        seen = [self.target.producer[tensor]] if self.target.producer[tensor] >= 0 else []
        for at, number in enumerate(seen):
            if at == 64:
                return False
            if past in self.operator_rows[number]["origins"]:
                return True
            for i in self.target.operands[number]:
                if i >= 0 and self.target.producer[i] >= 0 and self.target.producer[i] not in seen:
                    seen.append(self.target.producer[i])
        return False

    def is_unneeded_there(self, tensor, user, position):
        maker = self.source.producer[tensor]
        return (maker < 0, tensor if maker < 0 else maker, user, position) in self.unneeded

    def maker_through_identities(self, tensor):
        for _ in range(64):
            maker = self.source.producer[tensor] if tensor >= 0 else -1
            if maker < 0:
                return None
            row = self.gone[False].get(maker)
            if row is None or row["fate"] != "identity":
                return maker
            tensor = self.source.operands[maker][0] if self.source.operands[maker] else -1
        return None

    def reduces_nothing(self, number):
        """A reduction along axes of one element each."""
        operator = self.source.operators[number]
        if not operator.has("Reduce"):
            return False
        given, made = (self.source.tensors[i].shape if i >= 0 else [] for i in
                       (self.source.operands[number][0], self.source.results[number][0]))
        return min(given, default=0) > 0 and min(made, default=0) > 0 and math.prod(given) == math.prod(made)

    def adds_nothing(self, number):
        """A sum with zeros or a product with ones, of floats."""
        operator, operands = self.source.operators[number], self.source.operands[number]
        if operator.name not in ("ADD", "SUB", "MUL", "DIV") or operator.activation:
            return False
        neutral = {0.0} if operator.name in ("ADD", "SUB") else {1.0}
        may_be = operands if operator.name in ("ADD", "MUL") else operands[1:]
        return any(i >= 0 and self.source.kind_of(i) == "constant" and self.source.tensors[i].type == 0 and
                   set(memoryview(self.source.tensors[i].data).cast("f")) == neutral for i in may_be)

    def added_nothing(self, number, relation, op):
        """In a body, with what a call gives to it, which may be zeros or ones: an operand of it is equal, too."""
        operator, operands = self.source.operators[op], self.source.operands[op]
        if operator.name not in ("ADD", "SUB", "MUL", "DIV") or operator.activation or op in self.gone[False] or \
                op < len(self.source.graphs[0].operators) or relation["steps"] or len(operands) != 2:
            return False
        equal = {one["tensor"] for one in self.tensor_rows[number]["relations"]
                 if not one["steps"] and one.get("lineage", 0) == relation.get("lineage", 0)}
        ways = [operands] + [operands[::-1]] * (operator.name in ("ADD", "MUL"))
        return any(data in equal and other >= 0 and self.source.kind_of(other) != "constant" for data, other in ways)

    def may_trade(self, a, b):
        p, o = self.source.operators[a], self.source.operators[b]
        if self.moves(p) or self.moves(o) or self.reduces_nothing(a) or self.reduces_nothing(b):
            return True

        def is_simple(number, op):
            return self.scales(number) or (op.has("Clamp") and (op.has("Unary") or self.has_constant(number)))

        def rises(number, op):
            return op.has("Monotone") or op.has("Clamp") or self.rises(number)

        return (is_simple(a, p) and is_simple(b, o)) or (p.has("Largest") and rises(b, o)) or \
            (o.has("Largest") and rises(a, p))

    def rises(self, number):
        """A shift by a constant, or a scale by one that is positive, as far as floats are at hand."""
        operator, operands = self.source.operators[number], self.source.operands[number]
        falls = operator.name in ("SUB", "DIV") and operands[0] >= 0 and self.source.kind_of(operands[0]) == "constant"
        if falls or not self.scales(number):
            return False
        by = operands if operator.name in ("ADD", "MUL") else operands[1:]
        known = [self.source.tensors[i].data for i in by
                 if i >= 0 and self.source.kind_of(i) == "constant" and self.source.tensors[i].type == 0]
        return operator.name in ("ADD", "SUB") or all(n > 0 for data in known for n in memoryview(data).cast("f"))

    def moves_data(self, maker):
        """It moves what is computed: a constant that was moved likewise has nothing of that."""
        operands = self.source.operands[maker]
        return self.moves(self.source.operators[maker]) and operands and operands[0] >= 0 and \
            self.source.kind_of(operands[0]) != "constant"

    def is_in_front(self, producer, maker, by_constants=True):
        seen, work = set(), [producer]
        while work:
            at = work.pop()
            if at in seen:
                continue
            seen.add(at)
            if maker in self.origins_all(at):
                return True
            op = self.target.operators[at]
            for i in self.target.operands[at]:
                if i < 0:
                    continue
                if by_constants and self.is_constant(i) and maker in self.tensor_rows[i]["operators"]:
                    return True
                if any((not relation["steps"] or self.target.is_input[i]) and self.source.producer[relation["tensor"]] == maker
                       for relation in self.relations_of(i)):
                    return True
                if self.target.producer[i] >= 0:
                    work.append(self.target.producer[i])
                elif self.target.is_input[i]:
                    work += self.callers(self.target, i)
            for callee in op.callees:
                if 0 <= callee < len(self.target.graphs):
                    work += [self.target.producer[i] for i in self.target.graph_outputs(callee)
                             if i >= 0 and self.target.producer[i] >= 0]
        return False

    @staticmethod
    def callers(model, tensor):
        """Who computes what a call gives the subgraph of this input."""
        if not model.is_input[tensor]:
            return []
        g = next(g for g in reversed(range(len(model.graphs))) if model.first_tensor[g] <= tensor)
        return [number for number, op in enumerate(model.operators) if g in op.callees]


def check(source, target, origin_map, fingerprints=None):
    try:
        return Checker(source, target, origin_map, fingerprints).run()
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        return [(0, f"malformed: {error!r}")]


def main():
    source, target, map_file, *fingerprints = sys.argv[1:]
    violations = check(Model(source), Model(target), json.load(open(map_file)), fingerprints or None)
    for law, text in violations:
        print(f"law {law}: {text}")
    if not violations:
        print("ok")
    return 2 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
