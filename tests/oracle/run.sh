#!/usr/bin/env bash
# Fetches the runtimes of package-lock.json and lets run.mjs compare every model before and after -O1.
# usage: run.sh BIN SCRATCH      SCRATCH keeps the runtimes for the next time
# ORIGO_ORACLE_PASSES=all tries each pass by itself. ORIGO_ORACLE_SEEDS=4 tries four inputs a model instead of one, and what was rewritten in two runtimes.
# Exits with 77 (skipped) where there are no model files, no Node.js, or no way to the npm registry.
set -uo pipefail
bin=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
models=${ORIGO_SHARED:-$root/../shared}/models
source "$here/install.sh"
[[ -d $models ]] || skip "there is no folder $models (ORIGO_SHARED says where it is)"
fetch_runtimes "$scratch"
mkdir -p "$scratch/work"
rm -f "$scratch"/work/*
find "$models" "$root/res" -path "$models/hostile" -prune -o \( -name '*.tflite' -o -name '*.origo' \) -print | sort |
  node "$here/run.mjs" "$bin" "$scratch/node_modules" "$scratch/work" "${ORIGO_ORACLE_SEEDS:-1}"
