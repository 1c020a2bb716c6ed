#!/bin/sh
# Fuzzes what reads models from small ones; what ctest runs: run.sh FUZZER FOLDER RUNS
# Exits with 77 (skipped) where there are no model files.
set -eu
fuzzer=$1 folder=$2 runs=$3 here=$(dirname "$0")
[ -d "${ORIGO_SHARED:-$here/../../../shared}/models" ] || { echo "models: skipped, nothing to start fuzzing from"; exit 77; }
rm -rf "$folder"
"$here/seed_corpus.sh" "$folder/seeds" 20000 | sed 's/^/models: fuzzed from /; s/ in .*//'
"$here/bounded.sh" "$fuzzer" "$folder" "$runs" 20000
