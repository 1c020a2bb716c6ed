#!/usr/bin/env bash
# The same model and options give the same bytes, model and side file, whatever the address space, the heap, the
# environment, the working directory and the name of the output are.
# usage: determinism.sh BIN
set -uo pipefail
bin=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
models=${ORIGO_SHARED:-$root/../shared}/models
if [[ ! -d $models ]]; then
  echo "models: skipped, there is no folder $models (ORIGO_SHARED says where it is)"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/here" "$scratch/there"

# Address layouts are refused in some containers, which would make one of the ways below the same as the first.
if ! setarch -R true 2>/dev/null; then
  echo "models: skipped, setarch -R is not allowed here"
  exit 77
fi
big=$(printf '%065000d' 0)
passes=--passes=common-subexpressions,merge-duplicate-constants,decompose-hard-swish
# A side file names its target, and nothing else tells where it lies.
named() { sed -E "s/\"file\": ?\"[^\"]*\.(circle|tflite)\"/\"file\": \"NAME\"/" "$1"; }

files=0 runs=0 failed=0
compare() {
  local file=$1 first=$2 second=$3 how=$4
  ((++runs))
  if ! cmp -s "$first" "$second"; then
    echo "FAILED $file: the model differs $how"
    ((++failed))
  elif ! cmp -s <(named "$first.origin.json") <(named "$second.origin.json"); then
    echo "FAILED $file: the side file differs $how"
    ((++failed))
  fi
}
