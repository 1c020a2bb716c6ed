#!/usr/bin/env bash
# The example back end: builds it against the installed Origo, lets it generate C for its network, runs that beside the
# interpreter, and brings its counters back to the layers of the source.
# usage: example_backend.sh BUILD C CXX SANITIZE   in BUILD, what `tests/consumer/run.sh … samples` has installed
set -uo pipefail
build=$(cd "$1" && pwd) c=$2 cxx=$3 sanitize=$4
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
example=$root/docs/example-backend
bin=$build/bin prefix=$build/consumer/moved
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*"; exit 1; }

flags= cache=
command -v ccache >/dev/null && cache=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
[[ $sanitize == ON ]] && flags=-fsanitize=address,undefined
cmake -S "$example" -B program -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" $cache >log 2>&1 || fail "$(<log)"
cmake --build program >log 2>&1 || fail "$(<log)"

# generate MODEL.origo NAME: NAME.circle, NAME.c, NAME.json and the program NAME, which sees its own wrong indices.
generate() {
  "$bin/circle2circle" -O1 "$1" "$2.circle" >/dev/null || fail "circle2circle $1"
  program/example_backend "$2.circle" "$2.c" "$2.json" 2>said || fail "example_backend $2.circle: $(<said)"
  "$c" -std=c99 -Wall -Wextra -Werror -g -fsanitize=address,undefined -fno-sanitize-recover=all -I "$example" \
    "$2.c" -o "$2" >said 2>&1 || fail "$2.c: $(<said)"
}
# Numbers between 0.5 and 2 of either sign.
sign=(bf 3f 3f)
for ((i = 0; i < 64; ++i)); do printf "\\0\\0\\x$(printf %02x $((i * 37 % 256)))\\x${sign[i % 3]}"; done >in0
numbers() { od -An -v -w4 -tf4 "$1"; }
# runs NAME: the generated program computes what the interpreter does, and writes NAME.csv.
runs() {
  "./$1" in out >"$1.csv" 2>said || fail "$1: $(<said)"
  "$bin/circle-interpreter" "$1.circle" in expected >/dev/null || fail "circle-interpreter $1.circle"
  [[ $(stat -c %s out0 expected0 in0 | xargs) == "40 40 256" ]] || fail "$1: the files have other sizes"
  paste <(numbers out0) <(numbers expected0) |
    awk '{ d = $1 - $2; if (d * d > 1e-10 * (1 + $2 * $2)) wrong = 1; some += $2 != 0 }
         END { exit wrong || some < 4 || NR != 10 }' || fail "$1 computes $(numbers out0 | xargs), not $(numbers expected0 | xargs)"
}
join() { "$bin/origin-dump" --join "$1.csv" --kernels="$1.json" --clock=100 "${@:2}" "$1.circle" 2>said || fail "$(<said)"; }

generate "$example/digits.origo" digits
# As the page makes inputs.
mkdir page && "$bin/circle-interpreter" --seed=1 --save-inputs=page/in digits.circle >/dev/null && ./digits page/in page/out >page/trace.csv ||
  fail "the page's commands for inputs"
runs digits
join digits --json >joined.json
for key in synthetic_ns unattributed_ns; do
  grep -qE "\"$key\": ?0\b" joined.json || fail "$key is not 0: $(grep -o "\"$key\":[^,]*" joined.json)"
done
# All that the counters saw, at 10 ns a cycle, and all layers but the one that is gone.
cycles=$(awk -F, 'NR > 1 { sum += $3 } END { print sum }' digits.csv)
((cycles > 1000)) || fail "the counters saw nothing: $(<digits.csv)"
grep -qE "\"total_ns\": ?${cycles}0\b" joined.json || fail "the total is not ${cycles}0: $(grep -o '"total_ns":[^,]*' joined.json)"
names=$(join digits --by=operator --csv | cut -d, -f2 | xargs)
[[ $names == "name stem stem/bn/mul stem/bn/add stem/relu block/conv block/add block/relu flat classes scores" ]] ||
  fail "the layers are $names"
[[ $(grep -cx '/\* scope block/ \*/' digits.c) == 2 ]] || fail "digits.c does not tell the scopes"
grep -qx '/\* gone 7 RESHAPE same: identity by remove-identity \*/' digits.c || fail "digits.c does not tell what is gone"

# The same bytes again, and nothing else in the page.
cp digits.c first.c
cp digits.json first.json
generate "$example/digits.origo" digits
cmp first.c digits.c && cmp first.json digits.json || fail "another run gives other files"
page=$(<"$example/README.md")
shows() { [[ -n $1 && $page == *"$1"* ]] || fail "docs/example-backend/README.md does not show $1"; }
shows "$(sed 's/^/    /' digits.json)"
shows "$(sed 's/^/    /' digits.csv)"
shows "$(join digits | sed 's/^/    /;s/ *$//')"
shows "$(sed -n '/^\/\* origin 0 /,/^}/s/^/    /p' digits.c)"
shows "$(grep -A1 '^/\* near 1 ' digits.c | cut -c1-80 | sed 's/^/    /')"
shows "$(grep '^/\* gone' digits.c | sed 's/^/    /')"

