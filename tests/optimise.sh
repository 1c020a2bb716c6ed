#!/usr/bin/env bash
# circle2circle as a command line: configurations, targets, flags that are refused, a dynamic batch.
# usage: optimise.sh BIN
set -euo pipefail
bin=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "FAILED: $*"
  exit 1
}
# Expects exit status 1 and one line on stderr that holds a text.
refused() {
  local text=$1 status=0
  shift
  "$@" >stdout 2>stderr || status=$?
  ((status == 1)) || fail "$*: exit status $status"
  [[ $(wc -l <stderr) == 1 && $(<stderr) == *"$text"* ]] || fail "$*: not one line about \"$text\": $(<stderr)"
}
run="$bin/circle2circle"

cat >net.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1?,3]) -> (%y) {
  %half: f32[] = const [0.5]
  %a: f32[1?,3] = HARD_SWISH(%x)
  %y: f32[1?,3] = SUB(%a, %half)
}
END

# A configuration says the same as the command line, which goes first.
cat >net.cfg <<'END'
[onecc]
one-optimize = True
include = O1  # the group of options

[one-optimize]
input_path: net.origo
output_path = %(input_path)s
  .out
decompose_hardswish = True
fuse_gelu = False
END
refused 'the extension tells' "$run" --config net.cfg
sed -i -e '/^  .out/d' -e 's/)s$/)s.out.origo/' net.cfg
"$run" --config net.cfg
"$run" -O1 --decompose_hardswish net.origo command.origo
cmp net.origo.out.origo command.origo || fail "a configuration and a command line give different models"
# Text carries no map and says so; the side file is that of the model that the text is.
"$run" -O0 --embed-origin=none net.origo source.circle 2>/dev/null
"$run" -O1 --decompose_hardswish net.origo told.origo 2>stderr
grep -q 'told.origo is text and carries no origin map; told.origo.origin.json has it' stderr || fail "text without a note: $(<stderr)"
"$run" -O0 --embed-origin=none --no-origin-json told.origo told.circle 2>/dev/null
cp told.origo.origin.json told.circle.origin.json
[[ $("$bin/origin-dump" --check --source source.circle told.circle 2>/dev/null) == ok ]] || fail "the map beside the text is not true"
# What reads the text goes on with that map, unless the text is another one by now.
"$run" -O1 told.origo on.circle 2>stderr || fail "the text is not read: $(<stderr)"
[[ $("$bin/origin-dump" --check --source source.circle on.circle 2>/dev/null) == ok ]] || fail "the map beside the text is not continued"
"$bin/origin-dump" --json on.circle | grep -q '"file": "told.origo"' || fail "the text is not among the files on the way"
"$run" --origin=restart told.origo on.circle 2>/dev/null
! "$bin/origin-dump" --json on.circle | grep -q '"file": "source.circle"' || fail "the map beside the text is continued unasked"
cp told.origo.origin.json edited.origo.origin.json
sed 's/RELU6/RELU/' told.origo >edited.origo
"$run" edited.origo on.circle 2>stderr || fail "an edited text is refused: $(<stderr)"
grep -q 'edited.origo.origin.json: the origin map is of another model than this text; origins start' stderr || fail "an edited text without a note: $(<stderr)"
refused 'the origin map is of another model than this text' "$run" --origin-map told.origo.origin.json net.origo on.circle
grep -q 'RELU6' net.origo.out.origo || fail "the configuration's flag did nothing"
"$run" --config net.cfg net.origo other.origo && cmp -s other.origo net.origo.out.origo || fail "the command line does not go first"

