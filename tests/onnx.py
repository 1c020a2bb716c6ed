#!/usr/bin/python3
"""ONNX models in, each judged by numpy: numbers, origins, and what is refused.

usage: onnx.py BIN
       onnx.py --example FILE     writes the network of docs/onnx.md
       onnx.py --example-of-sizes FILE SIZES     writes a network that is resized to an input, and sizes
       onnx.py --seeds FOLDER     writes all models, to begin fuzzing with
ORIGO_BLESS=1 in the environment writes the list of operators in docs/onnx.md anew.
Models are written here, message by message, as exporters write them; nothing is read from elsewhere.
"""

import glob
import hashlib
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

from many import Tools

BIN = sys.argv[1]
TOOLS = None if BIN.startswith("--") else Tools(BIN)
SANITIZED = os.path.isdir(BIN) and b"__asan_init" in open(os.path.join(BIN, "onnx2circle"), "rb").read()
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}
failures = []


# ---- The wire format ----


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, array):
    array = np.asarray(array)
    return b"".join(number(1, d) for d in array.shape) + number(2, TYPES[str(array.dtype)]) + text(8, name) + text(9, array.tobytes())


def value_info(name, dtype, shape):
    dims = b"".join(text(1, text(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
    return text(1, name) + text(2, text(1, number(1, TYPES[str(np.dtype(dtype))]) + text(2, dims)))


def attribute(name, value):
    if isinstance(value, np.ndarray):
        return text(1, name) + text(5, tensor("", value)) + number(20, 4)
    if isinstance(value, bytes):
        return text(1, name) + text(6, value) + number(20, 5)
    if isinstance(value, tuple):
        return text(1, name) + text(21, value[0]) + number(20, value[1])
    if isinstance(value, str):
        return text(1, name) + text(4, value) + number(20, 3)
    if isinstance(value, float):
        return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, list):
        return text(1, name) + b"".join(number(8, v) for v in value) + number(20, 7)
    return text(1, name) + number(3, value) + number(20, 2)


def pairs(field, entries):
    return b"".join(text(field, text(1, k) + text(2, v)) for k, v in entries.items())


def node(op, inputs, outputs, domain="", name=None, doc="", metadata={}, **attributes):
    return (b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs) + text(3, "node_" + outputs[0] if name is None else name)
            + text(4, op) + b"".join(text(5, attribute(k, v)) for k, v in attributes.items()) + (text(6, doc) if doc else b"")
            + (text(7, domain) if domain else b"") + pairs(9, metadata))


def graph(nodes, outputs, inputs=(), constants=(), name="main"):
    return (b"".join(text(1, n) for n in nodes) + text(2, name) + b"".join(text(5, tensor(n, a)) for n, a in constants)
            + b"".join(text(11, value_info(*i)) for i in inputs) + b"".join(text(12, text(1, o)) for o in outputs))


def function(name, domain, inputs, outputs, nodes, attributes=(), **defaults):
    return (text(1, name) + b"".join(text(4, i) for i in inputs) + b"".join(text(5, o) for o in outputs) + b"".join(text(6, a) for a in attributes)
            + b"".join(text(7, n) for n in nodes) + text(9, text(1, "") + number(2, 17)) + text(10, domain)
            + b"".join(text(11, attribute(k, v)) for k, v in defaults.items()))


def sparse(name, values, indices, dims):
    return text(15, text(1, tensor(name, values)) + text(2, tensor("", indices)) + b"".join(number(3, d) for d in dims))


def model(nodes, inputs, outputs, constants=(), opset=17, metadata={}, functions=(), more=b""):
    return (number(1, 8) + text(7, graph(nodes, outputs, inputs, constants) + more) + text(8, text(1, "") + number(2, opset)) + pairs(14, metadata)
            + b"".join(text(25, f) for f in functions))


# ---- Judging ----


def run(*words, ok=True):
    done = TOOLS.run(*words)
    if ok and done.returncode:
        failures.append(f"{' '.join(words)}: {done.stderr.strip()}")
    return done


def judge(label, data, feeds, expected, tolerance=1e-5, options=()):
    """Converted and after -O1, on one engine each: the numbers, and maps that the checker accepts beside the source. Sanitizers see a third."""
    with open("net.onnx", "wb") as file:
        file.write(data)
    if BIN == "--seeds":
        os.rename("net.onnx", "%03d.onnx" % len(os.listdir(".")))
        return
    if SANITIZED and zlib.crc32(label.encode()) % 3:
        return
    before = len(failures)
    for name, array in feeds.items():
        np.save("in/" + name + ".npy", array)
    run("onnx2circle", *options, "net.onnx", "net.circle")
    if len(failures) > before:
        return
    run("circle2circle", "-O1", "--verify-each", "net.circle", "o1.circle")
    for file, engine in ("net.circle", "reference"), ("o1.circle", "fast"):
        run("circle-interpreter", "--engine=" + engine, "--inputs=in", "--outputs=out", file)
        for name, wanted in expected.items():
            wanted = np.asarray(wanted)
            got = np.load("out/" + name + ".npy") if os.path.exists("out/" + name + ".npy") else np.zeros(0)
            same = got.shape == wanted.shape and got.dtype == wanted.dtype
            with np.errstate(invalid="ignore"):
                near = same and np.all((got == wanted) | (np.abs(got.astype(float) - wanted.astype(float)) <= tolerance * (1 + np.abs(wanted.astype(float)))) | ((got != got) & (wanted != wanted)))
            if not near:
                failures.append(f"{label}, {file}, {engine}: {name} is {got.dtype}{list(got.shape)} {got.ravel()[:6]}, not "
                                f"{wanted.dtype}{list(wanted.shape)} {wanted.ravel()[:6]}")
            if os.path.exists("out/" + name + ".npy"):
                os.remove("out/" + name + ".npy")
        said = run("origin-dump", "--check", "--source", "net.onnx", file)
        if "ok" not in said.stdout.splitlines():
            failures.append(f"{label}: the map of {file} breaks a law: {said.stdout}")


seed = np.random.RandomState(7)


def floats(*shape):
    return seed.uniform(-2, 2, shape).astype(np.float32)


def one(op, expected, *operands, constants=(), opset=17, outputs=1, options=(), shape=None, tolerance=1e-5, **attributes):
    """A node of one operator: `operands` are inputs, those at positions in `constants` constants."""
    names = ["x%d" % i for i in range(len(operands))]
    inputs = [(n, a.dtype, shape if shape and len(shape) == a.ndim else a.shape) for i, (n, a) in enumerate(zip(names, operands)) if a is not None and i not in constants]
    given = [(n, a) for i, (n, a) in enumerate(zip(names, operands)) if a is not None and i in constants]
    used = [n if a is not None else "" for n, a in zip(names, operands)]
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    results = ["y%d" % i for i in range(len(expected))]
    data = model([node(op, used, results, **attributes)], inputs, results, given, opset)
    feeds = {n: a for i, (n, a) in enumerate(zip(names, operands)) if a is not None and i not in constants}
    judge(op + str(attributes or ""), data, feeds, dict(zip(results, expected)), tolerance, options=options)


def more_windows():
    """Where maxima stand and back, parts of a signal, masks of what is not dropped, and crops."""
    x = seed.permutation(2 * 2 * 5 * 4).reshape(2, 2, 5, 4).astype(np.float32)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=-1e9)
    for order in 0, 1:
        places = np.arange(80).reshape(2, 2, 5, 4) if not order else np.arange(80).reshape(2, 2, 4, 5).swapaxes(2, 3)
        where = np.pad(places, ((0, 0), (0, 0), (1, 0), (0, 1)))
        y, at = np.zeros((2, 2, 3, 2), np.float32), np.zeros((2, 2, 3, 2), np.int64)
        for i in range(3):
            for k in range(2):
                part, spots = padded[:, :, 2 * i : 2 * i + 2, 2 * k : 2 * k + 3].reshape(2, 2, -1), where[:, :, 2 * i : 2 * i + 2, 2 * k : 2 * k + 3].reshape(2, 2, -1)
                y[:, :, i, k] = part.max(-1)
                at[:, :, i, k] = np.take_along_axis(spots, part.argmax(-1)[..., None], -1)[..., 0]
        one("MaxPool", [y, at], x, kernel_shape=[2, 3], strides=[2, 2], pads=[1, 0, 0, 1], storage_order=order)
    small = np.array([[[[5.0, 6], [7, 8]]]], np.float32)
    one("MaxUnpool", np.array([[[[0, 5.0, 0, 0], [0, 0, 6, 0], [7, 0, 0, 0], [0, 0, 0, 8]]]], np.float32), small, np.array([[[[1, 6], [8, 15]]]], np.int64), constants=(1,),
        kernel_shape=[2, 2], strides=[2, 2])
    signal, window = floats(1, 16, 1), np.abs(floats(8))
    frames = np.stack([signal[0, i : i + 8, 0] * window for i in range(0, 9, 4)])
    made = np.fft.rfft(frames)[None]
    one("STFT", np.stack([made.real, made.imag], -1).astype(np.float32), signal, np.array(4, np.int64), window, np.array(8, np.int64), constants=(1, 2, 3))
    x = floats(2, 3)
    one("Dropout", [x, np.ones((2, 3), bool)], x)
    one("Dropout", [x, np.ones((2, 3), bool)], x, np.array(0, np.float32), np.array(True), constants=(1, 2))
    # A crop reaches beyond the picture.
    x = floats(1, 1, 4, 4)
    rows = np.array([0.4 * 3 + i * (0.6 - 0.4) * 3 / 2 for i in range(3)])
    columns = np.array([0.6 * 3 + i * (1.2 - 0.6) * 3 / 2 for i in range(3)])
    def between(v, at):
        low = np.clip(np.floor(at).astype(int), 0, 3)
        high, share = np.clip(low + 1, 0, 3), at - low
        return v[low] * (1 - share)[:, None] + v[high] * share[:, None]
    y = between(between(x[0, 0], rows).T, np.clip(columns, 0, 3)).T
    y[:, columns > 3] = 10
    one("Resize", y[None, None].astype(np.float32), x, np.array([0, 0, 0.4, 0.6, 1, 1, 0.6, 1.2], np.float32), np.zeros(0, np.float32), ints(1, 1, 3, 3), constants=(1, 2, 3), opset=13,
        mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0)
    x = floats(1, 1, 2, 4)
    one("Resize", x.repeat(2, 2).repeat(2, 3), x, None, None, ints(7, 8), constants=(3,), opset=18, axes=[2, 3], keep_aspect_ratio_policy="not_larger")


