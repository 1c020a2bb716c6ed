#!/usr/bin/env bash
# What circle-quantizer, recipes, configurations and --swap take for a part of a model, data as people have them, and labels.
# usage: parts.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

cat >net.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%p) {
  %w: f32[4,4] = const [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  %v: f32[4,4] = const [3, 0, 1, 0, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0, 3]
  %stem/fc: f32[1,4] = FULLY_CONNECTED(%x, %w, _)
  %stem/relu: f32[1,4] = RELU(%stem/fc)
  %head/fc: f32[1,4] = FULLY_CONNECTED(%stem/relu, %v, _)
  %p: f32[1,4] = SOFTMAX(%head/fc) {beta=1}
}
END
circle2circle -O0 net.origo net.tflite 2>/dev/null && circle2circle -O1 net.tflite fused.tflite 2>/dev/null || fail "net.origo"
circledump fused.tflite | grep -q RELU && [[ $(circledump fused.tflite | grep -c 'FULLY_CONNECTED') -ge 2 ]] || fail "nothing is fused: $(circledump fused.tflite)"

# The kinds that stay float, in order.
floats() { # OPTION...
  circle-quantizer --scheme int8 --data random "$@" fused.tflite made.tflite 2>stderr || fail "$*: $(<stderr)"
  sed -n 's/.*note: \(.*\) stays\{0,1\} float.*/\1/p; s/.*note: \(.*\) stay float.*/\1/p' stderr | sort | tr '\n' ' '
}
expect() { # WORDS OPTION...
  local is
  is=$(floats "${@:2}")
  [[ $is == "$1" ]] || fail "${*:2}: \"$is\", not \"$1\": $(<stderr)"
  origin-dump --check --source net.tflite made.tflite >check || fail "${*:2}: $(<check)"
}
expect '1 SOFTMAX ' --keep-float=SOFTMAX
expect '1 FULLY_CONNECTED ' --keep-float='head/'
expect '1 FULLY_CONNECTED ' --keep-float='re:^head/\w+$'
expect '1 FULLY_CONNECTED ' --keep-float='stem/fc' # which is fused into what is called stem/relu
expect '1 FULLY_CONNECTED 1 SOFTMAX ' --keep-float='head/fc..'
expect '1 FULLY_CONNECTED 1 SOFTMAX ' --keep-float='last:1'
expect '1 FULLY_CONNECTED 1 SOFTMAX ' --only='stem/*'
expect '1 FULLY_CONNECTED 1 SOFTMAX ' --only='..head/fc' --keep-float='head/fc'
refused '--only: no operator, kind or scope is called "nobody"' circle-quantizer --scheme int8 --data random --only=nobody fused.tflite x.tflite
refused_after_notes 'comes before' circle-quantizer --scheme int8 --data random --keep-float='p..stem/fc' fused.tflite x.tflite
# Beside what gives tensors other names, and ranges of their own.
expect '1 FULLY_CONNECTED 1 SOFTMAX ' --equalize --only='stem/*'
expect '1 FULLY_CONNECTED ' --smooth=0.5 --keep-float='stem/'
circledump made.tflite | grep -c '%stem/relu/.* = FULLY_CONNECTED' >/dev/null || fail "nothing has another name: $(circledump made.tflite)"
record-minmax --input_model fused.tflite --stats stats.json 2>/dev/null || fail "record-minmax --stats"
circle-quantizer --scheme int8 --data random --stats stats.json --equalize fused.tflite made.tflite 2>stderr || fail "--stats --equalize: $(<stderr)"
grep -q 'ranges are taken anew, for tensors are others than those of --statistics' stderr || fail "--stats --equalize: $(<stderr)"
refused '--per-tensor and --per-channel-dense contradict each other' circle-quantizer --scheme dynamic --per-tensor --per-channel-dense fused.tflite x.tflite

# Names need not be unique, nor be there: what is chosen is chosen by itself.
for name in t ''; do
  sed -E "s/%(stem|head)\/fc|%stem\/relu|%p/%#&/g; s/%#%stem\/fc/%#7/g; s/%#%stem\/relu/%#8/g; s/%#%head\/fc/%#9/g; s/%#%p/%#10/g
    s/^(  %#[0-9]+: f32\[1,4\])/\1 name \"$name\"/" net.origo >same.origo
  circle2circle -O0 same.origo same.tflite 2>stderr || fail "same.origo: $(<stderr)"
  for words in '--keep-float=SOFTMAX 1 SOFTMAX' '--keep-float=3 1 SOFTMAX' '--only=0 1 FULLY_CONNECTED 1 RELU 1 SOFTMAX'; do
    circle-quantizer --scheme int8 --data random "${words%% *}" same.tflite made.tflite 2>stderr || fail "$words: $(<stderr)"
    is=$(sed -n 's/.*note: \(.*\) stays float.*/\1/p' stderr | sort | tr '\n' ' ')
    [[ $is == "${words#* } " ]] || fail "names \"$name\", $words: $(<stderr)"
  done
done

# The same words in a recipe, a configuration and --swap.
cat >recipe.json <<'END'
[{"op_scope_regex": ".*", "operations": ["*"], "algorithm_key": "min_max_uniform_quantize", "op_config": {
    "weight_tensor_config": {"num_bits": 8, "symmetric": false, "granularity": "CHANNELWISE", "dtype": "INT"},
    "compute_precision": "FLOAT", "explicit_dequantize": true, "min_weight_elements": 0}},
 {"layers": "stem/", "algorithm_key": "no_quantize"}]
END
circle-quantizer --recipe recipe.json fused.tflite made.tflite 2>stderr || fail "recipe: $(<stderr)"
(($(circledump made.tflite | grep -c 'DEQUANTIZE') >= 1)) || fail "no weights are stored: $(<stderr)"
circle-eval-diff --first_model fused.tflite --second_model made.tflite --print_mae >diff 2>/dev/null || fail "does not run"
awk '{ exit !($NF < 0.01) }' diff || fail "asymmetric weights: $(<diff)"
circle2circle -O0 fused.tflite fused.circle 2>/dev/null
echo '{"layers": [{"names": ["stem/", "kind:SOFTMAX"], "dtype": "int16"}]}' >config.json
record-minmax --input_model fused.circle --output_model ranges.circle 2>/dev/null || fail "record-minmax"
circle-quantizer --quantize_with_minmax float32 uint8 channel --config config.json ranges.circle mixed.circle 2>stderr || fail "config: $(<stderr)"
(( $(circledump mixed.circle | grep -c '%stem/relu: i16\|%p_Quantize: i16') == 2 )) || fail "config: nothing has 16 bits"
circle-quantizer --scheme int8 --data random fused.tflite int8.tflite 2>/dev/null
for words in 'stem,p' '..head/fc' 'kind:SOFTMAX'; do
  circle-interpreter --seed=1 --swap="$words" --source=fused.tflite int8.tflite >/dev/null 2>stderr || fail "--swap=$words: $(<stderr)"
done
refused_after_notes 'is called "nobody"' circle-interpreter --seed=1 --swap=nobody --source=fused.tflite int8.tflite

# Data: compressed archives, what is the same in all records, a signature's own file, records with NaN.
cat >data.py <<'END'
import io, struct, sys, zipfile
def npy(shape, numbers):
    head = repr({"descr": "<f4", "fortran_order": False, "shape": shape})
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(numbers), *numbers)
def npz(path, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, (shape, numbers) in arrays.items():
            file.writestr(name + ".npy", npy(shape, numbers))
nan = float("nan")
npz("x.npz", x=((4, 4), [4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, nan]))
open("x.npy", "wb").write(npy((4, 4), [4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4]))
npz("two.npz", a=((3, 2), [1, 2, 3, 4, 5, 6]), k=((), [7]))
import os
os.mkdir("own")
npz("own/first.npz", a=((1, 2), [1, 2]))
npz("own/second.npz", b=((1, 3), [1, 2, 9]))
bytes = bytearray(open("x.npz", "rb").read())
bytes[50:60] = b"\xff" * 10
open("bad.npz", "wb").write(bytes)
END
/usr/bin/python3 data.py || fail data.py
record-minmax --input_model net.origo --input_data x.npz --stats stats.json 2>stderr || fail "x.npz: $(<stderr)"
grep -q 'record 3: 1 of the 4 numbers of input "x" are NaN' stderr || fail "NaN: $(<stderr)"
refused_after_notes 'bad.npz: is a damaged .npz file' record-minmax --input_model net.origo --input_data bad.npz --stats bad.json
cat >two.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%a: f32[1,2], %k: f32[]) -> (%y) {
  %y: f32[1,2] = MUL(%a, %k)
}
END
record-minmax --input_model two.origo --input_data two.npz --stats stats.json 2>stderr && grep -q 'from 3 records' stderr || fail "two.npz: $(<stderr)"
cat >signatures.origo <<'END'
origo 1
model tflite version 3
subgraph @first(%a: f32[1,2]) -> (%y) {
  %y: f32[1,2] = TANH(%a)
}
subgraph @second(%b: f32[1,3]) -> (%z) {
  %z: f32[1,3] = RELU(%b)
}
signature "first" @first inputs("a"=%a) outputs("y"=%y)
signature "second" @second inputs("b"=%b) outputs("z"=%z)
END
circle2circle -O0 signatures.origo signatures.tflite 2>/dev/null
circle-quantizer --scheme int8 --data own --input_type int8 --output_type int8 signatures.tflite both.tflite 2>stderr || fail "own: $(<stderr)"
(($(circledump both.tflite | grep -c 'QUANTIZE') == 0)) || fail "ends of the second signature stay float: $(circledump both.tflite)"
visq -f signatures.tflite -q both.tflite --data own >shown 2>stderr || fail "visq with a file for each signature: $(<stderr)"

# Labels: of four records the model finds three.
printf 'name,class\nb.png,1\na.png,0\nd.png,0\nc.png,2\n' >labels.csv
line='of 4 records with labels, Top-1 finds 75.00 % before and 75.00 % after, Top-5 100.00 % and 100.00 %'
circle-quantizer --scheme int8 --data x.npy --labels labels.csv net.origo made.tflite 2>stderr || fail "--labels: $(<stderr)"
grep -q "$line" stderr && grep -q 'class 0 is taken for 3: 1 before, 1 after' stderr || fail "--labels: $(<stderr)"
circle-eval-diff --first_model net.origo --second_model made.tflite --first_input_data x.npy --labels labels.csv >shown 2>&1
grep -q "$line" shown || fail "circle-eval-diff: $(<shown)"
visq -f net.origo -q made.tflite --data x.npy --labels labels.csv >shown 2>&1
grep -q "$line" shown || fail "visq: $(<shown)"
visq -f net.origo -q made.tflite 2>&1 >/dev/null | grep -q 'random numbers' || fail "random inputs are not said to be random"
said='"wc -c < net.origo; basename" says net.origo before, and made.tflite after'
circle-quantizer --scheme int8 --data x.npy --score 'wc -c < net.origo; basename' net.origo made.tflite 2>stderr || fail "--score: $(<stderr)"
grep -qF "$said" stderr || fail "--score: $(<stderr)"
visq -f net.origo -q made.tflite --data x.npy --score 'wc -c < net.origo; basename' >shown && grep -qF "$said" shown || fail "visq --score: $(<shown)"
circle-eval-diff --first_model net.origo --second_model made.tflite --score 'wc -c < net.origo; basename' >shown && grep -qF "$said" shown ||
  fail "circle-eval-diff --score: $(<shown)"
refused_after_notes 'ends with exit status 1' circle-quantizer --scheme int8 --data x.npy --score false net.origo made.tflite
printf '0\nx\n' >labels.txt
refused 'line 2 ends in "x"' circle-quantizer --scheme int8 --data x.npy --labels labels.txt net.origo made.tflite
printf '0\n1\n' >labels.txt
refused 'there are 2 labels for 4 records' circle-quantizer --scheme int8 --data x.npy --labels labels.txt net.origo made.tflite
refused '--labels are of records: give --data' circle-quantizer --scheme dynamic --labels labels.csv net.origo made.tflite
echo "parts: words, data and labels"
