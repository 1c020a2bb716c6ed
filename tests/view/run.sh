#!/usr/bin/env bash
# Pages of origin-view in a real browser.
# usage: run.sh BIN SCRATCH SCRIPT [ARGUMENT…]     SCRIPT: a file of this folder; SCRATCH keeps the driver for the next time
# Exits with 77 (skipped) where there is no browser (firefox.mjs: no Firefox), no Node.js, or no way to the npm registry;
# models.mjs also where there are no model files.
set -uo pipefail
bin=$(realpath "$1") scratch=$2 script=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../oracle/install.sh"
skip() {
  echo "view: skipped: $1"
  exit 77
}
if [[ $script == firefox.mjs ]]; then
  browser=$(command -v firefox-esr || command -v firefox) || skip "there is no firefox-esr (./setup installs it)"
else
  browser=$(command -v chromium-headless-shell || command -v chromium) || skip "there is no chromium-headless-shell (./setup installs it)"
fi
export ORIGO_SHARED=${ORIGO_SHARED:-$root/../shared}
[[ $script != models.mjs || -d $ORIGO_SHARED/models ]] || skip "there is no folder $ORIGO_SHARED/models (ORIGO_SHARED says where it is)"
fetch_runtimes "$scratch" "$here"
scratch=$(realpath "$scratch")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A driver of a Node.js package finds it beside itself.
cp "$here"/*.mjs "$scratch/"
cd "$work" || exit 1
node "$scratch/$script" "$bin" "$root" "$browser" "$@"
