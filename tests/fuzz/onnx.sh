#!/bin/sh
# Fuzzes the reader of ONNX models and the lowering of their operators, from one model of each; what ctest runs: onnx.sh FUZZER FOLDER RUNS
set -eu
fuzzer=$1 folder=$2 runs=$3
rm -rf "$folder"
mkdir -p "$folder/seeds"
"$(dirname "$0")/../onnx.py" --seeds "$folder/seeds"
echo "models: fuzzed from $(ls "$folder/seeds" | wc -l) ONNX models"
"$(dirname "$0")/bounded.sh" "$fuzzer" "$folder" "$runs" 4000
