#!/usr/bin/env bash
# circle-mpqsolver on a sample network: the files that ONE's tool writes, an error that falls, a configuration that
# circle-quantizer makes the same model of, and mistakes in one line.
# usage: mpqsolver.sh BIN networks|models     models: public networks alone
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
source "$root/tests/folder.sh"

# Networks: what is found quantises, and its map is true.
models=$(folder_of "$2") || exit 1
if [[ $2 == models ]]; then
  networks=("$models"/{resnet8_cifar,nested_while,age_lite,vww_96}_f32.tflite)
else
  networks=("$models"/{bert,branches,inception,lstm,nested_loops,resnet}_f32.tflite)
fi
solved=0
for model in "${networks[@]}"; do
  status=0
  circle-mpqsolver --bisection true --data random --input_model "$model" --output_model solved.circle >log 2>&1 || status=$?
  ((status <= 1)) || fail "$model: exit status $status"
  ((status == 0)) || continue
  origin-dump --check --source "$model" solved.circle >log 2>&1 || fail "$model: $(<log)"
  ((++solved))
done
((solved >= 3)) || fail "only $solved networks"
echo "models: $solved networks with layers of 8 and of 16 bits"
[[ $2 == models ]] && exit

circle2circle "$root/res/resnet_preact.origo" float.tflite 2>log || fail "$(<log)"
circle2circle -O1 float.tflite net.circle 2>log || fail "$(<log)"
record-minmax --input_model net.circle --input_data random --output_model minmax.circle >log 2>&1 || fail "$(<log)"
# Weights that the file packs as float16 are weights as any other.
circle-quantizer --scheme float16 float.tflite packed.tflite 2>log || fail "float16: $(<log)"
for model in packed; do
  circle-mpqsolver --quantized_dtype int8 --max_error 1e9 --data random --input_model $model.tflite --output_model $model.q.tflite >log 2>&1 ||
    fail "$model.tflite: $(<log)"
done
(($(stat -c %s packed.q.tflite) < $(stat -c %s packed.tflite) * 3 / 4)) || fail "weights of float16 stay: $(<log)"

# By bisection, from either end: fewer layers than all, an error below the target, ONE's files.
for front in true false; do
  circle-mpqsolver --bisection $front --qerror_ratio 0.7 --data random --input_model minmax.circle --output_model $front.circle \
    --save_intermediate $front --config $front.json >$front.txt 2>log || fail "--bisection $front: $(<log)"
  tries=$(ls $front/Configuration_*.mpq.json | wc -l)
  ((tries >= 3)) && ((tries == $(ls $front/quantized_*.mpq.circle | wc -l))) || fail "$tries tries"
  (($(grep -cE '^[0-9]+ ' $front/errors.mpq.txt) == tries)) || fail "$(<$front/errors.mpq.txt)"
  awk '/^Q8 /{ q8 = $2 } /^Q16 /{ q16 = $2 } /^FINAL /{ e = $2 } END { exit !(q16 < q8 && e < q16 + 0.7 * (q8 - q16)) }' \
    $front/errors.mpq.txt || fail "$(<$front/errors.mpq.txt)"
  cmp $front.json $front/FinalConfiguration.mpq.json || fail "two configurations"
  origin-dump --check --source float.tflite $front.circle >log || fail "$(<log)"
  circle-quantizer --quantize_with_minmax float32 uint8 channel --config $front.json --input_type uint8 --output_type uint8 \
    minmax.circle again.circle 2>log || fail "circle-quantizer: $(<log)"
  cmp <(origin-dump --fingerprint $front.circle) <(origin-dump --fingerprint again.circle) ||
    fail "circle-quantizer makes another model of $front.json"
done
cmp -s true.json false.json && fail "both ends need the same layers"

# Without a file of errors auto takes the cheaper end, with one the end that is worse; the same again is the same.
circle-mpqsolver --bisection auto --qerror_ratio 0.7 --input_data random --input_model minmax.circle --config auto.json >log 2>&1 || fail "$(<log)"
cmp -s auto.json true.json || cmp -s auto.json false.json || fail "auto is neither end"
circle-quantizer --quantize_with_minmax float32 uint8 channel minmax.circle u8.circle 2>log || fail "$(<log)"
visq -f net.circle -q u8.circle --records 1 --tae_output tae.json 2>log || fail "$(<log)"
circle-mpqsolver --bisection auto --visq_file tae.json --qerror_ratio 0.7 --data random --input_model minmax.circle --config visq.json \
  >log 2>&1 || fail "$(<log)"
cmp -s visq.json true.json || cmp -s visq.json false.json || fail "auto by visq is neither end"

