#!/usr/bin/env bash
# Profiles ONNX models with ONNX Runtime itself, and judges where origin-dump --join puts the rows.
# usage: onnxruntime.sh BIN SCRATCH [FOLDER]     SCRATCH keeps the runtime; FOLDER has public networks, else those of onnx.py
set -uo pipefail
bin=$(realpath "$1") scratch=$(realpath -m "$2") folder=${3-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../runtimes/install.sh"
fetch_runtimes "$scratch" "$here/../runtimes/onnx"
what=${folder:+models}
what=${what:-networks}
work=$scratch/profiles.$what
rm -rf "$work"
mkdir -p "$work/seeds"
if [[ -n $folder ]]; then
  # Those marked hostile have a test of their own.
  find "$folder" -path "$folder/hostile" -prune -o -name '*.onnx' -size -20M -print | LC_ALL=C sort
else
  (cd "$work" && /usr/bin/python3 -B "$here/../onnx.py" --example example.onnx && /usr/bin/python3 -B "$here/../onnx.py" --seeds "$work/seeds") >/dev/null || exit 1
  find "$work" -name '*.onnx' | LC_ALL=C sort
fi | awk -v every="$([[ ${ORIGO_THOROUGH-0} != 0 ]] && echo 1 || { [[ -n $folder ]] && echo 9 || echo 4; })" '/example/ || NR % every == 0' >"$work/list"
node "$here/onnxruntime.mjs" "$bin" "$scratch/node_modules" "$work" "$what" <"$work/list"
