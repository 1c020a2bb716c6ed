#!/usr/bin/env bash
# onecc and the steps of ONE's toolchain: the files that people have are read as Python's configparser reads them, and each step
# writes what the tool behind it writes.
# usage: onecc.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

circle2circle "$root/res/mobilenet_v2.origo" net.tflite 2>/dev/null || fail "res/mobilenet_v2.origo"
mkdir bin && printf '#!/bin/sh\necho "compiled $*"; cp "$1" "$2"; echo "$MODE"\n' >bin/npu-compile && chmod +x bin/npu-compile
PATH=$PWD/bin:$PATH
cat >net.cfg <<'END'
[one-optimize]            # sections may stand in any order
input_path = net.circle
output_path : net.opt.circle
transform_min_max_to_relu6 = False
fuse_bcq =
[onecc]
one-import-tf=False
one-import-tflite=True
one-optimize=yes
one-quantize=on
one-codegen=1
one-pack=True
include=O1
[one-import-tflite]
input_path=net.tflite
output_path=net.circle
[one-quantize]
input_path=net.opt.circle
output_path=net.q8.circle
granularity=channel
[one-pack]
input_path=net.q8.circle
output_path=pack
[one-codegen]
backend=npu
command=net.q8.circle "net out.bin"
[Environment]
MODE=fast
END
onecc -C net.cfg >stdout 2>stderr || fail "onecc -C: $(<stderr)"
grep -q '5 steps of net.cfg done' stderr || fail "not five steps: $(<stderr)"
grep -qx 'compiled net.q8.circle net out.bin' stderr && grep -qx fast stderr || fail "the back end was not run as asked: $(<stderr)"
cmp net.q8.circle 'net out.bin' && cmp net.q8.circle pack/net.q8/net.q8.circle || fail "the package or the back end has another model"
node -e 'const m = JSON.parse(require("fs").readFileSync("pack/net.q8/metadata/MANIFEST"));
  process.exit(m["minor-version"] === "2" && m.models[0] === "net.q8.circle" && m["model-types"][0] === "circle" ? 0 : 1)' || fail "MANIFEST"
# By hand.
mkdir hand && tflite2circle net.tflite hand/net.circle 2>/dev/null && cmp net.circle hand/net.circle || fail "import"
(cd hand && circle2circle -O1 net.circle net.opt.circle 2>/dev/null && cmp net.opt.circle ../net.opt.circle) || fail "optimize"
(cd hand && circle-quantizer --quantize_dequantize_weights float32 uint8 channel net.opt.circle 1.circle &&
  record-minmax --input_model 1.circle --output_model 2.circle &&
  circle-quantizer --quantize_with_minmax float32 uint8 channel 2.circle net.q8.circle) 2>/dev/null || fail "by hand"
[[ $(circledump net.q8.circle | sed 1,3d | md5sum) == $(circledump hand/net.q8.circle | sed 1,3d | md5sum) ]] || fail "quantize"
[[ $(head -1 net.opt.circle.log) == 'circle2circle -O1 net.circle net.opt.circle' ]] || fail "log: $(<net.opt.circle.log)"
[[ -z $(ls | grep -E 'rounded|recorded') ]] || fail "something is left: $(ls)"
# The origins run through all steps.
origin-dump --where stem/bn/mul net.q8.circle | grep -q 'lives in operator' || fail "origins were lost"
origin-dump --check --source net.tflite net.q8.circle >stdout || fail "origins are not true: $(<stdout)"

