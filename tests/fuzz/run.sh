#!/bin/sh
# Fuzzes what reads models from small ones; what ctest runs: run.sh FUZZER FOLDER RUNS MODELS
set -eu
fuzzer=$1 folder=$2 runs=$3 models=$4 here=$(dirname "$0")
rm -rf "$folder"
"$here/seed_corpus.sh" "$models" "$folder/seeds" 20000 | sed 's/^/models: fuzzed from /; s/ in .*//'
# Maps: deflated ones, and as they were before, of which each byte that a fuzzer changes is one of the map.
find "$models" -maxdepth 1 -name '*.tflite' -size -8k | LC_ALL=C sort | head -n 12 | while IFS= read -r file; do
  "$(dirname "$fuzzer")/circle2circle" -O1 --no-origin-json "$file" "$folder/seeds/map-$(basename "$file")" 2>/dev/null || true
done
cp "$here"/../regressions/origins/*.circle "$folder/seeds"
"$here/bounded.sh" "$fuzzer" "$folder" "$runs" 20000
