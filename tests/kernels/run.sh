#!/usr/bin/env bash
# Kernels against the real runtime: each operator by itself with the runtime's own tensors, and whole models: the bounds of public
# ones must be those of docs/records/accuracy.md, those of generated networks as near as docs/records/accuracy.md says for all.
# usage: run.sh BIN SCRATCH ORACLE networks|models     ORACLE keeps the runtimes, SCRATCH their tensors for the next time
# Of public models a sample of small ones that has every operator with all its types; ORIGO_KERNELS=all: every model, some minutes.
# ORIGO_BLESS=1 judges all and writes docs/records/accuracy.md anew.
set -uo pipefail
bin=$1 scratch=$2 oracle=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
models=$(folder_of "$4") || exit 1
fetch_runtimes "$oracle"
mkdir -p "$scratch"
exec node "$here/check.mjs" "$bin" "$oracle" "$scratch" "$root/docs/records/accuracy.md" "$models" "$4"
