#!/usr/bin/env bash
# Float networks, quantised in each scheme, run in the real runtime, and each operator there computes what our reference kernels do
# from the same tensors. Of public ones a few; ORIGO_THOROUGH=1: all of them, some minutes.
# usage: quantised.sh BIN SCRATCH ORACLE networks|models [PAGE]     as run.sh; with PAGE the table of docs/quantization.md is written
set -uo pipefail
bin=$1 scratch=$2 oracle=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
models=$(folder_of "$4") || exit 1
fetch_runtimes "$oracle"
mkdir -p "$scratch"
exec node "$here/quantised.mjs" "$bin" "$oracle" "$scratch" "$models" "$4" "${5-}"
