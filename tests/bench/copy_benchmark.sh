#!/usr/bin/env bash
# Compares `circle2circle -O1`, and quantising weights, on a model of 1 GB with `cp` of the same file, and samples the tools' peak
# of anonymous memory, rewriting a model of 3 GB too.
# usage: copy_benchmark.sh BIN_DIR [WORK_DIR]      BIN_DIR holds the tools and make-model; needs 10 GB in WORK_DIR
set -euo pipefail

bin=$(cd "${1:?usage: copy_benchmark.sh BIN_DIR [WORK_DIR]}" && pwd)
work=$(mktemp -d "${2:-${TMPDIR:-/tmp}}/origo-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
pairs=7
tool=(circle2circle -O1)
gigabyte=1000000000

seconds() { # COMMAND...: its wall time
  local begin=$EPOCHREALTIME
  "$@" >/dev/null
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# A fresh name each time: truncating an old file would be part of the measurement. The old outputs go between two runs.
compare() { # MODEL
  local model=$1 copies=() runs=()
  cat "$model" >/dev/null
  for ((i = 0; i <= pairs; ++i)); do
    copy=$(seconds cp "$model" "$work/copy$i")
    run=$(seconds "$bin/${tool[0]}" "${tool[@]:1}" "$model" "$work/run$i.circle")
    rm -f "$work"/copy* "$work"/run*
    ((i == 0)) && continue # warms up
    copies+=("$copy") runs+=("$run")
  done
  local c r
  c=$(printf '%s\n' "${copies[@]}" | median)
  r=$(printf '%s\n' "${runs[@]}" | median)
  echo "cp: ${copies[*]}; median $c s"
  echo "${tool[*]}: ${runs[*]}; median $r s"
  awk -v c="$c" -v r="$r" 'BEGIN { printf "ratio %.2f\n", r / c }'
}

# The kernel keeps no peak of anonymous memory alone, so it is sampled.
peak() { # MODEL
  "$bin/${tool[0]}" "${tool[@]:1}" "$1" "$work/peak.circle" &
  local pid=$! peak=0 samples=0 now
  while [[ -r /proc/$pid/status ]]; do
    now=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || break
    [[ -z $now ]] && break
    samples=$((samples + 1))
    ((now > peak)) && peak=$now
    sleep 0.002
  done
  wait "$pid"
  rm -f "$work"/peak.circle*
  echo "peak RssAnon: $((peak / 1024)) MiB ($samples samples)"
  ((samples > 3)) || { echo "too few samples" >&2; exit 1; }
}

for mul in "" "-mul"; do
  # shellcheck disable=SC2086
  "$bin/make-model" -weights=$gigabyte $mul "$work/model.circle"
  echo "== 1 GB of FullyConnected${mul:+ with Mul} ($(stat -c %s "$work/model.circle") bytes)"
  compare "$work/model.circle"
  peak "$work/model.circle"
  [[ -n $mul ]] && continue
  tool=(circle-quantizer --scheme weights)
  compare "$work/model.circle"
  peak "$work/model.circle"
  tool=(circle-quantizer --scheme dynamic --weight_bits 4 --block_size 32)
  compare "$work/model.circle"
  peak "$work/model.circle"
  tool=(circle2circle -O1)
done
"$bin/make-model" -weights=$((3 * gigabyte)) "$work/model.circle"
echo "== 3 GB of FullyConnected ($(stat -c %s "$work/model.circle") bytes)"
peak "$work/model.circle"
