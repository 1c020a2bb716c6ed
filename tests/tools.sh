#!/usr/bin/env bash
# What all command lines have in common: outputs that cannot be written, extensions, versions, wrong options, files that are
# no models. Each is one line, and exit status 1.
# usage: tools.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
into() { local file=$1; shift; "$@" >"$file"; }

"$bin/circle2circle" "$root/res/while.origo" net.circle && "$bin/circle2circle" "$root/res/while.origo" net.tflite || fail "res/while.origo"
echo '{"ops": {"ADD": {}}}' >npu.json
tools=(circle-check circle-eval-diff circle-fuzz circle-interpreter circle-metrics circle-mpqsolver circle-opselector circle-reduce circle-resizer circle2circle circledump
  circle-quantizer make-model origin-diff origin-dump origin-infer onecc origin-view origo record-minmax tflite2circle visq)
version=$(sed -nE 's/^project\(origo VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
[[ $(grep -m1 '^## ' "$root/CHANGELOG.md") == "## $version"* ]] || fail "CHANGELOG.md does not begin with $version"
for tool in "${tools[@]}"; do
  [[ $("$bin/$tool" --version) == "$tool (origo) $version" ]] || fail "$tool --version: $("$bin/$tool" --version)"
  refused "$tool: error: there is no option --nonsense; " "$bin/$tool" --nonsense
  refused "cannot write the output: No space left" into /dev/full "$bin/$tool" --help
done
refused "cannot write the output" into /dev/full "$bin/circledump" net.circle
refused "cannot write the output" into /dev/full "$bin/circle-interpreter" --seed=1 net.circle
refused "cannot write the output" into /dev/full "$bin/origin-dump" --json net.circle

refused '--per: "nonsense" is none; there are operator, ' "$bin/circle-metrics" --per=nonsense net.circle
refused '--threads: "many" is not a number' "$bin/circle-interpreter" --threads=many net.circle
refused '--json takes no value' "$bin/circle-metrics" --json=3 net.circle
refused '--source needs a value' "$bin/circle-metrics" net.circle --source
refused 'there are too many arguments' "$bin/tflite2circle" a.tflite b.circle c.circle

refused 'b.tflite: the extension tells the format: use .circle' "$bin/tflite2circle" net.tflite b.tflite
refused 'use .circle, .tflite or .origo' "$bin/circle-opselector" --by_id 0 net.circle b.onnx
refused 'use .circle, .tflite or .origo' "$bin/circle-resizer" --input_shapes '[1,8]' net.circle b.v2
refused 'use .circle, .tflite or .origo' "$bin/circle2circle" net.circle b.onnx
[[ -z $(ls b.* b 2>/dev/null) ]] || fail "something is written: $(ls)"
"$bin/circle-resizer" --input_shapes '[1,8]' net.circle same.circle || fail "circle-resizer INPUT OUTPUT"
"$bin/circle-resizer" --input_path net.circle --output_path ones.circle --input_shapes '[1,8]' || fail "circle-resizer as ONE has it"
cmp same.circle ones.circle || fail "the two ways to call circle-resizer write different files"
# Without an extension a file is what its bytes are, and is written as the input is; extensions may be capitals.
format() { head -c 8 "$1" | tail -c 4; }
cp net.tflite plain && cp net.tflite BIG.TFLITE || fail "copies"
for model in plain net.tflite BIG.TFLITE; do
  rm -f out out.origin.json
  "$bin/circle2circle" -O1 $model out 2>notes && [[ $(format out) == TFL3 && -e out.origin.json ]] || fail "$model out: $(format out)"
  grep -q 'operators, .* bytes, .* after' notes || fail "no closing line for out: $(<notes)"
  "$bin/circle-quantizer" --scheme dynamic $model out 2>notes && [[ $(format out) == TFL3 ]] || fail "circle-quantizer $model out: $(format out)"
done
"$bin/circle-resizer" --input_shapes '[1,8]' net.circle out && [[ $(format out) == CIR0 ]] || fail "circle-resizer net.circle out: $(format out)"
"$bin/circle2circle" net.tflite OUT.CIRCLE && [[ $(format OUT.CIRCLE) == CIR0 ]] || fail "OUT.CIRCLE: $(format OUT.CIRCLE)"
"$bin/circle2circle" net.circle OUT.TFLITE && [[ $(format OUT.TFLITE) == TFL3 ]] || fail "OUT.TFLITE: $(format OUT.TFLITE)"
"$bin/circle2circle" net.circle OUT.ORIGO && "$bin/circledump" OUT.ORIGO >/dev/null || fail "OUT.ORIGO"
"$bin/circle-quantizer" --scheme dynamic --embed-origin=none --no-origin-json net.tflite bare.tflite 2>notes || fail "--embed-origin=none: $(<notes)"
[[ ! -e bare.tflite.origin.json ]] && ! grep -aq origo.origin_map bare.tflite && ! grep -q origins notes || fail "origins are kept: $(<notes)"
for tool in record-minmax circle-quantizer circle-mpqsolver; do
  "$bin/$tool" --verbose --help >help && grep -q -- '--verbose' help && "$bin/$tool" -V --help >/dev/null || fail "$tool --verbose"
done

head -c 100 /dev/zero >zeros.circle
head -c 3 net.circle >short.circle
head -c 300 net.circle >half.circle
for tool in circledump circle-metrics origin-dump "origin-view -o x.html" "circle-check --target npu.json"; do
  refused ': cannot be opened: No such file' "$bin"/$tool nothing.circle
  refused ': is not a file' "$bin"/$tool .
  refused 'is neither a circle nor a tflite model' "$bin"/$tool zeros.circle
  refused 'is no model: it has only 3 bytes' "$bin"/$tool short.circle
  refused 'is damaged or truncated' "$bin"/$tool half.circle
  refused ': cannot be opened: it is a device' timeout 9 "$bin"/$tool /dev/zero
done
# What is no model is named as what it is.
python3 - "$root" <<'END' || fail "files of other kinds"
import gzip, pickle, struct, sys, zipfile
def put(name, data):
    open(name, "wb").write(data)
put("f_html", b"\n<!DOCTYPE html>\n<html><body>Not found</body></html>\n")
put("f_lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
put("f_gz", gzip.compress(open("net.tflite", "rb").read()))
def archive(name, **files):
    with zipfile.ZipFile(name, "w") as z:
        for path, data in files.items():
            z.writestr(path.replace("__", "/").replace("_", "."), data)
archive("f_zip", readme_txt="a")
archive("f_task", model_tflite=open("net.tflite", "rb").read())
archive("f_torch", archive__data_pkl="x")
archive("f_keras", config_json="{}", model_weights_h5="x")
put("f_onnx", b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x10")
put("f_saved", b"\x08\x01\x12\xd6\x04\n\x04serve")
put("f_pickle", pickle.dumps({"weight": [1.0, 2.0]}))
put("f_safe", struct.pack("<Q", 40) + b'{"w":{"dtype":"F32","shape":[1]}}       ' + b"\0" * 4)
put("f_h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 40)
put("f_json", b'{"layers": []}')
put("f_side", open("net.tflite.origin.json", "rb").read())
put("f_text", b"404: Not Found")
put("f_origo", open(sys.argv[1] + "/res/while.origo", "rb").read())
put("f_empty", b"")
put("f_pte", b"\x1c\0\0\0ET12" + b"\0" * 20)
put("f_noise", bytes(range(128, 256)))
END
while read -r file said; do
  refused "$said" "$bin/circledump" "$file"
  refused "$said" "$bin/circle2circle" "$file" x.circle
  [[ $file == f_side || $file == f_json ]] || refused "$said" "$bin/origin-dump" "$file"
done <<'END'
f_html but a web page (HTML); the address
f_lfs but a pointer of Git LFS, which stands in place of the model; run git lfs pull
f_gz but compressed by gzip; unpack it
f_zip but a zip archive; unpack it
f_task but a zip archive that packs models (a .task of MediaPipe?); unpack it
f_torch but a zip archive as PyTorch writes (.pt); convert
f_keras but a Keras model (.keras); tf.lite.TFLiteConverter
f_onnx but an ONNX model; its name has to end in .onnx
f_saved but a SavedModel of TensorFlow; tf.lite.TFLiteConverter
f_pickle but a pickle of Python, as older files of PyTorch are; convert
f_safe but weights in safetensors; they have no graph
f_h5 but HDF5, as a Keras model (.h5) is; tf.lite.TFLiteConverter
f_json but JSON; give the model
f_side is a side file, which tells of origins; its model is needed
f_text but text; it begins with "404: Not Found"
f_origo is a model as text, which is read where its name ends in .origo; circle2circle
f_empty is no model: it has only 0 bytes; what should have written it
f_pte but a program of ExecuTorch (.pte); convert
f_noise is neither a circle nor a tflite model: it has no identifier
END

# What never ends is not waited for: devices are refused, and of a pipe a part is taken.
mkfifo pipe
for tool in "origo optimize --no-run" "origo quantize --no-run --scheme=dynamic" "circle2circle net.circle x.circle --origin-map" \
  "circle-check net.circle --target" "record-minmax --input_model net.circle --output_model x.circle --merge" "origin-dump net.circle --join" "onecc -C"; do
  refused 'it is a device' timeout 9 "$bin"/$tool /dev/zero
done
ln -s /dev/zero in0
refused 'it is a device' timeout 9 "$bin/circle-interpreter" net.circle in out
export ORIGO_PIPE_LIMIT=1000
refused '-: cannot be read: more than 1000 bytes come through the pipe; put them into a file, or set ORIGO_PIPE_LIMIT' \
  bash -c "cat net.circle | $bin/circle2circle - x.circle"
cat net.circle >pipe &
refused 'more than 1000 bytes come through the pipe' "$bin/origin-dump" pipe
unset ORIGO_PIPE_LIMIT
cat net.circle >pipe &
cmp <("$bin/circledump" net.circle) <("$bin/circledump" pipe) || fail "a pipe is not read as a file is"
refused 'go with --scheme' "$bin/circle-quantizer" --fake_quantize --per-tensor "$root/res/while.origo" q.circle
refused 'for a model of floats, use' "$bin/circle-quantizer" --quantize_onnx_fq_model "$root/res/while.origo" q.circle
cat >onnx.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1,2]) -> (%y) {
  %s: f32[] = const [0.5]
  %z: u8[] = const [128]
  %w: u8[2,2] = const [0, 255, 3, 130]
  %q: u8[1,2] = CUSTOM "ONNXQuantizeLinear"(%x, %s, %z)
  %d: f32[1,2] = CUSTOM "ONNXDequantizeLinear"(%q, %s, %z)
  %v: f32[2,2] = CUSTOM "ONNXDequantizeLinear"(%w, %s, %z)
  %f: f32[1,2] = FULLY_CONNECTED(%d, %v, _)
  %r: u8[1,2] = CUSTOM "ONNXQuantizeLinear"(%f, %s, %z)
  %y: f32[1,2] = CUSTOM "ONNXDequantizeLinear"(%r, %s, %z)
}
END
"$bin/circle2circle" --no-origin-json onnx.origo onnx.circle 2>/dev/null
"$bin/circle-quantizer" --quantize_onnx_fq_model onnx.circle onnx_u8.circle 2>/dev/null || fail "--quantize_onnx_fq_model"
[[ $("$bin/origin-dump" --check --source onnx.circle onnx_u8.circle) == ok ]] || fail "origins of --quantize_onnx_fq_model"
"$bin/circledump" onnx_u8.circle | grep -q CUSTOM && fail "--quantize_onnx_fq_model leaves operators of ONNX"
refused 'block_size goes with --weight_bits 4' "$bin/circle-quantizer" --scheme dynamic --block_size 32 "$root/res/while.origo" q.circle
refused 'block_size goes with --scheme dynamic' "$bin/circle-quantizer" --scheme int8 --weight_bits 4 --block_size 32 "$root/res/while.origo" q.circle
refused 'no tensor has a range: give --data' "$bin/circle-quantizer" --scheme int8 "$root/res/while.origo" q.circle
# What no record gives a finite number has no range, not even one that the file came with.
cat >infinite.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%n, %z) {
  %w: f32[2,4] = const [1, 2, 3, inf, 1, 2, 3, 4]
  %y: f32[1,2] = FULLY_CONNECTED(%x, %w, _)
  %n: f32[1,2] q{min=0, max=8} = NEG(%y)
  %z: f32[1,4] = ABS(%x)
}
END
"$bin/circle-quantizer" --scheme int8 --input_data random infinite.origo q.tflite 2>notes || fail "an infinite weight"
grep -q '2 tensors have no range, as no record gave finite numbers; the first is "y"' notes || fail "no note of what has no range: $(cat notes)"
grep -q 'FULLY_CONNECTED stays float: .*"w"\|FULLY_CONNECTED stays float: .*"y"' notes || fail "an infinite weight is quantised: $(cat notes)"
grep -q 'NEG stays float' notes || fail "a range of other records is taken: $(cat notes)"
sed -i '/ABS/d; s/(%n, %z)/(%n)/' infinite.origo
refused 'no record gave any result a finite number, the first being "y": look for NaN' "$bin/circle-quantizer" --scheme int8 --input_data random infinite.origo q.tflite
# Ranges that a model carries stay where data are there for corrections; else they are taken anew, and a note says so.
cat >carried.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4] q{min=-0.5, max=0.5}) -> (%y) {
  %w: f32[2,4] = const [1, 2, 3, 4, 1, 2, 3, 4]
  %y: f32[1,2] q{min=-1, max=1} = FULLY_CONNECTED(%x, %w, _)
}
END
"$bin/circle-quantizer" --scheme int8 --bias-correction --input_data random carried.origo q.tflite 2>notes || fail "carried ranges"
grep -q 'note: the ranges that the model carries are kept' notes || fail "no note of carried ranges: $(cat notes)"
"$bin/circledump" q.tflite | grep -q 'x_Quantize: i8\[1,4\] q{scale=0.0039215' || fail "a carried range is not kept: $("$bin/circledump" q.tflite)"
"$bin/circle-quantizer" --scheme int8 --input_data random carried.origo q.tflite 2>notes || fail "carried ranges"
grep -q 'note: ranges are taken anew' notes || fail "no note of ranges that are taken anew: $(cat notes)"
"$bin/circledump" q.tflite | grep -q 'q{scale=0.0039215' && fail "carried ranges are not taken anew"
# What stays float is told, and --strict is a verdict.
"$bin/circle-quantizer" --scheme weights --weight_bits 4 carried.origo q.tflite 2>notes || fail "small weights"
grep -q 'FULLY_CONNECTED stays float: its weights have fewer than 1024 elements (--min-elements); is "y"' notes || fail "no note of small weights: $(cat notes)"
"$bin/circle-quantizer" --scheme weights --weight_bits 4 --strict carried.origo strict.tflite 2>notes
(($? == 2)) || fail "--strict: exit status $?"
[[ ! -e strict.tflite ]] || fail "--strict leaves a file"
"$bin/circle-quantizer" --scheme weights --weight_bits 4 --strict --min-elements=8 carried.origo q.tflite 2>notes || fail "--min-elements: $(cat notes)"
# What a file packs as float16 is a weight as any other: all schemes take it, with ranges that are taken now or were before.
cat >packed.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,64]) -> (%y) {
  %w: f32[64,64] = const seed 1 normal 0 1
  %b: f32[64] = const seed 2 normal 0 1
  %y: f32[1,64] = FULLY_CONNECTED(%x, %w, %b)
}
END
"$bin/circle-quantizer" --scheme float16 packed.origo packed.tflite 2>notes || fail "float16: $(cat notes)"
"$bin/circledump" packed.tflite | grep -q 'w.*: f16\[64,64\] = const' || fail "no float16: $("$bin/circledump" packed.tflite)"
"$bin/circle2circle" --fold_dequantize packed.tflite unpacked.tflite 2>notes || fail "--fold_dequantize: $(cat notes)"
"$bin/record-minmax" --input_model packed.tflite --input_data random --stats packed.json 2>notes || fail "--stats: $(cat notes)"
for how in '--scheme int8 --input_data random' '--scheme int16x8 --input_data random' '--scheme dynamic' '--scheme weights'; do
  for model in packed unpacked; do
    "$bin/circle-quantizer" $how --strict $model.tflite $model.q.tflite 2>notes || fail "$how $model: $(cat notes)"
    "$bin/circle-interpreter" --seed=1 --engine=reference $model.q.tflite >$model.out || fail "$how $model"
  done
  cmp packed.out unpacked.out || fail "$how: packed weights give other numbers"
