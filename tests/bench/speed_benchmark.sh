#!/usr/bin/env bash
# How fast networks run here, and in TFLite: each engine alone in a process of its own, in turn, ROUNDS times; of each the median
# of its rounds' medians, on one thread. To be run on a machine that does nothing else, with Origo built for release.
# usage: speed_benchmark.sh BIN_DIR MODELS_DIR NATIVE ORACLE_DIR
#   NATIVE       native_tflite of ../shared/tools/native, built as its README.md says (TFLite 2.9 with XNNPACK; the better of its modes)
#   ORACLE_DIR   tflite-oracle.mjs of ../shared/tools/oracle with its packages (LiteRT as WebAssembly with XNNPACK, without the
#                JavaScript engine's baseline compiler: node --no-liftoff)
# Either may be "-": its column stays empty. ROUNDS=5, SECONDS_EACH=1 (a round of an engine), ONLY=yunet (a part of the names).
# Prints a table and geometric means; what could not be measured is said on stderr.
set -uo pipefail
usage="usage: speed_benchmark.sh BIN_DIR MODELS_DIR NATIVE ORACLE_DIR"
bin=${1:?$usage} models=${2:?$usage} native=${3:?$usage} oracle=${4:?$usage}
rounds=${ROUNDS:-5} seconds=${SECONDS_EACH:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each prints the median time of a call in ms, or nothing. RUNS: about as many as fit into a round.
origo() { # MODEL RUNS
  timeout 300 "$bin/circle-interpreter" --engine=fast --threads=1 --seed=1 "--runs=$2" "$1" 2>/dev/null |
    sed -nE 's/^[0-9]+ runs: median ([0-9.]+) ms.*/\1/p'
}
tflite() { # MODEL MODE
  timeout 300 "$native" "$1" 1 "$seconds" "$2" 2>/dev/null | awk 'NF == 3 && $3 > 0 { print $2 }' | tail -1
}
litert() { # MODEL RUNS
  timeout 300 node --no-liftoff "$oracle/tflite-oracle.mjs" "$1" --seed 1 --kernels xnnpack --repeat "$2" 2>/dev/null |
    sed -n 's/.*"median_ms":\([0-9.]*\).*/\1/p'
}
median() { sort -n "$1" 2>/dev/null | awk '{ list[NR] = $1 } END { if (NR) print list[int((NR + 1) / 2)] }'; }

for model in "$models"/*"${ONLY-}"*.tflite; do
  name=$(basename "$model" .tflite)
  once=$(origo "$model" 3)
  if [[ -z $once ]]; then
    echo "$name: left out: does not run here" >&2
    continue
  fi
  # So small a network measures the call, and so large a one nothing else.
  runs=$(awk -v ms="$once" -v s="$seconds" 'BEGIN { n = int(s * 1000 / (ms + 0.001)); print (n < 3 ? 3 : n > 5000 ? 5000 : n) }')
  rm -f "$work"/*
  for ((round = 0; round < rounds; ++round)); do
    origo "$model" "$runs" >>"$work/origo"
    if [[ $native != - ]]; then
      for mode in 0 1; do tflite "$model" $mode >>"$work/tflite$mode"; done
    fi
    [[ $oracle == - ]] || litert "$model" "$runs" >>"$work/litert"
  done
  best=$(for mode in 0 1; do median "$work/tflite$mode"; done | sort -n | head -1)
  printf '%s\t%s\t%s\t%s\n' "$name" "$(median "$work/origo")" "${best:--}" "$(median "$work/litert" | grep . || echo -)"
done | awk -F'\t' '
  BEGIN {
    print "| network | ms | TFLite, native: ms | LiteRT, WebAssembly: ms | TFLite / here | LiteRT / here |"
    print "|---|---|---|---|---|---|"
  }
  function ratio(a, b) { return a > 0 && b > 0 ? sprintf("%.2f", a / b) : "-" }
  function ms(a) { return a > 0 ? sprintf("%.2f", a) : "-" }
  {
    printf "| `%s` | %s | %s | %s | %s | %s |\n", $1, ms($2), ms($3), ms($4), ratio($3, $2), ratio($4, $2)
    if ($3 > 0 && $2 > 0) { native += log($3 / $2); ++natives }
    if ($4 > 0 && $2 > 0) { wasm += log($4 / $2); ++wasms }
  }
  END {
    print ""
    if (natives) printf "TFLite / here, geometric mean of %d: %.2f\n", natives, exp(native / natives)
    if (wasms) printf "LiteRT / here, geometric mean of %d: %.2f\n", wasms, exp(wasm / wasms)
  }'