def windows(x, size, stride, pads, fill, dilation=(1, 1)):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    ext = [(size[i] - 1) * dilation[i] + 1 for i in (0, 1)]
    out = [(x.shape[2 + i] - ext[i]) // stride[i] + 1 for i in (0, 1)]
    return np.stack([np.stack([x[:, :, h * stride[0] : h * stride[0] + ext[0] : dilation[0], w * stride[1] : w * stride[1] + ext[1] : dilation[1]]
                               for w in range(out[1])], 2) for h in range(out[0])], 2)


def conv(x, w, b, stride=(1, 1), pads=(0, 0, 0, 0), group=1, dilation=(1, 1)):
    patches = windows(x, w.shape[2:], stride, pads, 0, dilation)  # n, c, h, w, kh, kw
    share, of = x.shape[1] // group, w.shape[0] // group
    parts = [np.einsum("nchwyx,ocyx->nohw", patches[:, g * share : (g + 1) * share], w[g * of : (g + 1) * of]) for g in range(group)]
    return (np.concatenate(parts, 1) + (0 if b is None else b.reshape(1, -1, 1, 1))).astype(np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def ints(*values):
    return np.array(values, np.int64)


def operators():
    x, y = floats(2, 3, 4), floats(3, 1)
    i = seed.randint(-5, 9, (2, 3)).astype(np.int64)
    for op, f in ("Abs", np.abs), ("Exp", np.exp), ("Neg", np.negative), ("Floor", np.floor), ("Tanh", np.tanh), ("Sigmoid", sigmoid), \
            ("Reciprocal", lambda a: 1 / a), ("Sign", np.sign), ("Softplus", lambda a: np.log1p(np.exp(a))), ("Cosh", np.cosh):
        one(op, f(x).astype(np.float32), x)
    one("Round", np.array([-2, -2, 0, 0, 2, 2], np.float32), np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32))
    one("Erf", np.array([-0.8427008, 0, 0.5204999], np.float32), np.array([-1, 0, 0.5], np.float32))
    one("Relu", np.maximum(i, 0), i)
    one("LeakyRelu", np.where(x > 0, x, 0.1 * x).astype(np.float32), x, alpha=0.1)
    one("HardSigmoid", np.clip(x / 6 + 0.5, 0, 1).astype(np.float32), x, alpha=1 / 6, beta=0.5)
    for op, f in ("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide):
        one(op, f(x, y).astype(np.float32), x, y)
    one("Add", i + 3, i, ints(3), constants=(1,))
    one("Div", np.array([-3, 3], np.int64), ints(-7, 7), ints(2), constants=(1,))
    one("Add", np.array([4, 255], np.uint8), np.array([250, 250], np.uint8), np.array([10, 5], np.uint8))
    one("Mod", np.mod(i, 4), i, ints(4), constants=(1,))
    one("Mod", np.fmod(i, 4), i, ints(4), constants=(1,), fmod=1)
    one("Pow", (x * x).astype(np.float32), x, np.array(2, np.float32), constants=(1,))
    one("PRelu", np.where(x > 0, x, x * y).astype(np.float32), x, y, constants=(1,))
    one("Max", np.maximum(np.maximum(x, y), 0.5), x, y, np.array(0.5, np.float32), constants=(2,))
    one("Clip", np.clip(x, -1, 0.5), x, np.array(-1, np.float32), np.array(0.5, np.float32), constants=(1, 2))
    one("Clip", np.full_like(x, -1), x, np.array(1, np.float32), np.array(-1, np.float32), constants=(1, 2))  # min > max gives max
    one("Clip", np.minimum(x, 1), x, opset=6, max=1.0)
    one("Equal", i == 3, i, ints(3), constants=(1,))
    one("GreaterOrEqual", x >= y, x, y)
    one("Where", np.where(x > 0, x, y), x > 0, x, y)
    one("Cast", x.astype(np.int32), x, to=6)
    one("Cast", i.astype(np.float32), i, to=1)
    one("IsInf", np.array([False, True, False]), np.array([1, -np.inf, np.nan], np.float32))
    judge("IsInf of what is cast to double", model([node("Cast", ["x"], ["d"], to=11), node("IsInf", ["d"], ["y"], detect_negative=0)], [("x", np.float32, (3,))], ["y"]),
          {"x": np.array([np.inf, -np.inf, 3e38], np.float32)}, {"y": np.array([True, False, False])})
    one("MatMul", np.zeros((2, 3), np.float32), floats(2, 0), floats(0, 3), constants=(1,))
    one("EyeLike", np.eye(2, 3, 1, dtype=np.float32), floats(2, 3), k=1)
    for begin, end, by in (2, 9, 3), (9, 2, -3), (2, 9, -3), (9, 2, 3), (4, 4, 1):  # no number lies on a way that leads away
        one("Range", np.arange(begin, end, by), np.array(begin, np.int64), np.array(end, np.int64), np.array(by, np.int64))
        one("Range", np.arange(begin, end, by), np.array(begin, np.int64), np.array(end, np.int64), np.array(by, np.int64), constants=(0, 2))
    for values in (np.array([5, -7, 2 ** 31 - 1, -2 ** 31], np.int32), np.array([3, -4, -1, 77], np.int32)), (np.array([5, 255, 1], np.uint8), np.array([3, 129, 254], np.uint8)):
        one("BitwiseAnd", values[0] & values[1], *values, opset=18)
        one("BitwiseOr", values[0] | values[1], *values, opset=18)


def movement():
    x = floats(2, 3, 4)
    one("Transpose", x.transpose(2, 0, 1), x, perm=[2, 0, 1])
    one("Transpose", x.transpose(), x)
    one("Reshape", x.reshape(2, 12), x, ints(0, -1), constants=(1,))
    one("Reshape", x.reshape(4, 6), x, ints(4, -1), constants=(1,), shape=("n", 3, 4))
    one("Flatten", x.reshape(6, 4), x, axis=2)
    one("Unsqueeze", x[:, None, :, :, None], x, ints(1, -1), constants=(1,))
    one("Unsqueeze", x[None], x, axes=[0], opset=11, shape=("a", "b", 4))
    # The sizes are computed in front of what the movement trades places with.
    counted = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    trade = [node("Unsqueeze", ["x"], ["a"], axes=[0]), node("Cast", ["a"], ["y"], to=1)]
    judge("Cast of Unsqueeze", model(trade, [("x", np.int32, ("a", "b", 4))], ["y"], opset=11), {"x": counted}, {"y": counted[None].astype(np.float32)})
    one("Squeeze", x[:, :1][:, 0], x[:, :1], ints(1), constants=(1,))
    one("Concat", np.concatenate([x, x[:, :1]], 1), x, x[:, :1], axis=1)
    one("Split", [x[..., :1], x[..., 1:]], x, ints(1, 3), constants=(1,), axis=-1)
    one("Split", [x[:, :2], x[:, 2:]], x, opset=18, axis=1, num_outputs=2)
    one("Slice", x[:, 1:, ::-2], x, ints(1, -1), ints(9223372036854775807, -9223372036854775807), ints(1, 2), ints(1, -2), constants=(1, 2, 3, 4))
    one("Slice", x[-2:, :2], x, starts=[-2, 0], ends=[9, 2], opset=9)
    # What decides a shape is computed.
    one("Unsqueeze", x[:, None, :, :, None], x, ints(-1, 1))
    one("Unsqueeze", x[None], x, ints(0))
    one("Squeeze", x[:1, :, :1][0, :, 0], x[:1, :, :1], ints(-1, 0))
    one("Split", [x[..., :1], x[..., 1:]], x, ints(1, 3), axis=-1)
    one("Slice", x[:, 1:, ::-2], x, ints(1, -1), ints(9223372036854775807, -9223372036854775807), ints(1, -1), ints(1, -2))
    one("Slice", x[::-1, 1:], x, ints(9, 1), ints(-9, 9), ints(0, 1), ints(-1, 1), constants=(0, 1, 2))
    one("Gather", x[:, [2, -1]], x, ints(2, -1), constants=(1,), axis=1)
    one("Gather", x[1], x, np.array(-1, np.int64))
    one("GatherElements", np.take_along_axis(x, np.array([[[1, 0, 0, 2]]] * 2), 1), x, np.array([[[1, 0, 0, 2]]] * 2, np.int64), axis=1)
    one("GatherND", x[[1, 0], [-1, 2]], x, np.array([[1, -1], [-2, 2]], np.int64), constants=(1,))
    one("GatherND", np.stack([x[0, -1], x[1, 0]])[:, None], x, np.array([[[-1]], [[0]]], np.int64), constants=(1,), batch_dims=1)
    one("GatherND", x[[1, 0], [-1, 2]], x, np.array([[1, -1], [-2, 2]], np.int64))
    one("Pad", np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=3), x, ints(0, 1, 0, 0, 0, 2), np.array(3, np.float32), constants=(1, 2))
    one("Pad", np.pad(x, ((0, 0), (1, 1), (2, 0)), mode="edge"), x, ints(0, 1, 2, 0, 1, 0), constants=(1,), mode="edge")
    one("Pad", np.pad(x, ((0, 0), (1, 1), (2, 0)), mode="reflect"), x, ints(0, 1, 2, 0, 1, 0), constants=(1,), mode="reflect")
    one("Expand", np.broadcast_to(x[:, :1], (2, 3, 4)), x[:, :1], ints(3, 1), constants=(1,))
    one("Tile", np.tile(x, (1, 2, 1)), x, ints(1, 2, 1), constants=(1,))
    one("Shape", ints(2, 3, 4), x)
    one("Shape", ints(3), x, start=1, end=2)
    one("ConstantOfShape", np.full((2, 2), 5, np.int64), ints(2, 2), value=np.array([5], np.int64))
    one("NonZero", np.array(np.nonzero(x > 0)), (x > 0).astype(np.float32))
    one("Trilu", np.triu(x[0], 1), x[0], np.array(1, np.int64), constants=(1,))
    one("CumSum", np.cumsum(x, 1).astype(np.float32), x, np.array(1, np.int64), constants=(1,))
    one("TopK", [-np.sort(-x, 1)[:, :2], np.argsort(-x, 1, kind="stable")[:, :2]], x, ints(2), constants=(1,), axis=1)
    one("OneHot", np.array([[0, 0, 3], [3, 0, 0]], np.float32), ints(-1, 0), ints(3), np.array([0, 3], np.float32), constants=(1, 2))
    image = floats(1, 8, 2, 3)
    one("DepthToSpace", image.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6), image, blocksize=2)
    one("DepthToSpace", image.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6), image, blocksize=2, mode="CRD")
    flat = np.arange(8, dtype=np.float32)
    changed = flat.copy()
    changed[[4, 3, 1, 7]] = [9, 10, 11, 12]
    put = x.copy()
    np.put_along_axis(put, np.array([[[1, 0, 2, 0]], [[2, 2, 0, 1]]]), np.float32(7), 1)
    one("ScatterElements", put, x, np.array([[[1, -3, 2, 0]], [[2, 2, 0, 1]]], np.int64), np.full((2, 1, 4), 7, np.float32), constants=(1,), axis=1)
    one("ScatterND", changed, flat, np.array([[4], [3], [1], [7]], np.int64), np.array([9, 10, 11, 12], np.float32), constants=(1,))


def slices():
    """Every combination of ends within, at and beyond both sides, in both directions; all of one axis in one model."""
    x = floats(2, 5)
    nodes, constants, expected = [], [], {}
    ends = [-9223372036854775808, -7, -6, -5, -2, 0, 3, 5, 6, 9223372036854775807]
    for step in 1, 2, -1, -3:
        for start in ends:
            for end in ends:
                name = "y%d" % len(nodes)
                given = [(name + "_" + part, ints(value)) for part, value in (("a", start), ("b", end), ("c", 1), ("d", step))]
                cut = x[:, slice(*(max(min(v, 99), -99) for v in (start, end)), step)]
                if cut.size == 0:
                    continue
                nodes.append(node("Slice", ["x"] + [n for n, _ in given], [name]))
                constants += given
                expected[name] = cut
    judge("Slice", model(nodes, [("x", np.float32, x.shape)], list(expected), constants), {"x": x}, expected)


def reductions():
    x = floats(2, 3, 4)
    one("ReduceMean", x.mean((1, 2), keepdims=True), x, axes=[1, 2], opset=13)
    one("ReduceSum", x.sum(1), x, ints(-2), constants=(1,), keepdims=0)
    one("ReduceSum", x, x, noop_with_empty_axes=1)
    one("ReduceLogSum", np.log(np.abs(x)), np.abs(x), noop_with_empty_axes=1, opset=18)
    # Axes that are computed.
    one("ReduceSum", x.sum((0, 2)), x, ints(-1, 0), keepdims=0)
    one("ReduceSum", x.sum(1, keepdims=True), x, ints(1))
    one("ReduceSum", x.sum(), x, ints(), keepdims=0)
    one("ReduceSum", x, x, ints(), noop_with_empty_axes=1)
    one("ReduceL2", np.sqrt((x * x).sum(2)), x, ints(2), keepdims=0, opset=18)
    one("ReduceMax", x.max(), x, keepdims=0, opset=13)
    one("ReduceL2", np.sqrt((x * x).sum(2)), x, axes=[2], keepdims=0, opset=13)
    one("ReduceLogSumExp", np.log(np.exp(x).sum(1, keepdims=True)), x, axes=[1], opset=13)
    one("ArgMax", x.argmax(1)[:, None], x, axis=1)
    one("ArgMin", x.argmin(2), x, axis=-1, keepdims=0)


def linear():
    x, w, b = floats(2, 3), floats(4, 3), floats(4)
    one("Gemm", x @ w.T + b, x, w, b, constants=(1, 2), transB=1)
    one("Gemm", (0.5 * (x @ w.T) + 2 * b).astype(np.float32), x, w.T.copy(), b, constants=(1, 2), alpha=0.5, beta=2.0)
    one("Gemm", x.T @ w[:2] + floats(0).sum(), x, w[:2], transA=1)
    one("MatMul", floats(1)[0] * 0 + np.matmul(np.stack([x, x + 1]), w.T), np.stack([x, x + 1]), w.T.copy(), constants=(1,))
    one("MatMul", np.matmul(x, w.T), x, w.T.copy())
    one("MatMul", np.matmul(x[0], w.T), x[0], w.T.copy())
    one("Einsum", np.einsum("bij,bjk->bik", np.stack([x, x]), np.stack([w.T, w.T])), np.stack([x, x]), np.stack([w.T, w.T]), equation="bij,bjk->bik")


