#!/usr/bin/env bash
# Fetches the native TensorFlow Lite and builds native_tflite with it, which tests/bench/speed_benchmark.sh measures beside.
# usage: native.sh FOLDER     leaves FOLDER/native_tflite
set -euo pipefail
folder=$(realpath -m "${1:?usage: native.sh FOLDER}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/install.sh"
fetch_native "$folder"
cc -O2 -Wall -Wextra -I"$native/include" "$here/native_tflite.c" -o "$folder/native_tflite" \
  -L"$native/linux_amd64" -ltensorflowlite_c -Wl,-rpath,"$native/linux_amd64"
