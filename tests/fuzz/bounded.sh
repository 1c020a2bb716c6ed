#!/bin/sh
# One bounded run of a fuzzer, the same on every machine: the seeds are read in the order of their names, and what ends the
# run is a number of inputs and not the time. bounded.sh FUZZER FOLDER RUNS LONGEST; the seeds are in FOLDER/seeds.
# FUZZ_SEED in the environment draws other inputs.
set -eu
fuzzer=$1 folder=$2 runs=$3 longest=$4
mkdir -p "$folder/found"
find "$folder/seeds" -type f | LC_ALL=C sort | paste -sd, >"$folder/list"
"$fuzzer" -seed="${FUZZ_SEED:-1}" -runs="$runs" -max_len="$longest" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$folder/" -seed_inputs=@"$folder/list" "$folder/found" >"$folder/log" 2>&1 ||
  { tail -n 60 "$folder/log"; exit 1; }
grep -E 'number_of_executed_units|new_units_added|peak_rss' "$folder/log"
