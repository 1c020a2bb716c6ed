"""What the module says and writes is what the command lines say and write."""

import csv
import gc
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

import origo

ROOT = Path(__file__).resolve().parents[2]


def same_files(a, b):
    return a.read_bytes() == b.read_bytes() and (
        (a.parent / (a.name + ".origin.json")).read_bytes() == (b.parent / (b.name + ".origin.json")).read_bytes()
    )


def images(count, shape=(1, 32, 32, 3)):
    return np.random.default_rng(1).uniform(-1, 1, (count, *shape)).astype("float32")


def test_optimize_writes_what_circle2circle_writes(files, net, tool, tmp_path):
    (tmp_path / "tool").mkdir()
    for format in "tflite", "circle":
        tool("circle2circle", "-O1", files / "plain.tflite", tmp_path / "tool" / f"out.{format}")
        net.optimize(format=format).save(tmp_path / f"out.{format}")
        assert same_files(tmp_path / f"out.{format}", tmp_path / "tool" / f"out.{format}")


def test_passes_are_chosen(net):
    whole = net.optimize()
    assert len(net.optimize(0).operators) == len(net.operators) > len(whole.operators)
    assert whole.rewrites > net.optimize(skip=["fuse-activation"]).rewrites > 0
    alone = net.optimize(0, passes=["fuse-activation"])
    assert len(whole.operators) < len(alone.operators) < len(net.operators)
    with pytest.raises(origo.Error, match='no such pass: "nonsense"'):
        net.optimize(passes=["nonsense"])
    with pytest.raises(origo.Error, match="level"):
        net.optimize(3)


def test_quantize_writes_what_circle_quantizer_writes(files, net, tool, tmp_path):
    data = images(3)
    np.save(tmp_path / "data.npy", data)
    (tmp_path / "tool").mkdir()
    tool("circle-quantizer", "--scheme=int8", f"--input_data={tmp_path / 'data.npy'}", files / "plain.tflite",
         tmp_path / "tool" / "q.tflite")
    for given in list(data), [{"image": record} for record in data], tmp_path / "data.npy":
        net.quantize(given).save(tmp_path / "q.tflite")
        assert same_files(tmp_path / "q.tflite", tmp_path / "tool" / "q.tflite")


def test_images_are_data(net, tmp_path):
    pixels = np.random.default_rng(4).integers(0, 256, (32, 32, 3), np.uint8)
    # The simplest of picture formats: a header, and rows from below in BGR.
    header = b"BM" + (54 + pixels.size).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    header += b"".join(n.to_bytes(4, "little") for n in (40, 32, 32)) + (1).to_bytes(2, "little") + (24).to_bytes(2, "little")
    (tmp_path / "images").mkdir()
    (tmp_path / "images/a.bmp").write_bytes(header + bytes(24) + pixels[::-1, :, ::-1].tobytes())
    statistics = net.statistics(tmp_path / "images")
    column = statistics.names.index("image")
    want = pixels.astype("float32") / np.float32(255)
    assert np.isclose(statistics.low[0, column], want.min()) and np.isclose(statistics.high[0, column], want.max())


def test_other_schemes_and_what_stays_float(net):
    small = net.quantize()
    assert small.nbytes < net.nbytes and {c.type for c in small.constants} & {"INT8"}
    kept = net.quantize("random", keep_float=["FULLY_CONNECTED"])
    dense = next(op for op in kept.operators if op.op == "FULLY_CONNECTED")
    types = {c.name: c.type for c in kept.constants}
    assert types[dense.inputs[1]] == "FLOAT32"
    with pytest.raises(origo.Error, match='no operator, kind or scope is called "nobody"'):
        net.quantize("random", keep_float=["nobody"])
    with pytest.raises(origo.Error, match="no tensor has a range"):
        net.quantize(scheme="int8")


