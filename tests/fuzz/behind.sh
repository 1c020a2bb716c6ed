#!/bin/sh
# Fuzzes what stands behind the readers of models, and the readers of small files that go with models; what ctest runs:
# behind.sh FUZZER BIN FOLDER ENTRY RUNS, where ENTRY is one of behind_fuzzer.cpp
set -eu
fuzzer=$1 bin=$2 folder=$3 entry=$4 runs=$5 here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder/seeds"
"$bin/circle2circle" -O0 --embed-origin=none --no-origin-json "$here/small.origo" "$folder/small.circle"
"$bin/circle2circle" -O1 --embed-origin=none --history "$folder/history" "$folder/small.circle" "$folder/result.circle" 2>"$folder/said"
case $entry in
models | texts)
  find "$here/mended" "$here/../regressions" "$here/../../res" -name '*.origo' -size -8k -exec cp -f {} "$folder/seeds" \;
  find "$here/../regressions" \( -name '*.circle' -o -name '*.tflite' \) -size -8k -exec cp -f {} "$folder/seeds" \;
  awk -v folder="$folder/seeds" '/^origo 1/ { file = sprintf("%s/golden-%04d.origo", folder, ++n); on = 1 }
    /^=>/ { if (on) close(file); on = 0 } on { print > file }' "$here"/../golden/*.txt
  ;;
settings)
  cp "$folder/history" "$folder/seeds"
  cat >"$folder/seeds/target.json" <<'END'
{"name": "npu", "preferredInputLayout": "nhwc", "maxTensorByteLength": 2147483647,
 "input": {"dataTypes": ["float32"], "rankRange": {"min": 0, "max": 5}}, "constant": {"dataTypes": ["float32", "bool"]},
 "ops": {"MUL": {"lhs": {"dataTypes": ["float32", "int8"]}, "same": [["x.dtype", "y.dtype"]]}, "ADD": {}, "NEG": {}, "RELU": {},
  "CONV_2D": {"attributes": {"stride_w": {"min": 1, "max": 4}, "padding": {"in": ["SAME"]}}, "anyOf": [{}]}}}
END
  printf '[partition]\nbackends=cpu,npu\ndefault=cpu\ncomply=opcode\n\n[OPCODE]\nMUL=npu\nADD=npu\n' >"$folder/seeds/net.part"
  printf '[onecc]\none-optimize=True\n[DEFAULT]\na=1\n[one-optimize]\ninput_path=x\noutput_path=%%(a)s.circle\n k\n' >"$folder/seeds/net.cfg"
  echo '{"meta": {"metric": "mae"}, "errors": [{"subgraph": 0, "tensor": 2, "metrics": {"mae": 0.5}, "own": 1}]}' >"$folder/seeds/errors.json"
  ;;
page) cp "$folder/result.circle.origin.json" "$folder/seeds" ;;
esac
# What is read at all is soon read.
ORIGO_TEXT_LIMIT=1000000 ORIGO_FUZZ=$entry "$here/bounded.sh" "$fuzzer" "$folder" "$runs" 12000
