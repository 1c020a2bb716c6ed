#!/bin/sh
# Fuzzes the readers of profiles from those of tests/profiles/; what ctest runs: profiles.sh FUZZER FOLDER [SECONDS]
set -eu
fuzzer=$1 folder=$2 seconds=${3:-30}
rm -rf "$folder"
mkdir -p "$folder/found"
cp -r "$(dirname "$0")/../profiles" "$folder/seeds"
chmod -R u+w "$folder/seeds"
"$fuzzer" -seed=1 -max_len=8000 -timeout=25 -rss_limit_mb=2048 -max_total_time="$seconds" -print_final_stats=1 \
  -artifact_prefix="$folder/" "$folder/found" "$folder/seeds" >"$folder/log" 2>&1 || { tail -n 60 "$folder/log"; exit 1; }
grep -E 'number_of_executed_units|new_units_added|peak_rss' "$folder/log"
