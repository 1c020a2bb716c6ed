#!/usr/bin/env bash
# onecc and the steps of ONE's toolchain: the files that people have are read as Python's configparser reads them, and each step
# writes what the tool behind it writes.
# usage: onecc.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

circle2circle "$root/res/mobilenet_v2.origo" made.tflite 2>/dev/null && origin-dump --strip=net.tflite made.tflite 2>/dev/null ||
  fail "res/mobilenet_v2.origo"
mkdir bin && printf '#!/bin/sh\necho "compiled $*"; cp "$1" "$2"; echo "$MODE"\n' >bin/npu-compile && chmod +x bin/npu-compile
PATH=$PWD/bin:$PATH
cat >net.cfg <<'END'
[one-optimize]            # sections may stand in any order
input_path = net.circle
output_path : net.opt.circle
transform_min_max_to_relu6 = False
fuse_bcq =
change_outputs=
[onecc]
remark = of nobody
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
onecc -C net.cfg --report page.html >stdout 2>stderr || fail "onecc -C: $(<stderr)"
grep -q '5 steps of net.cfg done' stderr || fail "not five steps: $(<stderr)"
grep -qx 'compiled net.q8.circle net out.bin' stderr && grep -qx fast stderr || fail "the back end was not run as asked: $(<stderr)"
cmp net.q8.circle 'net out.bin' && cmp net.q8.circle pack/net.q8/net.q8.circle || fail "the package or the back end has another model"
[[ $(stat -c %a pack/net.q8) == $(printf %o $((0777 & ~$(umask)))) ]] || fail "the package is $(stat -c %A pack/net.q8)"
node -e 'const m = JSON.parse(require("fs").readFileSync("pack/net.q8/metadata/MANIFEST"));
  process.exit(m["minor-version"] === "2" && m.models[0] === "net.q8.circle" && m["model-types"][0] === "circle" ? 0 : 1)' || fail "MANIFEST"
# By hand.
mkdir hand && tflite2circle net.tflite hand/net.circle 2>/dev/null && cmp net.circle hand/net.circle || fail "import"
(cd hand && circle2circle -O1 net.circle net.opt.circle 2>/dev/null && cmp net.opt.circle ../net.opt.circle) || fail "optimize"
(cd hand && circle-quantizer --quantize_dequantize_weights float32 uint8 channel net.opt.circle 1.circle &&
  record-minmax --input_model 1.circle --output_model 2.circle &&
  circle-quantizer --quantize_with_minmax float32 uint8 channel 2.circle net.q8.circle) 2>/dev/null || fail "by hand"
[[ $(circledump net.q8.circle | sed 1,3d | md5sum) == $(circledump hand/net.q8.circle | sed 1,3d | md5sum) ]] || fail "quantize"
log='circle2circle -O1 --transform_min_max_to_relu6=false net.circle net.opt.circle'
[[ $(head -1 net.opt.circle.log) == "$log" ]] || fail "log: $(<net.opt.circle.log)"
[[ -z $(ls | grep -E 'rounded|recorded') ]] || fail "something is left: $(ls)"
# The origins run through all steps.
origin-dump --where stem/bn/mul net.q8.circle | grep -q 'lives in operator' || fail "origins were lost"
origin-dump --check --source net.tflite net.q8.circle >stdout || fail "origins are not true: $(<stdout)"

# The page shows the last model beside the first, in the same bytes as by hand.
grep -q 'onecc: note: wrote page.html' stderr || fail "no word of the page: $(<stderr)"
origin-view net.q8.circle --source net.tflite -o hand.html 2>stderr && cmp page.html hand.html || fail "--report writes another page: $(<stderr)"
# What begins in the middle leads to the source beside it; without that, to what the map knows.
sed 's/^one-import-tflite=True/one-import-tflite=False/; s/^one-codegen.*/one-codegen=0/' net.cfg >middle.cfg
onecc -C middle.cfg --report middle.html 2>stderr && cmp middle.html hand.html || fail "--report from the middle: $(<stderr)"
mkdir away && cp net.circle* middle.cfg away && (cd away && onecc -C middle.cfg --report page.html 2>stderr && grep -q '<html' page.html) ||
  fail "--report without the source: $(<away/stderr)"
printf '[onecc]\none-codegen=1\n[one-codegen]\nbackend=npu\ncommand=net.circle x\n' >codegen.cfg
refused_after_notes '--report shows a model, and none of the steps makes one' onecc -C codegen.cfg --report x.html
refused_after_notes '--report: ' onecc -C middle.cfg --report no/such/folder/x.html
refused '--report and --print-config go with -C' onecc -W net.workflow.json --report x.html