def pictures():
    x = floats(1, 4, 6, 7)
    w, b = floats(6, 4, 3, 3), floats(6)
    one("Conv", conv(x, w, b, pads=(1, 1, 1, 1)), x, w, b, constants=(1, 2), pads=[1, 1, 1, 1])
    one("Conv", conv(x, w, None, stride=(2, 2), pads=(1, 0, 0, 1)), x, w, constants=(1,), strides=[2, 2], pads=[1, 0, 0, 1])
    one("Conv", conv(x, w, None, pads=(2, 2, 2, 2), dilation=(2, 2)), x, w, constants=(1,), dilations=[2, 2], pads=[2, 2, 2, 2])
    grouped = floats(6, 2, 3, 3)
    one("Conv", conv(x, grouped, b, group=2), x, grouped, b, constants=(1, 2), group=2)
    depth = floats(8, 1, 3, 3)
    one("Conv", conv(x, depth, None, group=4, pads=(1, 1, 1, 1)), x, depth, constants=(1,), group=4, auto_pad="SAME_UPPER")
    one("Conv", conv(x[:, :, :1], w[:, :, :1], b)[:, :, 0], x[:, :, 0], w[:, :, 0], b, constants=(1, 2))
    up = floats(4, 3, 2, 2)
    spread = np.zeros((1, 3, 12, 14), np.float32)
    for h in range(6):
        for c in range(7):
            spread[:, :, 2 * h : 2 * h + 2, 2 * c : 2 * c + 2] += np.einsum("nc,coyx->noyx", x[:, :, h, c], up)
    one("ConvTranspose", spread, x, up, constants=(1,), strides=[2, 2])
    one("ConvTranspose", spread[:, :, 1:-1, 1:-1], x, up, constants=(1,), strides=[2, 2], pads=[1, 1, 1, 1])
    one("MaxPool", windows(x, (3, 3), (2, 2), (1, 1, 1, 1), -np.inf).max((4, 5)), x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    one("MaxPool", windows(x, (2, 2), (2, 2), (0, 0, 0, 1), -np.inf).max((4, 5)), x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    counts = windows(np.ones_like(x), (3, 3), (1, 1), (1, 1, 1, 1), 0).sum((4, 5))
    sums = windows(x, (3, 3), (1, 1), (1, 1, 1, 1), 0).sum((4, 5))
    low = x[:, :, :1]  # one row, less than a stride too small for the window: there is a place, of what there is
    one("MaxPool", low[..., :-1].reshape(low.shape[:3] + (-1, 2)).max(4), low[..., :-1], kernel_shape=[2, 2], strides=[2, 2])
    one("AveragePool", low[..., :-1].reshape(low.shape[:3] + (-1, 2)).mean(4), low[..., :-1], kernel_shape=[2, 2], strides=[2, 2])
    one("AveragePool", (sums / counts).astype(np.float32), x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    one("AveragePool", (sums / 9).astype(np.float32), x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    sums = windows(x, (2, 2), (2, 2), (1, 0, 1, 1), 0).sum((4, 5)) / windows(np.ones_like(x), (2, 2), (2, 2), (1, 0, 1, 1), 0).sum((4, 5))
    one("AveragePool", sums.astype(np.float32), x, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    one("GlobalAveragePool", x.mean((2, 3), keepdims=True), x)
    scales = np.array([1, 1, 2, 2], np.float32)
    one("Resize", x.repeat(2, 2).repeat(2, 3), x, None, scales, constants=(2,), coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    one("Upsample", x.repeat(2, 2).repeat(2, 3), x, scales, constants=(1,), opset=9)
    at = [0, 1, 1, 2, 3, 4, 4, 5]  # ceil(i · 5/7 of align_corners − ½)
    one("Resize", x[:, :, at], x, None, None, ints(1, 4, 8, 7), constants=(3,), coordinate_transformation_mode="align_corners")
    rows = np.clip((np.arange(12) + 0.5) / 2 - 0.5, 0, 5)
    low = np.floor(rows).astype(int)
    share = (rows - low).reshape(1, 1, -1, 1)
    one("Resize", (x[:, :, low] * (1 - share) + x[:, :, np.minimum(low + 1, 5)] * share).astype(np.float32), x, None, None, ints(1, 4, 12, 7), constants=(3,),
        mode="linear", coordinate_transformation_mode="half_pixel")
    for at, a, inside, more in (((np.arange(12) + 0.5) / 2 - 0.5, -0.75, False, {}),
                                (np.arange(12) * 5 / 11, -0.5, True, {"coordinate_transformation_mode": "align_corners", "cubic_coeff_a": -0.5, "exclude_outside": 1})):
        low = np.floor(at).astype(int)
        weights = np.zeros((12, 6))
        for tap in range(-1, 3):
            d = np.abs(at - low - tap)
            w = np.where(d <= 1, (a + 2) * d**3 - (a + 3) * d**2 + 1, a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a)
            w[(low + tap < 0) | (low + tap > 5)] *= not inside
            np.add.at(weights, (np.arange(12), np.clip(low + tap, 0, 5)), w)
        weights /= weights.sum(1, keepdims=True) if inside else 1
        one("Resize", np.einsum("ncij,oi->ncoj", x, weights).astype(np.float32), x, None, None, ints(1, 4, 12, 7), constants=(3,), mode="cubic", **more)


def averages():
    """AveragePool with each combination of padding, of what counts, of what is rounded and of distances; one in five, if not ORIGO_THOROUGH=1."""
    turn = itertools.cycle([True] + [bool(os.environ.get("ORIGO_THOROUGH"))] * 4)
    def wanted(x, size, stride, pads, dilation, ceils, counts):
        spatial, rank = x.shape[2:], len(size)
        extent = [(size[i] - 1) * dilation[i] + 1 for i in range(rank)]
        shape = []
        for i in range(rank):
            room = spatial[i] + pads[i] + pads[rank + i] - extent[i]
            places = (-(-room // stride[i]) if ceils else room // stride[i]) + 1
            shape.append(places - (ceils and (places - 1) * stride[i] >= spatial[i] + pads[i]))
        y = np.zeros(x.shape[:2] + tuple(shape), np.float32)
        for place in np.ndindex(*shape):
            total, cells = np.zeros(x.shape[:2], np.float64), 0
            for tap in np.ndindex(*size):
                at = [place[i] * stride[i] + tap[i] * dilation[i] - pads[i] for i in range(rank)]
                inside = all(0 <= at[i] < spatial[i] for i in range(rank))
                cells += all(-pads[i] <= at[i] < spatial[i] + pads[rank + i] for i in range(rank)) if counts else inside
                total += x[(slice(None), slice(None), *at)] if inside else 0
            y[(slice(None), slice(None), *place)] = total / cells
        return y

    for shape, size, all_pads in ((1, 2, 8), (3,), ((0, 0), (1, 1), (0, 2))), ((1, 2, 6, 7), (3, 2), ((0, 0, 0, 0), (1, 1, 1, 1), (1, 0, 2, 1))), ((1, 1, 5, 4, 5), (2, 3, 2), ((0,) * 6, (1, 1, 0, 0, 1, 1))):
        x, rank = floats(*shape), len(size)
        for pads in all_pads:
            for stride, dilation, ceils, counts in itertools.product((1, 2, 3), (1, 2), (0, 1), (0, 1)):
                if any((size[i] - 1) * dilation + 1 > shape[2 + i] for i in range(rank)) or not next(turn):
                    continue
                y = wanted(x, size, [stride] * rank, pads, [dilation] * rank, ceils, counts)
                one("AveragePool", y, x, opset=19, kernel_shape=list(size), strides=[stride] * rank, pads=list(pads), dilations=[dilation] * rank, ceil_mode=ceils, count_include_pad=counts)


def columns():
    """Windows that are put back, and windows that are bent."""
    for shape, size, stride, pads, dilation in ((5, 6), (2, 3), (1, 2), (0, 1, 1, 0), (2, 1)), ((4, 4), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)), ((7,), (3,), (2,), (1, 1), (1,)):
        rank = len(size)
        counts = [(shape[i] + pads[i] + pads[rank + i] - (size[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(rank)]
        x = floats(2, 3 * int(np.prod(size)), int(np.prod(counts)))
        parts, y = x.reshape(2, 3, *size, *counts), np.zeros((2, 3) + shape, np.float32)
        for tap in np.ndindex(*size):
            for place in np.ndindex(*counts):
                at = [place[i] * stride[i] + tap[i] * dilation[i] - pads[i] for i in range(rank)]
                if all(0 <= at[i] < shape[i] for i in range(rank)):
                    y[(slice(None), slice(None), *at)] += parts[(slice(None), slice(None), *tap, *place)]
        one("Col2Im", y, x, ints(*shape), ints(*size), constants=(1, 2), opset=18, strides=list(stride), pads=list(pads), dilations=list(dilation))

    def at(picture, row, column):
        """Between the four elements around, zero beyond the picture."""
        low, left = int(np.floor(row)), int(np.floor(column))
        corners = (((low, left), (1 - row + low) * (1 - column + left)), ((low, left + 1), (1 - row + low) * (column - left)),
                   ((low + 1, left), (row - low) * (1 - column + left)), ((low + 1, left + 1), (row - low) * (column - left)))
        return sum(picture[:, r, c] * share for (r, c), share in corners if 0 <= r < picture.shape[1] and 0 <= c < picture.shape[2])

    for group, bent, stride, pads, dilation, masked in (1, 1, (1, 1), (0, 0, 0, 0), (1, 1), False), (2, 2, (2, 1), (1, 1, 0, 1), (1, 2), True):
        x, w, b = floats(2, 4, 5, 6), floats(4, 4 // group, 2, 2), floats(4)
        out = [(x.shape[2 + i] + pads[i] + pads[2 + i] - dilation[i] - 1) // stride[i] + 1 for i in (0, 1)]
        offset, mask = floats(2, bent * 8, *out), floats(2, bent * 4, *out) if masked else None
        y = np.zeros((2, 4, *out), np.float32)
        for n, r, c in np.ndindex(2, *out):
            for tap in range(4):
                for g in range(bent):
                    bend = offset[n, (g * 4 + tap) * 2 : (g * 4 + tap) * 2 + 2, r, c]
                    share = slice(g * 4 // bent, (g + 1) * 4 // bent)
                    sample = at(x[n, share], r * stride[0] - pads[0] + tap // 2 * dilation[0] + bend[0], c * stride[1] - pads[1] + tap % 2 * dilation[1] + bend[1])
                    sample = sample * (mask[n, g * 4 + tap, r, c] if masked else 1) * np.ones(4 // bent)
                    for k, channel in enumerate(range(share.start, share.stop)):
                        own = channel // (4 // group)
                        y[n, own * 4 // group : (own + 1) * 4 // group, r, c] += w[own * 4 // group : (own + 1) * 4 // group, channel % (4 // group), tap // 2, tap % 2] * sample[k]
        y += b.reshape(1, 4, 1, 1)
        one("DeformConv", y, x, w, offset, b, mask, constants=(1, 3), opset=19, group=group, offset_group=bent, strides=list(stride), pads=list(pads), dilations=list(dilation),
            kernel_shape=[2, 2])


def optionals():
    x = floats(2, 3)
    has = [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["h"]), node("OptionalGetElement", ["o"], ["e"]), node("Relu", ["e"], ["y"])]
    judge("Optional", model(has, [("x", np.float32, (2, 3))], ["h", "y"], opset=18), {"x": x}, {"h": np.array(True), "y": np.maximum(x, 0)})
    none = [node("Optional", [], ["o"]), node("OptionalHasElement", ["o"], ["h"]), node("If", ["h"], ["y"], then_branch=graph([node("OptionalGetElement", ["o"], ["t"])], ["t"]),
                                                                                          else_branch=graph([node("Neg", ["x"], ["t"])], ["t"]))]
    judge("Optional", model(none, [("x", np.float32, (2, 3))], ["y"], opset=18), {"x": x}, {"y": -x})
    refused("an optional", model(none[:1], [("x", np.float32, (2, 3))], ["o"], opset=18), 'Optional "o": an optional without an element')


def normalisation():
    x, s, t = floats(2, 4, 3, 3), floats(4), floats(4)
    m, v = floats(4), seed.uniform(0.5, 2, 4).astype(np.float32)
    wide = lambda a: a.reshape(-1, 1, 1)
    one("BatchNormalization", (x - wide(m)) / np.sqrt(wide(v) + np.float32(1e-5)) * wide(s) + wide(t), x, s, t, m, v, constants=(1, 2, 3, 4))
    away = x - x.mean((2, 3), keepdims=True)
    one("InstanceNormalization", away / np.sqrt(x.var((2, 3), keepdims=True) + np.float32(1e-5)) * wide(s) + wide(t), x, s, t, constants=(1, 2))
    flat = floats(2, 5, 4)
    away = flat - flat.mean(-1, keepdims=True)
    one("LayerNormalization", away / np.sqrt(flat.var(-1, keepdims=True) + np.float32(1e-5)) * s + t, flat, s, t, constants=(1, 2))
    one("Softmax", softmax(x, 1), x, axis=1)
    one("Softmax", softmax(x.reshape(2, -1), 1).reshape(x.shape), x, opset=11)  # everything behind the axis is one
    one("LogSoftmax", np.log(softmax(flat, -1)), flat, axis=-1)
    square = np.square(np.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0))))
    near = square[:, :-2] + square[:, 1:-1] + square[:, 2:]
    one("LRN", (x / np.power(1 + 0.3 / 3 * near, 0.75)).astype(np.float32), x, size=3, alpha=0.3)


def recurrent():
    x = floats(3, 2, 4)
    for op, gates in ("LSTM", 4), ("GRU", 3), ("RNN", 1):
        for direction in "forward", "reverse", "bidirectional":
            sides = 2 if direction == "bidirectional" else 1
            w, r, b = floats(sides, gates * 5, 4), floats(sides, gates * 5, 5), floats(sides, 2 * gates * 5)
            whole, last = np.zeros((3, sides, 2, 5), np.float32), np.zeros((sides, 2, 5), np.float32)
            for d in range(sides):
                h = c = np.zeros((2, 5), np.float32)
                for t in range(3)[:: -1 if direction == "reverse" or d else 1]:
                    wb, rb = b[d, : gates * 5], b[d, gates * 5 :]
                    p, q = x[t] @ w[d].T + wb, h @ r[d].T + rb
                    if op == "LSTM":
                        i, o, f, g = np.split(p + q, 4, 1)
                        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                        h = sigmoid(o) * np.tanh(c)
                    elif op == "GRU":
                        pz, pr, ph = np.split(p, 3, 1)
                        qz, qr, qh = np.split(q, 3, 1)
                        z = sigmoid(pz + qz)
                        h = (1 - z) * np.tanh(ph + sigmoid(pr + qr) * qh) + z * h
                    else:
                        h = np.tanh(p + q)
                    whole[t, d] = h
                last[d] = h
            more = {"linear_before_reset": 1} if op == "GRU" else {}
            one(op, [whole, last], x, w, r, b, constants=(1, 2, 3), direction=direction, hidden_size=5, **more)


def bodies():
    """If, whose branches see what is around them, in each other as well; and functions of the model's own."""
    x, c = np.array([[-1.5, 1.0, -0.25], [0.75, 2.0, -2.0]], np.float32), floats(2, 3)
    inner = node("If", ["flag"], ["z"], then_branch=graph([node("Mul", ["t", "c"], ["z1"])], ["z1"]), else_branch=graph([node("Neg", ["x"], ["z2"])], ["z2"]))
    outer = node("If", ["cond"], ["y"], then_branch=graph([node("Exp", ["x"], ["t"]), inner], ["z"]), else_branch=graph([node("Add", ["x", "c"], ["e"])], ["e"]))
    for cond in True, False:
        for flag in True, False:
            y = (np.exp(x) * c if flag else -x) if cond else x + c
            given = [("cond", np.bool_, ()), ("flag", np.bool_, ())]
            feeds = {"x": x, "cond": np.array(cond), "flag": np.array(flag)}
            judge("If", model([outer], [("x", np.float32, (2, 3)), *given], ["y"], [("c", c)]), feeds, {"y": y}, 1e-5)
            # A condition that is constant chooses at once, and so may branches with other ranks.
            constants = [("c", c), ("cond", np.array(cond)), ("flag", np.array(flag))]
            judge("If of a constant", model([outer], [("x", np.float32, (2, 3))], ["y"], constants), {"x": x}, {"y": y}, 1e-5)
    ranks = node("If", ["cond"], ["y"], then_branch=graph([node("Unsqueeze", ["x", "axis"], ["a"])], ["a"]), else_branch=graph([node("Identity", ["x"], ["b"])], ["b"]))
    rank = [node("Shape", ["x"], ["s"]), node("Size", ["s"], ["r"]), node("Equal", ["r", "two"], ["cond"]), ranks]
    judge("If of a rank", model(rank, [("x", np.float32, (2, 3))], ["y"], [("axis", ints(0)), ("two", np.array(2, np.int64))]), {"x": x}, {"y": x[None]}, 1e-5)
    scaled = function("Scaled", "my", ["a"], ["b"], [node("LeakyRelu", ["a"], ["m"], alpha=("slope", 1)), node("Add", ["m", "m"], ["b"])], ["slope"], slope=0.5)
    twice = function("Twice", "my", ["a"], ["b"], [node("Scaled", ["a"], ["m"], domain="my"), node("Scaled", ["m"], ["b"], domain="my", slope=0.25)])
    plain = function("Plain", "my", ["a", "absent"], ["b"], [node("Exp", ["a"], ["b"])])
    nodes = [node("Twice", ["x"], ["t"], domain="my"), node("Plain", ["t"], ["p"], domain="my"), node("Plain", ["x"], ["q"], domain="my"), node("Add", ["p", "q"], ["y"])]
    leaky = lambda v, slope: 2 * np.where(v > 0, v, slope * v).astype(np.float32)
    judge("functions", model(nodes, [("x", np.float32, (2, 3))], ["y"], functions=[scaled, twice, plain]), {"x": x},
          {"y": np.exp(leaky(leaky(x, 0.5), 0.25)) + np.exp(x)}, 1e-5)


def attention():
    """Of com.microsoft: with a mask, causal and behind what was before."""
    batch, moments, heads, size, before = 2, 3, 2, 2, 1
    width = heads * size
    x, w, b, past = floats(batch, moments, 5), floats(5, 3 * width), floats(3 * width), floats(2, batch, heads, before, size)
    mask = np.array([[1, 3, 1, 1], [0, 1, 1, 1]], np.int32)
    q, k, v = (x @ w + b).reshape(batch, moments, 3, heads, size).transpose(2, 0, 3, 1, 4)
    k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    scores = (q @ k.swapaxes(2, 3) / np.sqrt(size) + (mask[:, None, None, :] <= 0) * -10000.0).astype(np.float32)
    scores = np.where(np.arange(before + moments)[None, :] > np.arange(moments)[:, None] + before, np.float32(-1e9), scores)
    y = (softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(batch, moments, width)
    constants = [("w", w), ("b", b)]
    inputs = [("x", np.float32, x.shape), ("mask", np.int32, mask.shape), ("past", np.float32, past.shape)]
    nodes = [node("Attention", ["x", "w", "b", "mask", "past"], ["y", "present"], domain="com.microsoft", num_heads=heads, unidirectional=1)]
    judge("Attention", model(nodes, inputs, ["y", "present"], constants), {"x": x, "mask": mask, "past": past}, {"y": y, "present": np.stack([k, v])}, 1e-4)
    lengths = np.array([3, 2], np.int32)
    q, k, v = (x @ w + b).reshape(batch, moments, 3, heads, size).transpose(2, 0, 3, 1, 4)
    scores = (q @ k.swapaxes(2, 3) / np.sqrt(size) + (np.arange(moments)[None, None, None, :] >= lengths[:, None, None, None]) * -10000.0).astype(np.float32)
    nodes = [node("Attention", ["x", "w", "b", "mask"], ["y"], domain="com.microsoft", num_heads=heads)]
    judge("Attention of lengths", model(nodes, [inputs[0], ("mask", np.int32, (2,))], ["y"], constants), {"x": x, "mask": lengths},
          {"y": (softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(batch, moments, width)}, 1e-4)
    ids, of, mask = np.array([[1, 0, 2]], np.int32), np.array([[0, 1, 1]], np.int32), np.array([[1, 1, 0]], np.int32)
    words, positions, segments, gamma, beta = floats(4, 6), floats(5, 6), floats(2, 6), floats(6), floats(6)
    total = words[ids] + positions[None, :3] + segments[of]
    away = total - total.mean(-1, keepdims=True)
    y = away / np.sqrt((away ** 2).mean(-1, keepdims=True) + 1e-5) * gamma + beta
    nodes = [node("EmbedLayerNormalization", ["ids", "of", "w", "p", "s", "g", "b", "mask"], ["y", "count"], domain="com.microsoft", epsilon=1e-5)]
    judge("EmbedLayerNormalization", model(nodes, [(n, np.int32, (1, 3)) for n in ("ids", "of", "mask")], ["y", "count"],
          [("w", words), ("p", positions), ("s", segments), ("g", gamma), ("b", beta)]), {"ids": ids, "of": of, "mask": mask}, {"y": y, "count": np.array([2], np.int32)}, 1e-4)
    a, w, c = floats(2, 3), floats(3, 4), floats(4)
    one("FusedGemm", np.maximum(a @ w + c, 0), a, w, c, constants=(1, 2), domain="com.microsoft", activation="Relu")
    one("FusedMatMul", a.T @ w[:2] * 0.5, a, w[:2], domain="com.microsoft", alpha=0.5, transA=1)
    q, s, z = seed.randint(0, 16, (4, 2, 16)), np.abs(floats(4, 2)), seed.randint(0, 16, (4, 2))
    real = ((q - z[..., None]) * s[..., None]).reshape(4, 32)[:, :24].astype(np.float32)
    packed = (q[..., ::2] | q[..., 1::2] << 4).astype(np.uint8)
    x = floats(2, 24)
    one("MatMulNBits", x @ real.T, x, packed, s, (z[:, 0] | z[:, 1] << 4).astype(np.uint8)[:, None], constants=(1, 2, 3), domain="com.microsoft", K=24, N=4, bits=4, block_size=16)


def too_small():
    """Windows that do not fit into their input."""
    for height, width in ((2, 5), (5, 2), (0, 5)):
        x = ("x", np.float32, (1, 2, height, width))
        for outputs in (["y"], ["y", "places"]):
            refused(f"MaxPool of {height} × {width}", model([node("MaxPool", ["x"], outputs, kernel_shape=[3, 3])], [x], outputs), "its window is larger than its input")
        refused(f"MaxPool of {height} × {width}, dilated", model([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 2])], [x], ["y"]), "its window is larger than its input")
        refused(f"AveragePool of {height} × {width}", model([node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3])], [x], ["y"]), "its window is larger than its input")
        refused(f"Conv of {height} × {width}", model([node("Conv", ["x", "w"], ["y"])], [x], ["y"], [("w", floats(1, 2, 3, 3))]), "its window is larger than its input")


def too_long():
    """Paddings that no tensor has, or that leave nothing of one."""
    x = ("x", np.float32, (2, 3))
    for pads, why in (([2**31 - 1, 0, 2**31 - 1, 0], "longer than a tensor"), ([-2**63, 0, 0, 0], "longer than a tensor"), ([-2**30, 0, -2**30, 0], "it crops more than its input has"),
                      ([-2, 0, -1, 0], "it crops more than its input has")):
        refused(f"Pad by {pads}", model([node("Pad", ["x", "pads"], ["y"])], [x], ["y"], [("pads", np.array(pads, np.int64))]), why)


def loops():
    """Loop and Scan, whose bodies see what is around them, as often as is known."""
    x, c = floats(2), floats(2)
    scalar = lambda name, dtype: (name, dtype, ())
    # state = state * c + i; listed: the state before
    step = graph([node("Identity", ["go"], ["on"]), node("Cast", ["i"], ["f"], to=1), node("Mul", ["s", "c"], ["m"]), node("Add", ["m", "f"], ["t"]), node("Identity", ["s"], ["was"])],
                 ["on", "t", "was"], [scalar("i", np.int64), scalar("go", np.bool_), ("s", np.float32, ())])
    state, listed = x, []
    for i in range(3):
        listed.append(state)
        state = state * c + np.float32(i)
    loop = node("Loop", ["n", "go0", "x"], ["y", "z"], body=step)
    judge("Loop", model([loop], [("x", np.float32, (2,))], ["y", "z"], [("c", c), ("n", np.array(3, np.int64)), ("go0", np.array(True))]), {"x": x}, {"y": state, "z": np.stack(listed)})
    np.save("n.npy", np.array([3], np.int64))
    bound = model([node("Loop", ["n", "", "x"], ["y", "z"], body=step)], [("x", np.float32, (2,)), ("n", np.int64, (1,))], ["y", "z"], [("c", c)])
    judge("Loop, bound", bound, {"x": x}, {"y": state, "z": np.stack(listed)}, options=["--bind=n=n.npy"])
    refused("Loop of an open number", bound, 'Loop "y": how often its body runs is computed')
    # One that ends by itself, after at most so many rounds
    for most, last, rounds in (5, 2, 3), (2, 7, 2), (4, -1, 1):
        until = graph([node("Less", ["i", "k"], ["on"]), node("Add", ["s", "c"], ["t"]), node("Mul", ["p", "s"], ["q"])], ["on", "t", "q"],
                      [scalar("i", np.int64), scalar("go", np.bool_), ("s", np.float32, (2,)), ("p", np.float32, (2,))])
        s, p = x, x
        for _ in range(rounds):
            s, p = s + c, p * s
        judge("Loop that ends by itself", model([node("Loop", ["n", "", "x", "x"], ["y", "z"], body=until)], [("x", np.float32, (2,)), ("k", np.int64, ())], ["y", "z"],
                                                [("n", np.array(most, np.int64)), ("c", c)]), {"x": x, "k": np.array(last, np.int64)}, {"y": s, "z": p}, 1e-4)
    for starts in True, False:
        judge("Loop that may not begin", model([node("Loop", ["n", "go0", "x"], ["y"], body=graph([node("Identity", ["go"], ["on"]), node("Add", ["s", "c"], ["t"])], ["on", "t"],
            [scalar("i", np.int64), scalar("go", np.bool_), ("s", np.float32, (2,))]))], [("x", np.float32, (2,)), ("go0", np.bool_, (1,))], ["y"], [("n", np.array(3, np.int64)), ("c", c)]),
              {"x": x, "go0": np.array([starts])}, {"y": x + 3 * c if starts else x}, 1e-4)
    grows = graph([node("Less", ["i", "k"], ["on"]), node("Add", ["s", "c"], ["t"])], ["on", "t"], [scalar("i", np.int64), scalar("go", np.bool_), ("s", np.float32, (1,))])
    refused("Loop whose state grows", model([node("Loop", ["n", "", "x"], ["y"], body=grows)], [("x", np.float32, (1,)), ("k", np.int64, ())], ["y"],
                                            [("n", np.array(3, np.int64)), ("c", c)]), "Loop")
    listing = graph([node("Less", ["i", "k"], ["on"]), node("Add", ["s", "s"], ["t"]), node("Identity", ["s"], ["l"])], ["on", "t", "l"],
                    [scalar("i", np.int64), scalar("go", np.bool_), ("s", np.float32, (2,))])
    refused("Loop that ends by itself and lists", model([node("Loop", ["n", "", "x"], ["y", "z"], body=listing)], [("x", np.float32, (2,)), ("k", np.int64, ())], ["y", "z"],
                                                        [("n", np.array(3, np.int64))]), 'Loop "y": how often its body runs is computed while it runs, and it lists what each round makes')
    # Loops in loops, and those that would make too much.
    def nested(depth):
        inner = node("Loop", ["n", "", f"s{depth}"], [f"t{depth}"], body=nested(depth - 1)) if depth else node("Add", ["s0", "c"], ["t0"])
        return graph([node("Identity", [f"g{depth}"], [f"o{depth}"]), inner], [f"o{depth}", f"t{depth}"],
                     [scalar(f"i{depth}", np.int64), scalar(f"g{depth}", np.bool_), (f"s{depth}", np.float32, (2,))])
    def twice(depth, rounds):
        return model([node("Loop", ["n", "", "x"], ["y"], body=nested(depth))], [("x", np.float32, (2,))], ["y"], [("c", c), ("n", np.array(rounds, np.int64))])
    judge("Loops in loops", twice(1, 3), {"x": x}, {"y": x + 9 * c}, 1e-4)
    refused("Loops in loops", twice(5, 1000), "more than 100,000 operators")
    # sum over what came before, along the second axis from behind
    rows = floats(2, 4)
    add = graph([node("Add", ["s", "r"], ["t"]), node("Mul", ["t", "c"], ["o"])], ["t", "o"], [("s", np.float32, (2,)), ("r", np.float32, (2,))])
    for backwards in 0, 1:
        sums = np.cumsum(rows[:, ::-1] if backwards else rows, axis=1)
        out = (sums * c[:, None]).astype(np.float32)
        scan = node("Scan", ["x", "rows"], ["y", "z"], body=add, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1], scan_input_directions=[backwards])
        judge("Scan", model([scan], [("x", np.float32, (2,)), ("rows", np.float32, (2, 4))], ["y", "z"], [("c", c)]), {"x": np.zeros(2, np.float32), "rows": rows}, {"y": sums[:, -1], "z": out})


def batches():
    """A Scan of version 8, whose first axis is of batches."""
    first, rows = floats(2, 2), floats(2, 3, 2)
    add = graph([node("Add", ["s", "r"], ["t"]), node("Mul", ["t", "c"], ["o"])], ["t", "o"], [("s", np.float32, (2,)), ("r", np.float32, (2,))])
    inputs, c = [("x", np.float32, (2, 2)), ("rows", np.float32, (2, 3, 2))], floats(2)
    for backwards in 0, 1:
        sums = first[:, None] + np.cumsum(rows[:, ::-1] if backwards else rows, axis=1)
        scan = node("Scan", ["", "x", "rows"], ["y", "z"], body=add, num_scan_inputs=1, directions=[backwards])
        judge("Scan 8", model([scan], inputs, ["y", "z"], [("c", c)], opset=8), {"x": first, "rows": rows}, {"y": sums[:, -1], "z": (sums * c).astype(np.float32)})
    scan = node("Scan", ["n", "x", "rows"], ["y", "z"], body=add, num_scan_inputs=1)
    refused("Scan 8", model([scan], [*inputs, ("n", np.int64, (2,))], ["y", "z"], [("c", c)], opset=8), "lengths of their own")


def bound():
    """Inputs that are given once and for all: constants, which the map tells."""
    x, sizes = floats(2, 3), np.array([3, 2], np.int64)
    np.save("sizes.npy", sizes)
    data = model([node("Shape", ["x"], ["s"]), node("Reshape", ["x", "sizes"], ["r"]), node("ReduceSum", ["r", "axes"], ["y"], keepdims=0)],
                 [("x", np.float32, (2, 3)), ("sizes", np.int64, (2,)), ("axes", np.int64, (1,))], ["y"])
    np.save("axes.npy", np.array([1], np.int64))
    options = ["--bind=sizes=sizes.npy", "--bind=axes=axes.npy"]
    judge("bound inputs", data, {"x": x}, {"y": x.reshape(3, 2).sum(1)}, options=options)
    if run("origin-dump", "--check", "--source", "net.onnx", "o1.circle").stdout != "ok\n":
        failures.append("the map of what is bound does not lead to net.onnx")
    with open("net.circle.origin.json") as file:
        side = file.read()
    told = json.loads(side)["source"]["bound"]
    wanted = [{"tensor": 1, "sha256": hashlib.sha256(sizes.tobytes()).hexdigest()}, {"tensor": 2, "sha256": hashlib.sha256(ints(1).tobytes()).hexdigest()}]
    if told != wanted or json.loads(run("origin-dump", "--json", "net.circle").stdout)["source"]["bound"] != wanted:
        failures.append(f"bound is {told}, not {wanted}")
    lies = [(told[0]["sha256"], told[1]["sha256"], "law 5"), ('"tensor": 1, "sha256"', '"tensor": 0, "sha256"', "which is bound, and yet it is given"),
            ('"tensor": 2, "sha256"', '"tensor": 1, "sha256"', "out of order"), ('"tensor": 2, "sha256"', '"tensor": 77, "sha256"', "no input of the source"),
            ('"bound": [', '"unbound": [', "which is not a constant")]
    for true, lie, law in lies:
        with open("lie.json", "w") as file:
            file.write(side.replace(true, lie, 1))
        said = run("origin-dump", "--check", "--source", "net.onnx", "--origin-map", "lie.json", "net.circle", ok=False)
        if law not in said.stdout:
            failures.append(f"{lie}: {said.stdout}{said.stderr}")
    refused("bound twice", data, 'input "sizes" is bound twice', *options, options[0])
    refused("bound to nothing", data, "is not NAME=x.npy", "--bind=sizes")
    refused("bound, but no input", data, 'no input "z"', "--bind=z=sizes.npy")
    refused("bound to another shape", data, "cannot have the shape", "--bind=axes=sizes.npy")
    refused("bound and of a shape", data, "has its shape by that", *options, "--shape=sizes=2")
    np.save("wrong.npy", sizes.astype(np.float32))
    refused("bound to another type", data, 'input "sizes" is of INT64, and the array of FLOAT32', "--bind=sizes=wrong.npy")


def quantised():
    x = np.array([[-1.0, 0.05, 0.15, 0.25, 9]], np.float32)
    s, z = np.array(0.1, np.float32), np.array(3, np.int8)
    q = np.clip(np.round(x / s) + 3, -128, 127).astype(np.int8)
    one("QuantizeLinear", q, x, s, z, constants=(1, 2))
    one("DequantizeLinear", ((q.astype(np.float32) - 3) * s).astype(np.float32), q, s, z, constants=(1, 2))


def product_of_integers():
    a, b = seed.randint(-128, 128, (2, 3, 4)).astype(np.int8), seed.randint(-128, 128, (4, 5)).astype(np.int8)
    rows, columns = np.array([1, 2, 3], np.int8), np.array([-2, -1, 0, 1, 2], np.int8)
    wide = lambda q: q.astype(np.int32)
    one("MatMulInteger", np.matmul(wide(a), wide(b) - columns), a, b, np.array(0, np.int8), columns, constants=(1, 2, 3))
    one("MatMulInteger", np.matmul(wide(a[0]) - rows[:, None], wide(b) - columns), a[0], b, rows, columns, constants=(1, 2, 3))
    # A scale for each row of the left one, of which there are as many as columns, and for each column of the right one.
    a, steps = np.arange(9, dtype=np.int8).reshape(3, 3), np.array([1, 0.5, 2], np.float32)
    expected = np.clip(np.round(np.matmul((wide(a) - rows[:, None]) * steps[:, None], (wide(a) - 1) * steps)), -128, 127).astype(np.int8)
    one("QLinearMatMul", expected, a, steps, rows, a, steps, np.ones(3, np.int8), np.array(1, np.float32), np.array(0, np.int8), constants=(1, 2, 3, 4, 5, 6, 7))
    # By matrices of integers, with a bias in steps of the product.
    x, w, c = seed.randint(0, 256, (2, 4)).astype(np.uint8), seed.randint(-128, 128, (5, 4)).astype(np.int8), seed.randint(-99, 99, 5).astype(np.int32)
    s, each = np.array(0.5, np.float32), np.array([1, 2, 0.5, 0.25, 1], np.float32)
    value = 2 * (np.matmul((wide(x) - 3) * s, ((wide(w)) * each[:, None]).T) + c * s * each)
    operands = x, s, np.array(3, np.uint8), w, each, np.zeros(5, np.int8), c
    one("QGemm", value.astype(np.float32), *operands, constants=(1, 2, 3, 4, 5, 6), domain="com.microsoft", alpha=2.0, transB=1)
    stored = np.clip(np.round(value / 16) + 7, 0, 255).astype(np.uint8)
    one("QGemm", stored, *operands, np.array(16, np.float32), np.array(7, np.uint8), constants=(1, 2, 3, 4, 5, 6, 7, 8), domain="com.microsoft", alpha=2.0, transB=1)


def operators_of_integers():
    """What ONNX Runtime's quantiser writes, on integers with scales that are powers of two."""
    a, b = seed.randint(0, 256, (2, 3)).astype(np.uint8), seed.randint(0, 256, (2, 3)).astype(np.uint8)
    half, quarter, three, five = np.array(0.5, np.float32), np.array(0.25, np.float32), np.array(3, np.uint8), np.array(5, np.uint8)
    x, y = (a.astype(np.float32) - 3) * 0.5, (b.astype(np.float32) - 5) * 0.25
    stored = lambda value: np.clip(np.round(value / 0.5) + 3, 0, 255).astype(np.uint8)
    own = dict(domain="com.microsoft")
    one("QLinearConcat", stored(np.concatenate([x, y], 1)), half, three, a, half, three, b, quarter, five, constants=(0, 1, 3, 4, 6, 7), axis=1, **own)
    one("QLinearLeakyRelu", stored(np.where(x > 0, x, 0.25 * x)), a, half, three, half, three, constants=(1, 2, 3, 4), alpha=0.25, **own)
    one("QLinearWhere", stored(np.where(x > 9, x, y)), x > 9, a, half, three, b, quarter, five, half, three, constants=(2, 3, 5, 6, 7, 8), **own)
    one("DynamicQuantizeLinear", [np.zeros(4, np.uint8), np.array(1, np.float32), np.array(0, np.uint8)], np.zeros(4, np.float32))
    small = np.array([-1, 0.5, 2], np.float16)
    one("QuantizeLinear", np.array([1, 4, 7], np.uint8), small, np.array(0.5, np.float16), three, constants=(1, 2), opset=19)
    one("QuantizeLinear", np.array([-2, 1, 4], np.int8), small.astype(np.float32), half, constants=(1,), opset=21, output_dtype=3)
    one("DequantizeLinear", np.array([-1, 0.5, 2], np.float16), np.array([1, 4, 7], np.uint8), np.array(0.5, np.float16), three, constants=(1, 2), opset=19)


def ends():
    """Numbers that mean as far as it goes, and what is computed where it usually is constant."""
    x, most, least = floats(5, 6), 2 ** 63 - 1, -(2 ** 63)
    for start, end, step in (1, most, 1), (-1, least, -2), (most, least, -1), (-2, -4, -1), (0, -1, 2):
        wanted = x[:, np.arange(6)[slice(min(start, 9), None if end in (most, least) else end, step)]]
        one("Slice", wanted, x, ints(start), ints(end), ints(1), ints(step), constants=(3, 4))
        one("Slice", wanted, x, ints(start), ints(end), ints(1), ints(step), constants=(3, 4), shape=("n", "m"))
    # As PyTorch's dynamo writes them.
    judge("ends that are attributes", model([node("Constant", [], ["s"], value_ints=[1]), node("Constant", [], ["e"], value_int=most), node("Reshape", ["e", "s1"], ["e1"]),
                                             node("Slice", ["x", "s", "e1", "s"], ["y"])], [("x", np.float32, (5, 6))], ["y"], [("s1", ints(-1))]), {"x": x}, {"y": x[:, 1:]})
    for value in ints(most, least, 5), ints(-1, 1 << 40):
        judge("a constant output", model([node("Constant", [], ["y"], value_ints=list(map(int, value)))], [], ["y"]), {}, {"y": value})
    judge("a constant output", model([node("Constant", [], ["y"], value_float=2.5)], [], ["y"]), {}, {"y": np.array(2.5, np.float32)})
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.5, 0.75, 0.25]]], np.float32)
    for count in most, 1 << 32 | 1:
        for constants in (2, 3), (3,):
            one("NonMaxSuppression", np.array([[0, 0, 1], [0, 0, 2]], np.int64), boxes, scores, ints(count), np.array([0.5], np.float32), constants=constants)
    for k in least, most:
        one("Trilu", np.triu(x, 9 if k > 0 else -9), x, np.array(k, np.int64), constants=(1,))
    one("Trilu", np.triu(x[None]), x[None], shape=("n", 5, 6))
    for constants in (0, 1, 2), (0,):
        one("Range", np.zeros(0, np.float32), np.array(0, np.float32), np.array(-3, np.float32), np.array(1, np.float32), constants=constants)
    one("Reshape", x.reshape(5, 2, 3), x, ints(0, 2, -1))  # x is needed, though not for its shape
    for equation, shapes in ("...ij,...jk->...ik", ((5, 2, 3), (5, 3, 4))), ("i...,ij->...j", ((3, 2, 5), (3, 4))), ("...i->...", ((2, 3),)), ("i...", ((2, 3),)), \
            ("...,...", ((2, 3), (2, 3))):
        operands = [floats(*shape) for shape in shapes]
        one("Einsum", np.einsum(equation, *operands), *operands, equation=equation)
    a, b, c = floats(2, 3), floats(3, 4), floats(4)
    one("Gemm", a @ b, a, b, c, alpha=1.0, beta=0.0)
    one("Expand", np.broadcast_to(a, (2, 3)), a, ints(1, 1), constants=(1,), shape=("n", 3))
    one("Expand", np.broadcast_to(a, (4, 2, 3)), a, ints(4, 1, 3), shape=("n", "m"))
    picture = floats(1, 8, 4, 6)
    one("SpaceToDepth", picture.reshape(1, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 32, 2, 3), picture, blocksize=2, shape=("n", 8, 4, 6))
    for op, block, why in ("DepthToSpace", 1 << 16, "do not divide"), ("DepthToSpace", 1 << 32, "do not divide"), ("DepthToSpace", 3, "do not divide"), ("SpaceToDepth", 4, "do not divide"):
        refused(op, model([node(op, ["x"], ["y"], blocksize=block)], [("x", np.float32, (1, 8, 4, 6))], ["y"]), why)


def nothing_to_do():
    """What leaves its input as it is, whatever size that has."""
    x = floats(2, 3)
    for op in "Max", "Min", "Sum", "Clip", "Identity":
        one(op, x, x, shape=("n", "m"))
    one("ReduceMax", x, x, ints(), constants=(1,), opset=18, noop_with_empty_axes=1, shape=("n", "m"))
    one("Dropout", [x, np.ones((2, 3), bool)], x, shape=("n", "m"))
    picture = floats(1, 2, 3, 4)
    one("Resize", picture, picture, None, np.ones(4, np.float32), constants=(2,), mode="cubic")
    one("Pad", picture[:, :1, :, 1:], picture, ints(0, 0, 0, -1, 0, -1, 0, 0), constants=(1,), shape=("n", 2, 3, 4))
    one("LpNormalization", np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))
    y = np.random.RandomState(1).uniform(-2, 2, (2, 4, 3)).astype(np.float32)
    for grouped in (2, 4), (2, 4, 3):
        part = y[:, :, 0] if len(grouped) == 2 else y
        each = part.reshape(2, 2, -1)
        normal = ((each - each.mean(-1, keepdims=True)) / np.sqrt(each.var(-1, keepdims=True) + 1e-5)).reshape(grouped)
        one("GroupNormalization", normal.astype(np.float32), part, np.ones(4, np.float32), np.zeros(4, np.float32), constants=(1, 2), opset=21, num_groups=2,
            shape=("n",) + grouped[1:])


def types():
    """Types that circle has no kernels for are computed in others."""
    for kind in np.int8, np.uint8, np.int32, np.int64:
        end = np.iinfo(kind)
        x = np.array([end.min, end.max, 3, 0], kind)
        one("TopK", [np.sort(x)[:2], ints(0, 3)], x, ints(2), constants=(1,), largest=0)
        one("ReduceMax", np.array(end.max, kind), x, ints(0), constants=(1,), opset=18, keepdims=0)
    truths = np.array([[True, False], [True, True]])
    one("ReduceMax", truths.any(0), truths, ints(0), constants=(1,), opset=20, keepdims=0)
    one("ReduceMin", truths.all(1, keepdims=True), truths, ints(1), constants=(1,), opset=20)
    one("OneHot", np.eye(3, dtype=np.float32)[[0, 2]].T[:, :, None], ints(0, -1)[:, None], np.array(3, np.int64), np.array([0, 1], np.float32), constants=(1, 2), axis=-3)
    one("Abs", np.array([0, 255], np.uint8), np.array([0, 255], np.uint8))
    one("Neg", np.array([5, -5], np.int16), np.array([-5, 5], np.int16))
    for kind in np.float16, np.float64:
        x = np.array([[0.5, 2, 1], [4, 0.25, 8]], kind)
        one("Sqrt", np.sqrt(x), x, tolerance=1e-3)
        one("ReduceProd", x.prod(1, keepdims=True), x, ints(1), constants=(1,), opset=18)
        one("ReduceL2", np.sqrt((x * x).sum(1, keepdims=True)), x, ints(1), constants=(1,), opset=18, tolerance=1e-3)
        one("ArgMax", ints([1], [2]), x, axis=1)
        one("TopK", [-np.sort(-x, 1)[:, :2], ints([1, 2], [2, 0])], x, ints(2), constants=(1,))
        one("CumSum", x.cumsum(1), x, np.array(1, np.int64), constants=(1,))
        one("Reciprocal", 1 / x, x)
        one("Relu", np.maximum(x - 1, 0), x - 1)
    for kind in np.int8, np.uint8, np.int16, np.uint32, np.float16, np.float64:
        x, updates = np.array([5, 6, 7], kind), np.array([3, 4], kind)
        one("ScatterND", np.array([3, 6, 4], kind), x, np.array([[0], [-1]], np.int64), updates, constants=(1,), opset=18)
        one("ScatterElements", np.array([8, 6, 11], kind), x, ints(0, 2), updates, constants=(1,), opset=18, reduction="add")
    one("Resize", np.array([[[[0, 0, 1, 1], [0, 0, 1, 1]]]], np.uint8), np.array([[[[0, 1]]]], np.uint8).repeat(1, 2), None, np.array([1, 1, 2, 2], np.float32), constants=(2,), mode="linear",
        coordinate_transformation_mode="asymmetric")
    scale, x = np.ones(2, np.float16), np.array([[[1, 2], [3, 4]]], np.float16)
    one("BatchNormalization", x, x, scale, np.zeros(2, np.float16), np.zeros(2, np.float16), scale, constants=(1, 2, 3, 4), opset=15, tolerance=1e-3)


def refused(label, data, why, *options):
    with open("bad.onnx", "wb") as file:
        file.write(data)
    if BIN == "--seeds":
        os.rename("bad.onnx", "%03d.onnx" % len(os.listdir(".")))
        return
    done = run("onnx2circle", *options, "bad.onnx", "bad.circle", ok=False)
    if done.returncode != 1 or why not in done.stderr or os.path.exists("bad.circle"):
        failures.append(f"{label}: exit {done.returncode}, {done.stderr.strip()}, not {why}")


def refusals():
    x = ("x", np.float32, (2, 3))
    relu = model([node("Relu", ["x"], ["y"])], [x], ["y"])
    for cut in 1, 7, 20, len(relu) - 1:
        refused("cut off", relu[:cut], "cut off or damaged")
    refused("unknown", model([node("Frobnicate", ["x"], ["y"])], [x], ["y"]), '1 operator is not taken: Frobnicate "y": nothing of circle stands for it')
    refused("domain", model([node("Relu", ["x"], ["y"], domain="com.example")], [x], ["y"]), 'com.example.Relu "y"')
    refused("both", model([node("Foo", ["x"], ["a"]), node("Bar", ["x"], ["b"]), node("Add", ["a", "b"], ["y"])], [x], ["y"]), "2 operators are not taken: Foo")
    refused("no input", model([node("Relu", ["z"], ["y"])], [x], ["y"]), 'input "z" is computed by no node')
    refused("circle", model([node("Relu", ["y"], ["x2"]), node("Relu", ["x2"], ["y"])], [x], ["y"]), "in a circle")
    judge("a constant twice", model([node("Constant", [], ["c"], value=ints(7)), node("Constant", [], ["c"], value=ints(2)), node("Reshape", ["x", "s"], ["r"]), node("Gather", ["r", "c"], ["y"])],
                                    [x], ["y"], [("s", ints(6))]), {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}, {"y": np.array([2], np.float32)})
    for indices in ints(1, 5), np.array([[0, 1], [1, 2]], np.int64):
        judge("a sparse constant", model([node("Add", ["x", "s"], ["y"])], [x], ["y"], more=sparse("s", np.array([7, 9], np.float32), indices, (2, 3))),
              {"x": np.zeros((2, 3), np.float32)}, {"y": np.array([[0, 7, 0], [0, 0, 9]], np.float32)})
    for indices, dims, why in (ints(1, 6), (2, 3), "beyond its shape"), (ints(1), (2, 3), "as many indices"), (ints(1, 5), (1 << 40, 1 << 40), "far more of them"):
        refused("sparse", model([node("Add", ["x", "s"], ["y"])], [x], ["y"], more=sparse("s", np.array([7, 9], np.float32), indices, dims)), why)
    # Intermediates of a file have no shape, so that nobody is told what is empty.
    judge("empty", model([node("Slice", ["x", "i", "i", "o"], ["e"]), node("Concat", ["x", "e"], ["y"], axis=0)], [x], ["y"], [("i", ints(2)), ("o", ints(0))]),
          {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}, {"y": np.arange(6, dtype=np.float32).reshape(2, 3)})
    refused("twice", model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], [x], ["y"]), '"y" is there twice')
    refused("broadcast", model([node("Add", ["x", "c"], ["y"])], [x], ["y"], [("c", floats(4))]), "operands that do not broadcast")
    refused("places", model([node("ScatterND", ["x", "at", "u"], ["y"])], [x], ["y"], [("at", np.array([[1], [1]], np.int64)), ("u", floats(2, 3))]), "written twice")
    refused("an absent input", model([node("Expand", ["", "s"], ["y"])], [x], ["y"], [("s", np.array([3, 3], np.int64))]), "BROADCAST_TO")
    refused("opset", model([node("Relu", ["x"], ["y"])], [x], ["y"], opset=99), "version 99")
    refused("shape", relu, 'no input "z"', "--shape=z=1,2")
    refused("shape", relu, "cannot have the shape", "--shape=x=2,4")
    refused("shape", relu, "is not NAME=1,3,224,224", "--shape=x=2,a")
    forever = function("F", "my", ["a"], ["b"], [node("F", ["a"], ["b"], domain="my")])
    refused("a function that calls itself", model([node("F", ["x"], ["y"], domain="my")], [x], ["y"], functions=[forever]), "more than 64 deep")
    many = [function(f"F{i}", "my", ["a"], ["b"], [node(f"F{i + 1}", ["a"], [f"v{k}" if k else "b"], domain="my", k=k) for k in range(9)]) for i in range(30)]
    refused("functions without bound", model([node("F0", ["x"], ["y"], domain="my")], [x], ["y"], functions=many), "1000000 nodes")
    lonely = node("If", ["c"], ["y"], then_branch=graph([], ["x"]))
    refused("If", model([lonely], [x], ["y"], [("c", np.array(True))]), "without a condition or a branch")
    wide = number(1, 2) + number(1, 3) + number(2, 1) + text(8, "c") + number(14, 1)
    for where, why in ("/etc/hostname", "not a path within"), (os.path.relpath("/etc/hostname"), "not a path within"), ("gone.bin", "No such file"), ("short.bin", "lies beyond"):
        with open("short.bin", "wb") as file:
            file.write(bytes(8))
        add = text(1, node("Add", ["x", "c"], ["y"])) + text(5, wide + text(13, text(1, "location") + text(2, where))) + text(11, value_info(*x)) + text(12, text(1, "y"))
        refused(where, number(1, 8) + text(7, add) + text(8, number(2, 17)), why)


def example(of_last=1):
    """A convolution as PyTorch exports it, normalised, and its picture as a list. `of_last`: how much larger the weights of its last layer are."""
    w, b, m, last = floats(4, 3, 3, 3), floats(4), floats(4), floats(5, 64) * np.float32(of_last)

    def of(op, inputs, output, line, module="", **attributes):
        # Names and lines as torch.onnx.export(..., verbose=True) writes them, the innermost line first.
        name = ("/" + module if module else "") + "/" + op
        calls = [f"/home/somebody/net.py({line}): forward", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py(1518): _call_impl",
                 "/home/somebody/export.py(31): main"]
        if module:
            calls.insert(0, f"/usr/lib/python3/dist-packages/torch/nn/modules/{module}.py(460): forward")
        return node(op, inputs, [output or name + "_output_0"], name=name, doc="\n".join(calls), **attributes)

    return model(
        [of("Constant", [], "", 27, value=ints(1, -1)),
         of("Conv", ["image", "conv.weight"], "", 24, "conv", pads=[1, 1, 1, 1]),
         of("BatchNormalization", ["/conv/Conv_output_0", "bn.weight", "bn.weight", "bn.mean", "bn.var"], "", 25, "bn"),
         of("Relu", ["/bn/BatchNormalization_output_0"], "", 25, "act"),
         of("MaxPool", ["/act/Relu_output_0"], "", 26, "pool", kernel_shape=[2, 2], strides=[2, 2]),
         of("Reshape", ["/pool/MaxPool_output_0", "/Constant_output_0"], "", 27),
         of("Gemm", ["/Reshape_output_0", "fc.weight", "fc.bias"], "scores", 28, "fc", transB=1)],
        [("image", np.float32, (1, 3, 8, 8))], ["scores"],
        [("conv.weight", w), ("bn.weight", b), ("bn.mean", m), ("bn.var", np.abs(m) + 1), ("fc.weight", last), ("fc.bias", floats(5))])


def provenance():
    """Nodes are the source: each is somewhere, and says where its work went."""
    with open("net.onnx", "wb") as file:
        file.write(example())
    run("onnx2circle", "net.onnx", "net.circle")
    run("circle2circle", "-O1", "net.circle", "o1.circle")
    with open("o1.circle.origin.json") as file:
        origins = json.load(file)
    if origins["source"]["format"] != "onnx" or origins["source"]["file"] != "net.onnx":
        failures.append("the source is not net.onnx")
    for what in "/bn/BatchNormalization_output_0", "/bn/BatchNormalization", "bn/BatchNormalization", "net.py:25":
        where = run("origin-dump", "--where", what, "o1.circle").stdout
        if "bn/BatchNormalization\", net.py:25)\n  lives in operator 1 (CONV_2D" not in where:
            failures.append(f"{what} is not in the convolution: {where}")
    if "onnx.Conv" not in run("origin-dump", "o1.circle").stdout:
        failures.append("no operator comes from the Conv")
    if run("origin-dump", "--check", "--source", "net.onnx", "o1.circle").stdout != "ok\n":
        failures.append("the map of o1.circle does not lead to net.onnx")
    # Bridges between layouts that are stored in integers still serve what they served.
    run("circle-quantizer", "--scheme", "int8", "--input_data", "random", "net.onnx", "int8.circle")
    if run("origin-dump", "--check", "--source", "net.onnx", "int8.circle").stdout != "ok\n":
        failures.append("the map of int8.circle breaks a law")
    # Of a file in which dimensions are open, and one is given: the source is the file.
    with open("open.onnx", "wb") as file:
        file.write(model([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], ceil_mode=1)], [("x", np.float32, ("n", 3, 5, "w"))], ["y"]))
    run("onnx2circle", "--shape=x=1,3,5,7", "open.onnx", "open.circle")
    if run("origin-dump", "--check", "--source", "open.onnx", "open.circle").stdout != "ok\n":
        failures.append("the map of open.circle does not lead to open.onnx")
    with open("open.onnx", "rb") as file:
        refused("open", file.read(), "depends on a size that is not known")
    # Every door reads it.
    for words in ("circle-metrics", "net.onnx"), ("circledump", "net.onnx"), ("origin-view", "o1.circle", "--source", "net.onnx", "-o", "page.html"), \
            ("one-import-onnx", "-i", "net.onnx", "-o", "one.circle"), ("visq", "-f", "net.onnx", "-q", "int8.circle", "--records", "1"):
        run(*words)
    shown = subprocess.run(["chromium-headless-shell", "--no-sandbox", "--virtual-time-budget=3000", "--dump-dom",
                            "file://" + os.path.abspath("page.html") + "#source-op=2"], capture_output=True, text=True).stdout
    if "net.py:25 forward" not in shown or "onnx.BatchNormalization" not in shown:
        failures.append("the page shows no nodes, or no lines")
    # The same origins where the commands are one.
    run("circle2circle", "-O1", "net.onnx", "at_once.circle")
    table = [line for line in run("origin-dump", "at_once.circle").stdout.splitlines()[1:]]
    if table != run("origin-dump", "o1.circle").stdout.splitlines()[1:]:
        failures.append("in one run the origins are others")


