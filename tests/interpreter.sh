#!/usr/bin/env bash
# circle-interpreter and circle2circle --verify-numerics as command lines.
# usage: interpreter.sh BIN
set -euo pipefail
bin=$(cd "$1" && pwd)
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

cat >net.origo <<'END'
origo 1
model circle version 0
subgraph @main(%"in/x": f32[2,3]) -> (%"out/y") {
  %zero: f32[1] = const [0]
  %a: f32[2,3] = ADD(%"in/x", %zero)
  %b: f32[2,3] = RELU(%a)
  %c: f32[2,3] = SUB(%b, %a)
  %d: f32[2,3] = SUB(%c, %b)
  %"out/y": f32[2,3] = MUL(%d, %"one")
  %"one": f32[1] = const [1]
}
END
run="$bin/circle-interpreter"

# y = −x, so running twice gives the input back; .npy and bare elements are the same numbers.
"$run" --seed=7 --outputs=first net.origo
mkdir in
cp first/out_y.npy in/in_x.npy
"$run" --inputs=in --outputs=second net.origo
mv second/out_y.npy in/0.npy
rm in/in_x.npy
"$run" --inputs=in --outputs=third net.origo
cmp first/out_y.npy third/out_y.npy || fail "running twice is not the identity"
"$run" --seed=7 net.origo raw
tail -c 24 first/out_y.npy | cmp - raw0 || fail "the two forms of outputs differ"
"$run" net.origo raw back
tail -c 24 in/0.npy | cmp - back0 || fail "the two forms of inputs differ"
[[ $("$run" --seed=7 net.origo) == 'output 0 "out/y" f32[2,3] from -'*': '* ]] || fail "no summary"

"$run" --seed=7 --tap=tap --outputs=first net.origo
cmp first/out_y.npy "$(ls tap/*.npy | tail -n 1)" || fail "the last tensor is not the output"
[[ $(ls tap | wc -l) == 5 ]] || fail "not all tensors are tapped"
"$run" --seed=7 --profile net.origo >profile
[[ $(grep -c '0:[0-4] ' profile) == 5 ]] || fail "not a line an operator: $(<profile)"
grep -q '0:2 SUB  *c  <-  2 SUB c$' profile || fail "no origins: $(<profile)"
grep -qE '^ +[0-9.]+ +[0-9]+% +a run: the median of [0-9]+ runs; ' profile || fail "no median: $(<profile)"
"$run" --seed=7 --profile --runs=40 net.origo >profile
grep -q 'the median of 40 runs' profile || fail "not 40 runs: $(<profile)"
grep -qE '^ +[0-9.]+ +[0-9…]+%? +[0-9.]+ +1  0:2 SUB' profile || fail "not one call a run: $(<profile)"
"$run" --seed=7 --json --profile --runs=40 net.origo >profile
grep -q '"runs": *40' profile && grep -q '"msFrom"' profile || fail "no JSON of medians: $(<profile)"
"$run" --seed=7 --profile=trace.json net.origo shown
grep -qF '"args":{"subgraph":0,"operator":2,"output":"c","kernel":"reference","origins":[2],"sources":["SUB c"]}' trace.json ||
  fail "no origins in the trace: $(<trace.json)"


# Two models in turn. Their layers have the same names; one convolves with larger windows.
for size in 3 9; do
  cat >window$size.origo <<END
