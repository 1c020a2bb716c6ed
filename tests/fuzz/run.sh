#!/bin/sh
# Fuzzes what reads models for a while, from small ones; what ctest runs: run.sh FUZZER FOLDER [SECONDS]
# Exits with 77 (skipped) where there are no model files.
set -eu
fuzzer=$1 folder=$2 seconds=${3:-30}
here=$(dirname "$0")
[ -d "${ORIGO_SHARED:-$here/../../../shared}/models" ] || { echo "models: skipped, nothing to start fuzzing from"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder/found"
"$here/seed_corpus.sh" "$folder/seeds" 20000 | sed 's/^/models: fuzzed from /; s/ in .*//'
"$fuzzer" -seed=1 -max_len=20000 -timeout=25 -rss_limit_mb=2048 -max_total_time="$seconds" -print_final_stats=1 \
  -artifact_prefix="$folder/" "$folder/found" "$folder/seeds" >"$folder/log" 2>&1 || { tail -n 60 "$folder/log"; exit 1; }
grep -E 'number_of_executed_units|new_units_added|peak_rss' "$folder/log"
