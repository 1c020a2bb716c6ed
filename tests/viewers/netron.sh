#!/usr/bin/env bash
# Opens .tflite results with Netron's own reader and looks up what circle-metrics --netron wrote for them.
# usage: netron.sh BIN SCRATCH
# The npm registry has no package "netron", but @visualdl/netron holds the reader of a Netron of 2020, which knows neither
# .circle nor attachments. Every tenth model is taken; ORIGO_THOROUGH=1 in the environment takes them all. Exits with 77
# (skipped) where there are no model files, no Node.js, or no way to the npm registry.
set -uo pipefail
bin=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
models=${ORIGO_SHARED:-$here/../../../shared}/models
source "$here/../oracle/install.sh"
[[ -d $models ]] || skip "there is no folder $models (ORIGO_SHARED says where it is)"
fetch_archive "$scratch" @visualdl/netron@2.2.0 Jq1aOPSFjdsqZ/jSUOeaR5FKn8r8sz+JLaVLQENycbLJsQ0q4ay0RHUJQn/PGeFigIvdAAQDzAQtl9DcKuEDIQ==
every=10
[[ -n ${ORIGO_THOROUGH-} ]] && every=1
find "$models" -path "$models/hostile" -prune -o -name '*.tflite' -print | sort | awk -v every=$every 'NR % every == 1 || every == 1' |
  node "$here/netron.mjs" "$bin" "$scratch"
