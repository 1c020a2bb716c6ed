#!/usr/bin/env bash
# What visq takes beside running both models alone: every float network of the shared folder and the same in int8, one thread, in turn.
# usage: errors_benchmark.sh BIN_DIR MODELS_DIR; BIN_DIR has errors_benchmark, circle-quantizer, circle-interpreter, visq and measure.
# Of a ratio counts the median of its rounds. Memory: the peak of visq, over the sum of the peaks of the interpreter on one and on
# the other, each beyond that of the interpreter on a model of one operator.
# SECONDS_EACH=1, ONLY=yunet (a part of the names), ORIGO_BLESS=1 writes the table into docs/errors.md.
set -uo pipefail
usage="usage: errors_benchmark.sh BIN_DIR MODELS_DIR"
bin=$(realpath "${1:?$usage}") models=$(realpath "${2:?$usage}")
page=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/docs/errors.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
peak() { timeout 300 "$bin/measure" 300 16000 "$@" | awk '{ print $2 }'; }

cat >"$work/small.origo" <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%y) {
  %y: f32[1,4] = NEG(%x)
}
END
"$bin/circle2circle" "$work/small.origo" "$work/small.tflite" 2>/dev/null
none=$(peak "$bin/circle-interpreter" --engine=fast --seed=1 "$work/small.tflite")

{
  echo "| network | float, ms | int8, ms | visq, ms | both ÷ visq | memory ÷ both |"
  echo "|---|---|---|---|---|---|"
  for model in "$models"/*"${ONLY:-}"*_f32.tflite; do
    name=$(basename "$model" _f32.tflite) quantized=$work/q.tflite
    "$bin/circle-quantizer" --scheme int8 --input_data random "$model" "$quantized" 2>/dev/null || continue
    times=$(timeout 300 "$bin/errors_benchmark" --seconds "${SECONDS_EACH:-1}" "$model" "$quantized" 2>/dev/null) || continue
    first=$(peak "$bin/circle-interpreter" --engine=fast --seed=1 "$model")
    second=$(peak "$bin/circle-interpreter" --engine=fast --seed=1 "$quantized")
    both=$(peak "$bin/visq" -f "$model" -q "$quantized" --records 1 --json "$work/errors.json")
    echo "$name $times ${first:-0} ${second:-0} ${both:-0} $none"
  done | awk '
    { alone = $7 + $8 - 2 * $10 # of a few KiB no ratio follows
      printf "| %s | %.2f | %.2f | %.2f | %.2f | %s |\n", $1, $2, $3, $4, $6, alone < 4096 ? "" : sprintf("%.2f", ($9 - $10) / alone)
      ratios += $6
      floats += $2; bytes += $3; visqs += $4
      if ($2 + $3 >= 0.05) { great += $6; ++greats } }
    END { if (visqs) printf "| all %d together | %.2f | %.2f | %.2f | %.2f | |\n", NR, floats, bytes, visqs, (floats + bytes) / visqs
          if (NR) printf "| mean of %d | | | | %.2f | |\n", NR, ratios / NR
          if (greats) printf "| mean of the %d of 0.05 ms and more | | | | %.2f | |\n", greats, great / greats }'
} >"$work/table"
cat "$work/table"
[[ -z ${ORIGO_BLESS-} ]] || {
  awk -v begin='<!-- tests/bench/errors_benchmark.sh -->' -v end='<!-- end -->' -v table="$work/table" '
    inside && $0 == end { inside = 0 }
    !inside
    $0 == begin { inside = 1; while ((getline line <table) > 0) print line }' "$page" >"$work/page" && cp "$work/page" "$page"
}
