#!/usr/bin/env bash
# Opens .tflite results with Netron's own reader and looks up what circle-metrics --netron wrote for them.
# usage: netron.sh BIN SCRATCH networks|models
# The npm registry has no package "netron", but @visualdl/netron holds the reader of a Netron of 2020, which knows neither
# .circle nor attachments. Of models every tenth is taken, of the small ones that the tree makes
# every twentieth; ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
fetch_netron "$scratch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
swept "$3" $([[ $3 == networks ]] && echo 20 || echo 10) | grep '\.tflite$' | node "$here/netron.mjs" "$bin" "$scratch" "$work"
