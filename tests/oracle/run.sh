#!/usr/bin/env bash
# Fetches the real runtimes and lets run.mjs compare every model before and after -O1.
# usage: run.sh BIN SCRATCH networks|models      SCRATCH keeps the runtimes for the next time; samples go with networks
# Every third public model is taken, of those of few operators that the tree makes every eighth; ORIGO_THOROUGH=1 in the environment takes them all.
# ORIGO_ORACLE_PASSES=all tries each pass by itself. ORIGO_ORACLE_SEEDS=4 tries four inputs a model instead of one, and what was rewritten in two runtimes.
set -uo pipefail
bin=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
fetch_runtimes "$scratch"
work=$scratch/work.$3
mkdir -p "$work"
rm -f "$work"/*
{
  [[ $3 == networks ]] && find "$root/res" -name '*.origo' | sort
  swept "$3" $([[ $3 == networks ]] && echo 8 || echo 3) | grep '\.tflite$'
} | node "$here/run.mjs" "$bin" "$scratch/node_modules" "$work" "${ORIGO_ORACLE_SEEDS:-1}"