done
"$bin/circle-quantizer" --scheme dynamic packed.tflite done.tflite 2>notes || fail "dynamic: $(cat notes)"
grep -q 'nothing to quantise' notes && fail "weights of float16 are nothing: $(cat notes)"
"$bin/circle-quantizer" --scheme dynamic done.tflite q.tflite 2>notes || fail "dynamic again: $(cat notes)"
grep -q 'there is nothing to quantise: no operator has float weights' notes || fail "no note of a model that is quantised: $(cat notes)"
"$bin/circle-quantizer" --scheme int8 --stats packed.json --strict packed.tflite q.tflite 2>notes || fail "--stats: $(cat notes)"
# ONE gives a pool's result a scale of its own, which TensorFlow Lite's kernels do not look at: a note says so.
cat >pool.origo <<'END'
origo 1
model circle
subgraph @main(%x: f32[1,4,4,2] q{min=-1, max=1}) -> (%y) {
  %y: f32[1,2,2,2] q{min=-0.5, max=0.5} = AVERAGE_POOL_2D(%x) {padding=VALID, stride_w=2, stride_h=2, filter_width=2, filter_height=2}
}
END
"$bin/circle-quantizer" --quantize_with_minmax float32 uint8 channel pool.origo q.circle 2>notes || fail "a pool: $(cat notes)"
grep -q 'note: 1 AVERAGE_POOL_2D has a result of another scale than its operand, as ONE gives it; is "y"' notes ||
  fail "no note of a pool that does not rescale: $(cat notes)"
