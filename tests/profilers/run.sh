#!/usr/bin/env bash
# Profiles networks with TFLite itself, XNNPACK inside, before and after -O1, and judges where origin-dump --join puts the rows:
# each operator is cut out and profiled alone, which tells the types that it has.
# usage: run.sh BIN SCRATCH networks|models      SCRATCH keeps the runtimes for the next time; samples go with networks
set -uo pipefail
bin=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
fetch_runtimes "$scratch"
work=$scratch/profiles.$3
mkdir -p "$work"
rm -f "$work"/*
{
  [[ $3 == networks ]] && find "$root/res" -name '*.origo' | sort
  # Every second network, and a sample of the many models of few operators below them; of public networks a sample, since each operator is
  # run by itself.
  swept "$3" 24 2 | grep '\.tflite$'
} >"$work/list"
node "$here/judge.mjs" "$bin" "$scratch/node_modules" "$work" "$3" <"$work/list"
