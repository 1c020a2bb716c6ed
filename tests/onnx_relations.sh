#!/usr/bin/env bash
# Each relation of an imported model, executed beside ONNX Runtime (onnx_relations.py).
# usage: onnx_relations.sh BIN SCRATCH [FOLDER]     SCRATCH keeps the runtime; FOLDER has public networks, else those of onnx.py
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/runtimes/install.sh"
fetch_runtimes "$2" "$here/runtimes/onnx"
exec /usr/bin/python3 -B "$here/onnx_relations.py" "$1" "$2/node_modules" "${@:3}"