# How exporters tell the layer of a node: what they write of it, and its path, class and line.
LAYERS = [
    ("PyTorch with torch.export",
     dict(name="node_conv2d", metadata={
         "pkg.torch.onnx.name_scopes": "['', 'encoder', 'encoder.layers.0', 'encoder.layers.0.conv1', 'conv2d']",
         "pkg.torch.onnx.class_hierarchy": "['__main__.Model', 'Encoder', 'my.Layer', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']",
         "pkg.torch.onnx.stack_trace": 'File "/home/jane/work/nets/model.py", line 25, in forward\n    x = self.conv1(x)\n'
                                       'File "/home/jane/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", line 548, in forward\n    return self._conv(x)'}),
     "encoder/layers.0/conv1/node_conv2d", "torch.nn.modules.conv.Conv2d", "work/nets/model.py:25"),
    ("the same in one text",
     dict(name="n0", metadata={"namespace": "__main__.Model/conv1: torch.nn.modules.conv.Conv2d/conv2d: aten.conv2d.default"}),
     "conv1/n0", "torch.nn.modules.conv.Conv2d", None),
    ("TorchScript", dict(name="/model/stft/Slice_2", doc="/home/jane/work/train.py(7): forward\n/opt/conda/lib/python3.9/runpy.py(86): _run_code"),
     "model/stft/Slice_2", None, "work/train.py:7"),
    ("a notebook", dict(name="/Relu", doc="/tmp/ipykernel_77/12.py(3): forward"), "Relu", None, "12.py:3"),
    ("TensorFlow", dict(name="StatefulPartitionedCall/model/tf.nn.relu_36/Relu"), "model/tf.nn.relu_36/Relu", None, None),
    ("TFLite, joined", dict(name="net/conv_2/Relu;net/conv_2/BiasAdd;net/conv_2/Conv2D"), "net/conv_2/Relu", None, None),
    ("Keras", dict(name="model_2/lstm_6/MatMul_add"), "model_2/lstm_6/MatMul_add", None, None),
    ("Paddle", dict(name="p2o.HardSigmoid.2", output="hardsigmoid_2.tmp_0"), "hardsigmoid_2/p2o.HardSigmoid.2", None, None),
    ("Caffe2", dict(name="n909", output="gpu_0/res4_2_branch2b_w_0"), "gpu_0/n909", None, None),
    ("spox", dict(name="F0::If_0_then_branch__Inline_0__/encoder/1/Conv"), "encoder/1/Conv", None, None),
    ("PyTorch before 1.13", dict(name="Conv_39", operand="base_net.0.0.weight"), "base_net.0.0/Conv_39", None, None),
    ("an optimiser", dict(name="LayerNormalization_11", doc="fused LayerNorm subgraphs"), "LayerNormalization_11", None, None),
    ("nobody", dict(name=""), None, None, None),
]