origo 1
model circle version 0
subgraph @main(%x: f32[1,12,12,8]) -> (%z) {
  %filter: f32[8,$size,$size,8] = const seed 1 normal 0 0.1
  %y: f32[1,12,12,8] = CONV_2D(%x, %filter) {padding=SAME, stride_h=1, stride_w=1}
  %z: f32[1,12,12,8] = TANH(%y)
}
END
done
status=0
"$run" --seed=1 --profile --against=window3.origo --fail-if-slower=20% --runs=80 window9.origo >turns || status=$?
((status == 2)) || fail "what is slower does not fail: $(<turns)"
grep -qE '^window9.origo beside window3.origo: takes [0-9.]+ % longer \(' turns && grep -qE ' slower +0 y$' turns || fail "not slower by y: $(<turns)"
"$run" --seed=1 --profile --against=window3.origo --fail-if-slower=100000% --runs=80 window9.origo >turns || fail "not that much slower: $(<turns)"
"$run" --seed=1 --profile --against=window9.origo --fail-if-slower=20% --runs=80 window3.origo >turns || fail "what is faster fails: $(<turns)"
grep -q ' % less (' turns || fail "not faster: $(<turns)"
"$run" --seed=1 --profile --against=window3.origo --fail-if-slower=20% --runs=80 window3.origo >turns || fail "the same model fails: $(<turns)"
"$run" --seed=1 --profile --json --against=window3.origo --runs=4 window9.origo >turns
grep -q '"verdict": "' turns && grep -q '"changeFrom": ' turns || fail "no JSON of turns: $(<turns)"
refused 'is no percentage' "$run" --seed=1 --profile --against=window3.origo --fail-if-slower=much window3.origo
refused 'needs --against' "$run" --seed=1 --profile --fail-if-slower=5% window3.origo
refused '--against goes with --profile' "$run" --seed=1 --against=window3.origo window3.origo

# What is possible, said and measured: 12 · 12 · 8 · 9 · 8 multiply-accumulates.
"$run" --seed=1 --profile --runs=6 --peak=0.001,1000 window3.origo >peak
grep -qE ' compute [0-9]+% +0:0 CONV_2D' peak && grep -qE ' overhead 0% +0:1 TANH' peak || fail "no share of the peak: $(<peak)"
"$run" --seed=1 --profile --runs=6 --peak=1000,0.001 window3.origo >peak
grep -qE ' memory [0-9]+% +0:1 TANH' peak || fail "no share of memory: $(<peak)"
"$run" --seed=1 --profile --runs=6 --engine=fast window3.origo >peak
grep -qE '^What is possible: [0-9.]+ GMAC/s and [0-9.]+ GB/s from memory, [0-9.]+ from caches, measured here' peak || fail "no peak: $(<peak)"
refused 'needs two numbers above 0' "$run" --seed=1 --profile --peak=1 window3.origo

refused 'there is no nowhere/in_x.npy and no nowhere/0.npy' "$run" --inputs=nowhere --outputs=out net.origo
mkdir bad
head -c 100 first/out_y.npy >bad/0.npy
refused 'bad/0.npy: ends in its .npy header' "$run" --inputs=bad --outputs=out net.origo
sed 's/(2,3,)/(3,2,)/' first/out_y.npy >bad/0.npy
refused 'bad/0.npy: is of shape [3,2], the input of [2,3]' "$run" --inputs=bad --outputs=out net.origo
sed 's/<f4/<i4/' first/out_y.npy >bad/0.npy
refused 'bad/0.npy: is INT32, the input is FLOAT32' "$run" --inputs=bad --outputs=out net.origo
refused 'two sources of inputs' "$run" --inputs=in --seed=1 net.origo
refused 'needs MODEL' "$run" net.origo
refused 'needs MODEL' "$run" --seed=1 --outputs=out net.origo too

[[ $("$run" --seed=7 --engine=fast --threads=2000 --runs=3 net.origo) == *$'\n3 runs: median '*', all from '* ]] || fail "--runs tells no times"
refused 'there is no signature "decode"' "$run" --seed=7 --signature=decode net.origo
{ cat net.origo; echo 'signature "decode" @main inputs("a"=%"in/x") outputs("b"=%"out/y")'; } >signed.origo
[[ $("$run" --seed=7 --signature=decode signed.origo) == 'output 0 "b" f32[2,3]'* ]] || fail "the signature has no output b"