# Groups: the section goes before the group, the command line before both.
printf '[one-optimize]\nfuse_activation_function=True\nfuse_gelu=True\n' >OMINE.cfg
printf '[onecc]\none-optimize=1\ninclude=O1 OMINE\n[one-optimize]\ninput_path=net.circle\noutput_path=g.circle\nfuse_gelu=False\n' >group.cfg
onecc -C group.cfg 2>stderr || fail "a group: $(<stderr)"
log='circle2circle --fuse_activation_function --fuse_gelu=false net.circle g.circle'
[[ $(head -1 g.circle.log) == "$log" ]] || fail "a group: $(<g.circle.log)"
circle2circle --config group.cfg net.circle g2.circle 2>stderr && cmp g.circle g2.circle || fail "circle2circle has another group: $(<stderr)"
onecc -C group.cfg -O1 2>stderr && [[ $(head -1 g.circle.log) == 'circle2circle -O1 --fuse_gelu=false net.circle g.circle' ]] || fail "-O1: $(<g.circle.log)"
one-optimize -i net.circle -o g.circle -O O1 2>stderr && [[ $(head -1 g.circle.log) == 'circle2circle -O1 net.circle g.circle' ]] || fail "-O O1: $(<stderr)"
onecc -C group.cfg -O 1 2>stderr && [[ $(head -1 g.circle.log) == 'circle2circle -O1 --fuse_gelu=false'* ]] || fail "-O 1: $(<stderr)"
circle2circle -O1 --print-pipeline | grep -c ' fuse-activation ' >/dev/null || fail "-O1 has no fuse-activation"
circle2circle -O1 --fuse_activation_function=false --print-pipeline | grep ' fuse-activation ' && fail "a flag that is off is in -O1"
circle2circle -O1 --transform_min_max_to_relu6=false --print-pipeline | grep -c ' recognise-relu6 ' >/dev/null || fail "what another flag asks for went too"
one-optimize -i net.circle -o g3.circle -OMINE 2>stderr && cmp <(circledump g3.circle | sed 1,3d) \
  <(circle2circle --fuse_activation_function --fuse_gelu net.circle g4.circle 2>/dev/null; circledump g4.circle | sed 1,3d) || fail "-OMINE: $(<stderr)"
for name in ONONE ../OMINE MINE; do
  refused_after_notes "there is no group of options \"$name\"" onecc -C <(sed "s|O1 OMINE|$name|" group.cfg)
done

# Keys that mean nothing, and switches that are not what they seem, are told of.
printf '[DEFAULT]\neverywhere=1\n[onecc]\none-quantize=1\n[one-quantize]\ninput_path=net.opt.circle\noutput_path=k.circle\ngranularty=channel\nsave_min_max=no\n[one-optimise]\n' >keys.cfg
onecc -C keys.cfg 2>stderr || fail "keys: $(<stderr)"
grep -q '\[one-quantize\] has no key "granularty", which is left out; did you mean granularity?' stderr || fail "an unknown key: $(<stderr)"
grep -q 'save_min_max = no switches it on, as in ONE' stderr || fail "no is yes: $(<stderr)"
grep -q '\[one-optimise\] is no step' stderr || fail "an unknown section: $(<stderr)"
grep -q everywhere stderr && fail "keys of [DEFAULT] are for others too: $(<stderr)"

# Mixed precision, as by hand; what comes between is kept only where that is asked for.
printf '[onecc]\none-quantize=1\n[one-quantize]\ninput_path=net.opt.circle\noutput_path=m.circle\nampq=True\nampq_qerror_ratio=0.7\ninput_data=random\n' >mixed.cfg
onecc -C mixed.cfg 2>stderr || fail "ampq: $(<stderr)"
record-minmax --input_model net.opt.circle --output_model hand/r.circle --input_data random 2>/dev/null &&
  circle-quantizer --quantize_with_minmax float32 uint8 layer hand/r.circle hand/n.circle 2>/dev/null &&
  visq --fp32_circle hand/r.circle --q_circle hand/n.circle --tae_output hand/v.json --data random >/dev/null 2>&1 &&
  circle-mpqsolver --input_model hand/r.circle --output_model hand/m.circle --bisection auto --data random --qerror_ratio 0.7 \
    --visq_file hand/v.json >hand/log 2>&1 || fail "mixed by hand: $(<hand/log)"