echo 'unknown_pass=True' >>net.cfg
refused 'net.cfg: [one-optimize]: unknown key "unknown_pass"' "$run" --config net.cfg
printf '[one-optimize]\nfuse_gelu=True\nfuse_gelu=True\n' >twice.cfg
refused 'twice.cfg: line 3: key "fuse_gelu" stands here a second time' "$run" --config twice.cfg
printf '[one-optimize]\ninput_path=%%(input_path)s\n' >loop.cfg
refused 'refers to others more than 10 deep' "$run" --config loop.cfg
printf '[one-optimize]\ninput_path=%%(there)s\n' >gap.cfg
refused 'there is no key "there"' "$run" --config gap.cfg
printf 'fuse_gelu=True\n' >bare.cfg
refused 'line 1: a key stands in front of the first section' "$run" --config bare.cfg
printf '[one-quantize]\n' >none.cfg
refused 'has no section [one-optimize]' "$run" --config none.cfg
printf '[onecc]\ninclude=O9\n[one-optimize]\n' >group.cfg
refused 'there is no group of options "O9": neither O1 nor ' "$run" --config group.cfg


# Codes of weights among the outputs take the weights' place, and the outputs are the network's own.
cat >coded.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[4,2]) -> (%info, %y, %left, %scales, %codes, %count, %sizes, %bits, %matrix) {
  %info: i32[5] = const [-1999999973, 1, 1, 7, 1999999973]
  %left: bool[] = const [false]
  %scales: f32[4] = const [4, 1, 2, 0.5]
  %codes: i32[4,1] = const [1, 0, 3, 2]
  %count: i32[] = const [2]
  %sizes: i32[2] = const [1, 2]
  %bits: i32[2] = const [2, 1]
  %matrix: f32[2,3] = const [3, 2, -0.5, -5, 2, 0.5]
  %w: f32[3,2] = const [3, -5, 2, 2, -0.5, 0.5]
  %y: f32[4,3] = FULLY_CONNECTED(input=%x, weights=%w)
}
END
"$run" coded.origo float.circle
"$run" --fuse_bcq --verify-each --verify-numerics float.circle coded.circle
"$bin/origin-dump" coded.circle >dump && grep -q 'BCQ_FULLY_CONNECTED .* 0 FULLY_CONNECTED y' dump || fail "--fuse_bcq: $(<dump)"
"$bin/origin-dump" --check --source float.circle coded.circle >dump || fail "--fuse_bcq: $(<dump)"
"$bin/circledump" coded.circle >dump && ! grep -q 'matrix\|info' dump || fail "outputs stay that only bring codes: $(<dump)"
printf '[one-optimize]\nfuse_bcq=True\n' >coded.cfg
"$run" --config coded.cfg float.circle configured.circle && cmp coded.circle configured.circle || fail "a configuration says something else"
"$run" --fuse_bcq float.circle coded.tflite && "$bin/circledump" coded.tflite >dump && grep -q FULLY_CONNECTED dump && ! grep -q BCQ dump ||
  fail "an operator that the format does not have"
"$run" --change_outputs=y float.circle plain.circle && "$bin/circle-eval-diff" --first_model plain.circle --second_model coded.circle --print_mae >dump &&
  grep -Eq 'is (0|[0-9.]+e-0[89])$' dump || fail "the codes compute other numbers: $(<dump)"

# A TRANSPOSE_CONV keeps what is fused into it where that is asked for.
cat >upscale.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1,2,2,1]) -> (%y) {
  %shape: i32[4] = const [1, 4, 4, 1]
  %w: f32[1,2,2,1] = const [1, 2, 3, 4]
  %y: f32[1,4,4,1] = TRANSPOSE_CONV.v4(inputSizes=%shape, filter=%w, outBackprop=%x, bias=_) {stride_w=2, stride_h=2, fused_activation_function=RELU}
}
END
"$run" --passes=separate-activation upscale.origo apart.origo && grep -q '= RELU(' apart.origo || fail "separate-activation: $(<apart.origo)"
"$run" --passes=separate-activation --exp_disable_sep_transposeconv_actfunc upscale.origo whole.origo && ! grep -q '= RELU(' whole.origo ||
  fail "--exp_disable_sep_transposeconv_actfunc: $(<whole.origo)"

