"""Keywords are the options of the tools: a row that is added there is asked for here."""

import inspect
import typing

import pytest

import origo
from origo import _native

#: Why a keyword is no option of a tool: it takes what has no text.
OBJECTS = {"self", "format"}
COMMANDS = {"circle2circle": origo.Model.optimize, "circle-quantizer": origo.Model.quantize, "record-minmax": origo.Model.calibrate}


@pytest.mark.parametrize("tool", COMMANDS)
def test_keywords_are_the_rows(tool):
    function = COMMANDS[tool]
    given = inspect.signature(function).parameters
    rows = {row[0]: row for row in _native.options(tool) if row[7] == 0}
    assert rows and set(given) - OBJECTS == set(rows)
    types = typing.get_type_hints(function)
    for name, (_, type, repeats, words, default, choices, help, *_) in rows.items():
        assert f"{name}: {help}" in function.__doc__
        text = given[name].default
        if name == "level":  # who optimises in Python wants it; the tool converts where nothing is asked for
            assert (text, default) == (1, [])
        elif isinstance(text, bool):
            assert type == "bool" and default == [str(text).lower()], name
        elif text is None or text == ():
            assert default in ([], [""]), name
            assert repeats == (text == ()), name
        else:
            assert [float(t) for t in default] == [text] if type in ("int", "float") else default == [text], name
        hint = str(types[name])
        if name == "data":
            continue
        if choices and type != "str":  # beside a text, they are what it may end with
            literals = [c for a in (types[name], *typing.get_args(types[name])) for c in typing.get_args(a)]
            assert set(choices) == {c for c in literals if isinstance(c, str)}, name
        elif words > 1:
            assert hint.count("Tuple") == 1 and len(typing.get_args(typing.get_args(types[name])[0])) == words, name
        else:
            assert type in hint, name


#: Doors of a command besides its tool and Python: what lists their options.
CFG = ["one-quantize", "--print-options"]
DOORS = {
    "circle2circle": {"cfg": ["one-optimize", "--print-options"], "front": ["origo", "optimize", "--help"]},
    "circle-quantizer": {"cfg": CFG, "front": ["origo", "quantize", "--help"]},
    "record-minmax": {"cfg": CFG, "front": ["record-minmax", "--help"]},  # origo quantize records by itself
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_door_has_every_option(command, tool):
    def listed(words):
        return {line.split("\t")[1] for line in tool(*words).splitlines() if line.startswith("option\t")}

    own, cfg = listed([command, "--print-options"]), listed(DOORS[command]["cfg"])
    help, front = tool(command, "--help"), tool(*DOORS[command]["front"])
    rows = _native.options(command)
    reasons = {1: "Place", 2: "Ignored", 3: "Prints", 4: "Flags"}  # commands/Option.h, Without
    for *_, python, name, key, without in rows:
        word = f"--{name}" if len(name) > 1 else f"-{name}"
        assert name in own and word in help and word in front
        assert key in cfg or without in reasons, f"the section has no {key}"
        assert all(reason == 0 or reason in reasons for reason in (python, without))
    assert sum(row[7] == 0 for row in rows) > 20


def test_every_keyword_reaches_the_request(net):
    for name, value, said in [
        ("min_elements", 5, "min_elements goes with scheme dynamic or weights"),
        ("weight_bits", 3, "weight_bits is 8 or 4"),
        ("block_size", 33, "block_size is 32, 64, 128 or 256"),
        ("smooth", 2, "smooth takes a number from 0 to 1"),
        ("equalize", True, "give data"),
        ("gptq", True, "give data"),
        ("gptaq", True, "give data"),
        ("std", 0, "std: what is divided by is not 0"),
        ("layout", "nope", 'layout: "nope" is none; there are nhwc, nchw'),
        ("requantize", ("int8",), "requantize needs 2 values"),
        ("force_quantparam", [("nobody", "x", 1)], 'force_quantparam: "x" is no scale'),
        ("recipe", "nowhere.json", "nowhere.json"),
        ("config", "nowhere.json", "nowhere.json"),
    ]:
        mode = {} if name in ("requantize", "force_quantparam", "recipe") else {"scheme": "int8"}
        with pytest.raises(origo.Error, match=said.replace(".", r"\.")):
            net.quantize(**mode, **{name: value})
    with pytest.raises(origo.Error, match="needs one mode"):
        net.quantize(scheme="int8", fake_quantize=True)


def test_min_elements_keeps_small_weights(net):
    assert net.quantize(min_elements=1).nbytes < net.quantize(min_elements=10**9).nbytes


def test_keywords_do_what_options_do(net, files, tool, tmp_path):
    name = net.operators[-1].outputs[0]
    for keywords, words in [
        ({"scheme": "dynamic", "weight_bits": 4, "block_size": 32}, ["--scheme=dynamic", "--weight_bits=4", "--block_size=32"]),
        ({"data": "random", "scheme": "int8", "gptq": True, "per_tensor": True, "smooth": 0.5},
         ["--scheme=int8", "--data=random", "--gptq", "--per-tensor", "--smooth=0.5"]),
        ({"data": "random", "keep_float": [name]}, ["--scheme=int8", "--data=random", f"--keep-float={name}"]),
        ({"data": "random", "only": [name]}, ["--scheme=int8", "--data=random", f"--only={name}"]),
        ({"quantize_weights": ("float32", "int8", "channel")}, ["--quantize_weights", "float32", "int8", "channel"]),
        ({"force_quantparam": [(name, 0.5, 3)]}, ["--force_quantparam", name, "0.5", "3"]),
    ]:
        tool("circle-quantizer", *words, files / "plain.tflite", tmp_path / "q.tflite")
        assert (tmp_path / "q.tflite").read_bytes() == bytes(net.quantize(**keywords)), words
