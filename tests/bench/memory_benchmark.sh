#!/usr/bin/env bash
# What tensors of networks take in Engine::Fast: in the order of the file, and in the one that it runs them in.
# usage: memory_benchmark.sh BIN_DIR MODELS_DIR
# BIN_DIR holds session_benchmark (a target that is not built by default). Nothing is run. Rows are networks in which the arena is not
# what every order takes, or another order than the file's is chosen; the means are over all networks.
set -euo pipefail

usage="usage: memory_benchmark.sh BIN_DIR MODELS_DIR"
bin=${1:?$usage} models=${2:?$usage}
shopt -s nullglob
for model in "$models"/*.tflite "$models"/*.circle; do
  row=$(timeout 60 "$bin/session_benchmark" --memory "$model" 2>/dev/null) || continue
  printf '%s\t%s\n' "$(basename "${model%.*}")" "$row"
done | awk -F'\t' '
  BEGIN {
    print "| network | steps | arena: file, here (KiB) | live at most: file, here | bound | |"
    print "|---|---|---|---|---|---|"
  }
  function kib(bytes) { return sprintf("%.1f", bytes / 1024) }
  $3 + 0 == 0 { next }
  {
    ++count
    if ($5 > $3 || $6 > $4) ++worse
    less += log($5 / $3)
    bound += log($5 / ($7 > 0 ? $7 : 1))
    if ($5 == $3 && $5 == $7) next
    printf "| `%s` | %d | %s, %s | %s, %s | %s | %s |\n", $1, $2, kib($3), kib($5), kib($4), kib($6), kib($7),
      $8 == "least" ? "least of all orders" : "not known to be"
  }
  END {
    print ""
    if (!count) { print "memory_benchmark.sh: no network could be planned" > "/dev/stderr"; exit 1 }
    printf "arena here / in the order of the file, geometric mean of %d: %.3f; above 1: %d\n", count, exp(less / count), worse
    printf "arena here / bound, geometric mean: %.3f\n", exp(bound / count)
  }'