# A constant without its zeros: the same numbers for who uses it, in fewer bytes.
cat >dense.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[2,8]) -> (%y) {
  %w: f32[4,8] = const [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -0.0, 6]
  %y: f32[2,4] = FULLY_CONNECTED(input=%x, weights=%w)
}
END
"$run" dense.origo dense.circle
for how in "--sparsify_format=d,s" "--sparsify_format=s,s --sparsify_traversal_order=1,0" \
  "--sparsify_format=d,s --sparsify_block_map=1 --sparsify_block_size=4" \
  "--sparsify_format=s,s --sparsify_block_map=0,1 --sparsify_block_size=2,2 --sparsify_traversal_order=0,1,3,2"; do
  "$run" --sparsify_tensor=w $how dense.circle sparse.circle
  "$bin/circledump" sparse.circle >dump && grep -q 'FULLY_CONNECTED.v8' dump && grep -q 'sparse{' dump || fail "$how: nothing is sparse"
  "$bin/origin-dump" --check --source dense.circle sparse.circle >dump || fail "$how: $(<dump)"
  "$bin/circle-eval-diff" --first_model dense.circle --second_model sparse.circle --print_mae >dump && grep -q 'is 0$' dump ||
    fail "$how: other numbers: $(<dump)"
done
printf '[one-optimize]\nsparsify_tensor=w\nsparsify_format=d,s\n' >sparse.cfg
"$run" --config sparse.cfg dense.circle configured.circle
"$run" --sparsify_tensor=w --sparsify_format=d,s dense.circle sparse.circle && cmp sparse.circle configured.circle || fail "a configuration says something else"
refused '"v": there is no such tensor' "$run" --sparsify_tensor=v --sparsify_format=d,s dense.circle out.circle
refused '"y": is no dense constant' "$run" --sparsify_tensor=y --sparsify_format=d,s dense.circle out.circle
refused '--sparsify_format is missing' "$run" --sparsify_tensor=w dense.circle out.circle
refused '"q" is neither d nor s' "$run" --sparsify_tensor=w --sparsify_format=d,q dense.circle out.circle
refused 'formats are not one for each of its 2 dimensions' "$run" --sparsify_tensor=w --sparsify_format=s dense.circle out.circle
refused 'blocks of 3 do not fill dimension 1' "$run" --sparsify_tensor=w --sparsify_format=d,s --sparsify_block_map=1 \
  --sparsify_block_size=3 dense.circle out.circle
refused 'one size for each dimension in the block map' "$run" --sparsify_tensor=w --sparsify_format=d,s --sparsify_block_size=4 dense.circle out.circle
refused 'traversal order does not name each dimension' "$run" --sparsify_tensor=w --sparsify_format=d,s --sparsify_traversal_order=0,0 dense.circle out.circle
refused '"x" is not a number' "$run" --sparsify_tensor=w --sparsify_format=d,s --sparsify_traversal_order=0,x dense.circle out.circle
refused '--sparsify_format goes with --sparsify_tensor' "$run" --sparsify_format=d,s dense.circle out.circle

# A first dimension that is known at run time only.
"$run" --dynamic_batch_to_single_batch net.origo single.origo
grep -q 'main(%x: f32\[1,3\])' single.origo || fail "the batch is still dynamic"
grep -q '%y: f32\[1,3\]' single.origo || fail "the result's batch is still dynamic"

