#!/usr/bin/env bash
# Kernels against the real runtime: each operator by itself with the runtime's own tensors, and whole models, whose
# bounds must be those of docs/accuracy.md.
# usage: run.sh BIN SCRATCH ORACLE     ORACLE keeps the runtimes, SCRATCH their tensors for the next time
# A sample of small models that has every operator with all its types; ORIGO_KERNELS=all: every model, some minutes.
# ORIGO_BLESS=1 judges all and writes docs/accuracy.md anew.
# Exits with 77 (skipped) where there are no model files, no Node.js, or no way to the npm registry.
set -uo pipefail
bin=$1 scratch=$2 oracle=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
shared=${ORIGO_SHARED:-$root/../shared}
source "$here/../oracle/install.sh"
[[ -d $shared/models && -d $shared/tools/oracle ]] || skip "there is no folder $shared (ORIGO_SHARED says where it is)"
fetch_runtimes "$oracle"
mkdir -p "$scratch"
# The tool looks for the runtimes beside itself.
cp "$shared/tools/oracle/tflite-oracle.mjs" "$oracle/"
exec node "$here/check.mjs" "$bin" "$oracle" "$scratch" "$root/docs/accuracy.md" "$(cd "$shared/models" && pwd)"
