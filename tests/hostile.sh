#!/usr/bin/env bash
# Input that was made to do harm, and small numbers that are at an edge of something: every command ends within seconds and in
# little memory, and computes or says in one line what is wrong. tests/regressions/hostile/ has what is no text.
# usage: hostile.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
files=$root/tests/regressions/hostile
sanitized=$(grep -qa __asan_init "$bin/circle2circle" && echo yes || true)
export ASAN_OPTIONS=hard_rss_limit_mb=2048:max_allocation_size_mb=512:allocator_may_return_null=1:${ASAN_OPTIONS-}

# Within limits; under sanitizers, whose shadow takes any address, without that of memory.
bounded() {
  [[ -n $sanitized ]] || ulimit -v 1500000
  exec timeout 30 "$@"
}
# ends STATUS WORDS COMMAND…: how it ends, and what it says among other things.
ends() {
  local status=$1 words=$2 got
  shift 2
  (bounded "$@") >said 2>&1 && got=0 || got=$?
  [[ $got == "$status" ]] || fail "$* ends with exit status $got: $(head -c 600 said)"
  [[ $(<said) == *"$words"* ]] || fail "$* says $(head -c 600 said)"
}
# A text of one graph: its interface and its body.
graph() { printf 'origo 1\nmodel %s\nsubgraph @main(%s) -> (%%y) {\n%s\n}\n' "${3-circle version 0}" "$1" "$2"; }

# DenseMap keeps two keys of each type for itself. A number of 32 bits that comes from a file may be one of them, so keys are wider.
number='(u?int(8|16|32)_t|unsigned|int)'
if grep -rnE "Dense(Map|Set)<($number|std::pair<$number, $number>)[,>]" --include='*.h' --include='*.cpp' \
  "$root"/{schema,origin,ir,eval,quantize,import,export,passes,report,view,commands,tools,python}; then
  fail "keys of 64 bits are safe"
fi

# Operators of any number of operands, and what patterns ask of all of them.
graph '%a: f32[1,2]' '%y: f32[1,2] = CONCATENATION() {axis=1}' 'tflite version 3' >none.origo
for level in -O0 -O1; do
  ends 0 "" circle2circle $level none.origo none.tflite
  ends 0 "" circle2circle $level "$files/concatenation-without-operands.tflite" none.tflite
done
for operator in PACK ADD_N; do
  graph '%a: f32[1,2]' "%y: f32[1,2] = $operator()" >none.origo
  (bounded circle2circle -O1 none.origo none.circle) >said 2>&1 || [[ $? == 1 ]] || fail "$operator() ends: $(<said)"
done

# A sum of constants that do not fit together is not computed.
graph '%x: i32[2]' '%j: i32[2] = const [7, 5]
%n: i32[] = const [4]
%k: i32[2] = ADD_N(%j, %n)
%y: i32[2] = MUL(%x, %k)' >sum.origo
ends 0 "" circle2circle -O1 sum.origo sum.circle

# Windows that do not go on, and results of another rank than operators make.
for t in 'f32[1,8,8,1] = TRANSPOSE_CONV(%o, %w, %x) {stride_w=2, stride_h=0' 'f32[1,8,8] = TRANSPOSE_CONV(%o, %w, %x) {stride_w=2, stride_h=2' \
  'f32[1,8,8,1] = TRANSPOSE_CONV(%o, %w, %x) {stride_w=-1, stride_h=-2147483648'; do
  graph '%x: f32[1,3,3,1]' "%w: f32[1,4,4,1] = const splat 1
%o: i32[4] = const [1, 8, 8, 1]
%t: $t, padding=VALID}
%g: i32[4] = const [0, 1, 1, 0]
%s: i32[4] = const [1, 6, 6, 1]
%y: f32[1,6,6,1] = SLICE(%t, %g, %s)" >window.origo
  ends 0 "" circle2circle -O1 window.origo window.circle
done
graph '%x: f32[1,2,3]' '%p: i32[3] = const [0, 2, 1]
%s: i32[2] = const [1, 6]
%w: f32[4,6] = const splat 1
%t: f32[] ranked = TRANSPOSE(%x, %p)
%f: f32[1,6] = RESHAPE(%t, %s)
%y: f32[1,4] = FULLY_CONNECTED(%f, %w)' >rank.origo
ends 0 "" circle2circle -O1 rank.origo rank.circle

# Codes that no table has.
for code in 2147483647 2147483646 -2147483648 -2147483647 -1; do
  graph '%x: f32[4]' "%y: f32[4] = builtin($code)(%x)" >code.origo
  ends 0 "" circle2circle -O1 code.origo code.circle
  for tool in circledump circle-metrics; do ends 0 "" $tool code.circle; done
  ends 0 "" circle-quantizer --scheme float16 code.circle code2.circle
done
ends 0 "" circle2circle -O1 "$files/operator-code-2147483647.circle" code.circle

# Names of external buffers are any 32 bits.
for id in 4294967295 4294967294 2147483648; do
  printf 'origo 1\nmodel tflite version 3\nexternal_group "a.bin"\nexternal_buffer %s group 0 offset 0 length 64 packing ""\n' $id >external.origo
  graph '%x: f32[4]' "%w: f32[16] external $id
%y: f32[4] = RELU(%x)" 'tflite version 3' | tail -n +3 >>external.origo
  ends 0 "" circle2circle -O0 external.origo external.tflite
  for tool in circledump circle-metrics; do ends 0 "" $tool external.tflite; done
  ends 0 "" circle2circle -O1 external.tflite external2.tflite