# A target without RELU6 does not get one.
cat >target.json <<'END'
{"target": "no-relu6", "schema_version": 1, "ops": {"HARD_SWISH": {}, "MUL": {}, "ADD": {}, "SUB": {}}}
END
"$run" --decompose_hardswish --target target.json net.origo kept.origo
grep -q 'HARD_SWISH' kept.origo || fail "the target's limits were not looked at"
refused 'cannot be read' "$run" --target nowhere.json net.origo out.origo
# One TRANSPOSE instead of two is less that it refuses.
cat >turns.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[2,3,4]) -> (%y) {
  %p: i32[3] = const [1, 0, 2]
  %q: i32[3] = const [0, 2, 1]
  %r: f32[2,3,4] = ABS(%x)
  %t: f32[3,2,4] = TRANSPOSE(%r, %p)
  %y: f32[3,4,2] = TRANSPOSE(%t, %q)
}
END
"$run" -O1 --target target.json turns.origo turned.origo
[[ $(grep -c 'TRANSPOSE' turned.origo) == 1 ]] || fail "two operators that the target refuses are not made one"

# -O2 brings the target what it takes, and does not touch what it takes already.
cat >roots.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%y, %z) {
  %a: f32[1,4] = ABS(%x)
  %y: f32[1,4] = RSQRT(%a)
  %z: f32[1,4] = TANH(%a)
}
END
echo '{"target": "roots", "ops": {"ABS": {}, "SQRT": {}, "DIV": {}}}' >roots.json
echo '{"target": "whole", "ops": {"ABS": {}, "SQRT": {}, "DIV": {}, "RSQRT": {}}}' >whole.json
refused '-O2 chooses by what a back end takes, and needs --target' "$run" -O2 roots.origo out.origo
refused '-Os chooses by what a back end takes, and needs --target' "$run" -Os roots.origo out.origo
refused 'no such level: -O3' "$run" -O3 --target roots.json roots.origo out.origo
refused '--allow-one-step goes with -O2' "$run" -O1 --allow-one-step --target roots.json roots.origo out.origo
refused '--allow-hybrid-to-float goes with -O2' "$run" --allow-hybrid-to-float --target roots.json roots.origo out.origo
refused 'neither a file nor a target' "$run" -O2 --target unknown roots.origo out.origo
"$run" -O2 --target roots.json roots.origo out.origo 2>log || fail "-O2: $(<log)"
grep -q SQRT out.origo && grep -q DIV out.origo && ! grep -q RSQRT out.origo || fail "-O2 has not mended: $(<out.origo)"
grep -q 'roots before: 1 part takes 1 of 3 operators; after: 1 part takes 3 of 4 operators' log || fail "-O2 tells nothing: $(<log)"
"$run" -O2 --target whole.json roots.origo out.origo 2>log && grep -q RSQRT out.origo || fail "-O2 mends what is taken"
"$run" -Os --target roots.json roots.origo out.origo 2>log && grep -q RSQRT out.origo || fail "-Os makes more operators"
"$run" -O1 --target roots.json roots.origo out.origo 2>log && grep -q RSQRT out.origo || fail "-O1 mends"
"$bin/circle-check" --target roots.json --mends roots.origo >out 2>log || [[ $? == 2 ]] || fail "--mends: $(<log)"
grep -q 'RSQRT.*decompose-rsqrt *$' out && grep -q 'TANH.*none known *$' out || fail "--mends: $(<out)"
"$bin/circle-check" --list-targets | grep -q '^xnnpack-2.9 .*2.9.0' || fail "--list-targets"
# Bytes without a sign become such with one, on request, where more is refused than what stands between then.
cat >bytes.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: u8[1,2] q{scale=0.5, zero_point=128}) -> (%y) {
  %w: u8[2,2] q{scale=0.25, zero_point=100} = const [0, 100, 227, 110]
  %b: i32[2] q{scale=0.125, zero_point=0} = const [8, -16]
  %k: u8[1,2] q{scale=0.5, zero_point=128} = FULLY_CONNECTED(%x, %w, %b)
  %l: u8[1,2] q{scale=0.5, zero_point=128} = FULLY_CONNECTED(%k, %w, %b)
  %y: u8[1,2] q{scale=32, zero_point=128} = FULLY_CONNECTED(%l, %w, %b)
}
END
sed 's/%[kl]: .*//; s/(%l,/(%x,/' bytes.origo >byte.origo
echo '{"target": "signed", "ops": {"FULLY_CONNECTED": {"input": {"dataTypes": ["int8"]}, "weights": {"dataTypes": ["int8"],
  "quantization": {"symmetric": true}}}}}' >signed.json
