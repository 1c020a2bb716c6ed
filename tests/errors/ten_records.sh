#!/usr/bin/env bash
# visq over ten records, after -O1 and in int8. What runs has figures of ten records, and two shards are the whole, byte for byte.
# usage: ten_records.sh BIN networks|models     ORIGO_TABLE=FILE gets a line a pair.
# Of public models some small ones are taken; ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$(realpath "$1")
source "$(dirname "${BASH_SOURCE[0]}")/../folder.sh"
models=$(folder_of "$2") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export bin scratch

# A line: network, what was made of it, and "fine", "none" with why it is not there or does not run, or "FAILED".
one() {
  local model=$1 how=$2 name=${1##*/} at part status
  at=$(mktemp -d -p "$scratch")
  local result=$at/result.${name##*.}
  say() { echo "$name $how $1"; rm -rf "$at"; }
  why() { tail -n 1 "$at/log" | cut -c1-200; }
  case $how in
  -O1) "$bin/circle2circle" -O1 "$model" "$result" 2>"$at/log" ;;
  int8) "$bin/circle-quantizer" --scheme int8 --input_data random "$model" "$result" 2>"$at/log" ;;
  esac
  status=$?
  ((status == 1)) && { say "none: $(why)"; return; }
  ((status == 0)) || { say "FAILED: exit status $status: $(why)"; return; }
  errors() { timeout 1500 "$bin/visq" -f "$model" -q "$result" "$@" 2>"$at/log"; }
  errors --records 10 --json "$at/whole"
  status=$?
  ((status == 1)) && { say "none: $(why)"; return; }
  ((status == 0)) || { say "FAILED: exit status $status: $(why)"; return; }
  grep -q '"records":10' "$at/whole" || { say "FAILED: no ten records"; return; }
  ! grep -qiE '[:,](nan|inf|-inf)[,}]' "$at/whole" || { say "FAILED: NaN or an infinity"; return; }
  for part in 1 2; do errors --records 10 --shard $part/2 --stats "$at/part$part" || { say "FAILED: --shard $part/2: $(why)"; return; }; done
  errors --merge "$at/part2,$at/part1" --json "$at/merged" && cmp -s "$at/whole" "$at/merged" || { say "FAILED: shards are not the whole $(why)"; return; }
  say "fine"
}
export -f one

list=()
for model in "$models"/*.tflite "$models"/*.circle; do
  name=${model##*/}
  if [[ $2 == models && ${ORIGO_THOROUGH-0} == 0 ]]; then
    case $name in
    cifar10_f32.tflite | dtln_1_f32.tflite | nested_while_f32.tflite | mnist_lstm_f32.tflite | toy_llm_kv_2sig_f32.tflite | lyra_quantizer_2sig_f32.tflite) ;;
    *) continue ;;
    esac
  fi
  list+=("$model" -O1)
  [[ $name != *_f32.tflite ]] || list+=("$model" int8)
done
printf '%s\0' "${list[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c 'one "$@"' _ | LC_ALL=C sort >"$scratch/table"
[[ -z ${ORIGO_TABLE-} ]] || cp "$scratch/table" "$ORIGO_TABLE"
fine=$(grep -c ' fine$' "$scratch/table")
echo "models: $((${#list[@]} / 2)) pairs, $fine with figures of ten records, $(grep -c ' none: ' "$scratch/table") that do not run"
! grep ' FAILED' "$scratch/table" || exit 1
((fine >= 10))