"$bin/circle2circle" -O1 --verify-numerics net.origo net.circle
"$bin/circle2circle" -O1 --verify-algebra net.origo net.circle 2>log || fail "--verify-algebra"
grep -q 'proved: [1-9][0-9]* tensors equal' log || fail "--verify-algebra tells nothing: $(<log)"
cat >thirds.origo <<'NET'
origo 1
model circle version 0
subgraph @main(%x: f32[2,3]) -> (%y) {
  %axis: i32[1] = const [1]
  %third: f32[] = const [0.33333334]
  %s: f32[2] = SUM(%x, %axis)
  %y: f32[2] = MUL(%s, %third)
}
NET
"$bin/circle2circle" --passes=recognise-mean --verify-algebra thirds.origo thirds.circle 2>log || fail "what is taken for a third: $(<log)"
grep -q 'assuming that 0.333333343 is 1 / 3 (recognise-mean)' log || fail "nothing is said of a third: $(<log)"
# The map says so in its file and beside it; the next run says what this one has proved, and proves nothing itself.
certificate='equal: [1-9][0-9]* tensors? equal; modulo 2305843009213693951 and [0-9]{19}, seed 1; assuming that 0.333333343 is 1 / 3 \(recognise-mean\)'
grep -qE "\"proof\": \"$certificate\"" thirds.circle.origin.json || fail "the side file has no certificate"
"$bin/origin-dump" --summary thirds.circle | grep -qE "^  rewrites proved  $certificate\$" || fail "the map has no certificate"
"$bin/circle2circle" -O1 thirds.circle again.circle 2>/dev/null || fail "again.circle"
[[ $("$bin/origin-dump" --summary again.circle | grep -A1 ^through | tail -1) =~ $certificate ]] || fail "the chain has no certificate"
[[ $(grep -c '"proof"' again.circle.origin.json) == 1 ]] || fail "what was not proved has a certificate"
"$bin/circle2circle" -O1 --no-origin-json --origin-map=thirds.circle.origin.json thirds.circle other.circle 2>/dev/null || fail "other.circle"
"$bin/origin-dump" --summary other.circle | grep -qE "^  rewrites proved  $certificate\$" || fail "a side file's certificate is lost"
cat >roots.origo <<'NET'
origo 1
model circle version 0
subgraph @main(%x: f32[2,2]) -> (%y) {
  %w: f32[2,2] = const [1, 2, 3, -4]
  %b: f32[2] = const [1, 2]
  %v: f32[2,2] = const [0.70710677, 1.4142135, 2.1213202, -2.8284271]
  %c: f32[2] = const [0.70710677, 1.4142135]
  %one: f32[] = const [1]
  %p: f32[2,2] = FULLY_CONNECTED(%x, %w, %b)
  %q: f32[2,2] = FULLY_CONNECTED(%x, %v, %c)
  %e: f32[2,2] = CUSTOM "Erf"(%q)
  %s: f32[2,2] = ADD(%e, %one)
  %y: f32[2,2] = MUL(%p, %s)
}
NET
status=0
"$bin/circle2circle" --passes=recognise-gelu --verify-algebra roots.origo roots.circle 2>log || status=$?
[[ $status -eq 2 ]] || fail "rounded weights are no multiples of a root, and the status is $status"
grep -q 'is not equal in exact arithmetic after rewrite 1 (recognise-gelu / two-products' log || fail "$(<log)"
[[ ! -e roots.circle ]] || fail "what is not equal is written"
"$bin/circle2circle" --passes=recognise-mean --verify-numerics thirds.origo thirds.circle || fail "within a tolerance it is"
[[ -s net.circle ]] || fail "nothing is written"
"$run" --seed=7 --outputs=optimised net.circle
cmp first/out_y.npy optimised/out_y.npy || fail "optimising changed the output"
"$bin/circle2circle" -O1 --verify-numerics --verify-data random net.origo net.circle 2>/dev/null && fail "there is no file random"
refused '--verify-data goes with --verify-numerics' "$bin/circle2circle" -O1 --verify-data first net.origo net.circle
"$bin/circle2circle" -O1 --verify-numerics --verify-data first/out_y.npy net.origo net.circle || fail "--verify-data"
sed 's/ = RELU/ = CUSTOM "unheard"/' net.origo >custom.origo
refused 'CUSTOM' "$bin/circle2circle" -O1 --verify-numerics custom.origo custom.circle
[[ ! -e custom.circle ]] || fail "written although it could not be verified"
echo "interpreter: fine"