# Ranges are taken from the data where the model has none; a bound takes layers that suffice.
q8=$(sed -n 's/^Q8 //p' true/errors.mpq.txt)
most=$(awk -v e="$q8" 'BEGIN { print e * 0.8 }')
circle-mpqsolver --max_error "$most" --data random --input_model net.circle --output_model bound.circle --save_intermediate bound \
  >log 2>&1 || fail "--max_error: $(<log)"
awk -v most="$most" '/^FINAL /{ ok = $2 <= most } END { exit !ok }' bound/errors.mpq.txt || fail "$(tail -n 1 bound/errors.mpq.txt), not $most"
# COMMAND...: a negative verdict, exit status 2, and the text in the last line.
fails_with() {
  local text=$1 status=0
  shift
  "$@" >stdout 2>stderr || status=$?
  ((status == 2)) && [[ $(tail -n 1 stderr) == *"$text"* ]] || fail "$*: exit status $status, not 2 with \"$text\": $(<stderr)"
}
fails_with 'with each operator at its finest the error is still' circle-mpqsolver --max_error 0 --levels uint8,int16 --data random --input_model net.circle --output_model x.circle
[[ ! -e x.circle ]] || fail "a model in spite of an error"

# Budgets. With a cost file nothing is measured but errors: the same file, the same configuration, and what costs nothing is free.
solve() { circle-mpqsolver --data random --input_model minmax.circle "$@" >log 2>&1; }
costOf() { sed -nE 's/.* at a cost of ([0-9.e+]+); .*/\1/p' log; }
solve --max_error 0.000001 --levels uint8,float32 --input_dtype float32 --output_dtype float32 --config floats.json || fail "--levels: $(<log)"
grep -q '"float32"' floats.json && ! grep -q '"int16"' floats.json || fail "--levels uint8,float32: $(<floats.json)"
circle-quantizer --quantize_with_minmax float32 uint8 channel --config floats.json minmax.circle floats.circle 2>log || fail "floats.json: $(<log)"
least=$(solve --max_error 1000 --config least.json && costOf)
budget=$(awk -v least="$least" 'BEGIN { print int(least * 1.3) }')
solve --max_bytes "$budget" --config bytes.json || fail "--max_bytes: $(<log)"
awk -v most="$budget" -v cost="$(costOf)" -v least="$least" 'BEGIN { exit !(cost > least && cost <= most) }' || fail "--max_bytes $budget: $(head -n 1 log)"
fails_with 'with each operator at its cheapest the cost is still' circle-mpqsolver --max_bytes 10 --data random --input_model net.circle --output_model x.circle
circle-mpqsolver --measure_costs costs.json --data random --input_model minmax.circle >log 2>&1 || fail "--measure_costs: $(<log)"
(($(grep -c '"uint8"' costs.json) >= 5)) && (($(grep -c '"float32"' costs.json) >= 5)) || fail "$(<costs.json)"
# A backend whose floats take thrice as long, and that has no kernels of 16 bits.
awk '/"name"/{ print; print "      \"uint8\": 1,"; print "      \"float32\": 3"; next } !/"(uint8|int16|float32)"/' costs.json >hand.json
solve --max_time 1e9 --costs hand.json --config all.json || fail "--max_time: $(<log)"
! grep -q '"int16"' all.json || fail "a level that costs nothing known"
most=$(solve --max_error 1000 --costs hand.json --config none.json && costOf)
solve --max_time "$((most + 5))" --costs hand.json --config once.json || fail "--max_time: $(<log)"
(($(grep -c '"float32"' once.json) <= 2)) || fail "five more are two floats: $(<once.json)"
solve --max_time "$((most + 5))" --costs hand.json --config twice.json && cmp once.json twice.json || fail "the same costs, another configuration"
refused_after_notes '--max_time needs --costs' circle-mpqsolver --max_time 1 --data random --input_model net.circle --output_model x.circle
refused_after_notes '--levels: "int4" is none' circle-mpqsolver --max_error 1 --levels int4 --data random --input_model net.circle --output_model x.circle
echo '{"layers": [{"name": "nobody"}]}' >bad.json
refused_after_notes 'layer "nobody" is no first result' circle-mpqsolver --max_time 1 --costs bad.json --data random --input_model net.circle --output_model x.circle