sed 's/-0.5, max=0.5/-1, max=1/' pool.origo >same.origo
"$bin/circle-quantizer" --quantize_with_minmax float32 uint8 channel same.origo q.circle 2>notes || fail "a pool: $(cat notes)"
grep -q 'another scale' notes && fail "a note of scales that are equal: $(cat notes)"
"$bin/circle-quantizer" --scheme int8 --input_data random pool.origo q.tflite 2>notes || fail "a pool: $(cat notes)"
grep -q 'another scale' notes && fail "a note of scales that are equal: $(cat notes)"
# What has nothing to store is no float that stays, whatever the rule that stores says of it.
cat >counts.origo <<'END'
origo 1
model circle
subgraph @main(%x: f32[1,4], %i: i32[1,4]) -> (%y, %j) {
  %y: f32[1,4] = RELU(%x)
  %j: i32[1,4] = NEG(%i)
}
END
"$bin/circle-quantizer" --scheme int8 --data random --strict counts.origo q.circle 2>notes || fail "--strict: $(cat notes)"
refused 'weight_bits does not go with --scheme float16' "$bin/circle-quantizer" --scheme float16 --weight_bits 4 carried.origo q.tflite
refused 'smooth does not go with --scheme float16' "$bin/circle-quantizer" --scheme float16 --smooth 0.5 carried.origo q.tflite
refused 'input_type goes with --scheme int8' "$bin/circle-quantizer" --scheme dynamic --input_type int8 carried.origo q.tflite
refused 'more than the model has of these ends: 1' "$bin/circle-quantizer" --scheme int8 --output_type int8,int8 carried.origo q.tflite
refused 'both name "ADD"' "$bin/circle-quantizer" --scheme int8 --only ADD --keep-float ADD carried.origo q.tflite
refused 'min-elements goes with --scheme dynamic or weights' "$bin/circle-quantizer" --scheme int8 --min-elements 2 carried.origo q.tflite
# Data without names have one order, that of the subgraph; where a signature has another one, a note says so.
cat >order.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%big: f32[1,4], %small: f32[1,4]) -> (%y) {
  %y: f32[1,4] = ADD(%big, %small)
}
signature "s" @main inputs("a"=%small, "b"=%big) outputs("y"=%y)
END
mkdir -p bare
printf '\0\0\310\302\0\0\310\102\0\0\310\102\0\0\310\102\0\0\200\277\0\0\200\77\0\0\200\77\0\0\200\77' >bare/0 # -100 100 100 100 -1 1 1 1
"$bin/circle-quantizer" --scheme int8 --input_data bare order.origo q.tflite 2>notes || fail "bare elements: $(cat notes)"
grep -q 'note: data without names are in the order of the subgraph.s inputs, "big", "small"; signature "s" lists them as "small", "big"' notes ||
  fail "no note of two orders: $(cat notes)"
