#!/bin/sh
# Fuzzes the readers of data and of statistics; what ctest runs: records.sh FUZZER BIN FOLDER [RUNS]
set -eu
fuzzer=$1 bin=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder/seeds"
perl -e 'my $h = "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (1, 3), }"; $h .= " " x (117 - length $h) . "\n";
  print "\x93NUMPY\x01\x00", pack("v", length $h), $h, pack("f<*", 1, 2, 3)' >"$folder/seeds/a.npy"
printf 'origo 1\nmodel tflite version 3\nsubgraph @main(%%x: f32[1,3]) -> (%%y) {\n  %%y: f32[1,3] = NEG(%%x)\n}\n' >"$folder/net.origo"
"$bin/record-minmax" --input_model "$folder/net.origo" --input_data "$folder/seeds/a.npy" --histograms --stats "$folder/seeds/a.json"
"$bin/record-minmax" --input_model "$folder/net.origo" --stats "$folder/seeds/b.json"
"$(dirname "$0")/bounded.sh" "$fuzzer" "$folder" "${4:-40000}" 8000
