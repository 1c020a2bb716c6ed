#!/bin/sh
# Fuzzes the readers of data and of statistics; what ctest runs: records.sh FUZZER BIN FOLDER [SECONDS]
set -eu
fuzzer=$1 bin=$2 folder=$3 seconds=${4:-30}
rm -rf "$folder"
mkdir -p "$folder/found" "$folder/seeds"
perl -e 'my $h = "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (1, 3), }"; $h .= " " x (117 - length $h) . "\n";
  print "\x93NUMPY\x01\x00", pack("v", length $h), $h, pack("f<*", 1, 2, 3)' >"$folder/seeds/a.npy"
printf 'origo 1\nmodel tflite version 3\nsubgraph @main(%%x: f32[1,3]) -> (%%y) {\n  %%y: f32[1,3] = NEG(%%x)\n}\n' >"$folder/net.origo"
"$bin/record-minmax" --input_model "$folder/net.origo" --input_data "$folder/seeds/a.npy" --histograms --stats "$folder/seeds/a.json"
"$bin/record-minmax" --input_model "$folder/net.origo" --stats "$folder/seeds/b.json"
"$fuzzer" -seed=1 -max_len=8000 -timeout=25 -rss_limit_mb=2048 -max_total_time="$seconds" -print_final_stats=1 \
  -artifact_prefix="$folder/" "$folder/found" "$folder/seeds" >"$folder/log" 2>&1 || { tail -n 60 "$folder/log"; exit 1; }
grep -E 'number_of_executed_units|new_units_added|peak_rss' "$folder/log"