def test_origins_are_those_of_the_side_file(net, tmp_path):
    out = net.optimize()
    out.save(tmp_path / "out.tflite")
    side = json.loads((tmp_path / "out.tflite.origin.json").read_text())
    assert {str(row.index): [s.id for s in row.origins] for row in out.origins} == side["map"]
    assert [(row.id, row.fate) for row in out.ledger if row.kind == "operator"] == [
        (row["operator"], row["fate"]) for row in side["ledger"] if "operator" in row
    ]
    alive = {source.id for row in out.origins for source in row.origins}
    gone = {row.id for row in out.ledger if row.kind == "operator"}
    assert alive | gone == set(range(len(net.operators)))


def test_operators_that_are_gone(text):
    out = text(
        """
subgraph @main(%x: f32[2]) -> (%y) {
  %dead: f32[2] = EXP(%x)
  %y: f32[2] = ABS(%x)
}"""
    ).optimize()
    (row,) = (row for row in out.ledger if row.kind == "operator")
    assert (row.id, row.name, row.fate, row.into) == (0, "dead", "dead", ())
    assert [(row.op, row.index) for row in out.origins] == [("ABS", 0)]


def test_answers_are_those_of_origin_dump(net, tool, tmp_path):
    out = net.optimize()
    out.save(tmp_path / "out.tflite")
    name = out.ledger[0].name
    assert out.where(name) == tool("origin-dump", "--full", f"--where={name}", tmp_path / "out.tflite")
    assert out.come_from(0) == tool("origin-dump", "--from=0", tmp_path / "out.tflite")
    with pytest.raises(origo.Error, match='has no operator or tensor "nobody"'):
        out.where("nobody")
    with pytest.raises(origo.Error, match="is its own source"):
        net.origins


def test_what_becomes_of_the_file_does_no_harm(net, files, tmp_path):
    path = tmp_path / "plain.tflite"  # the map has the name
    path.write_bytes((files / "plain.tflite").read_bytes())
    loaded = origo.load(path)
    constant = next(c for c in loaded.constants if c.array.nbytes > 4096).array
    kept = constant.copy()
    path.open("r+b").write(bytes(100_000))
    os.truncate(path, 0)
    assert np.array_equal(constant, kept)
    assert loaded.optimize().nbytes == net.optimize().nbytes


def test_a_false_map_is_seen(net, tmp_path):
    out = net.optimize()
    assert out.check() == out.check(net) == []
    out.save(tmp_path / "out.tflite")
    side = json.loads((tmp_path / "out.tflite.origin.json").read_text())
    side["target"]["subgraphs"][0]["operators"][0]["origins"] = [len(net.operators) - 1]
    (tmp_path / "lie.json").write_text(json.dumps(side))
    assert origo.load(tmp_path / "out.tflite", origin_map=tmp_path / "lie.json").check() != []


def test_a_run_continues_origins(net, files):
    twice = net.optimize().quantize()
    assert twice.source is net
    assert twice.origin_map()["source"]["file"] == "plain.tflite" and twice.check() == []


@pytest.mark.parametrize("names", ["full", "ids"])
def test_maps_of_before_are_read(names):
    old = origo.load(ROOT / f"tests/regressions/origins/while_{names}.circle")
    assert [source.op for source in old.origins[-1].origins] == ["FULLY_CONNECTED", "MUL", "ADD", "RELU"]
    assert bool(old.origins[-1].origins[0].name) == (names == "full")
    assert old.optimize().origin_map()["source"]["file"] == "while.origo"
    assert "proof" not in old.optimize().origin_map()["target"]
    assert old.optimize(verify_algebra=True).origin_map()["target"]["proof"].startswith("equal: ")


def test_constants_are_not_copied(net):
    constants = net.constants
    weights = max(constants, key=lambda c: c.array.nbytes)
    assert weights.array.dtype == "float32" and weights.array.ndim == 4
    where = bytes(net).find(weights.array.tobytes())
    again = next(c for c in net.constants if c.name == weights.name)
    address = weights.array.__array_interface__["data"][0]
    assert where > 0 and address == again.array.__array_interface__["data"][0]
    with pytest.raises(ValueError):
        weights.array[...] = 0
    total = float(weights.array.sum())
    del net, constants, again
    gc.collect()
    assert float(weights.array.sum()) == total