"$run" -O2 --target signed.json bytes.origo out.origo 2>log && ! grep -q i8 out.origo || fail "-O2 signs bytes unasked"
"$run" -O2 --allow-one-step --target signed.json bytes.origo out.origo 2>log || fail "--allow-one-step: $(<log)"
grep -q 'FULLY_CONNECTED.*(input=%k' out.origo || fail "--allow-one-step: $(<out.origo)"
grep -q 'i8\[2,2\] q{scale=0.25.*name "w" = const \[-100, 0, 127, 10\]' out.origo || fail "--allow-one-step: $(<out.origo)"
"$run" -O2 --allow-one-step --target signed.json byte.origo byte_out.origo 2>log && ! grep -q i8 byte_out.origo || fail "one operator is not worth two bridges"
grep -q 'main(%x: u8.*(%y)' out.origo && grep -q '%y: u8' out.origo || fail "the interface has changed: $(<out.origo)"
sed 's/FULLY_CONNECTED(%\([xkl]\), %w, %b)/TANH(%\1)/; /%[wb]: /d; s/scale=[0-9.]*/scale=0.0078125/' bytes.origo >other.origo
"$run" -O2 --allow-one-step --target signed.json other.origo out.origo 2>log && ! grep -q i8 out.origo || fail "what is refused in int8, too, is signed: $(<out.origo)"

# A RESHAPE that the target does not take is no more work than the movements that it takes the place of.
cat >moved.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: u8[1,4,2] q{scale=0.5, zero_point=128}) -> (%y) {
  %p: i32[3] = const [1, 0, 2]
  %t: u8[4,1,2] q{scale=0.5, zero_point=128} = TRANSPOSE(%x, %p)
  %y: u8[4,2] q{scale=0.5, zero_point=128} = SQUEEZE(%t) {squeeze_dims=[1]}
}
END
"$run" -O1 --target xnnpack-2.9 moved.origo out.origo 2>log || fail "-O1 --target: $(<log)"
grep -q ' = RESHAPE(' out.origo && ! grep -q 'TRANSPOSE\|SQUEEZE' out.origo || fail "refused movements are not merged: $(<out.origo)"

# What is merged into its like is not mended, and what mends leaves nothing for a second run.
cat >like.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[2,4]) -> (%y, %z, %d, %m) {
  %y: f32[2,4] = TANH(%x)
  %t: f32[2,4] = TANH(%x)
  %z: f32[2,4] = NEG(%t)
  %c: f32[] = const [0.7]
  %d: f32[2,4] = DIV(%x, %c)
  %a: i32[1] = const [1]
  %m: f32[2,1] = MEAN(%d, %a) {keep_dims=true}
}
END
"$bin/circle-check" --target xnnpack-2.9 --mends like.origo >out 2>log || [[ $? == 2 ]] || fail "--mends: $(<log)"
[[ $(grep -c 'TANH.*none known *$' out) == 2 ]] && grep -q 'MEAN.*reshape-means *$' out || fail "--mends of equal ones: $(<out)"
"$run" -O2 --target xnnpack-2.9 like.origo like.tflite 2>log && "$run" -O2 --target xnnpack-2.9 like.tflite again.tflite 2>log || fail "-O2: $(<log)"
grep -q 'after 0 rewrites' log || fail "-O2 goes on in a second run: $(<log)"

