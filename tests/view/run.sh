#!/usr/bin/env bash
# Pages of origin-view in a real browser.
# usage: run.sh BIN SCRATCH SCRIPT [ARGUMENT…]     SCRIPT: a file of this folder; SCRATCH keeps the driver for the next time
set -uo pipefail
bin=$(realpath "$1") scratch=$2 script=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../runtimes/install.sh"
if [[ $script == firefox.mjs ]]; then
  browser=$(command -v firefox-esr || command -v firefox) || lacks "firefox-esr (./setup --install)"
else
  browser=$(command -v chromium-headless-shell || command -v chromium) || lacks "chromium-headless-shell (./setup --install)"
fi
fetch_runtimes "$scratch" "$here"
[[ $script != netron.mjs ]] || fetch_netron "$scratch/../netron"
scratch=$(realpath "$scratch")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A driver of a Node.js package finds it beside itself. Other tests may read the same ones now.
for file in "$here"/*.mjs; do
  cmp -s "$file" "$scratch/${file##*/}" || { cp "$file" "$scratch/${file##*/}.$$" && mv "$scratch/${file##*/}.$$" "$scratch/${file##*/}"; }
done
cd "$work" || exit 1
node "$scratch/$script" "$bin" "$root" "$browser" "$@"
