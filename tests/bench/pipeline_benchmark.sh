#!/usr/bin/env bash
# Time and memory of the pipeline on long chains, and what keeping origins costs, as ratios of runs that alternate.
# usage: pipeline_benchmark.sh BIN_DIR [MODELS_DIR]
# BIN_DIR holds circle2circle, make-model and unstamped/circle2circle, which is built with the tests.
set -euo pipefail

bin=$(cd "${1:?usage: pipeline_benchmark.sh BIN_DIR [MODELS_DIR]}" && pwd)
models=${2-}
work=$(mktemp -d "${TMPDIR:-/tmp}/origo-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
runs=5

best() { sort -g | head -1; }
# The time of all rewrites in ms, the best of several runs.
pipeline_ms() { # TOOL MODEL
  for ((i = 0; i < runs; ++i)); do
    "$bin/$1" -O1 --time-passes --no-origin-json --embed-origin=none "$2" "$work/out.circle" 2>&1 | awk '$1 == "all" { print $2 }'
  done | best
}
seconds() { # COMMAND...
  local begin=$EPOCHREALTIME
  "$@" >/dev/null 2>&1
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f\n", b - a }'
}
# The kernel's own high-water mark, read until the process is gone.
peak_mib() { # COMMAND...
  "$@" >/dev/null 2>&1 &
  local pid=$! peak=0 now
  while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [[ -n $now ]]; do
    peak=$now
    sleep 0.002
  done
  wait "$pid"
  echo $((peak / 1024))
}

printf '%-30s %12s %12s %8s %12s %12s\n' CHAIN "10k us/op" "100k us/op" RATIO "100k MiB" "with map MiB"
for chain in pair relu reshape add; do
  for n in 10000 100000; do
    "$bin/make-model" --operators $n --chain=$chain "$work/$chain$n.circle"
  done
  small=$(pipeline_ms circle2circle "$work/${chain}10000.circle")
  large=$(pipeline_ms circle2circle "$work/${chain}100000.circle")
  awk -v c="$chain" -v s="$small" -v l="$large" \
    -v m="$(peak_mib "$bin/circle2circle" -O1 --no-origin-json --embed-origin=none "$work/${chain}100000.circle" "$work/out.circle")" \
    -v f="$(peak_mib "$bin/circle2circle" -O1 "$work/${chain}100000.circle" "$work/out.circle")" \
    'BEGIN { printf "%-30s %12.3f %12.3f %8.2f %12d %12d\n", c, s / 10, l / 100, l / 10 / s, m, f }'
done

"$bin/make-model" --operators 1000000 "$work/million.circle"
printf '1 M operators: %s s, %s MiB\n' "$(seconds "$bin/circle2circle" -O1 "$work/million.circle" "$work/out.circle")" \
  "$(peak_mib "$bin/circle2circle" -O1 "$work/million.circle" "$work/out.circle")"

echo "keeping origins, against a build that keeps none (whole runs without a map, best of $((4 * runs)) that alternate):"
for chain in pair relu reshape add; do
  : >"$work/with"
  : >"$work/without"
  for ((i = 0; i < 4 * runs; ++i)); do
    seconds "$bin/circle2circle" -O1 --no-origin-json --embed-origin=none "$work/${chain}100000.circle" "$work/out.circle" >>"$work/with"
    seconds "$bin/unstamped/circle2circle" -O1 --no-origin-json --embed-origin=none "$work/${chain}100000.circle" "$work/out.circle" >>"$work/without"
  done
  awk -v c="$chain" -v a="$(best <"$work/with")" -v b="$(best <"$work/without")" 'BEGIN { printf "  %-8s %.3f\n", c, a / b }'
done

echo "bytes an operator of the embedded map:"
for chain in pair relu; do
  model=$work/${chain}100000.circle
  none=$("$bin/circle2circle" -O1 --no-origin-json --embed-origin=none "$model" "$work/out.circle" && stat -c %s "$work/out.circle")
  for embed in ids names full; do
    "$bin/circle2circle" -O1 --no-origin-json --embed-origin=$embed "$model" "$work/out.circle"
    awk -v c="$chain" -v e="$embed" -v n="$none" -v s="$(stat -c %s "$work/out.circle")" 'BEGIN { printf "  %-8s %-5s %6.1f\n", c, e, (s - n) / 100000 }'
  done
done

if [[ -n $models ]]; then
  echo "the network with the most operators:"
  largest=$(for f in "$models"/*.tflite; do
    "$bin/circle2circle" -O1 --time-passes --no-origin-json --embed-origin=none "$f" "$work/out.circle" 2>/dev/null >/dev/null || continue
    echo "$("$bin/circledump" "$f" 2>/dev/null | grep -c ' = [A-Z_0-9]*(') $f"
  done | sort -n | tail -1)
  echo "  $largest: $(pipeline_ms circle2circle "${largest#* }") ms of rewriting"
fi
