"""Running models, and what goes wrong."""

import threading
import time
import sys

import numpy as np
import pytest

import origo


def test_outputs_are_those_of_circle_interpreter(net, files, tool, tmp_path):
    image = np.random.default_rng(2).uniform(-1, 1, (1, 32, 32, 3)).astype("float32")
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in/0.npy", image)
    for engine in "fast", "reference":
        tool("circle-interpreter", f"--engine={engine}", f"--inputs={tmp_path / 'in'}", f"--outputs={tmp_path / engine}",
             files / "plain.tflite")
        (output,) = net.session(engine=engine)(image).values()
        (file,) = (tmp_path / engine).glob("*.npy")
        assert output.tobytes() == np.load(file).tobytes() and output.any()
    (by_name,) = net.run(image=image[0]).values()  # a batch of one
    assert by_name.flags.writeable and np.allclose(by_name, output, atol=1e-4)


def test_signatures_by_name(text):
    net = text(
        """
subgraph @main(%x: f32[2]) -> (%y) {
  %y: f32[2] = ABS(%x)
}
subgraph @other(%a: f32[2], %b: f32[2]) -> (%c) {
  %c: f32[2] = SUB(%a, %b)
}
signature "plain" @main inputs("in"=%x) outputs("out"=%y)
signature "less" @other inputs("from"=%a, "what"=%b) outputs("rest"=%c)"""
    )
    session = net.session()
    assert session.signatures == ["plain", "less"]
    a, b = np.float32([3, 4]), np.float32([1, 2])
    assert session["less"](what=b, **{"from": a})["rest"].tolist() == [2, 2]
    assert session["less"](a, what=b)["rest"].tolist() == [2, 2]
    assert session["plain"]([-1, 2])["out"].tolist() == [1, 2]
    assert net.session(signature="less")(a, b)["rest"].tolist() == [2, 2]
    with pytest.raises(origo.Error, match='no signature "more"; there are: plain, less'):
        session["more"]
    for call in (lambda: session["less"](a), lambda: session["less"](a, b, a), lambda: session["less"](a, b, nobody=a)):
        with pytest.raises(origo.Error):
            call()


def test_variables_outlive_a_run(text):
    net = text(
        """
subgraph @add(%x: f32[1]) -> (%y) {
  CALL_ONCE() {init_subgraph_index=@init}
  %r: resource[] = VAR_HANDLE() {container="", shared_name="v"}
  %old: f32[1] = READ_VARIABLE(resource_id=%r)
  %y: f32[1] = ADD(x=%old, y=%x) {fused_activation_function=NONE}
  ASSIGN_VARIABLE(resource_id=%r, value=%y)
}
subgraph @init() -> () {
  %ten: f32[1] = const [10]
  %t: resource[] = VAR_HANDLE() {container="", shared_name="v"}
  ASSIGN_VARIABLE(resource_id=%t, value=%ten)
}
signature "add" @add inputs("by"=%x) outputs("sum"=%y)""",
        "circle",
    )
    session = net.session()
    one = np.float32([1])
    assert [float(session["add"](by=one)["sum"][0]) for _ in range(3)] == [11, 12, 13]
    session.reset()
    assert float(session["add"](one)["sum"][0]) == 11
    # A model that is run by itself has none left of the run before.
    assert [[float(x[0]) for x in net.run(one).values()] for _ in range(2)] == [[11], [11]]


def test_types_that_numpy_does_not_have(text):
    net = text(
        """
subgraph @main(%x: str[2]) -> (%y) {
  %y: str[2,1] = RESHAPE(%x, %s) {new_shape=[2,1]}
  %s: i32[2] = const [2, 1]
}"""
    )
    (strings,) = net.run([b"one", "zwei \u00e4"]).values()
    assert strings.shape == (2, 1) and strings.ravel().tolist() == [b"one", "zwei \u00e4".encode()]
    nibbles = text(
        """
subgraph @main(%x: f32[4]) -> (%y) {
  %w: i4[4] q{scale=1, zero_point=0} = const [1, 2, -1, 3]
  %f: f32[4] = DEQUANTIZE(%w)
  %y: f32[4] = ADD(%x, %f)
}"""
    )
    (constant,) = nibbles.constants
    assert constant.type == "INT4" and constant.array.dtype == "uint8" and constant.array.tolist() == [0x21, 0x3F]
    (sums,) = nibbles.run(np.zeros(4, "float32")).values()
    assert sums.tolist() == [1, 2, -1, 3]


def test_wrong_arrays(net):
    image = np.zeros((1, 32, 32, 3), "float32")
    with pytest.raises(origo.Error, match=r'is float32, and the array float64; array.astype\("float32"\)'):
        net.run(image.astype("float64"))
    with pytest.raises(origo.Error, match="is of shape"):
        net.run(image[:, :16])
    with pytest.raises(origo.Error, match='input "image" is missing'):
        net.run()
    with pytest.raises(origo.Error, match="record 0 has 2 arrays"):
        net.statistics([[image, image]])
    with pytest.raises(origo.Error, match="float64"):
        net.quantize([image.astype("float64")])
    (fortran,) = net.run(np.asfortranarray(image)).values()
    (plain,) = net.run(image).values()
    assert fortran.tobytes() == plain.tobytes()


def test_errors_have_place_and_cause(text, tmp_path):
    net = text(
        """
subgraph @main(%x: f32[2,3], %i: i32[1]) -> (%y) {
  %a: f32[2,3] = ABS(%x)
  %y: f32[1,3] = GATHER(%a, %i) {axis=0}
}"""
    )
    arrays = np.zeros((2, 3), "float32"), np.int32([7])
    with pytest.raises(origo.Error) as caught:
        net.run(*arrays)
    error = caught.value
    assert (error.subgraph, error.operator) == (0, 1) and error.file == net.path
    assert error.cause and str(error).endswith(error.cause) and "\n" not in str(error)
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(bytes(net)[:100])
    with pytest.raises(origo.Error, match="broken.tflite"):
        origo.load(broken)
    with pytest.raises(origo.Error):
        origo.load(b"{}")
    with pytest.raises(origo.Error):
        origo.load(b"")


def test_the_interpreter_lock_is_released(net):
    image = np.zeros((1, 32, 32, 3), "float32")
    session = net.session(engine="reference")
    count = 0
    stop = threading.Event()

    def work():
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(0.0001)

    thread = threading.Thread(target=work)
    thread.start()
    interval = sys.getswitchinterval()
    # From now on a thread goes on only where the other gives up the lock by itself.
    sys.setswitchinterval(1000)
    try:
        for long in lambda: session(image), lambda: net.optimize(), lambda: net.quantize():
            for _ in range(200):
                before = count
                long()
                if count > before:
                    break
            else:
                pytest.fail("no other thread went on")
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_threads_share_a_model(net):
    image = np.random.default_rng(3).uniform(-1, 1, (1, 32, 32, 3)).astype("float32")
    (want,) = net.run(image).values()
    results = []

    def work():
        for _ in range(5):
            (output,) = net.run(image).values()
            results.append(output.tobytes())
            results.append(want.tobytes() if len(net.optimize().operators) < len(net.operators) else b"")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [want.tobytes()] * 30
