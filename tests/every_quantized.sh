#!/usr/bin/env bash
# Quantises every float network in each scheme, from seeded inputs. What comes out keeps its origins (origin-dump --check), is
# the same a second time, and runs. What cannot be calibrated because it cannot be run is listed.
# usage: every_quantized.sh BIN networks|models
# Of models of few operators every eighth is taken, of those that the tree makes every twentieth; ORIGO_THOROUGH=1 in the environment takes
# them all.
set -uo pipefail
bin=$(realpath "$1") what=$2
source "$(dirname "${BASH_SOURCE[0]}")/folder.sh"
models=$(folder_of "$what") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export bin scratch

# Prints "VERDICT SCHEME MODEL: why".
one() {
  local scheme=$1 model=$2 data=() name out asked
  local ending=${model##*.}
  name=$(basename "$model" ".$ending")
  out=$scratch/$name.$scheme
  [[ $scheme == int* ]] && data=(--input_data random)
  asked=$scheme
  [[ $scheme == blocks ]] && asked=dynamic && data=(--weight_bits 4 --block_size 32)
  if ! "$bin/circle-quantizer" --verify-each --scheme "$asked" "${data[@]}" "$model" "$out.$ending" 2>"$out.log"; then
    if [[ $scheme == int* ]] && ! "$bin/circle-interpreter" --seed 1 "$model" >"$out.float" 2>&1; then
      echo "UNRUNNABLE $scheme $name: $(head -n 1 "$out.log")"
    # All integers already; random divisors and radicands; an input that no record of the signature has.
    elif grep -qE 'no tensor has a range|division by zero|elements below zero|leaves an input of its subgraph out' "$out.log"; then
      echo "UNSUITED $scheme $name: $(head -n 1 "$out.log")"
    else
      echo "FAILED $scheme $name: $(head -n 1 "$out.log")"
    fi
    return
  fi
  if grep -q 'breaks a law' "$out.log"; then
    echo "FAILED $scheme $name: $(grep -m 1 'breaks a law' "$out.log")"
  elif ! "$bin/origin-dump" --check --source "$model" "$out.$ending" >"$out.check" 2>&1; then
    echo "FAILED $scheme $name: origins: $(head -n 3 "$out.check" | tr '\n' ' ')"
  elif "$bin/circle-interpreter" --seed 1 "$model" >"$out.float" 2>&1 &&
    ! "$bin/circle-interpreter" --seed 1 "$out.$ending" >"$out.run" 2>&1; then
    echo "FAILED $scheme $name: does not run: $(head -n 1 "$out.run")"
  elif ! "$bin/circle-quantizer" --scheme "$asked" "${data[@]}" "$model" "$out.again.$ending" 2>"$out.log" ||
    ! cmp -s "$out.$ending" "$out.again.$ending"; then
    echo "FAILED $scheme $name: not the same a second time"
  else
    echo "OK $scheme $name"
  fi
  rm -f "$out".*
}
export -f one

# usage: runs of pairs of scheme and model on standard input, into a file
pairs() { xargs -0 -n 2 -P "$(nproc)" bash -c 'one "$@"' _ >"$1"; }
for scheme in int8 int16x8 dynamic weights float16; do
  for model in "$models"/*_f32.tflite; do
    [[ $model == */ten_thousand_f32.tflite ]] && continue # --verify-each looks at all of it after each rewrite
    printf '%s\0%s\0' "$scheme" "$model"
  done
done | pairs "$scratch/verdicts"
names=(bert language_model_2sg vision_transformer) done_least=200 small_least=20 every=20 # that have FULLY_CONNECTED
[[ $what == models ]] && names=(dtln_1 sdpa_composite textcls_wordvec toy_llm_kv_2sig) done_least=90 small_least=30 every=12
for name in "${names[@]}"; do
  printf '%s\0%s\0' blocks "$models/${name}_f32.tflite"
done | pairs "$scratch/blocks"
cat "$scratch/blocks" >>"$scratch/verdicts"
sort "$scratch/verdicts" | grep -v '^OK'
done=$(grep -c '^OK' "$scratch/verdicts")
echo "$done of $(wc -l <"$scratch/verdicts") pairs of network and scheme"
# Of models of few operators, of which many cannot be run from seeded inputs, whatever can.
swept "$what" $every | grep -E '/(mini|recipes)/' | while IFS= read -r model; do
  printf '%s\0%s\0' int8 "$model"
done | pairs "$scratch/small"
grep '^FAILED' "$scratch/small" | sort
small=$(grep -c '^OK' "$scratch/small")
echo "$small of $(wc -l <"$scratch/small") models of few operators"
# A model that nothing can run cannot be calibrated; there are five public ones of those.
if grep -q '^FAILED' "$scratch/verdicts" "$scratch/small" || ((done < done_least || small < small_least)); then
  exit 1
fi
