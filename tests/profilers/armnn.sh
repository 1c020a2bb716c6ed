#!/usr/bin/env bash
# Profiles networks with Arm NN itself, before and after -O1, and judges where origin-dump --join puts the rows.
# usage: armnn.sh BIN SCRATCH networks|models
set -uo pipefail
bin=$1 work=$2.$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
mkdir -p "$work"
rm -f "$work"/*
[[ -f /usr/include/armnn/ArmNN.hpp ]] || lacks "libarmnn-dev (./setup --install)"
c++ -std=c++17 -O1 -w "$here/armnn.cpp" -o "$work/armnn" -larmnn -larmnnTfLiteParser || { echo "FAILED: armnn.cpp"; exit 1; }
{
  [[ $3 == networks ]] && find "$root/res" -name '*.origo' | sort
  swept "$3" 30 | grep '\.tflite$'
} >"$work/list"
node "$here/armnn.mjs" "$bin" "$work/armnn" "$work" "$3" <"$work/list"
