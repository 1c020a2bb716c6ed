#!/usr/bin/env bash
# Quantises every float network of the shared folder in each scheme, from seeded inputs. What comes out keeps its origins
# (origin-dump --check), is the same a second time, and runs. What cannot be calibrated because it cannot be run is listed.
# usage: every_quantized.sh BIN; exits with 77 (skipped) where there are no model files.
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
models=${ORIGO_SHARED:-$root/../shared}/models
if [[ ! -d $models ]]; then
  echo "models: quantisation skipped, there is no folder $models (ORIGO_SHARED says where it is)"
  exit 77
fi
models=$(cd "$models" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export bin scratch

# Prints "VERDICT SCHEME MODEL: why".
one() {
  local scheme=$1 model=$2 data=() name out asked
  name=$(basename "$model" .tflite)
  out=$scratch/$name.$scheme
  [[ $scheme == int* ]] && data=(--input_data random)
  asked=$scheme
  [[ $scheme == blocks ]] && asked=dynamic && data=(--weight_bits 4 --block_size 32)
  if ! "$bin/circle-quantizer" --verify-each --scheme "$asked" "${data[@]}" "$model" "$out.tflite" 2>"$out.log"; then
    if [[ $scheme == int* ]] && ! "$bin/circle-interpreter" --seed 1 "$model" >"$out.float" 2>&1; then
      echo "UNRUNNABLE $scheme $name: $(head -n 1 "$out.log")"
    else
      echo "FAILED $scheme $name: $(head -n 1 "$out.log")"
    fi
    return
  fi
  if grep -q 'breaks a law' "$out.log"; then
    echo "FAILED $scheme $name: $(grep -m 1 'breaks a law' "$out.log")"
  elif ! "$bin/origin-dump" --check --source "$model" "$out.tflite" >"$out.check" 2>&1; then
    echo "FAILED $scheme $name: origins: $(head -n 3 "$out.check" | tr '\n' ' ')"
  elif "$bin/circle-interpreter" --seed 1 "$model" >"$out.float" 2>&1 &&
    ! "$bin/circle-interpreter" --seed 1 "$out.tflite" >"$out.run" 2>&1; then
    echo "FAILED $scheme $name: does not run: $(head -n 1 "$out.run")"
  elif ! "$bin/circle-quantizer" --scheme "$asked" "${data[@]}" "$model" "$out.again.tflite" 2>"$out.log" ||
    ! cmp -s "$out.tflite" "$out.again.tflite"; then
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
    printf '%s\0%s\0' "$scheme" "$model"
  done
done | pairs "$scratch/verdicts"
for name in dtln_1 sdpa_composite textcls_wordvec toy_llm_kv_2sig; do # that have FULLY_CONNECTED
  printf '%s\0%s\0' blocks "$models/${name}_f32.tflite"
done | pairs "$scratch/blocks"
cat "$scratch/blocks" >>"$scratch/verdicts"
sort "$scratch/verdicts" | grep -v '^OK'
done=$(grep -c '^OK' "$scratch/verdicts")
echo "$done of $(wc -l <"$scratch/verdicts") pairs of network and scheme"
# Of models of few operators, of which many cannot be run from seeded inputs, whatever can.
for model in "$models"/recipes/*.tflite "$models"/mini/*.tflite; do
  printf '%s\0%s\0' int8 "$model"
done | pairs "$scratch/small"
grep '^FAILED' "$scratch/small" | sort
small=$(grep -c '^OK' "$scratch/small")
echo "$small of $(wc -l <"$scratch/small") models of few operators"
# A model that nothing can run cannot be calibrated; there are five of those.
if grep -q '^FAILED' "$scratch/verdicts" "$scratch/small" || ((done < 140 || small < 400)); then
  exit 1
fi