def layers():
    """What exporters wrote of each node is in the map, without the folders of whoever exported it, and checked."""
    nodes, constants, inputs = [], [], "x"
    for i, (_, wrote, *_) in enumerate(LAYERS):
        output, operand = wrote.get("output", f"v{i}"), wrote.get("operand", f"c{i}")
        nodes.append(node("Add", [inputs, operand], [output], **{k: v for k, v in wrote.items() if k in ("name", "doc", "metadata")}))
        constants.append((operand, floats(3)))
        inputs = output
    with open("net.onnx", "wb") as file:
        file.write(model(nodes, [("x", np.float32, (3,))], [inputs], constants, metadata={"origin": "exported to /home/jane/out.onnx, twice", "origo.summary": "lies"}))
    run("onnx2circle", "net.onnx", "net.circle")
    with open("net.circle.origin.json") as file:
        side = file.read()
    with open("net.circle", "rb") as file:
        bytes_ = file.read()
    for place, content in ("the side file", side.encode()), ("the model", bytes_):
        for name in b"jane", b"/home", b"/opt", b"lies":
            if name in content:
                failures.append(f"{place} has {name}")
    if "exported to …, twice".encode() not in bytes_:
        failures.append("metadata of the model is gone")
    for origins in json.loads(side), json.loads(run("origin-dump", "--json", "net.circle").stdout):
        source = origins["source"]
        for (label, wrote, path, class_, line), row in zip(LAYERS, source["subgraphs"][0]["operators"]):
            got = "/".join(row.get("scope", []) + [row.get("name", "").split(";")[0].split("/")[-1]]) or None
            lines = [source["frames"][f] for f in source["stacks"][row["lines"]]] if "lines" in row else []
            own = [f"{source['files'][f['file']]}:{f['line']}" for f in lines if "python" not in source["files"][f["file"]] and "packages" not in source["files"][f["file"]]]
            if (got, row.get("class"), own[0] if own else None) != (path, class_, line):
                failures.append(f"{label}: {got}, {row.get('class')}, {own}")
    if [row.get("note") for row in source["subgraphs"][0]["operators"]].count("fused LayerNorm subgraphs") != 1:
        failures.append("no note of the optimiser")
    check = ("origin-dump", "--check", "--source", "net.onnx", "--origin-map", "lie.json", "net.circle")
    for true, lie, law in ('"lines": 0', '"lines": 1', "other lines"), ('"scope": ["model", "stft"]', '"scope": ["model"]', "another layer"), \
            ('"line": 7', '"line": 8', "other lines"), ('"class": "torch', '"class": "tensor', "another layer"):
        if true not in side:
            failures.append("nothing to lie about: " + true)
        for text_, wanted in (side, "ok\n"), (side.replace(true, lie, 1), law):
            with open("lie.json", "w") as file:
                file.write(text_)
            if wanted not in (said := run(*check, ok=False)).stdout:
                failures.append(f"{lie}: {said.stdout}{said.stderr}")
    with open("lie.json", "w") as file:
        file.write(side.replace('"lines": 0', '"lines": 9', 1))
    if "numbers of files, frames or stacks" not in run(*check, ok=False).stderr:
        failures.append("a stack that does not exist")
    # Whole paths where they are asked for, none where not; both are lawful.
    for how, has in ("full", True), ("none", False):
        run("onnx2circle", "--source-lines=" + how, "net.onnx", "net.circle")
        with open("net.circle.origin.json") as file:
            if ("/home/jane" in (told := file.read())) != has or ('"stacks"' in told) != has:
                failures.append(f"--source-lines={how}")
        if run("origin-dump", "--check", "--source", "net.onnx", "net.circle").stdout != "ok\n":
            failures.append(f"--source-lines={how} breaks a law")


