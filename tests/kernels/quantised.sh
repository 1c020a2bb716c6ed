#!/usr/bin/env bash
# Float networks of the shared folder, quantised in each scheme, run in the real runtime, and each operator there computes what
# our reference kernels do from the same tensors. A few networks; ORIGO_THOROUGH=1: all of them, some minutes.
# usage: quantised.sh BIN SCRATCH ORACLE [PAGE]     as run.sh, with which it exits alike; with PAGE the table of
# docs/quantization.md is written
set -uo pipefail
bin=$1 scratch=$2 oracle=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shared=${ORIGO_SHARED:-$here/../../../shared}
source "$here/../oracle/install.sh"
[[ -d $shared/models && -d $shared/tools/oracle ]] || skip "there is no folder $shared (ORIGO_SHARED says where it is)"
fetch_runtimes "$oracle"
mkdir -p "$scratch"
cp "$shared/tools/oracle/tflite-oracle.mjs" "$oracle/"
exec node "$here/quantised.mjs" "$bin" "$oracle" "$scratch" "$(cd "$shared/models" && pwd)" "${4-}"