def test_metrics_are_those_of_circle_metrics(net, tool, files, tmp_path):
    out = net.optimize()
    out.save(tmp_path / "plain.optimized.tflite")
    for per in "operator", "source", "scope", "tensor", "subgraph", "model":
        rows = list(csv.reader(io.StringIO(tool("circle-metrics", "--csv", f"--per={per}", f"--source={files / 'plain.tflite'}",
                                                tmp_path / "plain.optimized.tflite"))))
        table = out.metrics(per)
        assert list(table) == rows[0] and all(len(column) == len(rows) - 1 for column in table.values())
        for name, cells in zip(rows[0], zip(*rows[1:])):
            for have, want in zip(table[name], cells):
                assert str(have) == want or (want == "" and np.isnan(have)) or float(have) == float(want)


def test_proofs_tell_what_they_rest_on(text):
    def proof(sixth):
        net = text(f"""
            subgraph @main(%x: f32[1,4]) -> (%y) {{
              %three: f32[] = const [3]
              %sixth: f32[] = const [{sixth}]
              %a: f32[1,4] = ADD(%x, %three)
              %b: f32[1,4] = RELU6(%a)
              %c: f32[1,4] = MUL(%x, %b)
              %y: f32[1,4] = MUL(%c, %sixth)
            }}""")
        return net.optimize().prove()

    told = proof("0.16666667")
    assert told.verdict == "equal" and told.assumptions == ("0.166666672 is 1 / 6 (recognise-hard-swish)",)
    assert proof("0.16").assumptions == ()
    assert not told.undecided and not told.different and told.rounded == 0


def test_errors_are_those_of_visq(net, tool, files, tmp_path):
    q = net.quantize("random")
    q.save(tmp_path / "q.tflite")
    tool("visq", "-f", files / "plain.tflite", "-q", tmp_path / "q.tflite", "--json", tmp_path / "errors.json")
    rows = json.loads((tmp_path / "errors.json").read_text())["errors"]
    table = q.errors()
    have = {(int(t)): m for t, m in zip(table["tensor"], table["MPEIR"]) if not np.isnan(m)}
    want = {row["tensor"]: row["metrics"]["MPEIR"] for row in rows if row["metrics"]["MPEIR"] is not None}
    assert have == want and max(want.values()) > 0
    assert np.nanmax(net.convert("circle").errors()["max"]) == 0
    assert np.nanmax(q.errors(effects=1)["effect"]) > 0
    with pytest.raises(origo.Error, match="its source is not at hand"):
        net.errors()


def test_statistics(net, tool, files, tmp_path):
    data = images(3)
    statistics = net.statistics(list(data))
    column = statistics.names.index("image")
    assert statistics.low[:, column].tolist() == data.min((1, 2, 3, 4)).tolist()
    assert statistics.high[:, column].tolist() == data.max((1, 2, 3, 4)).tolist()
    statistics.save(tmp_path / "s.json")
    tool("circle-quantizer", "--scheme=int8", f"--stats={tmp_path / 's.json'}", files / "plain.tflite", tmp_path / "q.tflite")
    assert (tmp_path / "q.tflite").read_bytes() == bytes(net.quantize(origo.Statistics.load(tmp_path / "s.json")))


def test_the_page_is_that_of_origin_view(net, tool, files, tmp_path):
    out = net.optimize()
    out.save(tmp_path / out.name)
    tool("origin-view", tmp_path / out.name, f"--source={files / 'plain.tflite'}", "-o", tmp_path / "page.html")
    assert out.view().html == (tmp_path / "page.html").read_text()
    shown = out._repr_html_()
    assert "<iframe" in net._repr_html_() and 'sandbox="allow-scripts"' in shown
    assert shown.startswith("<iframe srcdoc=") and "<script" not in shown and "&lt;script" in shown


def test_bytes_and_files_are_the_same_model(net, files, tmp_path):
    again = origo.load(bytes(net), name="plain.tflite")
    assert bytes(again.optimize()) == bytes(net.optimize())
    with pytest.raises(origo.Error, match="extension tells the format"):
        net.save(tmp_path / "net.circle")
    net.convert("circle").save(tmp_path / "net.circle")
    assert origo.load(tmp_path / "net.circle").format == "circle"