# Of messages of ONNX by name: fields that are traces of who wrote a file, and those that are messages with traces in them.
TRACES = {"model": ({2, 3, 6, 14}, {7: "graph", 25: "function"}), "graph": ({10, 16}, {1: "node"}), "node": ({3, 6, 9}, {5: "attribute"}),
          "attribute": ({13}, {6: "graph", 11: "graph"}), "function": ({8, 14}, {7: "node"})}


def stripped(data, of="model"):
    """Without names of nodes, documentation, metadata and who wrote it."""
    left, at = b"", 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            at += 1
            value |= (data[at - 1] & 127) << shift
            shift += 7
            if data[at - 1] < 128:
                return value

    drops, holds = TRACES[of]
    while at < len(data):
        begin = at
        tag = varint()
        size = varint() if tag & 7 in (0, 2) else {1: 8, 5: 4}[tag & 7]
        content = at
        at += 0 if tag & 7 == 0 else size
        if tag >> 3 in holds:
            left += text(tag >> 3, stripped(data[content:at], holds[tag >> 3]))
        elif tag >> 3 not in drops:
            left += data[begin:at]
    return left


def lines_from():
    """A file that was stripped of its traces has those of the one that it was made of, where the graph is the same."""
    def told(op, inputs, outputs, line, **attributes):
        return node(op, inputs, outputs, name="/enc/" + op, doc=f"/home/jane/net.py({line}): forward", **attributes)

    branch = lambda op: graph([told(op, ["x"], [op], 7)], [op])
    full = model([told("If", ["c"], ["a"], 5, then_branch=branch("Neg"), else_branch=branch("Abs")), told("twice", ["a"], ["b"], 9, domain="own"),
                  told("LeakyRelu", ["b"], ["y"], 11, alpha=0.25)],
                 [("x", np.float32, (3,)), ("c", np.bool_, (1,))], ["y"], metadata={"origin": "/home/jane/out.onnx"},
                 functions=[function("twice", "own", ["i"], ["o"], [told("Add", ["i", "i"], ["o"], 13)])])
    full += text(8, text(1, "own") + number(2, 1))
    files = {"full": full, "bare": stripped(full), "other": full.replace(b"LeakyRelu", b"HardSwish"), "torn": full[:-30], "plain": stripped(full).replace(b"Neg", b"Exp")}
    for name, data in files.items():
        with open(name + ".onnx", "wb") as file:
            file.write(data)
    if any(word in files["bare"] for word in (b"jane", b"/enc", b"net.py")):
        failures.append("the test's file is not stripped")

    def source(file):
        listing = json.loads(run("origin-dump", "--json", file).stdout)["source"]
        return {key: value for key, value in listing.items() if key != "file"}

    run("onnx2circle", "full.onnx", "full.circle")
    run("onnx2circle", "bare.onnx", "bare.circle")
    wanted = source("full.circle") | {"lines_from": "full.onnx"}
    if "stacks" in source("bare.circle") or "net.py" not in str(wanted):
        failures.append("lines are where none are, or are not where they are")
    # At the conversion, at any rewriting of it or of what it made, and where maps are told.
    ways = {"converted": ("onnx2circle", "--lines-from=full.onnx", "bare.onnx"), "rewritten": ("circle2circle", "-O1", "--lines-from=full.onnx", "bare.circle"),
            "read": ("circle2circle", "-O1", "--lines-from", "full.onnx", "bare.onnx")}
    for way, words in ways.items():
        run(*words, way + ".circle")
        run("circle2circle", "-O1", way + ".circle", way + "2.circle")
        for file in way + ".circle", way + "2.circle":
            if source(file) != wanted:
                failures.append(f"--lines-from, {file}: the source is {source(file)}")
            with open(file, "rb") as content:
                if b"/home" in content.read():
                    failures.append(f"{file} has a home")
            for words in ("--source=full.onnx",), ("--source=bare.onnx", "--lines-from=full.onnx"), ("--source=full.onnx", "--lines-from=full.onnx"):
                if (said := run("origin-dump", "--check", *words, file, ok=False)).stdout != "ok\n" or "not checked" in said.stderr:
                    failures.append(f"{words}, {file}: {said.stdout}{said.stderr}")
            said = run("origin-dump", "--check", "--source=bare.onnx", file, ok=False)
            if said.stdout != "ok\n" or "not checked: layers and lines, which are from full.onnx" not in said.stderr:
                failures.append(f"{file} beside what has no lines: {said.stdout}{said.stderr}")
    if "LeakyRelu\", net.py:11" not in run("origin-dump", "--lines-from=full.onnx", "--where=net.py:11", "bare.circle").stdout:
        failures.append("origin-dump --lines-from does not find a line")
    run("onnx2circle", "--lines-from=full.onnx", "--source-lines=none", "bare.onnx", "none.circle")
    if "net.py" in str(source("none.circle")) or "/enc/LeakyRelu" not in str(source("none.circle")):
        failures.append("--lines-from with --source-lines=none")
    run("onnx2circle", "--lines-from=full.onnx", "--source-lines=full", "bare.onnx", "whole.circle")
    if "/home/jane/net.py" not in str(source("whole.circle")) or run("origin-dump", "--check", "--source=bare.onnx", "--lines-from=full.onnx", "whole.circle").stdout != "ok\n":
        failures.append("--lines-from with --source-lines=full")
    # Lies about it.
    with open("converted.circle.origin.json") as file:
        side = file.read()
    for true, lie, words, law in (('"line": 11', '"line": 12', ("--source=bare.onnx", "--lines-from=full.onnx"), "other lines"),
                                  ('"lines_from": "full.onnx",', "", ("--source=bare.onnx",), "another layer"),
                                  ('"name": "/enc/LeakyRelu"', '"name": "/dec/LeakyRelu"', ("--source=bare.onnx", "--lines-from=full.onnx"), "another layer")):
        with open("lie.json", "w") as file:
            file.write(side.replace(true, lie))
        said = run("origin-dump", "--check", *words, "--origin-map", "lie.json", "converted.circle", ok=False)
        if true not in side or law not in said.stdout or said.returncode != 2:
            failures.append(f"{true} as {lie}: {said.stdout}{said.stderr}")
    # Where there is nothing to take, or nobody to take it.
    with open("sum.origo", "w") as file:
        file.write("origo 1\nmodel tflite\nsubgraph @main(%x: f32[3]) -> (%y) {\n  %y: f32[3] = ABS(%x)\n}\n")
    for words, why in ((("bare.onnx", "other.onnx"), "has another graph than the source"), (("plain.onnx", "full.onnx"), "convert the file that it was given"),
                       (("bare.onnx", "bare.onnx"), "tells no lines, modules or names of nodes either"), (("bare.onnx", "bare.circle"), "from a .onnx file"),
                       (("bare.onnx", "none.onnx"), "none.onnx"), (("bare.onnx", "torn.onnx"), "torn.onnx"), (("sum.origo", "full.onnx"), "the source is a")):
        tools = [("circle2circle", "-O1")] + ([("onnx2circle",)] if words[0].endswith("onnx") else [])
        for tool in tools:
            said = run(*tool, "--lines-from=" + words[1], words[0], "refused.circle", ok=False)
            if said.returncode != 1 or why not in said.stderr or os.path.exists("refused.circle"):
                failures.append(f"{tool} {words}: {said.returncode} {said.stderr}")