# Steps alone, and the verbs of onecc.
one-import-tflite -i net.tflite -o i.circle 2>stderr && cmp i.circle net.circle || fail "one-import-tflite: $(<stderr)"
onecc import -i net.tflite -o i2.circle 2>stderr && cmp i2.circle net.circle || fail "onecc import: $(<stderr)"
one-optimize -C net.cfg -o other.circle 2>stderr || fail "one-optimize: $(<stderr)"
one-optimize -i net.circle -o a.circle --fuse_activation_function 2>stderr || fail "one-optimize flags: $(<stderr)"
circle2circle --fuse_activation_function net.circle hand/a.circle 2>/dev/null && cmp a.circle hand/a.circle || fail "flags"
[[ $(one-pack --version) == "one-pack (origo) "* ]] || fail "one-pack --version"
one-quantize --help | grep -c 'one-optimize -C net.cfg' >/dev/null || fail "one-quantize --help"
echo '{"workflows": ["flow"], "flow": {"cfg-reference": {"path": "net.cfg"}}}' >net.workflow.json
onecc -W net.workflow.json 2>stderr || fail "onecc -W: $(<stderr)"
for step in tf bcq onnx; do refused "[one-import-$step] is not done here: " one-import-$step -i a -o b; done
refused_after_notes '[one-import-tf] is not done here: it needs TensorFlow' onecc -C <(printf '[onecc]\none-import-tf=True\n[one-import-tf]\n')
refused_after_notes 'of which there is no section' onecc -C <(printf '[onecc]\none-pack=True\n')
refused_after_notes '"maybe" is neither true nor false' onecc -C <(printf '[onecc]\none-pack=maybe\n')
refused_after_notes 'needs input_path' onecc -C <(printf '[onecc]\none-pack=True\n[one-pack]\noutput_path=x\n')
refused_after_notes 'needs -C FILE.cfg or -W FILE.json' onecc
refused_after_notes 'there is no option --fuse_nothing' bash -c "onecc -C <(printf '[onecc]\none-optimize=1\n[one-optimize]\ninput_path=net.circle\noutput_path=n.circle\nfuse_nothing=True\n') 2>&1 | grep 'circle2circle: error' >&2; exit 1"
refused_after_notes 'there is no program none-compile in PATH' onecc -C <(printf '[onecc]\none-codegen=1\n[one-codegen]\nbackend=none\ncommand=x\n')

# The grammar: generated files, judged by Python.
if ! command -v python3 >/dev/null; then
  echo "onecc: skipped, there is no python3 to judge the grammar; ./setup --install installs it"
  exit 77
fi
cat >judge.py <<'END'
import configparser, json, random, subprocess, sys
random.seed(7)
keys = ["a", "B", "key", "in path", "x-y", "a.b", "output_path"]
pieces = ["x", "1", "True", " ", "=", ":", "#", ";", " #", " ;", "%%", "%(a)s", "%(key)s", "%", "[", "]", '"', "\\", "é", "\t", ",", "/"]
def value():
    return "".join(random.choice(pieces) for _ in range(random.randrange(6)))
def line():
    kind = random.randrange(20)
    if kind < 3: return "[" + random.choice(["one", "two", "three", "DEFAULT", "a]b", " s ", "onecc", ""]) + "]" + random.choice(["", " ", " # c", " x"])
    if kind < 5: return random.choice(["# comment", "; comment", "  # indented", ""])
    if kind < 8: return random.choice(["  ", "\t", " "]) + value()
    if kind < 9: return random.choice(["", "   ", "\t"])
    if kind < 10: return value()
    return random.choice(["", "", "", " "]) + random.choice(keys) + random.choice(["=", " = ", ":", " : ", "= ", ""]) + value()
def python(text):
    parser = configparser.ConfigParser(inline_comment_prefixes=("#", ";"))
    parser.optionxform = str
    try:
        parser.read_string(text)
        return {s: dict(parser.items(s)) for s in parser.sections()}
    except configparser.Error:
        return None
def ours(text):
    with open("generated.cfg", "w") as f: f.write(text)
    done = subprocess.run([sys.argv[1], "--print-config", "-C", "generated.cfg"], capture_output=True)
    if done.returncode not in (0, 1): raise SystemExit(f"exit status {done.returncode} for {text!r}")
    return json.loads(done.stdout) if done.returncode == 0 else None
good = 0
for i in range(int(sys.argv[2])):
    text = "\n".join((["[one]"] if random.random() < 0.9 else []) + [line() for _ in range(random.randrange(1, 8))]) + random.choice(["", "\n"])
    a, b = python(text), ours(text)
    if a != b: raise SystemExit(f"{text!r}: Python reads {a}, we {b}")
    good += a is not None
print(good)
END
good=$(python3 judge.py "$bin/onecc" 1500) || fail "grammar: $good"
((good > 300)) || fail "only $good generated files are good"
echo "onecc: fine; 1500 generated files read as Python reads them, $good of them good"