[[ $(circledump m.circle | sed 1,3d | md5sum) == $(circledump hand/m.circle | sed 1,3d | md5sum) ]] || fail "ampq is not what it is by hand"
circledump m.circle | grep -c ': i16\[' >/dev/null || fail "nothing has 16 bits"
[[ -z $(ls | grep -E 'recorded|narrow|visq.json') ]] || fail "something is left: $(ls)"
one-quantize -C mixed.cfg --bisection_type i16_front --save_intermediate -o f.circle 2>stderr || fail "i16_front: $(<stderr)"
[[ -e f.circle.recorded.circle && -e f.circle.mpq/FinalConfiguration.mpq.json && $(head -1 f.circle.log) == *'--bisection true'* ]] || fail "intermediate: $(ls)"
# Options of circle-quantizer and record-minmax are keys.
one-quantize -i net.opt.circle -o s.circle --scheme dynamic --min-elements 1 2>stderr && circle-quantizer --scheme dynamic --min-elements 1 net.opt.circle hand/s.circle 2>/dev/null &&
  cmp s.circle hand/s.circle || fail "scheme = dynamic: $(<stderr)"
[[ $(head -1 s.circle.log) == 'circle-quantizer --scheme=dynamic --min-elements=1 net.opt.circle s.circle' ]] || fail "scheme: $(<s.circle.log)"
one-quantize -i net.opt.circle -o s.circle --input_data random --calibrator mse --save_intermediate 2>stderr || fail "calibrator = mse: $(<stderr)"
[[ $(head -1 s.circle.recorded.circle.log) == *'record-minmax'*'--calibrator=mse'* ]] || fail "calibrator: $(<s.circle.recorded.circle.log)"
rm s.circle.*
# Ranges as the keys have them, beside a scheme, too.
one-quantize -i net.opt.circle -o s.circle --scheme int8 --input_data random --calibrator mse 2>stderr || fail "calibrator beside a scheme: $(<stderr)"
record-minmax --input_model net.opt.circle --input_data random --calibrator mse --output_model hand/r.circle 2>/dev/null &&
  circle-quantizer --scheme int8 hand/r.circle hand/s.circle 2>/dev/null || fail "by hand"
[[ $(circledump s.circle | sed 1,3d | md5sum) == $(circledump hand/s.circle | sed 1,3d | md5sum) ]] || fail "ranges by mse are not those of record-minmax"
refused_after_notes 'calibrator is about ranges' one-quantize -i net.opt.circle -o s.circle --scheme dynamic --calibrator mse
refused_after_notes 'scheme: "none" is none; there are int8' one-quantize -i net.opt.circle -o s.circle --scheme none
one-quantize -C mixed.cfg --ampq_algorithm pattern --u8_softmax_with_s16_sub_exp -o p.circle 2>stderr || fail "pattern: $(<stderr)"
refused_after_notes 'pattern needs u8_layernorm' one-quantize -C mixed.cfg --ampq_algorithm pattern
refused_after_notes '"up" is none of auto' one-quantize -C mixed.cfg --bisection_type up
refused_after_notes '"magic" is neither' one-quantize -C mixed.cfg --ampq_algorithm magic

# The other modes.
one-quantize -i net.opt.circle -o e.circle --evaluate_result --print_mae --print_top1_match 2>stderr || fail "evaluation: $(<stderr)"
grep -q MAE e.circle.evaluation.log && grep -qi top-*1 e.circle.evaluation.log || fail "evaluation: $(<e.circle.evaluation.log)"
one-quantize -i net.q8.circle -o fq.circle --fake_quantize 2>stderr || fail "fake_quantize: $(<stderr)"
circle-quantizer --fake_quantize net.q8.circle hand/fq.circle 2>/dev/null && cmp fq.circle hand/fq.circle || fail "fake_quantize"
two=$(circledump net.q8.circle | grep -oE '(stem|block1/depthwise)/relu6' | sort -u | paste -sd' ')
one-quantize -i net.opt.circle -o fp.circle --force_quantparam --tensor_name "${two% *}" --scale 0.5 --zero_point 3 \
  --tensor_name "${two#* }" --scale 0.25 --zero_point 4 2>stderr || fail "force_quantparam: $(<stderr)"