# What the network of the page has none of.
cat >other.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1,8,8,1]) -> (%y) {
  %filter: f32[1,3,2,1] = const seed 1 normal 0 0.5
  %a: f32[1,3,7,1] = CONV_2D(%x, %filter) {padding=VALID, stride_h=2, stride_w=1}
  %squares: f32[1,3,7,1] = MUL(%a, %a) {fused_activation_function=RELU6}
  %shape: i32[2] = const [1, 21]
  %flat: f32[1,21] = RESHAPE(%squares, %shape)
  %weights: f32[10,21] = const seed 2 normal 0 2
  %bias: f32[10] = const seed 3 uniform 1 5
  %y: f32[1,10] = FULLY_CONNECTED(%flat, %weights, %bias) {fused_activation_function=RELU6}
}
END
generate other.origo other
cat >mobile.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1,8,8,1]) -> (%y) {
  %around: i32[4,2] = const [0, 0, 1, 2, 0, 1, 1, 0]
  %padded: f32[1,11,9,2] = PAD(%x, %around)
  %filter: f32[1,3,2,4] = const seed 1 normal 0 0.5
  %b: f32[4] = const seed 4 uniform -1 1
  %a: f32[1,5,8,4] = DEPTHWISE_CONV_2D(%padded, %filter, %b) {padding=VALID, stride_h=2, stride_w=1, depth_multiplier=2, fused_activation_function=RELU}
  %filter2: f32[1,2,2,4] = const seed 5 normal 0 0.5
  %c: f32[1,5,8,4] = DEPTHWISE_CONV_2D(%a, %filter2) {padding=SAME, stride_h=1, stride_w=1, depth_multiplier=1}
  %shape: i32[2] = const [1, 160]
  %flat: f32[1,160] = RESHAPE(%c, %shape)
  %weights: f32[10,160] = const seed 2 normal 0 0.3
  %bias: f32[10] = const seed 3 uniform 1 5
  %y: f32[1,10] = FULLY_CONNECTED(%flat, %weights, %bias)
}
END
generate mobile.origo mobile
grep -q 'pad(' mobile.c && grep -q 'depthwise_conv_2d(' mobile.c || fail "mobile.c has no PAD or DEPTHWISE_CONV_2D"
runs mobile
grep -q 'mul(.*RELU6' other.c || fail "other.c has no MUL"
runs other

# Names can be anything; what is generated stays comments.
text=$(<"$example/digits.origo")
for name in image stem/filter stem/bn/mul block/conv scores; do
  text=$(sed -E "s,%$name([^/a-z]),%\"*/ #error $name\\\\n#error */ ?\\?/\\\\\\\\\"\\1,g" <<<"$text")
done
printf '%s\n' "$text" >hostile.origo
[[ $(grep -c '#error' hostile.origo) -gt 5 ]] || fail "the names are harmless"
generate hostile.origo hostile
grep -q '#error' hostile.c hostile.json && fail "a name came through"
runs hostile

# refused FILE WORDS: exit status 1 and one line that names the file and has these words, and no output.
refused() {
  rm -f no.c no.json
  program/example_backend "$1" no.c no.json >out.txt 2>said
  [[ $? == 1 && ! -s out.txt && ! -e no.c && ! -e no.json && $(wc -l <said) == 1 && $(<said) == "$1: "*"$2"* ]] ||
    fail "example_backend should refuse $1 with \"$2\": $(<said)"
}
sed 's/ = RELU(%block/ = TANH(%block/' "$example/digits.origo" >tanh.origo
for model in "$PWD/tanh.origo" "$root/res/while.origo"; do
  "$bin/circle2circle" -O1 "$model" "$(basename "$model" .origo).circle" >/dev/null || fail "circle2circle $model"
done
refused tanh.circle 'operator 3 TANH (from 6 TANH block/relu): there is no kernel for it'
shows "    tanh.circle: $(cut -d: -f2- said | sed 's/^ //')"
refused while.circle 'must have one subgraph'
refused digits.circle.origin.json 'is not a circle model'
refused missing.circle 'No such file'
"$bin/origin-dump" --join digits.csv --kernels=digits.json tanh.circle >said 2>&1 && fail "a table of another model is joined"
[[ $(<said) == *stale* ]] || fail "not a line about a stale table: $(<said)"
echo "example_backend: fine"