done

# Integers that become floats in one operator are left as they are.
for operator in 'SOFTMAX(%x) {beta=1}' 'HARD_SWISH(%x)' 'RSQRT(%x)' 'REDUCE_PROD(%x, %axis)' 'LOG_SOFTMAX(%x)' 'CONCATENATION(%x)'; do
  graph '%x: i8[1,10] q{scale=0.0187726, zero_point=-26}' "%axis: i32[1] = const [1]
%y: f32[1,10] q{min=-1.5, max=2.5} = $operator" >mixed.origo
  for scheme in int8 int16x8 weights dynamic float16; do
    (bounded circle-quantizer --scheme $scheme mixed.origo mixed.circle) >said 2>&1 || [[ $? == 1 ]] || fail "$operator by $scheme: $(<said)"
  done
done

# Offsets beyond the file, where nobody wants what lies there.
echo '{"ops": {"ADD": {}}}' >npu.json
ends 2 "" circle-check --target npu.json "$files/custom-options-outside-the-file.tflite"
ends 1 "custom options do not lie in the file" circledump "$files/custom-options-outside-the-file.tflite"

# A map that has the fingerprint of its source, and lists something else.
lying=("$files/page.circle" --origin-map "$files/page-source-without-subgraphs.origin.json" --source "$files/page-source.tflite")
ends 1 "lists other operators and tensors than are there" origin-view -o page.html "${lying[@]}"
ends 0 "" circle-metrics "${lying[@]}" # which goes by the map in the model

# Calls within calls: 40 deep, two in each, so that there are 2^40 ways through. The second kind calls with another shape
# each time.
nested() {
  echo 'origo 1
model tflite version 3'
  for ((i = 0; i < 40; ++i)); do
    printf 'subgraph @g%d(%%x: f32[%s]) -> (%%y) {\n' $i "$1"
    echo "  %c: bool[] = const [true]
  %a: f32[$1] = IF(%c, %x) {then_subgraph_index=@g$((i + 1)), else_subgraph_index=@g$((i + 1))}
  %b: f32[$1] = $2
  %y: f32[$1] = IF(%c, %b) {then_subgraph_index=@g$((i + 1)), else_subgraph_index=@g$((i + 1))}
}"
  done
  printf 'subgraph @g40(%%x: f32[%s]) -> (%%y) {\n  %%y: f32[%s] = NEG(%%x)\n}\n' "$1" "$1"
}
nested 4 'NEG(%a)' >calls.origo
nested -1 'CONCATENATION(%x, %x) {axis=0}' >growing.origo
for model in calls growing; do
  for engine in reference fast; do # what grows ends by its memory where that is quicker
    [[ $model == growing ]] && words="growing.origo: subgraph " || words="longer than allowed"
    ends 1 "$words" circle-interpreter --seed 1 --timeout 1 --engine $engine $model.origo
  done
  ends 0 "" circle2circle -O1 $model.origo $model.tflite
  for tool in circledump circle-metrics; do ends 0 "" $tool $model.origo; done
  ends 0 "" origin-dump $model.tflite
  ends 0 "" origin-dump --check $model.tflite
  ends 0 "" origin-view -o page.html $model.tflite
  (bounded circle-check --target npu.json $model.origo) >said 2>&1 || [[ $? == 2 ]] || fail "circle-check $model: $(<said)"
done

# A few bytes that stand for many.
printf 'origo 1\nmodel tflite version 3\nsubgraph @main(%%x: f32[4]) -> (%%y) {\n  %%w: f32[2000000000] = const splat 1\n  %%y: f32[4] = RELU(%%x)\n}\n' >splat.origo
for tool in circledump circle-metrics; do ends 1 "ORIGO_TEXT_LIMIT" $tool splat.origo; done
ends 1 "ORIGO_TEXT_LIMIT" circle2circle -O1 splat.origo splat.tflite
sed -i 's/2000000000/20000000/' splat.origo
ends 0 "" circledump splat.origo
ends 1 "ORIGO_TEXT_LIMIT" env ORIGO_TEXT_LIMIT=79999999 circledump splat.origo
{ printf '[onecc]\none-optimize=True\n[one-optimize]\ninput_path=x\noutput_path=y\n'
  printf 'a0=%s\n' "$(head -c 9000 /dev/zero | tr '\0' x)"
  for i in {1..1000}; do printf 'k%d=%s\n' $i '%(a0)s%(a0)s%(a0)s%(a0)s%(a0)s%(a0)s%(a0)s%(a0)s%(a0)s%(a0)s'; done; } >long.cfg
ends 1 "refers to other values too many times" onecc -C long.cfg
{ printf '[DEFAULT]\na=%s\n' "$(head -c 20000 /dev/zero | tr '\0' x)"; for i in {1..2000}; do printf '[s%d]\n' $i; done; } >long.cfg
ends 1 "too many sections" onecc -C long.cfg

# Numbers that lie in another file.
if [[ -x $bin/make_data ]]; then
  graph '%x: f32[1,2,3]' '%y: f32[1,2,3] = NEG(%x)' 'tflite version 3' >net.origo
  ends 1 "is put together of other datasets" record-minmax --input_model net.origo --input_data "$files/virtual-dataset.h5" --output_model out.tflite
fi
