#!/usr/bin/env bash
# Each relation of an imported model, executed beside ONNX Runtime, and its outputs beside LiteRT's, too (onnx_relations.py).
# usage: onnx_relations.sh BIN SCRATCH LITERT [FOLDER]     SCRATCH and LITERT keep the runtimes; FOLDER has public networks, else those of onnx.py
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/runtimes/install.sh"
fetch_runtimes "$2" "$here/runtimes/onnx"
fetch_runtimes "$3"
exec /usr/bin/python3 -B "$here/onnx_relations.py" "$1" "$2/node_modules" "$3" "${@:4}"