circle-quantizer --force_quantparam "${two% *}" 0.5 3 --force_quantparam "${two#* }" 0.25 4 net.opt.circle hand/fp.circle 2>/dev/null &&
  cmp fp.circle hand/fp.circle || fail "force_quantparam"
refused 'force_quantparam needs as many zero_point as tensor_name' one-quantize -i net.opt.circle -o fp.circle --force_quantparam --tensor_name a --scale 1
one-quantize -i net.q8.circle -o cp.circle --copy_quantparam --src_tensor_name "${two% *}" --dst_tensor_name "${two#* }" 2>stderr || fail "copy_quantparam: $(<stderr)"

# A model divided as a .part file says; the parts say where they are from, and circle-check's own file divides alike.
mkdir work && cp net.opt.circle work
printf '[partition]\nbackends=cpu,npu\ndefault=cpu\ncomply=opcode\n\n[OPCODE]\nCONV_2D=npu\nDEPTHWISE_CONV_2D=npu\n' >work/net.opt.part
printf '[onecc]\none-partition=1\n[one-partition]\npart_file=net.opt.part\ninput_file=net.opt.circle\nwork_path=work\n' >part.cfg
onecc -C part.cfg 2>stderr || fail "one-partition: $(<stderr)"
[[ $(head -1 work/net.opt.part.log) == 'circle-partitioner '* && -e work/net.opt.conn.ini && -e work/net.opt.conn.json ]] || fail "one-partition: $(ls work)"
origin-dump --where stem/bn/mul work/net.opt.00001_npu.circle | grep -q 'lives in operator 0' || fail "a part has lost its origins"
echo '{"target": "npu", "ops": {"CONV_2D": {}, "DEPTHWISE_CONV_2D": {}}}' >npu.json
circle-check --target npu.json --partition --work_path checked net.opt.circle >/dev/null 2>&1
mkdir again && cp net.opt.circle checked/net.opt.part again
one-partition --part_file net.opt.part --input_file net.opt.circle --work_path again 2>stderr || fail "one-partition: $(<stderr)"
for file in checked/*.circle checked/*.conn.*; do
  cmp "$file" "again/${file##*/}" && cmp "$file" "work/${file##*/}" || fail "parts differ"
done
refused '"gpu" is not among the back ends cpu,dsp' circle-partitioner --part_file net.opt.part --input_file net.opt.circle --work_path work --backends cpu,dsp --default gpu
refused 'needs part_file' one-partition --input_file net.opt.circle

# A level with a target, as a group and by hand.
printf '[onecc]\none-optimize=True\ninclude=O2\n[one-optimize]\ninput_path=net.circle\noutput_path=o2.circle\ntarget=xnnpack-2.9\n' >o2.cfg
onecc -C o2.cfg 2>stderr || fail "include = O2: $(<stderr)"
circle2circle -O2 --target xnnpack-2.9 net.circle hand/o2.circle 2>/dev/null && cmp o2.circle hand/o2.circle || fail "include = O2"
one-optimize -C o2.cfg -O2 -o o2.circle 2>stderr && cmp o2.circle hand/o2.circle || fail "one-optimize, include = O2: $(<stderr)"

# one-infer: our interpreter, a driver, or BACKEND-infer, and what comes behind.
circle-interpreter --seed=1 --save-inputs=given net.circle >/dev/null || fail "--save-inputs"
printf '#!/bin/sh\necho "behind $*"\n' >bin/behind && printf '#!/bin/sh\necho "inferred $*"\n' >bin/npu-infer && chmod +x bin/*
one-infer --driver circle-interpreter --command 'net.circle given --outputs=inferred' --post-process 'behind it' 2>stderr &&
  grep -qx 'behind it' stderr && [[ -e inferred/probabilities.npy ]] || fail "one-infer: $(<stderr)"
one-infer --backend npu --command 'a "b c"' 2>stderr && grep -qx 'inferred a b c' stderr || fail "one-infer: $(<stderr)"

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
# In the order that run-after asks for, as seen from the workflow's folder.
mkdir flows && for name in a b; do
  printf "[onecc]\none-codegen=1\n[one-codegen]\nbackend=npu\ncommand=net.circle /dev/null $name\n" >flows/$name.cfg
done
echo '{"workflows": ["b", "a"], "a": {"cfg-reference": {"path": "a.cfg"}}, "b": {"run-after": ["a"], "cfg-reference": {"path": "b.cfg"}}}' >flows/two.json
onecc -W flows/two.json 2>stderr && [[ $(grep -o 'null [ab]' stderr | xargs) == 'null a null b' ]] || fail "run-after: $(<stderr)"
sed 's/"a": {/"a": {"run-after": ["b"], /' flows/two.json >flows/circle.json
refused 'runs after what is not there, or after itself' onecc -W flows/circle.json
head -c 200000 /dev/zero | tr '\0' '[' >deep.json && refused 'nested more than 100 deep' onecc -W deep.json
echo '{"workflows": ["a"], "a": {"cfg-reference": {"path": "/dev/zero"}}}' >endless.json
refused '/dev/zero: cannot be read: it is a device' onecc -W endless.json
truncate -s 17M long.cfg
refused 'long.cfg: is longer than 16 MB' onecc -C long.cfg
for bad in '[]' '{"workflows": {}}' '{"workflows": [3]}' '{"workflows": ["a"], "a": {"steps": ["s"], "s": {"one-cmd": "one-pack"}}}'; do
  echo "$bad" >bad.json && refused 'bad.json: ' onecc -W bad.json
done
for step in tf bcq; do refused "[one-import-$step] is not done here: " one-import-$step -i a -o b; done
"$root/tests/onnx.py" --example n.onnx && one-import-onnx -i n.onnx -o n1.circle 2>stderr && onecc import -i n.onnx -o n2.circle 2>>stderr && cmp n1.circle n2.circle || fail "one-import-onnx: $(<stderr)"
"$root/tests/onnx.py" --example-of-sizes s.onnx s.npy
printf '%s\n' '[one-import-onnx]' 'input_path=s.onnx' 'output_path=s.circle' 'bind=sizes=s.npy' 'shape=x=1,3,4,4' >s.cfg
one-import-onnx -C s.cfg 2>stderr && [[ $(origin-dump --check --source s.onnx s.circle) == ok ]] && grep -q '"bound"' s.circle.origin.json || fail "one-import-onnx, bound: $(<stderr)"
refused_after_notes '[one-import-tf] is not done here: it needs TensorFlow' onecc -C <(printf '[onecc]\none-import-tf=True\n[one-import-tf]\n')
refused_after_notes 'of which there is no section' onecc -C <(printf '[onecc]\none-pack=True\n')
refused_after_notes '"maybe" is neither true nor false' onecc -C <(printf '[onecc]\none-pack=maybe\n')
refused_after_notes 'needs input_path' onecc -C <(printf '[onecc]\none-pack=True\n[one-pack]\noutput_path=x\n')
refused_after_notes 'needs -C FILE.cfg or -W FILE.json' onecc
refused '-C goes before a .cfg file' onecc net.cfg
refused_after_notes 'there is no option --fuse_nothing' bash -c "onecc -C <(printf '[onecc]\none-optimize=1\n[one-optimize]\ninput_path=net.circle\noutput_path=n.circle\nfuse_nothing=True\n') 2>&1 | grep 'circle2circle: error' >&2; exit 1"
{ printf '[onecc]\nx0=\n' && for i in {1..10}; do echo "x$i=$(printf "%%(x$((i - 1)))s%.0s" {1..300})"; done; } >laughs.cfg
refused 'it refers to other values too many times' onecc -C laughs.cfg
refused_after_notes 'there is no program none-compile in PATH' onecc -C <(printf '[onecc]\none-codegen=1\n[one-codegen]\nbackend=none\ncommand=x\n')

# The grammar: generated files, judged by Python.
cat >judge.py <<'END'
import configparser, json, random, subprocess, sys
random.seed(7)
keys = ["a", "B", "key", "in path", "x-y", "a.b", "output_path"]
pieces = ["x", "1", "True", " ", "=", ":", "#", ";", " #", " ;", "%%", "%(a)s", "%(key)s", "%", "[", "]", '"', "\\", "é", "\t", ",", "/", "\xa0", "\u3000", " \u2009#", "\x1c"]
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
# A judge that accepts everything would say so of a reader that is wrong.
printf '#!/bin/sh\n%s/onecc "$@" | sed s/True/False/\n' "$bin" >wrong && chmod +x wrong
python3 judge.py ./wrong 300 >/dev/null 2>&1 && fail "a reader that is wrong passes"
files=400
[[ ${ORIGO_THOROUGH-0} == 0 ]] || files=20000
good=$(python3 judge.py "$bin/onecc" $files) || fail "grammar: $good"
((good * 5 > files)) || fail "only $good of $files generated files are good"
echo "onecc: fine; $files generated files read as Python reads them, $good of them good"