# TensorFlow Lite's integers, with a recipe: circle-quantizer makes the same model of it; a finer bound needs more than 8 bits.
cat >few.origo <<'MODEL'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,8,8,3]) -> (%y) {
  %f: f32[8,3,3,3] = const seed 1 normal 0 0.3
  %b: f32[8] = const seed 2 normal 0 0.1
  %d: f32[1,3,3,8] = const seed 3 normal 0 0.5
  %w: f32[10,8] = const seed 4 normal 0 0.4
  %axes: i32[2] = const [1, 2]
  %conv: f32[1,8,8,8] = CONV_2D(%x, %f, %b) {padding=SAME, stride_w=1, stride_h=1, fused_activation_function=RELU}
  %deep: f32[1,8,8,8] = DEPTHWISE_CONV_2D(%conv, %d, %b) {padding=SAME, stride_w=1, stride_h=1, depth_multiplier=1}
  %sum: f32[1,8,8,8] = ADD(%conv, %deep)
  %mean: f32[1,8] = MEAN(%sum, %axes)
  %y: f32[1,10] = FULLY_CONNECTED(%mean, %w)
}
MODEL
circle2circle few.origo few.tflite 2>log || fail "$(<log)"
record-minmax --input_model few.tflite --input_data random --output_model few_minmax.tflite >log 2>&1 || fail "$(<log)"
tflite() { circle-mpqsolver --quantized_dtype int8 --data random --input_model few_minmax.tflite "$@" >log 2>&1; }
tflite --max_error 1000 --output_model i8.tflite --config i8.json || fail "--quantized_dtype int8: $(<log)"
ends="--input_dtype float32 --output_dtype float32" # integers there are off by more than half of it
tflite $ends --max_error 1000 --config least.json || fail "float ends: $(<log)"
least=$(sed -nE 's/.*; ([0-9.e-]+) at the least, of .*/\1/p' log)
tflite $ends --max_error "$(awk -v e="$least" 'BEGIN { print e * 0.5 }')" --output_model mixed.tflite --config mixed.json || fail "int8: $(<log)"
grep -qE '^  (int16|float32) ' log && ! grep -q uint8 log || fail "nothing is finer than 8 bits: $(<log)"
for name in i8 mixed; do
  circle-quantizer --recipe $name.json few_minmax.tflite again.tflite 2>log || fail "$name.json: $(<log)"
  cmp <(origin-dump --fingerprint $name.tflite) <(origin-dump --fingerprint again.tflite) || fail "circle-quantizer makes another model of $name.json"
  origin-dump --check --source few.tflite $name.tflite >log || fail "$(<log)"
done
circle-mpqsolver --quantized_dtype int8 --data random --input_model few.tflite --max_error 1000 --output_model own.tflite --config own.json >log 2>&1 &&
  circle-quantizer --recipe own.json --data random few.tflite again.tflite 2>log || fail "ranges of --data: $(<log)"
cmp <(origin-dump --fingerprint own.tflite) <(origin-dump --fingerprint again.tflite) || fail "circle-quantizer takes other ranges from --data"
cmp -s i8.json mixed.json && fail "two bounds, one recipe"
tflite --measure_costs i8_costs.json || fail "$(<log)"
grep -q '"int8"' i8_costs.json && ! grep -q uint8 i8_costs.json || fail "$(<i8_costs.json)"
refused_after_notes 'patterns are of uint8' circle-mpqsolver --u8_softmax_with_s16_sub_exp --quantized_dtype int8 --input_model minmax.circle --output_model x.circle

circle-mpqsolver --u8_softmax_with_s16_sub_exp --u8_layernorm_with_s16_variance --input_model minmax.circle --output_model p.circle >log 2>&1 ||
  fail "patterns: $(<log)"
grep -q '^0 of [0-9]* operators have 16 bits' log || fail "$(<log)"

refused_after_notes 'needs one of --bisection, --max_error' circle-mpqsolver --data random --input_model net.circle --output_model x.circle
refused_after_notes 'needs --data' circle-mpqsolver --bisection true --input_model net.circle --output_model x.circle
refused_after_notes 'no tensor has a range' circle-mpqsolver --u8_softmax_with_s16_sub_exp --input_model net.circle --output_model x.circle
refused_after_notes 'is none; there are auto, true, false' circle-mpqsolver --bisection both --data random --input_model net.circle --output_model x.circle
refused_after_notes 'only uint8 and int8 are mixed' circle-mpqsolver --bisection true --quantized_dtype int4 --data random --input_model net.circle --output_model x.circle
echo '[1]' >bad.json
echo '{"error": [{"nobody": 1}]}' >other.json
refused_after_notes 'other.json: tells of no tensor of this model' circle-mpqsolver --bisection auto --visq_file other.json --data random --input_model net.circle --output_model x.circle
refused_after_notes 'is not what visq writes' circle-mpqsolver --bisection auto --visq_file bad.json --data random --input_model net.circle --output_model x.circle
refused_after_notes '"csv" is none; there are list' circle-mpqsolver --bisection true --data net.circle --data_format csv --input_model net.circle --output_model x.circle
