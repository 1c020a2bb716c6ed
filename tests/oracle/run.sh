#!/usr/bin/env bash
# Fetches the runtimes of package-lock.json and lets run.mjs compare every model before and after -O1.
# usage: run.sh BIN SCRATCH      SCRATCH keeps the runtimes for the next time
# ORIGO_ORACLE_SEEDS=4 tries four inputs a model instead of one, and what was rewritten in two runtimes.
# Exits with 77 (skipped) where there are no model files, no Node.js, or no way to the npm registry.
set -uo pipefail
bin=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
models=${ORIGO_SHARED:-$root/../shared}/models
skip() {
  echo "models: real runtimes skipped: $1"
  exit 77
}
[[ -d $models ]] || skip "there is no folder $models (ORIGO_SHARED says where it is)"
command -v npm >/dev/null || skip "there is no npm (./setup installs it)"
node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null || skip "there is no Node.js 18 or later"
mkdir -p "$scratch/work"

# npm ci leaves the runtimes as the lock file says, or nothing.
if ! cmp -s "$here/package-lock.json" "$scratch/installed.json"; then
  cp "$here/package.json" "$here/package-lock.json" "$scratch"
  if ! (cd "$scratch" && npm ci --ignore-scripts --no-audit --no-fund) >"$scratch/npm.log" 2>&1; then
    grep -qE 'ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|network' "$scratch/npm.log" &&
      skip "the npm registry cannot be reached"
    cat "$scratch/npm.log"
    exit 1
  fi
  cp "$here/package-lock.json" "$scratch/installed.json"
fi

rm -f "$scratch"/work/*
find "$models" "$root/res" -path "$models/hostile" -prune -o \( -name '*.tflite' -o -name '*.origo' \) -print | sort |
  node "$here/run.mjs" "$bin" "$scratch/node_modules" "$scratch/work" "${ORIGO_ORACLE_SEEDS:-1}"
