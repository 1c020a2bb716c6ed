#!/usr/bin/env bash
# Writes the files for viewers of every model and lets rules.mjs read them as the viewers do.
# usage: run.sh BIN samples|models
# Of the models every fifth is taken; ORIGO_THOROUGH=1 in the environment takes them all. Exits with 77 (skipped) where there are no model files or no Node.js.
set -uo pipefail
bin=$1 what=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$root/res
[[ $what == models ]] && folder=${ORIGO_SHARED:-$root/../shared}/models
if [[ ! -d $folder ]]; then
  echo "viewers: skipped: there is no folder $folder (ORIGO_SHARED says where it is)"
  exit 77
fi
if ! command -v node >/dev/null; then
  echo "viewers: skipped: there is no Node.js (./setup installs it)"
  exit 77
fi
every=1
[[ $what == models && -z ${ORIGO_THOROUGH-} ]] && every=5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{
  find "$folder" -path "$folder/hostile" -prune -o \( -name '*.tflite' -o -name '*.circle' -o -name '*.origo' \) -print | sort | awk -v every="$every" 'NR % every == 0'
  echo "$here/names.origo"
} | node "$here/rules.mjs" "$bin" "$scratch"
