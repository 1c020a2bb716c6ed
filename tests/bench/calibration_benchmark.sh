#!/usr/bin/env bash
# What record-minmax costs beside running the model: medians of one process, all three in turn, so that ratios hold while the
# machine does other things too. Networks of floats only.
# usage: calibration_benchmark.sh BIN_DIR MODELS_DIR
# BIN_DIR holds calibration_benchmark (a target that is not built by default). AT_LEAST=1 is how many seconds each network is
# measured, THREADS=1, LEAST=0.1 how many milliseconds a run takes at least: else it is no network.
set -euo pipefail

usage="usage: calibration_benchmark.sh BIN_DIR MODELS_DIR"
bin=${1:?$usage} models=${2:?$usage}
work=$(mktemp -d "${TMPDIR:-/tmp}/origo-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
: >"$work/rows"
shopt -s nullglob
for model in "$models"/*_f32.tflite; do
  name=$(basename "$model" .tflite)
  if ! row=$("$bin/calibration_benchmark" "$model" "${AT_LEAST:-1}" "${THREADS:-1}" 2>"$work/error"); then
    echo "$name: left out: $(tail -1 "$work/error" | cut -c1-150)" >&2
    continue
  fi
  printf '%s\t%s\n' "$name" "$row" >>"$work/rows"
done
[[ -s $work/rows ]] || { echo "calibration_benchmark.sh: no network of $models could be measured" >&2; exit 1; }
awk -F'\t' -v least="${LEAST:-0.1}" '
  BEGIN {
    print "| network | ms | M elements | minimum and maximum | with histograms |"
    print "|---|---|---|---|---|"
  }
  $2 < least { next }
  {
    printf "| `%s` | %.2f | %.2f | %.2f | %.2f |\n", $1, $2, $5 / 1e6, $2 / $3, $2 / $4
    extremes += $2 / $3; histograms += $2 / $4; ++count
  }
  END {
    if (!count) exit 1
    printf "\n    mean of %d: %.2f of the bare throughput with minimum and maximum, %.2f with histograms\n", count, extremes / count, histograms / count
  }' "$work/rows"
