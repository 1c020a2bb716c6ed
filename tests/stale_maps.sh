#!/usr/bin/env bash
# A map that does not belong to the model is never continued.
# usage: stale_maps.sh BIN
set -uo pipefail
bin=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
fail() {
  echo "FAILED $*"
  ((++failed))
}
# apply LEVEL INPUT OUTPUT
apply() { "$bin/circle2circle" $1 "$2" "$3" 2>stderr; }

cat >three.origo <<'NET'
origo 1
model tflite version 3
subgraph @main(%ifm: f32[1,64,64,32]) -> (%ofm) {
  %filter: f32[64,3,3,32] = const seed 1 normal 0 0.1
  %bias: f32[64] = const seed 2 normal 0 1
  %shift: f32[64] = const seed 3 normal 0 1
  %scale: f32[64] = const seed 4 normal 1 0.1
  %ofm_conv: f32[1,64,64,64] = CONV_2D(%ifm, %filter, %bias) {stride_w=1, stride_h=1}
  %add: f32[1,64,64,64] = ADD(%ofm_conv, %shift)
  %ofm: f32[1,64,64,64] = MUL(%add, %scale)
}
NET
model=three.tflite
"$bin/circle2circle" -O0 --origin=ignore --embed-origin=none three.origo $model 2>stderr || fail "$(cat stderr)"
expect() {
  local what=$1 status=$2 words=$3
  shift 3
  "$bin/circle2circle" "$@" 2>stderr
  (($? == status)) && { [[ -z $words ]] || grep -qF -- "$words" stderr; } || fail "$what: $(cat stderr)"
}
apply -O1 "$model" mapped.circle
"$bin/circle2circle" --origin=ignore "$model" plain.circle
given=--origin-map=mapped.circle.origin.json
expect "a stale map" 1 "stale origin map" "$given" plain.circle out.circle
expect "a stale map" 1 "use --origin=restart or --origin=ignore" "$given" plain.circle out.circle
[[ -e out.circle ]] && fail "a stale map: there is output"
expect "restart" 0 "" --origin=restart "$given" plain.circle out.circle
grep -q '"file": "plain.circle"' out.circle.origin.json || fail "restart: the source is another file"
rm -f out.circle*
expect "ignore" 0 "" --origin=ignore "$given" plain.circle out.circle
[[ ! -e out.circle.origin.json ]] || fail "ignore: there is a side file"

# Weights that were trained again. The map's payload is the last in a file, and the weights are what comes before it.
"$bin/origin-dump" --strip=stripped.circle mapped.circle
cp mapped.circle trained.circle
at=$(($(stat -c %s stripped.circle) - 8))
printf '\x11\x22' | dd of=trained.circle bs=1 seek="$at" conv=notrunc status=none
expect "re-trained weights" 0 "the weights have changed" trained.circle out.circle
(($(grep -vc ' operators*, .* rewrites*; ' stderr) == 1)) || fail "re-trained weights: not one line: $(cat stderr)"
grep -q '"retrained": true' out.circle.origin.json || fail "re-trained weights: the map does not say so"
sed -n '/"constants": /,/"values": /p' out.circle.origin.json | grep -q '"relations": \[{' && fail "re-trained weights: constants have relations"
"$bin/origin-dump" --check out.circle >/dev/null 2>&1 || fail "re-trained weights: origin-dump --check"

# ONE's tables alone: our map becomes metadata that nobody knows.
apply -O1 "$model" mapped.circle
grep -qa 'ONE_' mapped.circle && fail "ONE's tables are there unasked"
for first in "-O0 --embed-origin=full" "-O1 --generate_profile_data"; do
  apply "$first" "$model" mapped.circle
  sed 's/origo\.origin_map/other.origin_map/' mapped.circle >tables.circle
  expect "ONE's tables" 0 "origins continue from ONE_op_table" -O1 --embed-origin=full tables.circle out.circle
  grep -q '"0": \[0, 1, 2\]' out.circle.origin.json || fail "ONE's tables: the origins are not those of the first model"
  said=$("$bin/origin-dump" --check out.circle 2>/dev/null) || fail "ONE's tables: $said"
  apply -O0 out.circle again.circle && "$bin/origin-dump" --check again.circle >/dev/null 2>&1 ||
    fail "ONE's tables: the map is not continued"
  grep -qaP '\x09\0\0\0ofm_conv\0' out.circle || fail "ONE's tables: the names are other ones"
done

((failed == 0))
