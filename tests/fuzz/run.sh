#!/bin/sh
# Fuzzes what reads models from small ones; what ctest runs: run.sh FUZZER FOLDER RUNS MODELS
set -eu
fuzzer=$1 folder=$2 runs=$3 models=$4 here=$(dirname "$0")
rm -rf "$folder"
"$here/seed_corpus.sh" "$models" "$folder/seeds" 20000 | sed 's/^/models: fuzzed from /; s/ in .*//'
"$here/bounded.sh" "$fuzzer" "$folder" "$runs" 20000
