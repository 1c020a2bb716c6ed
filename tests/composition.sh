#!/usr/bin/env bash
# Two runs through a file give what one run gives: the same model, and a map with the same core (what is left of it without
# the names of files and the numbers of runs and rewrites). And a map that does not belong to the model is never continued.
# usage: composition.sh BIN networks|models
# Takes every fifth public model, every sixteenth of those that the tree makes; ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tests/folder.sh"
models=$(folder_of "$2") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

core() {
  sed -E -e '/^  "chain": \[\],$/d' -e '/^  "chain": \[$/,/^  \],$/d' -e 's/"(generator|file)": "([^"\\]|\\.)*",? ?//g' \
    -e 's/"(run|rewrite)": [0-9]+,? ?//g' "$1"
}
failed=0 compared=0
fail() {
  echo "FAILED $*"
  ((++failed))
}
# same WHAT A B
same() {
  ((++compared))
  if ! cmp -s <("$bin/origin-dump" --strip "$2") <("$bin/origin-dump" --strip "$3"); then
    fail "$1: the models differ"
  elif ! cmp -s <(core "$2.origin.json") <(core "$3.origin.json"); then
    fail "$1: the cores differ"
  fi
}
# apply STEP INPUT OUTPUT
apply() {
  local step=$1
  if [[ $step == tflite2circle ]]; then "$bin/tflite2circle" "$2" "$3"; else "$bin/circle2circle" $step "$2" "$3"; fi 2>stderr
}

linear=--passes=fuse-scale-into-linear,fuse-shift-into-linear,fuse-activation
move=--passes=remove-identity,substitute-to-reshape,merge-reshapes,merge-transposes
fold=--passes=fold-constants
duplicates=--passes=common-subexpressions,merge-duplicate-constants
swish=--passes=decompose-hard-swish
firsts=(tflite2circle -O0 -O1 "$linear" "$move" "$fold" "$duplicates" "$swish")
# One run has an order of its own, so it is asked only where order cannot matter: a product with 1 is a scale to one list
# and nothing to another, and which of two equal constants stays depends on what went before. The unit models, of one
# pattern each, have no such choices between the lists that -O1 is made of.
comparable() {
  [[ $1 == "$2" || $1 == -O0 || $2 == -O0 || $1 == tflite2circle ]] ||
    [[ $3 == */recipes/* && "$1$2" != *"$duplicates"* && "$1$2" != *"$swish"* ]]
}
# What two steps are in one run.
both() {
  case $1/$2 in
  tflite2circle/*) echo "$2" ;;
  *) echo "$1 $2" | sed 's/-O0//' ;;
  esac
}

# Every ordered pair of tools, and through the other format.
pairs() {
  local file=$1 name first second format
  name=$(basename "$file")
  for first in "${firsts[@]}"; do
    # Back into its own format where there is another in between.
    [[ $first == tflite2circle ]] && format=tflite || format=circle
    [[ $first == tflite2circle && $file != *.tflite ]] && continue
    rm -f ./*.circle* ./*.tflite*
    apply "$first" "$file" between.circle || { fail "$name: $first: $(cat stderr)"; continue; }
    for second in "${firsts[@]:1}"; do
      comparable "$first" "$second" "$file" || continue
      if apply "$second" between.circle "two.$format" && apply "$(both "$first" "$second")" "$file" "one.$format"; then
        same "$name: $first, then $second" "two.$format" "one.$format"
      else
        fail "$name: $first, then $second: $(cat stderr)"
      fi
    done
  done
}
files=("$models"/*.circle)
if [[ $2 == models ]]; then
  files+=("$models"/recipes/Net_*.tflite "$models"/{blazeface_front_f32,lyra_quantizer_2sig_f32}.tflite)
  files+=("$models"/{sdpa_composite_f32,toy_llm_kv_2sig_f32,yunet_i8,mnist_lstm_i8}.tflite)
else
  # The first case of each file of tests/golden, and networks.
  files+=("$models"/recipes/*_1.* "$models"/*.tflite)
fi
[[ $2 == models ]] && step=5 || step=16
[[ -n ${ORIGO_THOROUGH-} ]] && step=1
taken=0
for ((i = 0; i < ${#files[@]}; i += step)); do
  (($(stat -c %s "${files[i]}") < 4000000)) || continue
  pairs "${files[i]}"
  ((++taken))
done

# The map of another model, and what may be done about it.
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

echo "models: $taken of ${#files[@]} files through two runs: $compared pairs compared with one run, $failed failed"
((compared > 15 * taken && taken > 10 && failed == 0))
