#!/usr/bin/env bash
# Engine::Fast over networks: against its own kernels one by one, Engine::Reference, and two threads. All medians of one run, in
# turn in one process, all comparisons ratios; speed_benchmark.sh measures beside other runtimes.
# usage: run_benchmark.sh BIN_DIR MODELS_DIR
# BIN_DIR holds session_benchmark (a target that is not built by default). LEAST=10000000 is how many multiply-adds a network has at least, RUNS=15 how often everything is measured at least, AT_LEAST=2 for how many seconds, SECONDS_EACH=300 when a network is
# given up.
set -euo pipefail

usage="usage: run_benchmark.sh BIN_DIR MODELS_DIR"
bin=${1:?$usage} models=${2:?$usage}
work=$(mktemp -d "${TMPDIR:-/tmp}/origo-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
: >"$work/rows"
shopt -s nullglob
for model in "$models"/*.tflite; do
  name=$(basename "$model" .tflite)
  if ! row=$(timeout "${SECONDS_EACH:-300}" "$bin/session_benchmark" --reference --least "${LEAST:-10000000}" --runs "${RUNS:-15}" --seconds "${AT_LEAST:-2}" \
    "$model" 2>"$work/error"); then
    echo "$name: left out: $(tail -1 "$work/error" | cut -c1-150)" >&2
    continue
  fi
  [[ -n $row ]] || continue
  printf '%s\t%s\n' "$name" "$row" >>"$work/rows"
done
[[ -s $work/rows ]] || { echo "run_benchmark.sh: no network of $models could be measured" >&2; exit 1; }

# Columns: name, multiply-adds, fast, reference operators, ms, sum of kernels, share of fast ones in it, ms with two threads,
# ms of the reference engine, ms to compile, largest live set, arena.
awk -F'\t' '
  BEGIN {
    print "| network | M multiply-adds | fast operators | ms | reference / fast | 1 / 2 threads | session / kernels (fast share) | arena / live (MiB) | compile ms |"
    print "|---|---|---|---|---|---|---|---|---|"
  }
  function ratio(a, b) { return a > 0 && b > 0 ? sprintf("%.2f", a / b) : "-" }
  {
    printf "| `%s` | %.0f | %d of %d | %.2f | %s | %s | %s (%.0f %%) | %s (%.1f) | %.0f |\n", $1, $2 / 1e6, $3, $3 + $4, $5,
      ratio($9, $5), ratio($5, $8), ratio($5, $6), $7 * 100, ratio($12, $11), $11 / 1048576, $10
    if ($9 > 0) { slow += log($9 / $5); ++slows }
    if ($8 > 0) { two += log($5 / $8); ++twos }
    if ($6 > 0 && $7 >= 0.9 && $5 / $6 > overhead) overhead = $5 / $6
    if ($11 >= 1048576 && $12 / $11 > memory) memory = $12 / $11
  }
  END {
    print ""
    if (slows) printf "reference / fast, geometric mean of %d: %.1f\n", slows, exp(slow / slows)
    if (twos) printf "1 / 2 threads, geometric mean of %d: %.2f\n", twos, exp(two / twos)
    printf "session / kernels, worst where fast kernels are 90 %% of the time: %.2f\n", overhead
    printf "arena / largest live set, worst where that is 1 MiB: %.2f\n", memory
  }' "$work/rows"