def agreement():
    """Which layers of two models agree, by lines of the program and by what they compute, and which part first."""
    state = seed.get_state()
    with open("net.onnx", "wb") as file:
        file.write(example())
    seed.set_state(state)
    run("onnx2circle", "net.onnx", "net.circle")
    run("circle2circle", "-O1", "net.circle", "o1.circle")
    run("circle2circle", "-O1", "--origin=ignore", "net.circle", "theirs.circle")
    with open("worse.onnx", "wb") as file:  # the layer of line 28 is another one
        file.write(example(of_last=1.01))
    run("onnx2circle", "worse.onnx", "worse.circle")
    run("circle2circle", "-O1", "--origin=ignore", "worse.circle", "worse1.circle")

    def diff(*words):
        done = run("origo", "diff", *words)
        return done.stdout

    # Beside its own source, by the map; and beside what carries none, by what it computes.
    for a, b in ("net.onnx", "o1.circle"), ("net.circle", "theirs.circle"):
        said = diff("--by=line", a, b)
        if "net.py:28" not in said or "parts" in said or " of 0 " in said:
            failures.append(f"diff {a} {b}: {said}")
    if "5 of 5 operators related" not in json.loads(diff("--by=line", "--json", "net.circle", "theirs.circle"))["pairing"]:
        failures.append("diff --json does not say how it pairs")
    told = json.loads(diff("--by=line", "--json", "net.onnx", "o1.circle"))
    if told["first"] is not None or told["agree"] != told["tensors"] or {"net.py:25", "net.py:28"} - {row["name"] for row in told["rows"]}:
        failures.append(f"diff --json: {told}")
    said = diff("--by=operator", "net.circle", "worse1.circle")
    if 'the first that computes something else: it should be source operator 10 (FULLY_CONNECTED "scores")' not in said:
        failures.append(f"diff of other weights: {said}")
    for words, why in (("--by=layer",), "there are operator, scope, line, file"), (("--by=scope", "--no-run"), "--no-run does not"):
        said = run("origo", "diff", *words, "net.circle", "o1.circle", ok=False)
        if said.returncode != 1 or why not in said.stderr:
            failures.append(f"{words}: {said.stderr}")
    said = run("origo", "diff", "--by=scope", "net.onnx", "worse1.circle", ok=False)
    if said.returncode != 1 or "give what onnx2circle makes of it" not in said.stderr:
        failures.append(f"diff of nodes that nothing leads to: {said.stderr}")