"$bin/circledump" q.tflite | grep -q 'big_Quantize: i8\[1,4\] q{scale=0.784' || fail "data are in the order of the signature: $("$bin/circledump" q.tflite)"
refused 'there is no option --map' "$bin/origin-dump" --map x net.circle
"$bin/origin-dump" --summary --origin-map net.circle.origin.json net.circle >/dev/null || fail "origin-dump --origin-map"

# A command that fails for models with EXP on a sum, made small; it is the same as text and as a file.
cat >big.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[2,3]) -> (%y, %z) {
  %w: f32[2,3] = const seed 1 normal 0 1
  %a: f32[2,3] = MUL(%x, %w)
  %b: f32[2,3] = ADD(%a, %w) {fused_activation_function=RELU}
  %c: f32[2,3] = EXP(%b)
  %d: f32[2,3] = NEG(%c)
  %y: f32[2,3] = TANH(%d)
  %z: f32[2,3] = ABS(%x)
}
END
"$bin/circle2circle" big.origo big.circle || fail "big.origo"
printf '#!/bin/sh\n"%s/circledump" "$1" | grep -q EXP && echo "found EXP" && exit 3\nexit 0\n' "$bin" >fails.sh
chmod +x fails.sh
for format in origo circle; do
  "$bin/circle-reduce" --output small.$format.origo --match=EXP big.$format -- ./fails.sh 2>/dev/null || fail "circle-reduce big.$format"
  [[ $(grep -c '= [A-Z]' small.$format.origo) == 1 ]] || fail "more than EXP is left: $(<small.$format.origo)"
  ./fails.sh small.$format.origo >/dev/null && fail "the command does not fail for what is left"
done
refused 'the command does not fail' "$bin/circle-reduce" --output x.origo net.circle -- ./fails.sh
echo "tools: fine"