# What is left undone: what the target refuses and what would mend it, and rules that declined; hottest first.
cat >left.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,2]) -> (%y, %s) {
  %w: f32[2,2] = const [1, 2, 3, 4]
  %f: f32[1,2] = FULLY_CONNECTED(%x, %w)
  %s: f32[1,2] = SIN(%f)
  %m: f32[1,2] = NEG(%f)
  %y: f32[1,2] = HARD_SWISH(%m)
}
END
cat >few.json <<'END'
{"target": "few", "ops": {"FULLY_CONNECTED": {}, "NEG": {}, "ADD": {}, "MUL": {}, "RELU6": {}}}
END
"$run" --target few.json --remarks=left.json left.origo left.tflite 2>log || fail "--remarks: $(<log)"
"$run" --target few.json --remarks=left.txt left.origo left.tflite 2>log || fail "--remarks: $(<log)"
grep -q 'SIN at 0:1, from s' left.txt && grep -q 'refused: the target has no SIN; mended by: none known' left.txt || fail "SIN: $(<left.txt)"
grep -q 'refused: the target has no HARD_SWISH; mended by: decompose-hard-swish' left.txt || fail "HARD_SWISH: $(<left.txt)"
grep -q 'FULLY_CONNECTED' left.txt && fail "what is taken is refused: $(<left.txt)"
python3 - <<'END' || fail "left.json: $(<left.json)"
import json
told = json.load(open("left.json"))
rows = told["remarks"]
assert (told["format"], told["version"], told["target"]) == ("origo-remarks", 1, "few"), told
assert [(r["op"], r["operator"], r["origins"], r["layers"]) for r in rows] == [("SIN", 1, [1], ["s"]), ("HARD_SWISH", 3, [3], ["y"])], rows
assert rows[0]["mended_by"] is None and "decompose-hard-swish" in rows[1]["mended_by"] and "ns" not in rows[0], rows
END
"$run" left.origo as_is.tflite 2>log
printf 'name,us\nf,1\ns,1\nm,2\ny,5\n' >profile.csv
"$bin/origin-dump" --join profile.csv --json as_is.tflite >hot.json
"$run" --target few.json --remarks=hot.txt --hot=hot.json as_is.tflite left.tflite 2>log || fail "--hot: $(<log)"
[[ $(head -n 1 hot.txt) == *"5.000 us"*"HARD_SWISH at 0:3"* ]] || fail "the slowest is not first: $(<hot.txt)"
refused 'goes with --remarks' "$run" --hot=hot.json left.origo left.tflite
refused 'is about another source' "$run" --remarks=x.txt --hot=hot.json net.origo x.circle
refused 'nowhere.json' "$run" --remarks=x.txt --hot=nowhere.json left.origo x.tflite
[[ ! -e x.txt && ! -e x.tflite && ! -e x.circle ]] || fail "something is written where the times are wrong"

# INSTANCE_NORM and its like are not made for a .tflite.
cat >norm.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[2,4]) -> (%y) {
  %axes: i32[1] = const [1]
  %eps: f32[] = const [0.001]
  %g: f32[4] = const [1, 2, 3, 4]
  %sq: f32[2,4] = SQUARE(%x)
  %m: f32[2,1] = MEAN(%sq, %axes) {keep_dims=true}
  %e: f32[2,1] = ADD(%m, %eps)
  %r: f32[2,1] = RSQRT(%e)
  %n: f32[2,4] = MUL(%x, %r)
  %y: f32[2,4] = MUL(%n, %g)
}
END
"$run" --fuse_rmsnorm -V norm.origo norm.tflite 2>log && grep -q '6 operators, 6 after' log || fail "not left as it was: $(<log)"
"$run" --fuse_rmsnorm -V norm.origo norm.circle 2>log && grep -q '6 operators, 1 after' log || fail "not recognised: $(<log)"

# What a recurrent operator keeps in variables is off by rounding, too.
"$run" --unroll_unidirseqlstm -O1 --verify-numerics "$root/res/lstm.origo" lstm.circle 2>log || fail "unrolled: $(<log)"
grep -q '11 operators, [0-9]* after' log || fail "not unrolled: $(<log)"
echo "passed"