def comparing():
    """Results and profiles of one source, compared by the lines of the program that made it."""
    with open("net.onnx", "wb") as file:
        file.write(example())
    run("onnx2circle", "net.onnx", "net.circle")
    run("circle2circle", "-O1", "net.circle", "o1.circle")
    told = json.loads(run("origin-dump", "--compare", "--by=line", "--json", "net.circle", "o1.circle").stdout)
    rows = {row["line"]: row["changed"] for row in told["by_line"]}
    if rows.get("net.py:25") != 2 or "net.py:28" not in rows:
        failures.append(f"two results by line: {told}")
    files = json.loads(run("origin-dump", "--compare", "--by=file", "--json", "net.circle", "o1.circle").stdout)["by_file"]
    if "net.py" not in {row["file"] for row in files} or sum(row["a_bytes"] for row in files) != sum(row["a_bytes"] for row in told["by_line"]):
        failures.append(f"two results by file: {files}")
    for name in "net", "o1":
        with open(name + ".csv", "w") as file:
            file.write("name,ms\n" + "".join(f"{op['outputs'][0]},{1 + i}\n" for i, op in enumerate(json.loads(run("origin-dump", "--json", name + ".circle").stdout)["target"]["subgraphs"][0]["operators"])))
        with open(name + ".json", "w") as file:
            file.write(run("origin-dump", "--join", name + ".csv", "--json", name + ".circle").stdout)
    with open("o1.json") as file:
        joined = json.load(file)
    lines = {row["line"]: row["ns"] for row in joined["by_line"]}
    if lines.get("net.py:28") != sum(row["ns"] for row in joined["by_operator"] if row.get("line") == "net.py:28"):
        failures.append(f"a profile by line: {joined['by_line']}")
    said = run("origin-dump", "--compare", "--by=line", "net.json", "o1.json").stdout
    if "LEVEL LINE" not in said or "1 net.py:28" not in said:
        failures.append(f"two profiles by line: {said}")
    if "operator (default), scope, line or file" not in run("origin-dump", "--compare", "--by=pass", "net.json", "o1.json", ok=False).stderr:
        failures.append("--compare --by=pass is taken")


def page():
    """docs/onnx.md lists each operator that is lowered."""
    names = []
    for path in sorted(glob.glob(os.path.join(ROOT, "passes/onnx/*.cpp"))):
        with open(path) as file:
            names += re.findall(r'\{"((?:com\.microsoft\.)?[A-Z]\w+)",\s', file.read())
    names = sorted(set(names), key=lambda name: ("." in name, name))
    path = os.path.join(ROOT, "docs/onnx.md")
    with open(path) as file:
        before, _, rest = file.read().partition("<!-- operators -->\n")
    wanted = before + "<!-- operators -->\n" + "".join(", ".join(names[i : i + 9]) + (".\n" if i + 9 >= len(names) else ",\n") for i in range(0, len(names), 9))
    wanted += rest[rest.index("\n\n") + 1 :] if "\n\n" in rest else ""
    if os.environ.get("ORIGO_BLESS"):
        with open(path, "w") as file:
            file.write(wanted)
    elif before + "<!-- operators -->\n" + rest != wanted:
        failures.append("docs/onnx.md does not list the operators that there are; ORIGO_BLESS=1 writes them")


def main():
    if BIN == "--example":
        with open(sys.argv[2], "wb") as file:
            file.write(example())
        return
    if BIN == "--example-stripped":
        with open(sys.argv[2], "wb") as file:
            file.write(stripped(example()))
        return
    if BIN == "--example-of-sizes":
        with open(sys.argv[2], "wb") as file:
            file.write(model([node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")], [("x", np.float32, (1, 3, 4, 4)), ("sizes", np.int64, (4,))], ["y"]))
        np.save(sys.argv[3], ints(1, 3, 8, 8))
        return
    parts = operators, more_windows, movement, slices, reductions, linear, pictures, averages, columns, optionals, normalisation, recurrent, quantised, product_of_integers, operators_of_integers, ends, nothing_to_do, types, \
        bodies, loops, batches, attention, too_small, too_long
    if BIN == "--seeds":
        os.chdir(sys.argv[2])
        for part in parts:
            part()
        return
    page()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("out")
        os.mkdir("in")
        for part in *parts, bound, refusals, provenance, layers, lines_from, agreement, comparing:
            part()
    for failure in failures:
        print("onnx:", failure)
    sys.exit(bool(failures))


main()
