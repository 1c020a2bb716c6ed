"""What the process around us may be: another locale, forked off, short of threads, with files that change under it."""

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import origo

ROOT = Path(__file__).resolve().parents[2]

EVERYTHING = """
import hashlib, locale, sys
import numpy as np
import origo
if sys.argv[1] != "C":
    locale.setlocale(locale.LC_ALL, sys.argv[1])
    assert "%s" % locale.str(0.5) == "0,5"
folder = sys.argv[2]
net = origo.load(folder + "/net.origo")
small = net.optimize()
again = origo.load(bytes(small)).optimize(passes=["fuse-activation"])
q = net.quantize("random")
statistics = net.statistics("random")
statistics.save(folder + "/statistics.json")
read = origo.Statistics.load(folder + "/statistics.json")
assert (read.low == statistics.low).all() and (read.high == statistics.high).all()
print(small.check(), again.check(net), q.check())
for model in small, again, q:
    print(hashlib.sha256(bytes(model)).hexdigest(), model.notes)
    print(model.origin_map()["target"])
    print([model.where(i) for i in range(len(net.operators))], [model.come_from(i) for i in range(len(model.operators))])
print({name: list(column) for name, column in small.metrics(source=net).items()})
print({name: list(column) for name, column in q.errors().items()})
page = small.view(net, profiles=[folder + "/times.csv"], target=folder + "/target.json", constants=True)
print(hashlib.sha256(page.html.encode()).hexdigest())
print(small.session(engine="reference")(np.linspace(-1, 1, 12, dtype="float32").reshape(1, 2, 2, 3)))
"""


def test_numbers_are_those_of_no_locale(tmp_path):
    subprocess.run([ROOT / "tests/locales.sh", tmp_path / "locales"], check=True)
    (tmp_path / "net.origo").write_text(
        """origo 1
model tflite version 3
subgraph @main(%x: f32[1,2,2,3]) -> (%y, %i) {
  %w: f32[4,1,1,3] = const seed 1 normal 0 1
  %b: f32[4] = const splat 0.25
  %s: f32[4] = const [1.5, 2.25, -0.125, 1e-5]
  %h: f32[] = const [0.375]
  %c: f32[1,2,2,4] = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}
  %m: f32[1,2,2,4] = MUL(%c, %s)
  %a: f32[1,2,2,4] = ADD(%m, %h)
  %y: f32[1,2,2,4] = RELU(%a)
  %i: f32[1,2,2,4] = MUL(%m, %h)
}
"""
    )
    (tmp_path / "times.csv").write_text("tensor,us\nc,1.5\ny,2.25\n")
    (tmp_path / "target.json").write_text('{"target": "npu", "ops": {"ADD": {}}}')
    said = {}
    for name in "C", "de_DE.UTF-8", "tr_TR.UTF-8":
        done = subprocess.run(
            [sys.executable, "-c", EVERYTHING, name, tmp_path],
            env={**os.environ, "LOCPATH": str(tmp_path / "locales"), "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        said[name] = done.stdout
    assert said["de_DE.UTF-8"] == said["C"]
    assert said["tr_TR.UTF-8"] == said["C"]


def run_in_child(session, image, pipe):
    (output,) = session(image).values()
    pipe.send(output.tobytes())


def test_a_session_of_several_threads_outlives_a_fork(net):
    image = np.random.default_rng(1).uniform(-1, 1, (1, 32, 32, 3)).astype("float32")
    session = net.session(threads=2)
    (want,) = session(image).values()
    here, there = multiprocessing.Pipe()
    # While another thread of the parent is in the session, whose lock the child has as well.
    stop = threading.Event()
    busy = threading.Thread(target=lambda: [session(image) for _ in iter(stop.is_set, True)])
    busy.start()
    try:
        for _ in range(5):
            child = multiprocessing.get_context("fork").Process(target=run_in_child, args=(session, image, there))
            child.start()
            assert here.poll(60), "the child hangs"
            assert here.recv() == want.tobytes()
            child.join(60)
            assert child.exitcode == 0
    finally:
        stop.set()
        busy.join()


def test_nothing_is_made_without_its_contents(net):
    native = type(net.session()._session)
    for kind in native, type(net._native), type(net.statistics("random")._statistics):
        for make in (lambda: kind.__new__(kind), lambda: kind(), lambda: object.__new__(kind), lambda: type("Own", (kind,), {})()):
            with pytest.raises(TypeError):
                make()


def test_data_may_be_cut_off_while_it_is_read(net, tmp_path):
    # In a process of its own, which a signal would end.
    script = f"""
import os, threading, time, numpy, origo
path = {str(tmp_path / "data.npy")!r}
net = origo.load({net.path!r})
def cut():
    time.sleep(wait)
    os.truncate(path, 0)
for wait in 0, 0.01, 0.1, 0.3:
    numpy.save(path, numpy.zeros((2000, 32, 32, 3), "float32"))
    other = threading.Thread(target=cut)
    other.start()
    try:
        net.statistics(path)
    except origo.Error as error:
        print(error)
    other.join()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_every_output_is_reachable(text):
    outputs = text(
        """
subgraph @main(%x: f32[1]) -> (%1, %e, %d, %f) {
  %1: f32[1] = ABS(%x)
  %e: f32[1] name "" = NEG(%x)
  %d: f32[1] name "d" = EXP(%x)
  %f: f32[1] name "d" = TANH(%x)
}"""
    ).run([-2])
    assert {name: float(array[0]) for name, array in outputs.items()} == {
        "1": 2,
        "#1": 2,
        "d": pytest.approx(np.exp(-2)),
        "3": pytest.approx(np.tanh(-2)),
    }


def test_what_is_saved_is_whole_or_not_at_all(net, tmp_path):
    page = net.view()
    path = tmp_path / "page.html"
    path.write_text("older")
    before = path.stat().st_ino
    page.save(path)
    assert path.read_text() == page.html and path.stat().st_ino != before  # replaced, and not written over
    script = f"""
import resource, signal, origo
net = origo.load({net.path!r})
page, statistics = net.view(), net.statistics("random")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for what, path in (page, "{path}"), (statistics, "{tmp_path}/statistics.json"):
    try:
        what.save(path)
    except origo.Error as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.count("cannot be written") == 2, done.stderr
    assert path.read_text() == page.html and not (tmp_path / "statistics.json").exists()
